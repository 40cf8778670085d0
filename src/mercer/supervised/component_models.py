"""Least squares on kernel components: regression, and classification as regression on classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer.data.points import Points, rowwise
from mercer.decomposition.base import KernelEstimator
from mercer.eigen.base import Target, check_order
from mercer.eigen.decompose import Spectrum, decompose
from mercer.errors import IdentifiabilityWarning, suppress_warnings
from mercer.gram import Sample
from mercer.kernels import Kernel
from mercer.utils.estimators import all_or_nothing
from mercer.utils.targets import class_labels, encode_classes, numeric_targets, unit_exponent
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = ["ComponentClassifier", "ComponentRegressor", "NestedLeastSquares"]

_MAX_COMPONENTS = 100  # that leave-one-out errors compare


class _ComponentModel(KernelEstimator):
    """``f(x) = b + Σ_{i ≤ k} c_i z_i(x)`` with z the projections on components of K."""

    spectrum_: Spectrum

    def __init__(
        self,
        n_components: int | Literal["cv"] = "cv",
        *,
        kernel: str | Kernel = "gaussian",
        order: Target = "entropy",
        solver: Any = "auto",
        fit_intercept: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.order = order
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _fit(self, sample: Sample, targets: Array, **attributes: Any) -> Self:
        """Fit to the columns of ``targets``.

        All attributes are set at the end, including the ``attributes`` of a subclass.
        """
        errors = None
        if isinstance(self.n_components, str) and self.n_components == "cv":
            with suppress_warnings(IdentifiabilityWarning):  # only some of these are selected
                spectrum = self._leading(sample, min(_MAX_COMPONENTS, sample.points.n))
            counts = None if sample.weights is None else sample.multiplicities
            nested = self._least_squares(spectrum, targets, counts)
            held_out = nested.leave_one_out(spectrum.projections, targets, counts)
            errors = self._errors(held_out, targets, counts)
            count = int(np.argmin(errors)) + 1
        else:
            count = self._checked_count(sample.points.n)
        spectrum = self._leading(sample, count)
        self._nested = self._least_squares(spectrum, targets, sample.weights)
        self.spectrum_, self.kernel_ = spectrum, spectrum.kernel
        self.n_components_ = spectrum.n_components
        self.intercept_, self.coef_ = self._nested.coefficients()
        if errors is not None:
            self.cv_errors_ = errors
        for name, value in attributes.items():
            setattr(self, name, value)
        return self

    def _least_squares(
        self, spectrum: Spectrum, targets: Array, weights: Array | None
    ) -> NestedLeastSquares:
        return NestedLeastSquares.fit(
            spectrum.projections, targets, weights, intercept=self.fit_intercept
        )

    def _checked_count(self, n: int) -> int:
        remedy = "Or pass 'cv' to choose the number by leave-one-out errors."
        return min(check_integer(self.n_components, "n_components", remedy=remedy), n)

    def _leading(self, sample: Sample, count: int) -> Spectrum:
        """Return the first ``count`` components, or all if there are fewer."""
        return decompose(
            sample,
            self.order,
            count,
            solver=self.solver,
            random_state=self.random_state,
            at_most=True,
        )

    def _errors(self, predictions: Array, targets: Array, weights: Array | None) -> Array:
        """Return the mean error for each number of components."""
        raise NotImplementedError

    def _path(self, points: Points, targets: Array) -> Array:
        return self._errors(self._nested.path(self.spectrum_.project(points)), targets, None)

    def _evaluate(self, X: Any) -> Array:
        points = self._validate_new(X)
        return np.asarray(self.spectrum_.project(points) @ self.coef_.T + self.intercept_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "intercept_")


class ComponentRegressor(RegressorMixin, _ComponentModel):  # type: ignore[misc]
    """Least squares on the first kernel components, by entropy or by variance.

    Parameters
    ----------
    n_components : int or "cv"
        Number of components (fewer if K has a smaller rank). "cv" chooses up to 100 by their
        leave-one-out error, with the components of all rows.
    kernel : str or Kernel
        As in :class:`KernelPCA`. The bandwidth "auto" is Silverman's rule for at most three
        columns, and the median distance divided by √2 for more.
    order : {"entropy", "variance"}
        Order of the components (of the uncentered K).
    solver : str or solver
    fit_intercept : bool
    random_state : int or None
        Seed of the solver's random start.

    Attributes
    ----------
    coef_ : array of shape (n_targets, n_components_)
    intercept_ : array of shape (n_targets,)
    n_components_ : int
    cv_errors_ : array
        Leave-one-out mean squared error with 1, 2, … components, after "cv".
    spectrum_ : Spectrum
    kernel_ : Kernel

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ComponentRegressor
    >>> X = np.random.default_rng(0).uniform(0, 6, size=(100, 1))
    >>> model = ComponentRegressor(n_components="cv").fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.99)
    True
    """

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the components to X and the coefficients to y.

        Parameters
        ----------
        X : array-like of shape (n, d), or data that the kernel compares
        y : array-like of shape (n,) or (n, n_targets)
        sample_weight : array-like of shape (n,) or None
        """
        check_order(self.order)
        sample, used = self._validate_with_rows(X, sample_weight)
        targets = numeric_targets(y, len(used))
        columns = targets.reshape(len(targets), -1)[used]
        # squared errors overflow or underflow in some units of y: y is divided by a power of two
        exponent = unit_exponent(columns)
        columns = np.ldexp(columns, -exponent)
        self._fit(sample, columns, _is_vector=targets.ndim == 1)
        self._multiply_targets(exponent)
        return self

    def _multiply_targets(self, exponent: Array) -> None:
        """Multiply the fitted targets by a power of two."""
        nested = self._nested
        self._nested = replace(nested, effects=np.ldexp(nested.effects, exponent))
        self.intercept_ = np.ldexp(self.intercept_, exponent)
        self.coef_ = np.ldexp(self.coef_, exponent)
        if isinstance(self.n_components, str):
            with np.errstate(over="ignore"):  # inf if y² overflows; the smallest is known already
                self.cv_errors_ = np.ldexp(self.cv_errors_, 2 * exponent)

    @rowwise
    def predict(self, X: Any) -> Array:
        """Return the values of the fitted function, in the shape of y."""
        values = self._evaluate(X)
        return values[:, 0] if self._is_vector else values

    def path(self, X: Any, y: Any) -> Array:
        """Return the mean squared error on (X, y) with 1, 2, …, ``n_components_`` components."""
        points = self._validate_new(X)
        targets = numeric_targets(y, points.n)
        with np.errstate(over="ignore"):  # inf if y² overflows
            return self._path(points, targets.reshape(len(targets), -1))

    def _errors(self, predictions: Array, targets: Array, weights: Array | None) -> Array:
        squares = ((predictions - targets) ** 2).mean(axis=2)
        return np.average(squares, axis=1, weights=weights)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True  # a few components may not predict arbitrary targets
        return tags


class ComponentClassifier(ClassifierMixin, _ComponentModel):  # type: ignore[misc]
    """Least squares on the first kernel components, with one target per class.

    Two classes are coded as -1 and 1; more classes by one column each, and the largest value is
    predicted (kernel ECA regression, Jenssen 2010, section 4.1).

    Parameters
    ----------
    n_components : int or "cv"
        Number of components (fewer if K has a smaller rank). "cv" chooses up to 100 by their
        leave-one-out error, with the components of all rows.
    kernel : str or Kernel
        As in :class:`KernelPCA`. The bandwidth "auto" is Silverman's rule for at most three
        columns, and the median distance divided by √2 for more.
    order : {"entropy", "variance"}
        Order of the components (of the uncentered K).
    solver : str or solver
    fit_intercept : bool
        The paper uses no intercept. An intercept changes its curves: on ringnorm, one component is
        then sufficient, in either order.
    random_state : int or None
        Seed of the solver's random start.

    Attributes
    ----------
    classes_ : array
    coef_ : array of shape (1 or n_classes, n_components_)
    intercept_ : array of shape (1 or n_classes,)
    n_components_ : int
    cv_errors_ : array
        Leave-one-out error rate with 1, 2, … components, after "cv".
    spectrum_ : Spectrum
    kernel_ : Kernel

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import ComponentClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(ComponentClassifier(n_components=10).fit(X, y).score(X, y) > 0.95)
    True
    """

    classes_: Array

    def __init__(
        self,
        n_components: int | Literal["cv"] = "cv",
        *,
        kernel: str | Kernel = "gaussian",
        order: Target = "entropy",
        solver: Any = "auto",
        fit_intercept: bool = False,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            n_components,
            kernel=kernel,
            order=order,
            solver=solver,
            fit_intercept=fit_intercept,
            random_state=random_state,
        )

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the components to X and the coefficients to the classes.

        Parameters
        ----------
        X : array-like of shape (n, d), or data that the kernel compares
        y : array-like of shape (n,)
            Labels, numbers or strings.
        sample_weight : array-like of shape (n,) or None
        """
        check_order(self.order)
        sample, used = self._validate_with_rows(X, sample_weight)
        classes, codes = encode_classes(class_labels(y, len(used))[used])
        return self._fit(sample, _coded(codes, len(classes)), classes_=classes)

    @rowwise
    def decision_function(self, X: Any) -> Array:
        """Return the fitted targets, of shape (m,) for two classes and (m, n_classes) for more."""
        values = self._evaluate(X)
        return values[:, 0] if len(self.classes_) == 2 else values

    @rowwise
    def predict(self, X: Any) -> Array:
        """Predict classes."""
        check_is_fitted(self)
        return self.classes_[_predicted_codes(self._evaluate(X))]

    def path(self, X: Any, y: Any) -> Array:
        """Return the error rate on (X, y) with 1, 2, …, ``n_components_`` components."""
        points = self._validate_new(X)
        labels = class_labels(y, points.n)
        codes = np.searchsorted(self.classes_, labels)
        codes = np.minimum(codes, len(self.classes_) - 1)
        targets = _coded(codes, len(self.classes_))
        targets[self.classes_[codes] != labels] = np.nan  # an unknown class is always an error
        return self._path(points, targets)

    def _errors(self, predictions: Array, targets: Array, weights: Array | None) -> Array:
        known = ~np.isnan(targets[:, 0])
        wrong = (_predicted_codes(predictions) != _predicted_codes(targets)) | ~known
        return np.average(wrong, axis=1, weights=weights)


def _coded(codes: Array, n_classes: int) -> Array:
    """Code two classes in one column of -1 and 1, and more classes in one column each."""
    if n_classes == 2:
        return 2.0 * codes[:, None] - 1
    return 2.0 * (codes[:, None] == np.arange(n_classes)) - 1


def _predicted_codes(values: Array) -> Array:
    """Return class indices from the last axis: the sign of one column, the argmax of several."""
    if values.shape[-1] == 1:
        return (values[..., 0] > 0).astype(int)
    return np.argmax(values, axis=-1)


# --- least squares on the first k columns, for all k ------------------------------------------


@dataclass(frozen=True)
class NestedLeastSquares:
    """Solutions of ``y ≈ Z[:, :k] c_k`` (``+ b_k``) for all k, from one QR decomposition.

    Columns that are linear combinations of the columns before them are skipped.
    """

    # indices of the linearly independent columns; the intercept, if any, is column 0, shape (p,)
    kept: Array
    triangle: Array  # R of ``Z[:, kept] = Q R``, shape (p, p)
    effects: Array  # ``Q'y``, the contribution of each column for each of m targets, shape (p, m)
    n_columns: int  # number of columns, including the intercept
    intercept: bool

    @classmethod
    def fit(
        cls, Z: Array, y: Array, weights: Array | None = None, *, intercept: bool = True
    ) -> NestedLeastSquares:
        """Orthogonalize the columns one by one, with rows scaled by the square roots of weights."""
        design = _design(Z, intercept)
        if weights is not None:
            root = np.sqrt(weights)[:, None]
            design, y = design * root, y * root
        most = min(design.shape)
        Q, R = np.empty((len(design), most)), np.zeros((most, most))
        kept: list[int] = []
        for j, column in enumerate(design.T):
            p = len(kept)
            if p == most:
                break
            basis = Q[:, :p]
            part = basis.T @ column
            rest = column - basis @ part
            again = basis.T @ rest  # a second pass removes the rounding errors of the first
            rest -= basis @ again
            length = float(np.linalg.norm(rest))
            # otherwise the column is linearly dependent on the others
            if length > 1e-10 * float(np.linalg.norm(column)):
                R[:p, p], R[p, p] = part + again, length
                Q[:, p] = rest / length
                kept.append(j)
        p = len(kept)
        return cls(np.array(kept, int), R[:p, :p], Q[:, :p].T @ y, design.shape[1], intercept)

    def coefficients(self) -> tuple[Array, Array]:
        """Return intercepts of shape (m,) and coefficients of shape (m, K), for all columns."""
        coefficients = np.zeros((self.n_columns, self.effects.shape[1]))
        coefficients[self.kept] = solve_triangular(self.triangle, self.effects)
        if self.intercept:
            return coefficients[0], coefficients[1:].T
        return np.zeros(coefficients.shape[1]), coefficients.T

    def path(self, Z: Array) -> Array:
        """Return predictions for rows of Z and all k from 1 to K, of shape (K, n, m)."""
        return self._sums(self._basis(Z)[:, :, None] * self.effects[:, None, :])

    def leave_one_out(self, Z: Array, y: Array, weights: Array | None = None) -> Array:
        r"""Return predictions for the training rows Z without their own target, as :meth:`path`.

        If one unit of the weight w of a row is removed (all of it if w < 1: u), its residual r
        becomes :math:`r / (1 - u h)` with its leverage :math:`h = z'(Z'WZ)^{-1}z`. A row whose
        leverage u h is 1 for k columns alone determines a coefficient that is otherwise unknown:
        it keeps the prediction of fewer columns.
        """
        units = np.ones(len(Z)) if weights is None else np.minimum(weights, 1.0)
        rest = 1 - units * self._sums(self._basis(Z) ** 2)
        defined = rest > 1e-8  # up to rounding error
        found = y - (y - self.path(Z)) / np.where(defined, rest, 1.0)[:, :, None]
        found[0, ~defined[0]] = 0.0  # of the first column
        last = np.where(defined, np.arange(len(rest))[:, None], 0)
        last = np.maximum.accumulate(last, axis=0)
        return np.take_along_axis(found, last[:, :, None], axis=0)

    def _basis(self, Z: Array) -> Array:
        """Return the orthogonal columns for rows of Z, of shape (p, n)."""
        columns = _design(Z, self.intercept)[:, self.kept]
        return np.asarray(solve_triangular(self.triangle, columns.T, trans="T"))

    def _sums(self, steps: Array) -> Array:
        """Return sums of the contributions of the first columns, for all k from 1 to K."""
        every = np.zeros((self.n_columns, *steps.shape[1:]))
        every[self.kept] = steps
        sums = np.cumsum(every, axis=0)
        return np.asarray(sums[1:] if self.intercept else sums)


def _design(Z: Array, intercept: bool) -> Array:
    return np.column_stack([np.ones(len(Z)), Z]) if intercept else Z
