r"""Regularized linear discriminant analysis for several classes, with leave-one-out scores.

Notation: :math:`z` coordinates, :math:`\pi_l` priors, :math:`m_l` class means,
:math:`m = \sum_l \pi_l m_l`, :math:`W = \sum_l \pi_l \mathrm{Cov}_l` the covariance within classes
(divided by class sizes), :math:`B = \sum_l \pi_l (m_l - m)(m_l - m)'` the one between classes, and
:math:`\gamma` the ridge. Directions solve :math:`B a = \lambda (W + \gamma I) a` with
:math:`a'(W + \gamma I)a = 1`. For two classes :math:`B = \pi_0 \pi_1 \delta\delta'` with
:math:`\delta = m_1 - m_0`, so :math:`\lambda = \pi_0 \pi_1 \delta'(W + \gamma I)^{-1}\delta`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_softmax

from mercer.utils.row_passes import IN_MEMORY, RowPasses
from mercer.utils.types import Array

__all__ = [
    "ClassMoments",
    "Discriminants",
    "LeaveOneOutScore",
    "class_signs",
    "leave_one_out_class_scores",
]


@dataclass(frozen=True, eq=False)
class Discriminants:
    """Directions that separate classes, largest ratio first.

    Attributes
    ----------
    ratios : array of shape (q,)
        λ; q is the smaller of the number of classes minus one and the number of coordinates.
    directions : array of shape (r, q)
        a, as columns.
    class_means : array of shape (n_classes, q)
        ``a'(m_l - m)``.
    center : array of shape (r,)
        m.
    priors : array of shape (n_classes,)
    """

    ratios: Array
    directions: Array
    class_means: Array
    center: Array
    priors: Array

    def __call__(self, Z: Array) -> Array:
        """Return ``f = a'(z - m)`` for rows z, of shape (n, q)."""
        return np.asarray((Z - self.center) @ self.directions)

    @property
    def levels(self) -> Array:
        """``|f_l|²/2`` of each class."""
        return np.asarray(np.einsum("lj,lj->l", self.class_means, self.class_means) / 2)

    def scores(self, Z: Array, confidence: float = 1.0, shrinkage: float | None = None) -> Array:
        r"""Return log-posteriors up to a constant per row.

        With the default these are the scores of discriminant analysis times t,
        ``t (log π_l + f'f_l - |f_l|²/2)``, and otherwise ``log π_l + t (f'f_l - ρ |f_l|²/2)``: in
        each class f is Gaussian with mean :math:`\rho f_l` and variance :math:`\rho / t`.

        Parameters
        ----------
        Z : array of shape (n, r)
        confidence : float
            t. With ρ, 0 gives the priors.
        shrinkage : float or None
            ρ.
        """
        products, log_priors = self(Z) @ self.class_means.T, np.log(self.priors)
        if shrinkage is None:
            return np.asarray(confidence * (log_priors + products - self.levels))
        return np.asarray(log_priors + confidence * (products - shrinkage * self.levels))


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Means of classes, and their common covariance."""

    priors: Array  # shape (n_classes,)
    masses: Array  # total weight of each class, shape (n_classes,)
    means: Array  # shape (n_classes, r)
    within: Array  # W, shape (r, r)

    @classmethod
    def of(
        cls,
        Z: Array,
        codes: Array,
        weights: Array | None = None,
        priors: Array | None = None,
        *,
        rows: RowPasses = IN_MEMORY,
    ) -> ClassMoments:
        """Compute the moments of rows Z with class indices ``codes``.

        By default, the priors are the class frequencies.
        """
        count = rows.sum(_highest, codes, combine=max) + 1
        masses, sums = rows.sum(partial(_class_sums, count), Z, codes, weights)
        priors = masses / masses.sum() if priors is None else priors
        means = sums / masses[:, None]
        within = rows.sum(partial(_scatter_within, means, priors / masses), Z, codes, weights)
        return cls(priors, masses, means, within)

    @property
    def scale(self) -> float:
        """``tr(W) / r``, the unit of a relative ridge."""
        return float(np.trace(self.within) / len(self.within))

    @cached_property
    def _axes(self) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(self.within)
        return np.maximum(values, 0.0), vectors

    @property
    def aligned_means(self) -> Array:
        """Means of classes in the principal axes of W."""
        return np.asarray(self.means @ self._axes[1])

    def residuals(self, Z: Array, codes: Array) -> Array:
        """Return ``z - m_k`` for rows of class k, in the principal axes of W."""
        return np.asarray((Z - self.means[codes]) @ self._axes[1])

    def whitening(self, ridge: float) -> Array:
        """Return T with ``T T' = (W + γI)⁻¹``."""
        return np.asarray(self._axes[1] / np.sqrt(self.variances(ridge)))

    def variances(self, ridge: float) -> Array:
        """Return the eigenvalues of ``W + γI``; W is decomposed once for all ridges."""
        values = self._axes[0]
        variances = values + ridge
        if variances[0] <= 1e-12 * variances[-1]:
            raise ValueError(
                f"The within-class covariance of the {len(values)} coordinates is singular "
                f"(smallest variance {variances[0]:.3g}, largest {variances[-1]:.3g}), so the "
                "ratio of between-class to within-class variance is unbounded. Use a larger "
                "regularization or a smaller rank."
            )
        return np.asarray(variances)

    def discriminants(self, ridge: float) -> Discriminants:
        """Return the directions for a given γ.

        Signs are chosen such that the last nonzero class mean along each direction is positive. For
        two classes, this is the mean of the second class.
        """
        whitening = self.whitening(ridge)
        center = self.priors @ self.means
        shifts = (self.means - center) @ whitening
        _, roots, axes = np.linalg.svd(np.sqrt(self.priors)[:, None] * shifts, full_matrices=False)
        q = min(len(self.means) - 1, len(self.within))
        class_means = shifts @ axes[:q].T
        signs = class_signs(class_means)
        return Discriminants(
            ratios=roots[:q] ** 2,
            directions=whitening @ axes[:q].T * signs,
            class_means=class_means * signs,
            center=center,
            priors=self.priors,
        )


def _highest(codes: Array) -> int:
    return int(codes.max(initial=-1))


def _class_sums(count: int, Z: Array, codes: Array, weights: Array | None) -> tuple[Array, Array]:
    """Return the total weight and the weighted sum of the rows of each class."""
    weights = np.ones(len(Z)) if weights is None else weights
    members = [codes == k for k in range(count)]
    sums = np.array([weights[mine] @ Z[mine] for mine in members])
    return np.bincount(codes, weights, count), sums


def _scatter_within(
    means: Array, factors: Array, Z: Array, codes: Array, weights: Array | None
) -> Array:
    """Return ``Σ_i c_i w_i (z_i - m_i)(z_i - m_i)'`` with m_i and c_i those of the row's class."""
    residuals = Z - means[codes]
    counts = factors[codes] if weights is None else weights * factors[codes]
    residuals *= np.sqrt(counts)[:, None]
    return np.asarray(residuals.T @ residuals)


def class_signs(class_means: Array) -> Array:
    """Return signs (one per column) that make the last nonzero mean of a class positive."""
    sizes = np.abs(class_means)
    # a class mean this small relative to the largest has no sign
    nonzero = sizes > 1e-8 * sizes.max(axis=0)
    last = len(class_means) - 1 - np.argmax(nonzero[::-1], axis=0)
    return np.where(class_means[last, np.arange(class_means.shape[1])] < 0, -1.0, 1.0)


def leave_one_out_class_scores(
    residuals: Array, codes: Array, weights: Array | None, moments: ClassMoments, ridge: float
) -> Array:
    r"""Return leave-one-out values of :meth:`Discriminants.scores` for every row.

    Let :math:`r = z - m_k` for a row of class k and mass :math:`n_k`. Removing one unit of its
    weight (all of it if the weight is less than 1: u) moves the class mean by
    :math:`-r u/(n_k - u)` and changes W by :math:`-c\,r r'`, :math:`c = \pi_k u/(n_k - u)`, up to
    a common factor :math:`n/(n - u)`, which is omitted. With :math:`G = (W + \gamma I)^{-1}` and
    :math:`a = r'Gr`, the squared distances to the class means become

    .. math::
        D_k = \Big(\frac{n_k}{n_k - u}\Big)^2 \frac{a}{1 - ca}, \qquad
        D_l = d_l'Gd_l + \frac{c\,(r'Gd_l)^2}{1 - ca}, \quad d_l = z - m_l.

    The score is ``log π_l - D_l / 2``; NaN for the only row of a class. ``residuals`` are those of
    :meth:`ClassMoments.residuals`: in the axes of W, G is diagonal for every ridge.
    """
    weights = np.ones(len(residuals)) if weights is None else weights
    every = np.arange(len(residuals))
    precisions = 1 / moments.variances(ridge)
    means = moments.aligned_means
    mass, unit = moments.masses[codes], np.minimum(weights, 1.0)
    rest = np.where(mass - unit > 1e-12 * mass, mass - unit, np.nan)
    change = moments.priors[codes] * unit / rest
    own = residuals**2 @ precisions
    # ca < 1 unless no other row varies in this direction; the bound guards against rounding errors.
    damping = np.maximum(1 - change * own, np.finfo(np.float64).eps)
    # d_l = r + (m_k - m_l), so products of r with the means are sufficient.
    along = residuals @ (precisions * means).T
    along = own[:, None] + along[every, codes][:, None] - along
    differences = means[:, None, :] - means
    between = differences**2 @ precisions
    distances = 2 * along - own[:, None] + between[codes]
    distances += (change / damping)[:, None] * along**2
    distances[every, codes] = (mass / rest) ** 2 * own / damping
    return np.asarray(np.log(moments.priors) - distances / 2)


@dataclass(frozen=True, eq=False)
class LeaveOneOutScore:
    """Leave-one-out performance of discriminants, and the calibration of their posteriors.

    The posteriors are those of :meth:`Discriminants.scores`. The t that maximizes the likelihood of
    the true classes multiplies the whole scores, which changes no decision. If the result is less
    likely than the priors, because the classes hardly depend on Z, only the likelihoods are raised
    to the power t, with class means multiplied by ρ: new rows are closer to the center than
    training rows.
    """

    error: float  # fraction of misclassified rows
    # mean log-probability of the true class, not lower than that of the priors
    log_probability: float
    confidence: float  # t, in [0, 1]
    shrinkage: float | None  # ρ, from a grid in [0, 1]; None if t multiplies the whole scores

    @classmethod
    def of(
        cls,
        residuals: Array,
        codes: Array,
        weights: Array | None,
        moments: ClassMoments,
        ridge: float,
        *,
        rows: RowPasses = IN_MEMORY,
    ) -> LeaveOneOutScore:
        """Compute the leave-one-out score of all rows, given by :meth:`ClassMoments.residuals`.

        Classes are weighted by their priors. A row that is the only one of its class is skipped.
        """
        margins = rows.map(partial(_margins, moments, ridge), residuals, codes, weights)
        margins = rows.persist(margins)
        log_priors = np.log(moments.priors)
        levels = moments.discriminants(ridge).levels

        def best(shrinkage: float | None) -> LeaveOneOutScore:
            """Return the score with the best t: logits are ``fixed + t (margins + shifts)``."""
            if shrinkage is None:
                fixed, shifts, least = np.zeros(len(levels)), log_priors, 1e-6
            else:
                fixed, shifts, least = log_priors, (1 - shrinkage) * levels, 0.0

            def sums(confidence: float) -> tuple[float, ...]:
                terms = partial(_score_sums, moments, confidence, fixed, shifts)
                return rows.sum(terms, margins, codes, weights)

            confidence = _concave_maximum(lambda t: sums(t)[3], least)
            mass, wrong, logs, _ = sums(confidence)
            return cls(wrong / mass, logs / mass, confidence, shrinkage)

        whole = best(None)
        terms = partial(_score_sums, moments, 0.0, log_priors, np.zeros(len(levels)))
        mass, _, logs, _ = rows.sum(terms, margins, codes, weights)
        # up to rounding error
        if whole.log_probability >= logs / mass - 1e-5:
            return whole
        return max(map(best, (1.0, 0.75, 0.5, 0.25, 0.0)), key=lambda score: score.log_probability)


def _margins(
    moments: ClassMoments, ridge: float, residuals: Array, codes: Array, weights: Array | None
) -> Array:
    """Return log-likelihoods minus that of the true class; NaN for the only row of a class."""
    scores = leave_one_out_class_scores(residuals, codes, weights, moments, ridge)
    likelihoods = scores - np.log(moments.priors)
    return np.asarray(likelihoods - likelihoods[np.arange(len(codes)), codes][:, None])


def _score_sums(
    moments: ClassMoments,
    confidence: float,
    fixed: Array,
    shifts: Array,
    margins: Array,
    codes: Array,
    weights: Array | None,
) -> tuple[float, float, float, float]:
    """Return sums over rows: weight, weight of errors, log-probability and its slope in t."""
    scored = np.isfinite(margins).all(axis=1)
    codes = codes[scored]
    counts = (moments.priors / moments.masses)[codes]
    counts = counts if weights is None else counts * weights[scored]
    slopes = margins[scored] + shifts
    slopes -= slopes[np.arange(len(codes)), codes][:, None]
    logs = log_softmax(fixed + confidence * slopes, axis=1)
    wrong = np.argmax(logs, axis=1) != codes
    slope = -np.einsum("ij,ij->i", np.exp(logs), slopes)
    own = logs[np.arange(len(codes)), codes]
    return float(counts.sum()), float(counts @ wrong), float(counts @ own), float(counts @ slope)


def _concave_maximum(slope: Callable[[float], float], low: float) -> float:
    """Return the maximum between ``low`` and 1 of a concave function with this derivative."""
    if slope(1.0) >= 0:
        return 1.0
    if slope(low) <= 0:
        return low
    return float(brentq(slope, low, 1.0, xtol=1e-15, rtol=1e-14))
