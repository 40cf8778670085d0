"""Novelty detection by the density of a Gaussian mixture in feature space."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import logsumexp

from mercer.data.points import Sample
from mercer.data.rowwise import rowwise
from mercer.eigen import Auto
from mercer.errors import ApproximationWarning, suppress_warnings
from mercer.kernels import Kernel
from mercer.mixture.base import KernelMixture
from mercer.novelty.base import NoveltyDetector
from mercer.utils.estimators import all_or_nothing
from mercer.utils.types import Array
from mercer.utils.validation import check_real, round_down

__all__ = ["MercerNovelty"]

_ROUNDING = 1e-9  # relative rounding error of scores
_MAX_DEFAULT_RANK = 100
_AUTO = Auto(exact_up_to=20_000, n_landmarks=200)  # only the span of the coordinates matters


class MercerNovelty(NoveltyDetector, KernelMixture):
    r"""Detect outliers by a low density of a Gaussian mixture in feature space.

    The score is that of :class:`MercerMixture` without a domain: it combines the Mahalanobis
    distance within the coordinates and the distance from their span (T² and SPE of process
    monitoring). It works for any data with a kernel: tables with labels and missing values,
    strings, graphs.

    Parameters
    ----------
    n_components : int
    kernel : str or Kernel
        The bandwidth "auto" is Silverman's rule for at most three columns, and the median distance
        divided by √2 for more.
    alpha : float, "auto" or "scaled"
        0.075 n, or 0.075 n times the mean variance of the coordinates.
    beta : float
    contamination : float in (0, 0.5]
        Fraction of the training rows below the threshold.
    center : bool
    rank : int, float or None
        Number of coordinates. None: a tenth of the sample size (of the number of rows without
        weights), at most 100. With all coordinates the training rows, unlike new ones, would be
        within their span, and the threshold would be too high for new rows.
    solver : str or solver
        "auto" uses 200 landmarks for more than 20,000 rows in memory, unless ``rank`` is given or
        the kernel has few exact or Fourier features.
    n_init, max_iter, tol, random_state
        As in :class:`MercerMixture`.

    Attributes
    ----------
    offset_ : float
        The threshold: ``decision_function(X) = score_samples(X) - offset_``.
    mixture_, weights_, responsibilities_, lower_bounds_, alpha_, rank_, spectrum_, kernel_
        As in :class:`MercerMixture`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MercerNovelty
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> MercerNovelty(contamination=0.05).fit(X).predict([[0.0, 0.0], [5.0, 5.0]])
    array([ 1, -1])
    """

    _alpha_rules: ClassVar[tuple[str, ...]] = ("auto", "scaled")

    def __init__(
        self,
        n_components: int = 1,
        *,
        kernel: str | Kernel = "gaussian",
        alpha: float | str = "auto",
        beta: float = 1.0,
        contamination: float = 0.1,
        center: bool = False,
        rank: int | float | None = None,
        solver: Any = "auto",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-6,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            n_components,
            kernel=kernel,
            alpha=alpha,
            beta=beta,
            center=center,
            rank=rank,
            solver=solver,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
        )
        self.contamination = contamination

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the mixture and set the threshold.

        Parameters
        ----------
        X : array-like of shape (n, d), Dask array or data frame, or data that the kernel compares
        y : ignored
        sample_weight : array-like of shape (n,) or None
        """
        contamination = check_real(self.contamination, "contamination", above=0, high=0.5)
        sample = self._validate_training(X, sample_weight)
        self._check_parameters(sample.points.n)
        is_default = self.solver == "auto" and self.rank is None
        # The score is exact for the coordinates of the landmarks, and the threshold is that of the
        # training rows, so the missing part of the trace matters to neither.
        with suppress_warnings(ApproximationWarning) if is_default else nullcontext():
            Z = self._fit_coordinates(sample, _default_rank(sample), _AUTO if is_default else None)
        alpha = self._alpha_by_rule(Z, sample)
        assert alpha is not None, "alpha is a number or one of _alpha_rules"
        residuals = self._training_residuals(Z, sample.passes)
        self._fit_em(Z, sample, alpha, residuals)
        scores = self._training_scores(Z, residuals, sample.passes)
        quantile = sample.passes.quantile(scores, sample.multiplicities, contamination)
        # the margin prevents rounding errors from turning the row at the quantile into an outlier
        self.offset_ = quantile - _ROUNDING * max(1.0, abs(quantile))
        return self

    @rowwise
    def score_samples(self, X: Any) -> Array:
        """Return the logarithm of the induced density, not normalized: low for outliers."""
        return np.asarray(logsumexp(self._log_joint(self._validate_new(X)), axis=1))


def _default_rank(sample: Sample) -> int:
    """Return a tenth of the sample size."""
    largest = min(_MAX_DEFAULT_RANK, sample.points.n)
    return max(1, round_down(sample.sample_size / 10, largest))
