"""Operators for sums over K, such as the information potential."""

from __future__ import annotations

from mercer.eigen.lanczos import Lanczos
from mercer.eigen.plan import FiniteFeatures, has_few_features, summing_grid
from mercer.gram import FourierGram, GramOperator, Sample
from mercer.utils.types import Array

__all__ = ["summing_gram"]


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
