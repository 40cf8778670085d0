"""Plots in the style of scikit-learn's Display objects.

A display is created from a fitted estimator (``from_estimator``) and stores its data, so that
``plot`` can draw it again. matplotlib (``pip install mercer[plot]``) is imported only when
something is drawn.
"""

from mercer.plots.bandwidth import BandwidthDisplay
from mercer.plots.density import DensityDisplay
from mercer.plots.diversity import DiversityDisplay
from mercer.plots.effects import EffectDisplay
from mercer.plots.eigenfunctions import EigenfunctionDisplay
from mercer.plots.embedding import EmbeddingDisplay
from mercer.plots.gram import GramDisplay
from mercer.plots.monitoring import MonitoringDisplay
from mercer.plots.spectrum import SpectrumDisplay

__all__ = [
    "BandwidthDisplay",
    "DensityDisplay",
    "DiversityDisplay",
    "EffectDisplay",
    "EigenfunctionDisplay",
    "EmbeddingDisplay",
    "GramDisplay",
    "MonitoringDisplay",
    "SpectrumDisplay",
]
