"""Stacked density estimation: a convex combination of several estimators."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp, ndtr
from sklearn.base import BaseEstimator, clone
from sklearn.mixture import GaussianMixture
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data
from threadpoolctl import threadpool_limits

from mercer.bandwidth.adaptive_density import random_folds
from mercer.bandwidth.likelihood import is_extreme
from mercer.data.points import require_memory, validate_points, validate_weights
from mercer.data.subsampling import distinct_rows, thin_rows
from mercer.density.base import Density
from mercer.density.mixture_weights import stacking_weights
from mercer.density.parzen_density import ParzenDensity
from mercer.errors import suppress_warnings
from mercer.utils.estimators import all_or_nothing
from mercer.utils.resources import single_threaded_blas
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = ["StackedDensity"]

Members = Sequence[tuple[str, Any]]
_MIN_ROWS = 3
_MAX_POINTS = 100_000


class SelectedGaussianMixture(Density, BaseEstimator):  # type: ignore[misc]
    """scikit-learn's Gaussian mixture with the number of components chosen by BIC.

    Columns are standardized first, so that scikit-learn's regularization does not depend on units.
    The default member "mixture" of :class:`StackedDensity`; not public.
    """

    def __init__(
        self, max_components: int = 8, random_state: Any = 0, *, min_components: int = 1
    ) -> None:
        self.max_components = max_components
        self.random_state = random_state
        self.min_components = min_components

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit mixtures with ``min_components`` to ``max_components`` components and select one."""
        check_integer(self.min_components, "min_components")
        check_integer(self.max_components, "max_components", low=self.min_components)
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        X = X[~is_extreme(X, np.ones(len(X)))]
        self._center, self._scale = X.mean(axis=0), _deviations(X)
        Z = (X - self._center) / self._scale
        # with fewer rows BIC chooses singular covariances
        most = max(1, min(self.max_components, len(X) // (5 * X.shape[1])))
        counts = range(min(self.min_components, most), most + 1)
        # few columns: threads would wait for each other more than they compute
        with single_threaded_blas(), threadpool_limits(1, user_api="openmp"):
            fits = [
                GaussianMixture(k, n_init=2, random_state=self.random_state).fit(Z) for k in counts
            ]
        self.mixture_ = min(fits, key=lambda fitted: fitted.bic(Z))
        self.n_components_ = self.mixture_.n_components
        return self

    def with_chosen_parameters(self) -> SelectedGaussianMixture:
        """Return an estimator with the number of components that this one has chosen."""
        chosen = self.n_components_
        return SelectedGaussianMixture(chosen, self.random_state, min_components=chosen)

    def score_samples(self, X: Any) -> Array:
        """Return the log density at every row of X."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        with np.errstate(over="ignore"):  # far rows have the log density -inf
            logs = self.mixture_.score_samples((X - self._center) / self._scale)
        return np.asarray(logs - np.log(self._scale).sum())

    def _has_cdf(self) -> bool:
        return True

    def cdf(self, X: Any) -> Array:
        """Return the distribution function of a mixture of one column."""
        self._check_one_column("cdf")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        deviations = np.sqrt(self.mixture_.covariances_[:, 0, 0])
        Z = (X - self._center) / self._scale
        return np.asarray(
            ndtr((Z - self.mixture_.means_[:, 0]) / deviations) @ self.mixture_.weights_
        )

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw from the mixture."""
        check_is_fitted(self)
        mixture = deepcopy(self.mixture_).set_params(random_state=random_state)
        drawn = mixture.sample(n_samples)[0]
        shuffled = check_random_state(random_state).permutation(n_samples)
        return np.asarray(drawn[shuffled] * self._scale + self._center)


class StackedDensity(Density, BaseEstimator):  # type: ignore[misc]
    r"""Convex combination of density estimators, weighted by cross-validated likelihood.

    .. math:: \hat p(x) = \sum_m a_m\, \hat p_m(x)

    The weights :math:`a_m` maximize :math:`\sum_i w_i \log \sum_m a_m\, \hat p_m^{(-i)}(x_i)`,
    where :math:`\hat p_m^{(-i)}` is fitted without the fold of row i, with the bandwidths or the
    number of components chosen on all rows. The problem is concave and has few parameters. In the
    long run the combination is at least as good as its best member.

    Parameters
    ----------
    members : sequence of (name, estimator) or None
        Estimators with ``fit`` and ``score_samples`` (log densities), such as those of this library
        or scikit-learn's ``GaussianMixture`` and ``KernelDensity``. None for "parzen", "adaptive"
        and "shape" (:class:`ParzenDensity` with fixed bandwidth, bandwidths per point and bandwidth
        matrices per point) and "mixture" (scikit-learn's ``GaussianMixture`` of standardized
        columns, with the number of components chosen by BIC).
    n_folds : int
    max_rows : int
        With more distinct rows than this, the weights are chosen on that many representative rows,
        which are held out once instead of in folds. Of more than 100,000 distinct rows, 100,000
        representative ones are used.

    Attributes
    ----------
    members_ : dict of str to estimator
        The fitted members.
    weights_ : array
        Their weights a_m in the same order, which sum to 1.
    cross_validated_scores_ : dict of str to float
        Mean held-out log density of each member, and of the "stacked" density with the chosen
        weights (which is slightly optimistic).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import StackedDensity
    >>> X = np.random.default_rng(0).normal(size=(150, 2))
    >>> density = StackedDensity().fit(X)
    >>> dict(zip(density.members_, density.weights_.round(2).tolist()))
    {'parzen': ..., 'adaptive': ..., 'shape': ..., 'mixture': ...}
    """

    def __init__(
        self, members: Members | None = None, *, n_folds: int = 5, max_rows: int = 1000
    ) -> None:
        self.members = members
        self.n_folds = n_folds
        self.max_rows = max_rows

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the weights by cross-validation and fit the members.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,) or None
            The default member "mixture" does not support weights and is then omitted.
        """
        check_integer(self.n_folds, "n_folds", low=2)
        check_integer(self.max_rows, "max_rows", low=10)
        require_memory(X, "StackedDensity.fit")
        X = validate_points(X, "vectors", estimator=self).data.astype(np.float64)
        weights = validate_weights(sample_weight, len(X))
        members = self._members(weighted=weights is not None)
        counts = np.ones(len(X)) if weights is None else weights
        used = counts > 0
        rows, masses = distinct_rows(X[used], counts[used])
        if len(rows) > _MAX_POINTS:
            some, masses = thin_rows(masses, _MAX_POINTS, grouped=False)
            rows = rows[some]
            chosen = X[used][rows]
            X, weights = _with_copies(chosen, masses, weights is not None)
        else:
            chosen = X[used][rows]  # in lexicographic order
        if len(chosen) < _MIN_ROWS:
            raise ValueError(
                f"X has {len(chosen)} distinct rows (n_samples={len(X)}); cross-validation needs "
                f"at least {_MIN_ROWS}."
            )
        self.members_ = {name: _fit(clone(member), X, weights) for name, member in members}
        logs, masses = self._held_out_logs(chosen, masses, weights is not None)
        self.weights_ = stacking_weights(logs, masses)
        masses = masses / masses.sum()
        scores = dict(zip(self.members_, (masses @ logs).tolist(), strict=True))
        scores["stacked"] = float(masses @ logsumexp(logs, b=self.weights_, axis=1))
        self.cross_validated_scores_ = scores
        return self

    def _members(self, weighted: bool) -> Members:
        if self.members is None:
            found: list[tuple[str, Any]] = [
                ("parzen", ParzenDensity()),
                ("adaptive", ParzenDensity(adaptive=True)),
                ("shape", ParzenDensity(adaptive="shape")),
            ]
            return found if weighted else [*found, ("mixture", SelectedGaussianMixture())]
        names = [name for name, _ in self.members]
        if not names or len(set(names)) < len(names):
            raise ValueError(
                f"members={names!r} must be at least one pair of a unique name and an estimator."
            )
        for name, member in self.members:
            if weighted and not has_fit_parameter(member, "sample_weight"):
                raise ValueError(
                    f"The member {name!r} does not support sample_weight. Omit the member or the "
                    "weights."
                )
        return self.members

    def _held_out_logs(self, X: Array, masses: Array, weighted: bool) -> tuple[Array, Array]:
        """Return log densities of held-out rows, and the weights of these rows.

        X: distinct rows. Each is in one of several folds or, if there are many rows, some
        representative rows are held out once.
        """
        if len(X) <= self.max_rows:
            fold = random_folds(len(X), self.n_folds)  # fewer folds if there are fewer rows
            tests = [np.flatnonzero(fold == k) for k in range(fold.max() + 1)]
            represented = [masses[rows] for rows in tests]
        else:
            rows, copies = thin_rows(masses, self.max_rows, grouped=False)
            tests, represented = [rows], [copies]
        logs = []
        for rows in tests:
            train = np.delete(np.arange(len(X)), rows)
            some = _with_copies(X[train], masses[train], weighted)
            columns = []
            for member in self.members_.values():
                with suppress_warnings():  # already issued by the fit to all rows
                    again = _fit(chosen_parameters(member), *some)
                with np.errstate(over="ignore"):  # far rows have the log density -inf
                    columns.append(again.score_samples(X[rows]))
            logs.append(np.column_stack(columns))
        return np.concatenate(logs), np.concatenate(represented)

    def score_samples(self, X: Any) -> Array:
        """Return the log density at every row of X."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        with np.errstate(over="ignore"):  # far rows have the log density -inf
            logs = [
                np.log(weight) + member.score_samples(X)
                for weight, member in zip(self.weights_, self.members_.values(), strict=True)
                if weight > 0
            ]
        return np.asarray(logsumexp(logs, axis=0))

    def _has_cdf(self) -> bool:
        members = self.members_.values()
        return all(isinstance(m, Density) and m._distribution().has_cdf for m in members)

    def cdf(self, X: Any) -> Array:
        """Return the distribution function, if all members have one.

        Parameters
        ----------
        X : array-like of shape (m, d)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        for name, member in self.members_.items():
            if not hasattr(member, "cdf"):
                raise ValueError(f"The member {name!r} has no cdf. Use members of this library.")
        values = [member.cdf(X) for member in self.members_.values()]
        return np.asarray(self.weights_ @ np.array(values))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw from the density: a member by weight, then a row from it."""
        check_is_fitted(self)
        rng = check_random_state(random_state)
        counts = rng.multinomial(n_samples, self.weights_)
        parts = [
            _draw(member, int(count), int(rng.randint(2**31)))
            for member, count in zip(self.members_.values(), counts, strict=True)
            if count
        ]
        return np.concatenate(parts)[rng.permutation(n_samples)]


def chosen_parameters(fitted: Any) -> Any:
    """Return an estimator with the parameters that a fit has chosen, if it offers that."""
    if hasattr(fitted, "with_chosen_parameters"):
        return fitted.with_chosen_parameters()
    return clone(fitted)


def _deviations(X: Array) -> Array:
    """Return the standard deviations of the columns, 1 for constant ones, without overflow."""
    extent = np.abs(X).max(axis=0)
    scaled = (X / np.where(extent > 0, extent, 1.0)).std(axis=0) * extent
    return np.where(scaled > 0, scaled, 1.0)


def _with_copies(X: Array, masses: Array, weighted: bool) -> tuple[Array, Array | None]:
    """Return rows and weights, or copies of rows, because members need not support weights."""
    return (X, masses) if weighted else (np.repeat(X, masses.astype(int), axis=0), None)


def _fit(member: Any, X: Array, weights: Array | None) -> Any:
    return member.fit(X) if weights is None else member.fit(X, sample_weight=weights)


def _draw(member: Any, count: int, seed: int) -> Array:
    """Draw from a density of this library or of scikit-learn, whose signatures differ."""
    if isinstance(member, GaussianMixture):
        return np.asarray(deepcopy(member).set_params(random_state=seed).sample(count)[0])
    return np.asarray(member.sample(count, random_state=seed))
