r"""Conditional use of one joint fit: classification and regression (Macready 2003, section 5).

Dictionary: z kernel coordinates of x, t coordinates of y. A mixture of Gaussians is fitted to
(z, t), that is, in the feature space of the sum kernel :math:`k(x, x') + k_y(y, y')`, and
conditioned on z.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from mercer.estimators.atomic_fit import all_or_nothing
from mercer.estimators.mixture_base import KernelMixture, best_alpha
from mercer.estimators.targets import class_labels, numeric_targets, several_classes
from mercer.maths.conditional_mixture import (
    Conditional,
    condition,
    held_out_class_likelihood,
    held_out_likelihood,
)
from mercer.maths.types import Array
from mercer.operators import Sample

__all__ = ["JointMixtureClassifier", "JointMixtureRegressor"]

_LOWEST, _HIGHEST = 1e-5, 1.0  # of n: where the best α is sought
_FEW_ROWS = 0.01  # of n, where there are too few rows to leave one out


class _JointMixture(KernelMixture):
    """A mixture of (x, y)."""

    _alpha_rules: ClassVar[str] = "or 'auto' (leave-one-out)"
    _most: ClassVar[int] = 300

    def _admit_both(self, X: Any, sample_weight: Any) -> tuple[Sample, Array]:
        """The sample, and which rows of X are in it."""
        sample, used = self._admit_with_rows(X, sample_weight)
        self._check_parameters(sample.points.n)
        if isinstance(self.alpha, str) and self.alpha != "auto":
            raise self._unknown_alpha()
        return sample, used

    def _fit_joint(self, sample: Sample, T: Array) -> Self:
        """Fit to kernel coordinates of x and the given ones of y."""
        Z, weights = self._coordinates(sample), sample.counts
        joined, total = np.hstack([Z, T]), float(weights.sum())
        residuals = self._left_out(Z)

        def likelihood(alpha: float) -> float:
            run = self._run(joined, weights, alpha)
            return self._held_out(Z, T, residuals, weights, run.responsibilities, alpha)

        if not isinstance(self.alpha, str):
            alpha = float(self.alpha)
        elif len(Z) < 3 or total <= 1:
            alpha = _FEW_ROWS * total
        else:
            alpha = best_alpha(likelihood, _LOWEST * total, _HIGHEST * total)
        self._keep(self._run(joined, weights, alpha), weights, alpha)
        return self

    @abstractmethod
    def _held_out(
        self,
        Z: Array,
        T: Array,
        residuals: Array,
        weights: Array,
        responsibilities: Array,
        alpha: float,
    ) -> float:
        """Mean log-likelihood of y given x with each row left out."""

    def _given(self, X: Any) -> Conditional:
        points = self._admit_new(X)
        return condition(self.mixture_, *self._seen(points))


class JointMixtureClassifier(ClassifierMixin, _JointMixture):  # type: ignore[misc]
    r"""Classification from one Gaussian mixture of points and classes.

    A class is a corner :math:`t_c` of a simplex (the features of the kernel that is 1 for equal and
    0 for different classes). The mixture is fitted to kernel coordinates and corners together, and

    .. math:: P(c \mid x) = \sum_m p(m \mid x)\,
              \frac{p_m(t_c \mid z)}{\sum_{c'} p_m(t_{c'} \mid z)}.

    Parameters
    ----------
    n_components : int
        Gaussians; one already bends with the kernel.
    kernel : str or Kernel
        On X: vectors, tables, strings, graphs, ….
    alpha : float or "auto"
        α of the prior. "auto" maximises the likelihood of left-out rows' classes (exactly for one
        component, with the responsibilities of all rows for more).
    beta : float
    center : bool
    rank : int, float or None
        Kernel coordinates to keep; None: all, 300 at most.
    solver : str or solver
    n_init, max_iter, tol, random_state
        As in :class:`MercerMixture`.

    Attributes
    ----------
    classes_ : array
    mixture_, weights_, responsibilities_, lower_bounds_, alpha_, rank_, spectrum_, kernel_
        As in :class:`MercerMixture`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import JointMixtureClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(JointMixtureClassifier().fit(X, y).score(X, y) > 0.95)
    True
    """

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the mixture of X and y.

        Parameters
        ----------
        X : array-like of shape (n, d), or what the kernel compares
        y : array-like of shape (n,)
            Labels of any kind.
        sample_weight : array-like of shape (n,) or None
        """
        self._refuse_chunks(X)
        sample, there = self._admit_both(X, sample_weight)
        self.classes_, codes = several_classes(class_labels(y, len(there))[there])
        return self._fit_joint(sample, self._corners()[codes])

    def _corners(self) -> Array:
        return np.eye(len(self.classes_))

    def _held_out(
        self,
        Z: Array,
        T: Array,
        residuals: Array,
        weights: Array,
        responsibilities: Array,
        alpha: float,
    ) -> float:
        codes = T.argmax(axis=1)
        corners = self._corners()
        return held_out_class_likelihood(
            Z, codes, corners, residuals, weights, responsibilities, alpha, self.beta
        )

    def _log_probabilities(self, X: Any) -> Array:
        given = self._given(X)
        return given.log_choice(self._corners())

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, of shape (m, n_classes)."""
        return np.asarray(np.exp(self._log_probabilities(X)))

    def predict(self, X: Any) -> Array:
        """Most likely classes."""
        winners = np.argmax(self._log_probabilities(X), axis=1)
        return self.classes_[winners]


class JointMixtureRegressor(RegressorMixin, _JointMixture):  # type: ignore[misc]
    r"""Regression from one Gaussian mixture of points and values.

    The mixture is fitted to kernel coordinates and standardised values together. Given x, y follows
    a mixture of Gaussians, :math:`p(y \mid x) = \sum_m p(m \mid x)\, N(y; m_m(x), s_m^2)`, whose
    mean is predicted. One component is kernel ridge regression with penalty α and an error bar.

    Parameters
    ----------
    n_components : int
        More than one lets y given x have several peaks.
    kernel : str or Kernel
        On X: vectors, tables, strings, graphs, ….
    alpha : float or "auto"
        α of the prior. "auto" maximises the likelihood of left-out rows' values (exactly for one
        component, with the responsibilities of all rows for more).
    beta : float
    center : bool
    rank : int, float or None
        Kernel coordinates to keep; None: all, 300 at most.
    solver : str or solver
    n_init, max_iter, tol, random_state
        As in :class:`MercerMixture`.

    Attributes
    ----------
    mixture_, weights_, responsibilities_, lower_bounds_, alpha_, rank_, spectrum_, kernel_
        As in :class:`MercerMixture`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import JointMixtureRegressor
    >>> X = np.random.default_rng(0).uniform(0, 6, size=(100, 1))
    >>> y = np.sin(X[:, 0])
    >>> bool(JointMixtureRegressor().fit(X, y).score(X, y) > 0.99)
    True
    """

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the mixture of X and y.

        Parameters
        ----------
        X : array-like of shape (n, d), or what the kernel compares
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : array-like of shape (n,) or None
        """
        self._refuse_chunks(X)
        sample, there = self._admit_both(X, sample_weight)
        targets = numeric_targets(y, len(there))
        self._is_vector = targets.ndim == 1
        columns = targets.reshape(len(targets), -1)[there]
        self._location = np.average(columns, axis=0, weights=sample.weights)
        spread = np.average((columns - self._location) ** 2, axis=0, weights=sample.weights)
        self._scale = np.where(spread > 0, np.sqrt(spread), 1.0)
        return self._fit_joint(sample, (columns - self._location) / self._scale)

    def _held_out(
        self,
        Z: Array,
        T: Array,
        residuals: Array,
        weights: Array,
        responsibilities: Array,
        alpha: float,
    ) -> float:
        return held_out_likelihood(Z, T, residuals, weights, responsibilities, alpha, self.beta)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Means of y given x, of the shape of y; with ``return_std`` standard deviations too."""
        given = self._given(X)
        means = self._location + self._scale * given.mean()
        if not return_std:
            return self._shaped(means)
        return self._shaped(means), self._shaped(self._scale * np.sqrt(given.variance()))

    def log_density(self, X: Any, y: Any) -> Array:
        """``log p(y_i | x_i)`` of shape (m,): proper, without any domain."""
        given = self._given(X)
        targets = numeric_targets(y, len(given.means))
        columns = targets.reshape(len(targets), -1)
        if columns.shape[1] != len(self._scale):
            raise ValueError(
                f"y has {columns.shape[1]} columns, and the fit had {len(self._scale)}."
            )
        logs = given.log_density((columns - self._location) / self._scale)
        return np.asarray(logs - np.log(self._scale).sum())

    def _shaped(self, values: Array) -> Array:
        return values[:, 0] if self._is_vector else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
