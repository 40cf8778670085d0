"""Operators for sums over K, such as the information potential and Parzen densities."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.eigen.fourier import Fourier
from mercer.eigen.lanczos import Lanczos
from mercer.eigen.nystrom import Nystrom
from mercer.eigen.plan import (
    Auto,
    FiniteFeatures,
    as_solver,
    has_few_features,
    summing_grid,
    sums_by_boxes,
)
from mercer.gram import FourierGram, FrequencyGrid, GramOperator, Sample, WindowSum
from mercer.utils.types import Array

__all__ = ["mean_window", "summing_gram"]


def summing_gram(sample: Sample, box: tuple[Array, Array] | None = None) -> GramOperator:
    """Return the cheapest operator for sums over K: features, a frequency grid, or one product.

    With a ``box`` the frequency grid covers the points of several samples.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data.points import Points
    >>> from mercer.kernels import Gaussian
    >>> from mercer.gram import Sample
    >>> from mercer.eigen import summing_gram
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> gram = summing_gram(Sample(Gaussian(1.0), Points(X)))
    >>> bool(np.isclose(gram.potential, Gaussian(1.0)(X).mean()))
    True
    """
    if has_few_features(sample):
        return FiniteFeatures().gram(sample)
    grid = summing_grid(sample, box)
    if grid is not None:
        return FourierGram(sample.kernel, sample.points, sample.weights, grid, only_mean=True)
    return Lanczos(stored=False).gram(sample)


def mean_window(sample: Sample, solver: Any = "auto") -> WindowSum:
    """Return the weighted mean of k(·, x_j), for evaluation anywhere.

    It is evaluated on a frequency grid if the solver is ``Fourier``, or if it is "auto" and the
    grid is cheaper. With "auto", many sums of a Gaussian kernel in four or more dimensions skip
    negligible points, with a relative error of at most 1e-6. All other sums are over all pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data.points import Points
    >>> from mercer.kernels import Gaussian
    >>> from mercer.gram import Sample
    >>> from mercer.eigen import mean_window
    >>> window = mean_window(Sample(Gaussian(1.0), Points(np.array([[0.0], [2.0]]))))
    >>> window.values(Points(np.array([[1.0]]))).round(4)
    array([0.6065])
    """
    chosen = as_solver(solver)
    if isinstance(chosen, Nystrom):
        raise ValueError(
            f"solver={solver!r} cannot evaluate a density: with landmarks it can be "
            "negative. Use 'auto', 'fourier' (Gaussian, at most 3 columns) or 'lanczos' (exact)."
        )
    grid: FrequencyGrid | None = None
    if isinstance(chosen, Fourier):
        full = chosen.gram(sample)
        assert isinstance(full, FourierGram)
        grid = full.grid
    elif isinstance(chosen, Auto):
        grid = summing_grid(sample)
    kernel, points, weights = sample.kernel, sample.points, sample.weights
    if grid is None:
        boxes = isinstance(chosen, Auto) and sums_by_boxes(sample)
        return WindowSum(kernel, points, sample.normalized_weights, boxes=boxes)
    gram = FourierGram(kernel, points, weights, grid, only_mean=True)
    mean = gram.expansion(np.ones(1), gram.mean_vector[:, None])
    return WindowSum(kernel, points, sample.normalized_weights, mean)
