r"""Regularised linear discriminant analysis for several classes, and what it says of left-out rows.

Dictionary: :math:`z` coordinates, :math:`\pi_l` priors, :math:`m_l` class means,
:math:`m = \sum_l \pi_l m_l`, :math:`W = \sum_l \pi_l \mathrm{Cov}_l` the variation within classes
(divisors are class sizes), :math:`B = \sum_l \pi_l (m_l - m)(m_l - m)'` that between them, and
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

from mercer.chunks import kept, mapped, summed
from mercer.maths.types import Array

__all__ = [
    "ClassMoments",
    "Discriminants",
    "LeftOut",
    "left_out_scores",
]

_SINGULAR = 1e-12  # W + γI whose eigenvalues differ by more is not inverted
_NO_MEAN = 1e-8  # a class mean this small beside the largest has no sign
_LEAST_CONFIDENCE = 1e-6  # below, scores say nothing: classes become equally likely


@dataclass(frozen=True)
class Discriminants:
    """Directions that tell classes apart, largest ratio first.

    Attributes
    ----------
    ratios : array of shape (q,)
        λ; q is the number of classes less one, or the number of coordinates if that is smaller.
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
        """``f = a'(z - m)`` for rows z, of shape (n, q)."""
        return np.asarray((Z - self.center) @ self.directions)

    def scores(self, Z: Array) -> Array:
        """``log π_l - |f - f_l|² / 2 + |f|² / 2``: log-posteriors up to a constant of each row."""
        level = np.log(self.priors) - np.einsum("lj,lj->l", self.class_means, self.class_means) / 2
        return np.asarray(self(Z) @ self.class_means.T + level)


@dataclass(frozen=True)
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
        cls, Z: Array, codes: Array, weights: Array | None = None, priors: Array | None = None
    ) -> ClassMoments:
        """Moments of rows Z with class numbers ``codes``; priors default to the classes' shares."""
        count = summed(_highest, codes, combine=max) + 1
        masses, sums = summed(partial(_class_sums, count), Z, codes, weights)
        priors = masses / masses.sum() if priors is None else priors
        means = sums / masses[:, None]
        within = summed(partial(_scatter_within, means, priors / masses), Z, codes, weights)
        return cls(priors, masses, means, within)

    @property
    def scale(self) -> float:
        """``tr(W) / r``: what a relative ridge is relative to."""
        return float(np.trace(self.within) / len(self.within))

    @cached_property
    def _axes(self) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(self.within)
        return np.maximum(values, 0.0), vectors

    def whitening(self, ridge: float) -> Array:
        """A matrix T with ``T T' = (W + γI)⁻¹``; all ridges share one decomposition of W."""
        values, vectors = self._axes
        variances = values + ridge
        if variances[0] <= _SINGULAR * variances[-1]:
            raise ValueError(
                f"Within classes the {len(values)} coordinates do not vary in all directions "
                f"(smallest variance {variances[0]:.3g}, largest {variances[-1]:.3g}), so the "
                "ratio of variation between classes to variation within has no largest value. "
                "Use a larger regularization, or a smaller rank."
            )
        return np.asarray(vectors / np.sqrt(variances))

    def discriminants(self, ridge: float) -> Discriminants:
        """Solve for a given γ.

        Each direction is positive, in the mean, for the last class whose mean it moves: for two
        classes the second.
        """
        whitening = self.whitening(ridge)
        center = self.priors @ self.means
        shifts = (self.means - center) @ whitening
        _, roots, axes = np.linalg.svd(np.sqrt(self.priors)[:, None] * shifts, full_matrices=False)
        q = min(len(self.means) - 1, len(self.within))
        class_means = shifts @ axes[:q].T
        signs = _signs(class_means)
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
    """Total weight and sum of the rows of each class."""
    weights = np.ones(len(Z)) if weights is None else weights
    members = [codes == k for k in range(count)]
    sums = np.array([weights[mine] @ Z[mine] for mine in members])
    return np.bincount(codes, weights, count), sums


def _scatter_within(
    means: Array, shares: Array, Z: Array, codes: Array, weights: Array | None
) -> Array:
    """``Σ_i share_i w_i (z_i - m)(z_i - m)'`` about the mean of each row's class."""
    residuals = Z - means[codes]
    counts = shares[codes] if weights is None else weights * shares[codes]
    residuals *= np.sqrt(counts)[:, None]
    return np.asarray(residuals.T @ residuals)


def _signs(class_means: Array) -> Array:
    sizes = np.abs(class_means)
    moved = sizes > _NO_MEAN * sizes.max(axis=0)
    last = len(class_means) - 1 - np.argmax(moved[::-1], axis=0)
    return np.where(class_means[last, np.arange(class_means.shape[1])] < 0, -1.0, 1.0)


def left_out_scores(
    Z: Array, codes: Array, weights: Array | None, moments: ClassMoments, ridge: float
) -> Array:
    r"""Return what :meth:`Discriminants.scores` would say of each row were it not in the sample.

    With :math:`r = z - m_k` for a row of class k and mass :math:`n_k`, leaving out one unit of it
    (its whole weight, where that is less: u) moves the class mean by :math:`-r u/(n_k - u)` and
    changes W by :math:`-c\,r r'`, :math:`c = \pi_k u/(n_k - u)`, up to a common factor
    :math:`n/(n - u)`, which is left out. With :math:`G = (W + \gamma I)^{-1}` and
    :math:`a = r'Gr`, the squared distances to the class means become

    .. math::
        D_k = \Big(\frac{n_k}{n_k - u}\Big)^2 \frac{a}{1 - ca}, \qquad
        D_l = d_l'Gd_l + \frac{c\,(r'Gd_l)^2}{1 - ca}, \quad d_l = z - m_l.

    Returns
    -------
    array of shape (n, n_classes)
        ``log π_l - D_l / 2``; NaN for rows that are alone in their class.
    """
    weights = np.ones(len(Z)) if weights is None else weights
    rows = np.arange(len(Z))
    whitening = moments.whitening(ridge)
    means = moments.means @ whitening
    residuals = Z @ whitening - means[codes]
    mass, unit = moments.masses[codes], np.minimum(weights, 1.0)
    rest = np.where(mass - unit > 1e-12 * mass, mass - unit, np.nan)
    change = moments.priors[codes] * unit / rest
    own = np.einsum("ij,ij->i", residuals, residuals)
    # ca < 1 unless only this row varies in its direction; rounding must not cross that line
    damping = np.maximum(1 - change * own, np.finfo(np.float64).eps)
    # d_l = r + (m_k - m_l), so products of r with the means give all that is needed
    along = residuals @ means.T
    along = own[:, None] + along[rows, codes][:, None] - along
    gaps = means[:, None, :] - means
    apart = np.einsum("klj,klj->kl", gaps, gaps)
    distances = 2 * along - own[:, None] + apart[codes]
    distances += (change / damping)[:, None] * along**2
    distances[rows, codes] = (mass / rest) ** 2 * own / damping
    return np.asarray(np.log(moments.priors) - distances / 2)


@dataclass(frozen=True)
class LeftOut:
    """How discriminants fare with rows that they have not seen.

    Attributes
    ----------
    error : float
        Share of rows that go to a wrong class.
    confidence : float
        The t in (0, 1] for which ``softmax(t · scores)`` makes the true classes most likely.
    log_probability : float
        Mean logarithm of the probability that the true class then has.
    """

    error: float
    confidence: float
    log_probability: float

    @classmethod
    def judge(
        cls, Z: Array, codes: Array, weights: Array | None, moments: ClassMoments, ridge: float
    ) -> LeftOut:
        """Leave out each row in turn; classes count by their priors, rows alone in one do not."""
        # scores less that of the true class, the number of which goes along
        leads = kept(mapped(partial(_leads, moments, ridge), Z, codes, weights))
        shares = moments.priors / moments.masses
        confidence = _best_confidence(leads, codes, weights, shares)
        whole, wrong, logs = summed(partial(_verdict, confidence, shares), leads, codes, weights)
        return cls(wrong / whole, confidence, logs / whole)


def _leads(
    moments: ClassMoments, ridge: float, Z: Array, codes: Array, weights: Array | None
) -> Array:
    """Left-out scores less that of the true class; NaN for rows alone in theirs."""
    scores = left_out_scores(Z, codes, weights, moments, ridge)
    return np.asarray(scores - scores[np.arange(len(scores)), codes][:, None])


def _known(
    shares: Array, leads: Array, codes: Array, weights: Array | None
) -> tuple[Array, Array, Array]:
    """The rows that can be judged, their classes, and how much each counts."""
    known = np.isfinite(leads).all(axis=1)
    counts = shares[codes[known]]
    counts = counts if weights is None else counts * weights[known]
    return leads[known], codes[known], counts


def _verdict(
    confidence: float, shares: Array, leads: Array, codes: Array, weights: Array | None
) -> tuple[float, float, float]:
    """How much was judged, how much of it went to a wrong class, and log-probabilities."""
    leads, codes, counts = _known(shares, leads, codes, weights)
    logs = log_softmax(confidence * leads, axis=1)[np.arange(len(leads)), codes]
    wrong = np.argmax(leads, axis=1) != codes
    return float(counts.sum()), float(counts @ wrong), float(counts @ logs)


def _best_confidence(leads: Array, codes: Array, weights: Array | None, shares: Array) -> float:
    """Where the likelihood, which is concave in t, has its top; ``leads`` are over the truth."""

    def slope(confidence: float) -> float:
        return -summed(partial(_pull, confidence, shares), leads, codes, weights)

    if slope(1.0) >= 0:
        return 1.0
    if slope(_LEAST_CONFIDENCE) <= 0:
        return _LEAST_CONFIDENCE
    return float(brentq(slope, _LEAST_CONFIDENCE, 1.0, xtol=1e-15, rtol=1e-14))


def _pull(
    confidence: float, shares: Array, leads: Array, codes: Array, weights: Array | None
) -> float:
    leads, _, counts = _known(shares, leads, codes, weights)
    return float(counts @ np.einsum("ij,ij->i", softmax(confidence * leads, axis=1), leads))
