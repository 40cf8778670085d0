"""Kernels, sums and products of kernels, and a test of the kernel interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer.utils.lazy import lazy_names

if TYPE_CHECKING:
    from mercer.kernels.algebra import Normalized as Normalized
    from mercer.kernels.algebra import Product as Product
    from mercer.kernels.algebra import Scaled as Scaled
    from mercer.kernels.algebra import Sum as Sum
    from mercer.kernels.base import Kernel as Kernel
    from mercer.kernels.base import as_kernel as as_kernel
    from mercer.kernels.categories import Categorical as Categorical
    from mercer.kernels.categories import Hamming as Hamming
    from mercer.kernels.checks import check_kernel as check_kernel
    from mercer.kernels.columns import On as On
    from mercer.kernels.dot import Cosine as Cosine
    from mercer.kernels.dot import Linear as Linear
    from mercer.kernels.dot import Polynomial as Polynomial
    from mercer.kernels.dot import Sigmoid as Sigmoid
    from mercer.kernels.functions import FunctionKernel as FunctionKernel
    from mercer.kernels.functions import Precomputed as Precomputed
    from mercer.kernels.neighbors import Neighbors as Neighbors
    from mercer.kernels.neighbors import SelfTuning as SelfTuning
    from mercer.kernels.objects import Graph as Graph
    from mercer.kernels.objects import Jaccard as Jaccard
    from mercer.kernels.objects import MinMax as MinMax
    from mercer.kernels.objects import NGram as NGram
    from mercer.kernels.stationary import Epanechnikov as Epanechnikov
    from mercer.kernels.stationary import Gaussian as Gaussian
    from mercer.kernels.stationary import Laplacian as Laplacian
    from mercer.kernels.stationary import Matern as Matern
    from mercer.kernels.stationary import Stationary as Stationary
    from mercer.kernels.tables import Table as Table
    from mercer.kernels.tables import table_kernel as table_kernel

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "algebra": "Normalized Product Scaled Sum",
        "base": "Kernel as_kernel",
        "categories": "Categorical Hamming",
        "checks": "check_kernel",
        "columns": "On",
        "dot": "Cosine Linear Polynomial Sigmoid",
        "functions": "FunctionKernel Precomputed",
        "neighbors": "Neighbors SelfTuning",
        "objects": "Graph Jaccard MinMax NGram",
        "stationary": "Epanechnikov Gaussian Laplacian Matern Stationary",
        "tables": "Table table_kernel",
    },
)
