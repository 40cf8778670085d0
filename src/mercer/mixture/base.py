r"""Base class of Gaussian mixtures in feature space: coordinates, EM and rules for α.

The residual :math:`R = k(x, x) - |z|^2` of a row is the sum of its squares in the directions that a
rank cut leaves out. It is treated as that of h directions with a common variance ε. With the
covariance C of the residuals, :math:`h = (\mathrm{tr}\, C)^2 / \mathrm{tr}\, C^2`, the number that
gives :math:`\varepsilon \chi^2_h` the mean and variance of R for Gaussian residuals
(Satterthwaite). Both traces follow from the residual kernel :math:`k(x, y) - z_x'z_y` of the
training rows: they are sums of its eigenvalues and of their squares. With the prior of the
covariances (α, β) the mode of ε is

.. math:: \varepsilon = \frac{\sum_i w_i R_i / h + \alpha}{n + \beta},

which is the :math:`\alpha / (n + \beta)` of the paper if there are no residuals. All components
share ε, so it does not change their responsibilities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.optimize import minimize_scalar

from mercer.data.points import Points, Sample
from mercer.decomposition.base import KernelEstimator
from mercer.eigen.decompose import Spectrum, decompose
from mercer.errors import ConvergenceWarning, IdentifiabilityWarning, suppress_warnings, warn
from mercer.kernels import Kernel
from mercer.mixture.conditional_mixture import Conditional, condition
from mercer.mixture.gaussian_mixture import (
    GaussianMixtureFit,
    fit_mixture,
    log_components,
)
from mercer.mixture.kmeans import farthest_rows, kmeans, random_distant_rows, weighted_mean
from mercer.utils.row_passes import IN_MEMORY, RowPasses
from mercer.utils.types import Array
from mercer.utils.validation import check_choice, check_integer, check_real

__all__ = [
    "KernelMixture",
    "ResidualVariance",
    "count_directions",
    "effective_weights",
    "maximize_alpha",
    "one_component_alpha",
    "total_squared_norm",
]


@dataclass(frozen=True)
class ResidualVariance:
    """Sufficient statistics of ε."""

    weight: float  # n, the sum of the weights
    total: float  # ``Σ_i w_i R_i``
    directions: float  # h

    def value(self, alpha: float, beta: float) -> float:
        """Return ε."""
        return (self.total / self.directions + alpha) / (self.weight + beta)

    def without_each(self, residuals: Array, weights: Array, alpha: float, beta: float) -> Array:
        """Return ε without one unit of each row's weight (all of it if less than 1)."""
        units = np.minimum(weights, 1)
        remaining = np.maximum(self.total - units * residuals, 0)
        return (remaining / self.directions + alpha) / (self.weight - units + beta)


def count_directions(products: Array, weights: Array) -> float:
    """Return h from the residual kernel of some rows, at least 1.

    It is ``(Σ λ)² / Σ λ²`` over the eigenvalues that a rank cut leaves out.

    >>> count_directions(np.diag([1.0, 1.0]), np.ones(2))
    2.0
    """
    weights = weights / weights.max()  # products must not overflow
    squares = float(weights @ products**2 @ weights)
    return max((float(weights @ products.diagonal())) ** 2 / squares, 1.0) if squares > 0 else 1.0


# --- effective components -------------------------------------------------------------------------


def effective_weights(
    weights: Array, responsibilities: Array, *, rows: RowPasses = IN_MEMORY
) -> Array:
    """Return the weights of the components that are neither empty nor equal, largest first.

    They add up to 1. A component is empty if all rows together give it a weight of less than 1,
    where weights are multiplicities. Two components are equal if every row is equally likely under
    both, that is, if their responsibilities are in the ratio of their weights.

    >>> effective_weights(np.ones(4), np.full((4, 2), 0.5))
    array([1.])
    """
    mass, sums = rows.sum(_sums, weights, responsibilities)
    proportions = sums / mass
    positive = np.maximum(proportions, np.finfo(float).tiny)
    highest, differences = rows.sum(
        partial(_profile_differences, positive), responsibilities, combine=_maxima
    )
    merged: list[tuple[int, float]] = []
    for m in np.argsort(-proportions):
        if sums[m] < 1 and merged:
            continue
        for i, (other, proportion) in enumerate(merged):
            # relative to the responsibilities: equal components
            if differences[m, other] <= 1e-3 * max(1.0, highest[m]):
                merged[i] = (other, proportion + float(proportions[m]))
                break
        else:
            merged.append((int(m), float(proportions[m])))
    found = np.sort([proportion for _, proportion in merged])[::-1]
    return np.asarray(found / found.sum())


def _sums(weights: Array, responsibilities: Array) -> Any:
    return float(weights.sum()), weights @ responsibilities


def _profile_differences(proportions: Array, responsibilities: Array) -> tuple[Array, Array]:
    """Return the largest entry of each profile and the largest difference of each pair.

    The profile of a component is the column of its responsibilities divided by its proportion.
    """
    profiles = responsibilities / proportions
    highest = profiles.max(axis=0, initial=0.0)
    differences = [
        np.abs(profiles - profiles[:, [m]]).max(axis=0, initial=0.0)
        for m in range(len(proportions))
    ]
    return highest, np.array(differences)


def _maxima(parts: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    highest, differences = (np.maximum.reduce(entries) for entries in zip(*parts, strict=True))
    return highest, differences


# --- the estimators -------------------------------------------------------------------------------


_NEGLIGIBLE = 1e-10  # eigenvalues below this fraction of the largest are rounding errors
_AUTO_ALPHA = 0.075  # in units of Σ k(x, x); agrees with the paper's examples
#: coordinates of several components: with more, the largest component absorbs the others
_MIXTURE_RANK = 10


class KernelMixture(KernelEstimator):
    """A Gaussian mixture in kernel coordinates.

    A ``fit`` of a subclass calls, in this order, ``_check_parameters``, ``_fit_coordinates``,
    ``_alpha_by_rule`` (or a search of its own) and ``_fit_em``.
    """

    spectrum_: Spectrum

    #: unit of the coordinates of x in the joint mixtures of x and y
    _unit: float

    _table: ClassVar[Literal["sum", "product"] | None] = "product"
    _per_row_attributes: ClassVar[tuple[str, ...]] = ("responsibilities_",)

    #: rules for alpha, by name
    _alpha_rules: ClassVar[tuple[str, ...]] = ("auto",)

    #: J of the prior in kernel coordinates; None for the identity
    _prior_scale: Array | None = None

    #: largest number of coordinates for ``rank=None``
    _max_rank: ClassVar[int] = 300

    def __init__(
        self,
        n_components: int = 1,
        *,
        kernel: str | Kernel = "gaussian",
        alpha: float | str = "auto",
        beta: float = 1.0,
        center: bool = False,
        rank: int | float | None = None,
        solver: Any = "auto",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-6,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.alpha = alpha
        self.beta = beta
        self.center = center
        self.rank = rank
        self.solver = solver
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    # --- fitting --------------------------------------------------------------------------------

    def _check_parameters(self, n: int) -> None:
        """Check all parameters except ``rank``, for n rows with positive weight."""
        remedy = "Pass at most the number of rows with positive weight (n_samples)."
        check_integer(self.n_components, "n_components", high=n, remedy=remedy)
        for name in ("n_init", "max_iter"):
            check_integer(getattr(self, name), name)
        for name in ("beta", "tol"):
            check_real(getattr(self, name), name, low=0)
        if isinstance(self.alpha, str):
            check_choice(self.alpha, "alpha", self._alpha_rules)
        else:
            rules = ", ".join(map(repr, self._alpha_rules))
            remedy = f"Without it the covariances are singular. Or pass one of {rules}."
            check_real(self.alpha, "alpha", above=0, remedy=remedy)

    def _fit_coordinates(self, sample: Sample, most: int = _MIXTURE_RANK) -> Array:
        """Decompose K, set ``spectrum_``, and return the coordinates of the training points.

        ``most``: number of coordinates of several components for ``rank=None``.
        """
        n, rank = sample.points.n, self.rank
        most = most if self.n_components > 1 else self._max_rank
        if rank is None and n > most:
            rank = most
        if isinstance(rank, int | np.integer):
            rank = min(rank, n)
        # a mixture does not depend on the basis of a subspace, so ties need no warning
        with suppress_warnings(IdentifiabilityWarning):
            spectrum = decompose(
                sample,
                "variance",
                rank,
                solver=self.solver,
                center=self.center,
                random_state=self.random_state,
                at_most=not isinstance(rank, float),
            )
        self.spectrum_ = spectrum
        self.kernel_ = spectrum.kernel
        values = spectrum.eigenvalues
        self.rank_ = int((values > _NEGLIGIBLE * values[0]).sum())
        Z = spectrum.projections[:, : self.rank_].astype(np.float64)
        if self._has_all_coordinates() and _loses_a_direction(spectrum):
            # Without centering this direction counts, with a constant coordinate.
            self.rank_ += 1
            Z = sample.passes.map(partial(_padded, self.rank_), Z)
        return sample.passes.persist(Z)

    def _scaled_coordinates(self, sample: Sample, scale: float = 1.0) -> tuple[Array, Array]:
        """Return the coordinates of x for a joint mixture, and their residuals, in a common unit.

        The coordinates of y have unit scale, so those of x get the given one, whatever that of k.
        """
        Z = self._fit_coordinates(sample)
        residuals = self._training_residuals(Z, sample.passes)
        self._unit = float(np.sqrt(total_squared_norm(sample) / sample.sample_size)) / scale
        return Z / self._unit, residuals / self._unit**2

    def _given(self, X: Any) -> Conditional:
        """Return the distribution of the coordinates of y given X, for a joint mixture."""
        Z, residuals = self._coordinates(self._validate_new(X))
        return condition(self.mixture_, Z / self._unit, residuals / self._unit**2)

    def _has_all_coordinates(self, tolerance: float = 1e-8) -> bool:
        """Return whether the residuals of the training points are a negligible part of the trace.

        By default up to rounding error.
        """
        spectrum = self.spectrum_
        missing = spectrum.trace - spectrum.eigenvalues[: self.rank_].sum()
        return bool(missing <= tolerance * spectrum.trace)

    def _residual_variance(self, residuals: Array, sample: Sample) -> ResidualVariance | None:
        """Return the variance outside a rank cut; None if there is no cut."""
        if self._has_all_coordinates():
            return None
        weights, size = sample.multiplicities, sample.sample_size
        # residuals of 500 rows are compared with each other
        some = np.unique(np.linspace(0, sample.points.n - 1, 500).astype(int))
        products = self._residual_products(sample, some)
        directions = count_directions(products, sample.passes.take(weights, some))
        total = sample.passes.sum(_weighted_sum, residuals, weights)
        return ResidualVariance(size, total, directions)

    def _residual_products(self, sample: Sample, some: Array) -> Array:
        """Return the products of the residuals of some training rows in feature space."""
        points = sample.points_for(some, np.arange(sample.points.n))
        K = sample.kernel(points.data) if sample.matrix is None else points.data[:, some]
        Z, _ = self._coordinates(points)
        return self._centered(K, points) - Z @ Z.T

    def _centered(self, K: Array, points: Points) -> Array:
        """Return the products of the features of some points with respect to the origin."""
        expansion = self.spectrum_.expansion
        if expansion.mean_coordinates is None:
            return K
        mean = expansion.mean_products(points)
        return np.asarray(K - mean[:, None] - mean + expansion.mean_squared_norm)

    def _alpha_by_rule(self, Z: Array, sample: Sample) -> float | None:
        """Return α given as a number or by "auto" or "scaled"; None for other rules."""
        rows, weights = sample.passes, sample.multiplicities
        if self.alpha == "auto" and self.n_components == 1:
            return one_component_alpha(sample)
        if self.alpha in ("auto", "scaled"):
            mean = weighted_mean(Z, weights, rows=rows)
            squares = rows.sum(partial(_mean_squares, mean), Z, weights)
            alpha = _AUTO_ALPHA * max(squares, np.finfo(float).tiny)
            # each component has about n / M rows
            return alpha / self.n_components if self.alpha == "auto" else alpha
        return None if isinstance(self.alpha, str) else float(self.alpha)

    def _run_em(self, Z: Array, sample: Sample, alpha: float) -> GaussianMixtureFit:
        """Run EM from all starts and return the run with the largest penalized likelihood."""
        rows, weights = sample.passes, sample.multiplicities
        rng = np.random.default_rng(self.random_state)
        best: GaussianMixtureFit | None = None
        for start in range(self.n_init if self.n_components > 1 else 1):
            centers = (
                farthest_rows(Z, weights, self.n_components, rows=rows)
                if start == 0
                else random_distant_rows(Z, weights, self.n_components, rng, rows=rows)
            )
            # every other random start skips k-means, which may lead all starts to the same clusters
            steps = {"steps": 0} if start % 2 else {}
            run = fit_mixture(
                Z,
                weights,
                kmeans(Z, weights, centers, rows=rows, **steps),
                alpha,
                self.beta,
                max_iter=self.max_iter,
                tol=self.tol,
                scale=self._prior_scale,
                rows=rows,
            )
            if best is None or run.bound > best.bound:
                best = run
        assert best is not None, "n_init is at least 1"
        return best

    def _fit_em(self, Z: Array, sample: Sample, alpha: float, residuals: Array) -> None:
        """Run EM and set the fitted attributes; residuals are those of the training points."""
        fit = self._run_em(Z, sample, alpha)
        self.mixture_ = fit.mixture
        outside = self._residual_variance(residuals, sample)
        if outside is not None:
            shared = np.full(self.n_components, outside.value(alpha, self.beta))
            self.mixture_ = replace(fit.mixture, residual_variances=shared)
        self.alpha_ = alpha
        self.responsibilities_ = fit.responsibilities
        self.weights_ = np.exp(fit.mixture.log_weights)
        self.effective_weights_ = effective_weights(
            sample.multiplicities, fit.responsibilities, rows=sample.passes
        )
        self.lower_bounds_ = fit.lower_bounds
        self.converged_ = fit.converged
        self.n_iter_ = len(fit.lower_bounds)
        if not fit.converged:
            warn(
                f"EM stopped at max_iter={self.max_iter} while the penalized likelihood still "
                f"increased by more than tol={self.tol:g} per row. Increase max_iter or tol.",
                ConvergenceWarning,
            )
        effective = len(self.effective_weights_)
        if effective < self.n_components:
            warn(
                f"n_components={self.n_components} collapsed to {effective}: the others are empty "
                f"or equal. In {self.rank_} dimensions the component with the larger weight "
                f"dominates, and alpha={alpha:.3g} smooths out smaller ones. Use a lower rank "
                "(rank=10), a smaller alpha, more starts (n_init), or fewer components.",
                IdentifiabilityWarning,
            )

    # --- training points ------------------------------------------------------------------------

    def _training_residuals(self, Z: Array, rows: RowPasses) -> Array:
        """Return the squared distances of the training points from the span of the coordinates."""
        return rows.map(_residuals, self.spectrum_.expansion.training_squared_norms(), Z)

    # --- new points -----------------------------------------------------------------------------

    def _coordinates(self, points: Points) -> tuple[Array, Array]:
        """Return the coordinates and the squared distances from their span."""
        Z = _padded(self.rank_, self.spectrum_.project(points)[:, : self.rank_].astype(np.float64))
        return Z, _residuals(self.spectrum_.squared_norms(points), Z)

    def _log_components(self, points: Points) -> Array:
        """Return the log-densities of the components, without their weights, of shape (m, M)."""
        return log_components(self.mixture_, *self._coordinates(points))

    def _log_joint(self, points: Points) -> Array:
        return self._log_components(points) + self.mixture_.log_weights

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "mixture_")


def maximize_alpha(likelihood: Callable[[float], float], low: float, high: float) -> float:
    """Return the α that maximizes a likelihood: a grid between the limits, then a search.

    If the largest value is at a limit, this limit is moved once; if it is there again, a warning is
    issued.
    """
    low, high = np.log(low), np.log(high)
    tolerance = 0.05
    known: dict[float, float] = {}

    def value(log_alpha: float) -> float:
        if log_alpha not in known:
            known[log_alpha] = likelihood(float(np.exp(log_alpha)))
        return known[log_alpha]

    # if the maximum is at a limit of α, the limit is moved once
    for extension in (np.log(100.0), 0.0):
        grid = np.linspace(low, high, 9)
        at = int(np.argmax([value(log_alpha) for log_alpha in grid]))
        if 0 < at < len(grid) - 1:
            break
        low, high = (low - extension, low) if at == 0 else (high, high + extension)
    bounds = (grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)])
    found = minimize_scalar(
        lambda log_alpha: -value(log_alpha),
        bounds=bounds,
        method="bounded",
        options={"xatol": tolerance},
    )
    best = found.x if -found.fun >= value(grid[at]) else grid[at]
    if at in (0, len(grid) - 1) and abs(best - grid[at]) <= tolerance:
        end, sense = ("lower", "sharp") if at == 0 else ("upper", "smooth")
        warn(
            f"alpha={np.exp(best):.3g} is the {end} limit of the search, where the leave-one-out "
            f"likelihood is largest: it prefers a density as {sense} as possible. Pass a number "
            "for alpha, or another bandwidth of the kernel.",
            IdentifiabilityWarning,
        )
    return float(np.exp(best))


def one_component_alpha(sample: Sample) -> float:
    """Return the α of the rule "auto" for one component."""
    return _AUTO_ALPHA * total_squared_norm(sample)


def total_squared_norm(sample: Sample) -> float:
    """Return ``Σ_i w_i k(x_i, x_i)``, the unit of α."""
    if sample.matrix is not None:
        return float(sample.multiplicities @ sample.matrix.diagonal())
    weights = None if sample.weights is None else sample.multiplicities
    return float(sample.points.sum_rows(partial(_norms, sample.kernel), weights))


def _norms(kernel: Kernel, points: Points, weights: Array | None) -> float:
    norms = kernel.diagonal(points.data)
    return float(norms.sum() if weights is None else weights @ norms)


def _loses_a_direction(spectrum: Spectrum) -> bool:
    """Return whether centering removed a direction: the origin is not among the centered points.

    The points then have a constant coordinate, that of their mean, in one more direction.
    """
    mean = spectrum.expansion.mean_coordinates
    if mean is None:
        return False
    squared = spectrum.expansion.mean_squared_norm
    outside = spectrum.total_weight * (squared - float(mean @ mean))
    return outside > _NEGLIGIBLE * max(spectrum.eigenvalues[0], spectrum.total_weight * squared)


def _padded(columns: int, Z: Array) -> Array:
    """Append columns of zeros."""
    missing = columns - Z.shape[1]
    return Z if missing == 0 else np.pad(Z, ((0, 0), (0, missing)))


def _residuals(squared_norms: Array, Z: Array) -> Array:
    return np.maximum(squared_norms - np.einsum("ij,ij->i", Z, Z), 0)


def _weighted_sum(values: Array, weights: Array) -> float:
    return float(weights @ values)


def _mean_squares(mean: Array, Z: Array, weights: Array) -> float:
    return float(weights @ ((Z - mean) ** 2).mean(axis=1))
