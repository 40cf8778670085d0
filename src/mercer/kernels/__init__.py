"""Kernels, sums and products of kernels, and a test of the kernel interface."""

from __future__ import annotations

from mercer.kernels.algebra import Product, Scaled, Sum
from mercer.kernels.base import KERNEL_NAMES, Kernel, as_kernel
from mercer.kernels.categories import Categorical, Hamming
from mercer.kernels.checks import check_kernel
from mercer.kernels.columns import On
from mercer.kernels.dot import Cosine, Linear, Polynomial, Sigmoid
from mercer.kernels.functions import FunctionKernel
from mercer.kernels.graph import Graph
from mercer.kernels.matern import Matern
from mercer.kernels.neighbors import Neighbors, SelfTuning
from mercer.kernels.ngram import NGram
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.sets import Jaccard, MinMax
from mercer.kernels.stationary import Epanechnikov, Gaussian, Laplacian, Stationary
from mercer.kernels.tables import table_kernel

__all__ = [
    "Categorical",
    "Cosine",
    "Epanechnikov",
    "FunctionKernel",
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
    "Neighbors",
    "On",
    "Polynomial",
    "Precomputed",
    "Product",
    "Scaled",
    "SelfTuning",
    "Sigmoid",
    "Stationary",
    "Sum",
    "as_kernel",
    "check_kernel",
    "table_kernel",
]

KERNEL_NAMES.update(
    gaussian=Gaussian,
    rbf=Gaussian,
    laplacian=Laplacian,
    polynomial=Polynomial,
    linear=Linear,
    sigmoid=Sigmoid,
    cosine=Cosine,
    precomputed=Precomputed,
)
