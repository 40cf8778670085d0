"""Density estimates: kernel sums, series of eigenfunctions, orthogonal series, stacking."""

from mercer.utils.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "parzen_density": "ParzenDensity",
        "series_density": "SeriesDensity",
        "orthogonal_series": "OrthogonalSeries",
        "stacked_density": "StackedDensity",
    },
)
