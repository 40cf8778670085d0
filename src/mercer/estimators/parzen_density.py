"""Parzen window densities, with equal, given or learned weights."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils import check_random_state

from mercer.chunks import is_dask
from mercer.estimators.atomic_fit import all_or_nothing
from mercer.estimators.density_base import KernelDensityEstimator
from mercer.kernels import Kernel
from mercer.maths.mixture_weights import mixture_weights
from mercer.maths.types import Array
from mercer.operators import Sample
from mercer.operators.tiled import cross_gram
from mercer.solvers import Lanczos, mean_window

__all__ = ["ParzenDensity"]


class ParzenDensity(KernelDensityEstimator):
    r"""Parzen's window estimate of a density.

    .. math:: \hat p(x) = \sum_j a_j\, k(x, x_j) / c, \qquad c = \int k(x, 0)\,dx

    with weights :math:`a_j = w_j / \sum_i w_i`, or with those of greatest likelihood. Log densities
    are right in the deepest tails: nothing underflows.

    Parameters
    ----------
    kernel : str or Kernel
        A density window: Gaussian, Laplacian, Matern, Epanechnikov or a sum of them, with one
        bandwidth, one per column, or the name of a rule (such as "leave-one-out").
    weights : None or "learned"
        With "learned" the weights :math:`a` maximise the likelihood of the sample,
        :math:`\sum_i w_i \log \hat p(x_i)`, on the simplex (Girolami 2002, footnote 2). Most of
        them come out 0, and only the others' points are kept. The bandwidth is fixed before, so
        this is a concave problem with one optimum.
    solver : str or solver
        "auto" uses plane waves for a Gaussian of many points in at most three dimensions and exact
        sums elsewhere; "fourier" and "lanczos" (exact) insist.

    Attributes
    ----------
    kernel_ : Kernel
        With its numbers.
    support_ : array of int
        Rows of X whose windows make up the density; None for a Dask collection: all that weigh
        something.
    weights_ : array
        Their weights a_j, which add up to 1.
    likelihood_gap_ : float
        How much mean log-likelihood of the sample other weights could still gain, at most; nan
        where weights are not learned.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ParzenDensity
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[-1.0], [1.0]])
    >>> density = ParzenDensity(kernel=Gaussian(0.5)).fit(X)
    >>> density.pdf([[0.0]]).round(4)
    array([0.108])
    >>> density.score_samples([[100.0]]).round(1)
    array([-19602.9])
    """

    def __init__(
        self,
        *,
        kernel: str | Kernel = "gaussian",
        weights: Literal["learned"] | None = None,
        solver: Any = "auto",
    ) -> None:
        self.kernel = kernel
        self.weights = weights
        self.solver = solver

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Place a window on every row.

        Parameters
        ----------
        X : array-like of shape (n, d), Dask array or data frame
        y : ignored
        sample_weight : array-like of shape (n,) or None
            How often each row counts.
        """
        if self.weights not in (None, "learned"):
            raise ValueError(
                f"weights={self.weights!r} must be None or 'learned'; weights of your own go to "
                "fit as sample_weight."
            )
        sample = self._admit_window(X, sample_weight)
        rows: Any = None if is_dask(X) else np.arange(sample.points.n)
        self.likelihood_gap_ = float("nan")
        if self.weights == "learned":
            sample, rows, self.likelihood_gap_ = _of_greatest_likelihood(sample)
        self._sum = mean_window(sample, self.solver)
        self.weights_ = self._sum.coefficients
        given = sample_weight is not None and rows is not None
        self.support_ = _positive(sample_weight)[rows] if given else rows
        return self

    _stays_behind: ClassVar[tuple[str, ...]] = ("_sum", "weights_", "support_")

    def score_samples(self, X: Any) -> Array:
        """Logarithm of the density at every row of X.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        array of shape (m,)
            -inf only where a window of finite reach has its end.
        """
        points = self._admit_new(X)
        _, logs = self._sum.signed_log(points)
        return logs - self._log_normalizer

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw from the density: a training point by its weight, and a step from its window.

        Parameters
        ----------
        n_samples : int
        random_state : int, RandomState or None

        Returns
        -------
        array of shape (n_samples, d)
        """
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        chosen = self._sum.points.draw(self.weights_, n_samples, rng)
        return np.asarray(chosen + self.kernel_.draw(n_samples, chosen.shape[1], rng))


def _of_greatest_likelihood(sample: Sample) -> tuple[Sample, Array, float]:
    """The reduced sample with learned weights, its row numbers, and the gap to the optimum."""
    kernel, points = sample.kernel, sample.points
    gram = Lanczos().gram(Sample(kernel, points))
    found = mixture_weights(
        lambda rows: cross_gram(kernel, points, points.take(rows)).astype(np.float64),
        gram.__matmul__,
        sample.shares,
    )
    return Sample(kernel, points.take(found.support), found.weights), found.support, found.gap


def _positive(sample_weight: Any) -> Array:
    """Rows that weigh something."""
    return np.flatnonzero(np.asarray(sample_weight) > 0)
