"""Pictures in scikit-learn's Display manner: made from an estimator, kept with their data.

matplotlib (``pip install mercer[plot]``) is imported when something is drawn, not before.
"""

from mercer.plots.bandwidth import BandwidthDisplay
from mercer.plots.density import DensityDisplay, EigenfunctionDisplay
from mercer.plots.effects import EffectDisplay
from mercer.plots.embedding import EmbeddingDisplay
from mercer.plots.gram import GramDisplay
from mercer.plots.spectrum import SpectrumDisplay

__all__ = [
    "BandwidthDisplay",
    "DensityDisplay",
    "EffectDisplay",
    "EigenfunctionDisplay",
    "EmbeddingDisplay",
    "GramDisplay",
    "SpectrumDisplay",
]
