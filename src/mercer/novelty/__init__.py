"""Novelty detection with calibrated p-values."""

from mercer.utils.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, {"kernel_novelty": "KernelNovelty"})
