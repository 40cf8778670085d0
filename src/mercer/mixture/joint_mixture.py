r"""Classification and regression with a mixture of inputs and targets (Macready 2003, section 5).

Notation: z kernel coordinates of x, t coordinates of y. A mixture of Gaussians is fitted to
(z, t), that is, in the feature space of the sum kernel :math:`k(x, x') + k_y(y, y')`, and
conditioned on z.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from mercer.data.points import Sample
from mercer.mixture.base import KernelMixture, maximize_alpha
from mercer.mixture.conditional_mixture import (
    held_out_class_likelihood,
    held_out_likelihood,
)
from mercer.mixture.gaussian_mixture import leave_each_out
from mercer.utils.estimators import all_or_nothing
from mercer.utils.targets import TargetScale, class_labels, encode_classes, numeric_targets
from mercer.utils.types import Array

__all__ = ["JointMixtureClassifier", "JointMixtureRegressor"]


def _fit_joint(
    model: KernelMixture, sample: Sample, T: Array, held_out: Callable[..., float]
) -> None:
    """Fit to the kernel coordinates of x and the coordinates T of y.

    ``held_out`` returns the mean leave-one-out log-likelihood of y given x.
    """
    Z, residuals = model._scaled_coordinates(sample)
    weights, total = sample.multiplicities, sample.sample_size
    joined = np.hstack([Z, T])
    outside = model._residual_variance(residuals, sample)

    def likelihood(alpha: float) -> float:
        run = model._run_em(joined, sample, alpha)
        prior = (alpha, model.beta)
        variances = None if outside is None else outside.without_each(residuals, weights, *prior)
        refits = partial(
            leave_each_out,
            weights=weights,
            responsibilities=run.responsibilities,
            alpha=alpha,
            beta=model.beta,
            residual_variances=variances,
        )
        return held_out(Z, T, residuals, weights, refits)

    if not isinstance(model.alpha, str):
        alpha = float(model.alpha)
    elif len(Z) < 3:
        alpha = 0.01 * total  # too few rows for cross-validation
    else:
        alpha = maximize_alpha(likelihood, 1e-5 * total, total)
    model._fit_em(joined, sample, alpha, residuals)


class JointMixtureClassifier(ClassifierMixin, KernelMixture):  # type: ignore[misc]
    r"""Classifier from a Gaussian mixture of points and classes.

    A class is a vertex :math:`t_c` of a simplex (the features of the kernel that is 1 for equal and
    0 for different classes). The mixture is fitted to kernel coordinates and vertices jointly, and

    .. math:: P(c \mid x) = \sum_m p(m \mid x)\,
              \frac{p_m(t_c \mid z)}{\sum_{c'} p_m(t_{c'} \mid z)}.

    Parameters
    ----------
    n_components : int
        Number of Gaussians; with one, the classifier is already nonlinear in x.
    kernel : str or Kernel
        Kernel on X: vectors, tables, strings, graphs, …. The bandwidth "auto" as in
        :class:`MercerMixture`.
    alpha : float or "auto"
        α of the prior. "auto" maximizes the leave-one-out likelihood of the classes (exact for one
        component; for more, with the responsibilities of all rows).
    beta : float
    center : bool
    rank : int, float or None
        Number of kernel coordinates; None: all, at most 300.
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
        X : array-like of shape (n, d), or data that the kernel compares
        y : array-like of shape (n,)
            Labels of any type.
        sample_weight : array-like of shape (n,) or None
        """
        sample, used = self._validate_with_rows(X, sample_weight)
        self._check_parameters(sample.points.n)
        self.classes_, codes = encode_classes(class_labels(y, len(used))[used])
        _fit_joint(self, sample, self._vertices()[codes], self._leave_one_out)
        return self

    def _vertices(self) -> Array:
        return np.eye(len(self.classes_))

    def _leave_one_out(self, Z: Array, T: Array, *fit: Any) -> float:
        return held_out_class_likelihood(Z, T.argmax(axis=1), self._vertices(), *fit)

    def _log_probabilities(self, X: Any) -> Array:
        return self._given(X).log_choice(self._vertices())

    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities, of shape (m, n_classes)."""
        return np.asarray(np.exp(self._log_probabilities(X)))

    def predict(self, X: Any) -> Array:
        """Return the most likely classes."""
        log_probabilities = self._log_probabilities(X)
        return self.classes_[np.argmax(log_probabilities, axis=1)]


class JointMixtureRegressor(RegressorMixin, KernelMixture):  # type: ignore[misc]
    r"""Regressor from a Gaussian mixture of points and targets.

    The mixture is fitted to kernel coordinates and standardized targets jointly. Given x, y follows
    a mixture of Gaussians, :math:`p(y \mid x) = \sum_m p(m \mid x)\, N(y; m_m(x), s_m^2)`, whose
    mean is predicted. One component is kernel ridge regression with penalty α and a predictive
    variance.

    Parameters
    ----------
    n_components : int
        With more than one, the distribution of y given x may have several modes.
    kernel : str or Kernel
        Kernel on X: vectors, tables, strings, graphs, …. The bandwidth "auto" as in
        :class:`MercerMixture`.
    alpha : float or "auto"
        α of the prior. "auto" maximizes the leave-one-out likelihood of y (exact for one component,
        except that y is not standardized again; for more, with the responsibilities of all rows).
    beta : float
    center : bool
    rank : int, float or None
        Number of kernel coordinates; None: all, at most 300.
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
        X : array-like of shape (n, d), or data that the kernel compares
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : array-like of shape (n,) or None
        """
        sample, used = self._validate_with_rows(X, sample_weight)
        self._check_parameters(sample.points.n)
        targets = numeric_targets(y, len(used))
        self._is_vector = targets.ndim == 1
        columns = targets.reshape(len(targets), -1)[used]
        self._target = TargetScale.of(columns, sample.weights)
        _fit_joint(self, sample, self._target.standardize(columns), held_out_likelihood)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the means of y given x, and their standard deviations if ``return_std``."""
        given = self._given(X)
        means = self._shaped(self._target.restore(given.mean()))
        if not return_std:
            return means
        return means, self._shaped(self._target.restore_deviation(np.sqrt(given.variance())))

    def log_density(self, X: Any, y: Any) -> Array:
        """Return ``log p(y_i | x_i)``, of shape (m,); the density is normalized over all y."""
        given = self._given(X)
        targets = numeric_targets(y, len(given.means))
        columns, n_targets = targets.reshape(len(targets), -1), given.means.shape[2]
        if columns.shape[1] != n_targets:
            raise ValueError(
                f"y has {columns.shape[1]} columns, but the model was fitted to {n_targets}."
            )
        with np.errstate(over="ignore"):  # the density of a distant y is 0
            logs = given.log_density(self._target.standardize(columns))
        return np.asarray(logs - self._target.log_factor)

    def _shaped(self, values: Array) -> Array:
        return values[:, 0] if self._is_vector else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
