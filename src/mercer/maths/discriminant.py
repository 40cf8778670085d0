r"""Regularized linear discriminant analysis for several classes, with leave-one-out scores.

Notation: :math:`z` coordinates, :math:`\pi_l` priors, :math:`m_l` class means,
:math:`m = \sum_l \pi_l m_l`, :math:`W = \sum_l \pi_l \mathrm{Cov}_l` the covariance within classes
(divided by class sizes), :math:`B = \sum_l \pi_l (m_l - m)(m_l - m)'` the one between classes, and
:math:`\gamma` the ridge. Directions solve :math:`B a = \lambda (W + \gamma I) a` with
:math:`a'(W + \gamma I)a = 1`. For two classes :math:`B = \pi_0 \pi_1 \delta\delta'` with
:math:`\delta = m_1 - m_0`, so :math:`\lambda = \pi_0 \pi_1 \delta'(W + \gamma I)^{-1}\delta`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_softmax, softmax

from mercer.maths.row_passes import IN_MEMORY, RowPasses
from mercer.maths.types import Array

__all__ = [
    "ClassMoments",
    "Discriminants",
    "LeaveOneOutScore",
    "class_signs",
    "leave_one_out_scores",
]

_SINGULAR = 1e-12  # smallest ratio of eigenvalues of W + γI that is inverted
_NO_MEAN = 1e-8  # a class mean this small relative to the largest has no sign
_LEAST_CONFIDENCE = 1e-6  # lower bound; classes are then almost equally likely


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

    def scores(self, Z: Array) -> Array:
        """Return log-posteriors up to a constant per row, ``log π_l - |f - f_l|²/2 + |f|²/2``."""
        level = np.log(self.priors) - np.einsum("lj,lj->l", self.class_means, self.class_means) / 2
        return np.asarray(self(Z) @ self.class_means.T + level)


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Means of classes, and their common covariance.

    Attributes
    ----------
    priors : array of shape (n_classes,)
    masses : array of shape (n_classes,)
        Total weight of each class.
    means : array of shape (n_classes, r)
    within : array of shape (r, r)
        W.
    """

    priors: Array
    masses: Array
    means: Array
    within: Array

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

    def whitening(self, ridge: float) -> Array:
        """Return T with ``T T' = (W + γI)⁻¹``; W is decomposed once for all ridges."""
        values, vectors = self._axes
        variances = values + ridge
        if variances[0] <= _SINGULAR * variances[-1]:
            raise ValueError(
                f"The within-class covariance of the {len(values)} coordinates is singular "
                f"(smallest variance {variances[0]:.3g}, largest {variances[-1]:.3g}), so the "
                "ratio of between-class to within-class variance is unbounded. Use a larger "
                "regularization or a smaller rank."
            )
        return np.asarray(vectors / np.sqrt(variances))

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
    nonzero = sizes > _NO_MEAN * sizes.max(axis=0)
    last = len(class_means) - 1 - np.argmax(nonzero[::-1], axis=0)
    return np.where(class_means[last, np.arange(class_means.shape[1])] < 0, -1.0, 1.0)


def leave_one_out_scores(
    Z: Array, codes: Array, weights: Array | None, moments: ClassMoments, ridge: float
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

    Returns
    -------
    array of shape (n, n_classes)
        ``log π_l - D_l / 2``; NaN for the only row of a class.
    """
    weights = np.ones(len(Z)) if weights is None else weights
    every = np.arange(len(Z))
    whitening = moments.whitening(ridge)
    means = moments.means @ whitening
    residuals = Z @ whitening - means[codes]
    mass, unit = moments.masses[codes], np.minimum(weights, 1.0)
    rest = np.where(mass - unit > 1e-12 * mass, mass - unit, np.nan)
    change = moments.priors[codes] * unit / rest
    own = np.einsum("ij,ij->i", residuals, residuals)
    # ca < 1 unless no other row varies in this direction; the bound guards against rounding errors.
    damping = np.maximum(1 - change * own, np.finfo(np.float64).eps)
    # d_l = r + (m_k - m_l), so products of r with the means are sufficient.
    along = residuals @ means.T
    along = own[:, None] + along[every, codes][:, None] - along
    differences = means[:, None, :] - means
    between = np.einsum("klj,klj->kl", differences, differences)
    distances = 2 * along - own[:, None] + between[codes]
    distances += (change / damping)[:, None] * along**2
    distances[every, codes] = (mass / rest) ** 2 * own / damping
    return np.asarray(np.log(moments.priors) - distances / 2)


@dataclass(frozen=True, eq=False)
class LeaveOneOutScore:
    """Leave-one-out performance of discriminants.

    Attributes
    ----------
    error : float
        Fraction of misclassified rows.
    confidence : float
        The t in (0, 1] that maximizes the likelihood of the true classes under
        ``softmax(t · scores)``.
    log_probability : float
        Mean log-probability of the true class at that t.
    """

    error: float
    confidence: float
    log_probability: float

    @classmethod
    def of(
        cls,
        Z: Array,
        codes: Array,
        weights: Array | None,
        moments: ClassMoments,
        ridge: float,
        *,
        rows: RowPasses = IN_MEMORY,
    ) -> LeaveOneOutScore:
        """Compute the leave-one-out score of all rows.

        Classes are weighted by their priors. A row that is the only one of its class is skipped.
        """
        margins = rows.persist(rows.map(partial(_margins, moments, ridge), Z, codes, weights))
        factors = moments.priors / moments.masses
        confidence = _best_confidence(margins, codes, weights, factors, rows)
        mass, wrong, logs = rows.sum(
            partial(_error_sums, confidence, factors), margins, codes, weights
        )
        return cls(wrong / mass, confidence, logs / mass)


def _margins(
    moments: ClassMoments, ridge: float, Z: Array, codes: Array, weights: Array | None
) -> Array:
    """Return leave-one-out scores minus that of the true class; NaN for the only row of a class."""
    scores = leave_one_out_scores(Z, codes, weights, moments, ridge)
    return np.asarray(scores - scores[np.arange(len(scores)), codes][:, None])


def _scored(
    factors: Array, margins: Array, codes: Array, weights: Array | None
) -> tuple[Array, Array, Array]:
    """Return the rows that have a leave-one-out score, their classes and their weights."""
    scored = np.isfinite(margins).all(axis=1)
    counts = factors[codes[scored]]
    counts = counts if weights is None else counts * weights[scored]
    return margins[scored], codes[scored], counts


def _error_sums(
    confidence: float, factors: Array, margins: Array, codes: Array, weights: Array | None
) -> tuple[float, float, float]:
    """Return the total weight, the weight of misclassified rows and the log-probability sum."""
    margins, codes, counts = _scored(factors, margins, codes, weights)
    logs = log_softmax(confidence * margins, axis=1)[np.arange(len(margins)), codes]
    wrong = np.argmax(margins, axis=1) != codes
    return float(counts.sum()), float(counts @ wrong), float(counts @ logs)


def _best_confidence(
    margins: Array, codes: Array, weights: Array | None, factors: Array, rows: RowPasses
) -> float:
    """Return the t that maximizes the likelihood, which is concave in t."""

    def slope(confidence: float) -> float:
        return -rows.sum(partial(_negative_slope, confidence, factors), margins, codes, weights)

    if slope(1.0) >= 0:
        return 1.0
    if slope(_LEAST_CONFIDENCE) <= 0:
        return _LEAST_CONFIDENCE
    return float(brentq(slope, _LEAST_CONFIDENCE, 1.0, xtol=1e-15, rtol=1e-14))


def _negative_slope(
    confidence: float, factors: Array, margins: Array, codes: Array, weights: Array | None
) -> float:
    margins, _, counts = _scored(factors, margins, codes, weights)
    return float(counts @ np.einsum("ij,ij->i", softmax(confidence * margins, axis=1), margins))
