"""What is compared: kernels, their algebra, and the contract that every kernel keeps."""

from __future__ import annotations

from typing import Any

from mercer.kernels.base import Kernel, Product, Scaled, Sum
from mercer.kernels.categories import Categorical, Hamming
from mercer.kernels.checks import check_kernel
from mercer.kernels.columns import On
from mercer.kernels.dot import Cosine, Linear, Polynomial, Sigmoid
from mercer.kernels.graph import Graph
from mercer.kernels.ngram import NGram
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.sets import Jaccard, MinMax
from mercer.kernels.stationary import Epanechnikov, Gaussian, Laplacian, Matern, Stationary
from mercer.kernels.tables import table_kernel

__all__ = [
    "Categorical",
    "Cosine",
    "Epanechnikov",
    "Gaussian",
    "Graph",
    "Hamming",
    "Jaccard",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "MinMax",
    "NGram",
    "On",
    "Polynomial",
    "Precomputed",
    "Product",
    "Scaled",
    "Sigmoid",
    "Stationary",
    "Sum",
    "as_kernel",
    "check_kernel",
    "table_kernel",
]

_NAMES: dict[str, type[Kernel]] = {
    "gaussian": Gaussian,
    "rbf": Gaussian,
    "laplacian": Laplacian,
    "polynomial": Polynomial,
    "linear": Linear,
    "sigmoid": Sigmoid,
    "cosine": Cosine,
    "precomputed": Precomputed,
}


def as_kernel(kernel: Any) -> Kernel:
    """Turn a name into its kernel with default parameters; a kernel object stays itself.

    >>> as_kernel("gaussian")
    Gaussian(bandwidth='auto')
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str) and kernel in _NAMES:
        return _NAMES[kernel]()
    raise ValueError(
        f"kernel={kernel!r} is neither a kernel object (such as mercer.kernels.Gaussian(1.0)) nor "
        f"one of the names {', '.join(repr(name) for name in _NAMES)}."
    )
