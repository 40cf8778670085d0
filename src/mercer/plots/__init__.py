"""Plots in the style of scikit-learn's Display objects.

A display is created from a fitted estimator (``from_estimator``) and stores its data, so that
``plot`` can draw it again. matplotlib (``pip install mercer[plot]``) is imported only when
something is drawn.
"""

from mercer.utils.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "bandwidth": "BandwidthDisplay",
        "embedding": "EmbeddingDisplay",
        "functions": "DensityDisplay EigenfunctionDisplay",
        "monitoring": "MonitoringDisplay",
        "results": "DependenceDisplay DiversityDisplay EffectDisplay",
        "spectrum": "GramDisplay SpectrumDisplay",
    },
)
