"""Classification and regression: kernel LDA, and linear models of components."""

from mercer.utils.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "kernel_lda": "KernelLDA",
        "component_models": "ComponentClassifier ComponentRegressor",
    },
)
