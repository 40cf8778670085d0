r"""Conditional distributions of a Gaussian mixture of (x, y), given x.

Notation: z the coordinates of x, t those of y, concatenated as (z, t). With the Cholesky factor
of a component's covariance in blocks, :math:`L = (L_{zz}, 0; L_{tz}, L_{tt})`, and
:math:`v = L_{zz}^{-1}(z - \mu_z)`, y given x is Gaussian with mean :math:`\mu_t + L_{tz} v` and
Cholesky factor :math:`L_{tt}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import log, pi

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import log_softmax, logsumexp

from mercer.mixture.gaussian_mixture import (
    GaussianMixture,
    LeaveOneOutComponent,
    log_components,
)
from mercer.utils.types import Array

__all__ = [
    "Conditional",
    "Refits",
    "condition",
    "held_out_class_likelihood",
    "held_out_likelihood",
]

#: ``leave_each_out`` for given weights, responsibilities and prior, as a function of coordinates
Refits = Callable[[Array], Iterable[tuple[Array, LeaveOneOutComponent]]]


@dataclass(frozen=True, eq=False)
class Conditional:
    """Mixtures of M Gaussians in q dimensions, one per point."""

    log_responsibilities: Array  # log p(m | x), shape (n, M)
    means: Array  # shape (n, M, q)
    # lower Cholesky factors of the covariances, which do not depend on x, shape (M, q, q)
    factors: Array

    def mean(self) -> Array:
        """Return E[t | x], of shape (n, q)."""
        return np.einsum("im,imq->iq", np.exp(self.log_responsibilities), self.means)

    def variance(self) -> Array:
        """Return the variance of each coordinate of t given x, of shape (n, q)."""
        within = (self.factors**2).sum(axis=2)
        between = (self.means - self.mean()[:, None]) ** 2
        return np.einsum("im,imq->iq", np.exp(self.log_responsibilities), within + between)

    def log_density(self, T: Array) -> Array:
        """Return ``log p(t_i | x_i)``, of shape (n,)."""
        return np.asarray(
            logsumexp(self.log_responsibilities + self._gaussians(T[:, None]), axis=1)
        )

    def log_choice(self, corners: Array) -> Array:
        """Return log-probabilities of finitely many values of t, normalized within each component.

        ``corners``: shape (C, q).
        """
        logits = np.stack([self._gaussians(corner[None, None]) for corner in corners], axis=2)
        return np.asarray(
            logsumexp(self.log_responsibilities[:, :, None] + log_softmax(logits, axis=2), axis=1)
        )

    def _gaussians(self, T: Array) -> Array:
        """Return log-densities of shape (n, M) at T, of shape (n or 1, 1, q)."""
        differences = T - self.means
        logs = np.empty(differences.shape[:2])
        for m, factor in enumerate(self.factors):
            whitened = solve_triangular(factor, differences[:, m].T, lower=True)
            scale = 0.5 * len(factor) * log(2 * pi) + np.log(factor.diagonal()).sum()
            logs[:, m] = -0.5 * (whitened**2).sum(axis=0) - scale
        return logs


def condition(mixture: GaussianMixture, Z: Array, residuals: Array | None = None) -> Conditional:
    """Condition a mixture of (z, t) on z, of shape (n, r); residuals as in ``log_components``."""
    r = Z.shape[1]
    marginal = GaussianMixture(
        mixture.log_weights,
        mixture.means[:, :r],
        mixture.factors[:, :r, :r],
        mixture.residual_variances,
    )
    joint = log_components(marginal, Z, residuals) + mixture.log_weights
    means = np.empty((len(Z), mixture.n_components, mixture.means.shape[1] - r))
    for m, factor in enumerate(mixture.factors):
        # The means are linear in z, so one solve is enough for all points.
        slope = solve_triangular(factor[:r, :r].T, factor[r:, :r].T, lower=False)
        means[:, m] = mixture.means[m, r:] + (Z - mixture.means[m, :r]) @ slope
    log_responsibilities = joint - logsumexp(joint, axis=1, keepdims=True)
    return Conditional(log_responsibilities, means, mixture.factors[:, r:, r:])


def held_out_likelihood(
    Z: Array, T: Array, residuals: Array, weights: Array, refits: Refits
) -> float:
    """Return the leave-one-out mean of ``log p(t_i | x_i)``; exact for one component."""
    both = _log_joint(np.hstack([Z, T]), residuals, refits)
    logs = logsumexp(both, axis=0) - logsumexp(_log_joint(Z, residuals, refits), axis=0)
    return float(np.average(logs, weights=weights))


def held_out_class_likelihood(
    Z: Array, codes: Array, corners: Array, residuals: Array, weights: Array, refits: Refits
) -> float:
    """Return the leave-one-out mean of ``log P(class_i | x_i)``, as in ``log_choice``."""
    given = _log_joint(Z, residuals, refits)
    log_responsibilities = np.array(given) - logsumexp(given, axis=0)
    rows = np.arange(len(Z))
    terms = []
    fits = refits(np.hstack([Z, corners[codes]]))
    for log_responsibility, (_, part) in zip(log_responsibilities, fits, strict=True):
        logits = [part.at(np.hstack([Z, np.tile(c, (len(Z), 1))])) for c in corners]
        terms.append(log_responsibility + log_softmax(logits, axis=0)[codes, rows])
    return float(np.average(logsumexp(terms, axis=0), weights=weights))


def _log_joint(Z: Array, residuals: Array, refits: Refits) -> list[Array]:
    """Return leave-one-out values of ``log ρ_m p_m(z_i)``, one array per component."""
    return [log_weight + part.at(Z, residuals) for log_weight, part in refits(Z)]
