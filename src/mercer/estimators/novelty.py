"""Novelty detection by the density of a mixture in feature space."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import OutlierMixin

from mercer.chunked import quantile_of
from mercer.estimators.atomic_fit import all_or_nothing
from mercer.estimators.dask_methods import rowwise
from mercer.estimators.mixture_base import KernelMixture, ruled_alpha
from mercer.kernels import Kernel
from mercer.maths.types import Array
from mercer.operators import Sample

__all__ = ["MercerNovelty"]

_ROUNDING = 1e-9


class MercerNovelty(OutlierMixin, KernelMixture):  # type: ignore[misc]
    r"""Outliers are where a Gaussian mixture in feature space has a low density.

    The score is that of :class:`MercerMixture` without a domain: Mahalanobis distance within the
    kept coordinates together with the part of a point outside of them (T² and SPE of process
    monitoring), each in units of what the fit expects. It works for whatever has a kernel: tables
    with labels and missing cells, strings, graphs.

    Parameters
    ----------
    n_components : int
    kernel : str or Kernel
    alpha : float, "auto" or "scaled"
        0.075 n, or that times the mean variance of the kept coordinates.
    beta : float
    contamination : float in (0, 0.5]
        Share of the training rows that the threshold calls outliers.
    center : bool
    rank : int, float or None
        Coordinates to keep. None: a tenth of the number of rows, 100 at most. With all of them
        training rows would have nothing outside, unlike new ones, and the threshold would be too
        high for these.
    solver : str or solver
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

    _alpha_rules: ClassVar[str] = "'auto' (0.075 n) or 'scaled'"

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
        """Fit the mixture, and set the threshold.

        Parameters
        ----------
        X : array-like of shape (n, d), Dask array or data frame, or what the kernel compares
        y : ignored
        sample_weight : array-like of shape (n,) or None
        """
        share = self.contamination
        if not (isinstance(share, float | int | np.number) and 0 < share <= 0.5):
            raise ValueError(
                f"contamination={share!r} must lie in (0, 0.5]: it is the share of training rows "
                "to call outliers."
            )
        sample = self._validate_training(X, sample_weight)
        self._check_parameters(sample.points.n)
        Z, weights = self._coordinates(sample), sample.counts
        if not isinstance(self.alpha, str):
            alpha: float | None = float(self.alpha)
        else:
            alpha = ruled_alpha(self.alpha, Z, weights)
        if alpha is None:
            raise self._unknown_alpha()
        self._keep(self._run(Z, weights, alpha), weights, alpha)
        scores = self._training_scores(Z)
        quantile = quantile_of(scores, weights, float(share))
        # a training row that the quantile falls on is usual, whatever rounding says
        self.offset_ = quantile - _ROUNDING * max(1.0, abs(quantile))
        return self

    def _wanted(self, sample: Sample) -> int | float | None:
        if self.rank is not None:
            return super()._wanted(sample)
        tenth = int(sample.points.total(sample.weights)) // 10
        return min(max(tenth, 1), 100, sample.points.n)

    @rowwise
    def score_samples(self, X: Any) -> Array:
        """Logarithm of the induced density, not normalised: low for outliers."""
        return np.asarray(logsumexp(self._log_joint(self._admit_new(X)), axis=1))

    @rowwise
    def decision_function(self, X: Any) -> Array:
        """``score_samples(X) - offset_``: negative for outliers."""
        return self.score_samples(X) - self.offset_

    @rowwise
    def predict(self, X: Any) -> Array:
        """1 for usual points, -1 for outliers."""
        return np.where(self.decision_function(X) >= 0, 1, -1)
