"""What all mixtures in feature space share: coordinates, starts, EM, and the choice of α."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar

from mercer.chunks import kept, mapped, summed
from mercer.data import Points
from mercer.decompose import decompose
from mercer.errors import ConvergenceWarning, IdentifiabilityWarning, suppress_warnings, warn
from mercer.estimators.base import KernelEstimator
from mercer.kernels import Kernel
from mercer.maths.effective_components import effective_weights
from mercer.maths.gaussian_mixture import (
    Mixture,
    MixtureFit,
    expectation,
    fit_mixture,
    log_components,
)
from mercer.maths.kmeans import farthest_rows, kmeans, scattered_rows, weighted_mean
from mercer.maths.types import Array
from mercer.operators import Sample
from mercer.spectrum import Spectrum

__all__ = ["KernelMixture"]

_ZERO = 1e-10  # of the largest eigenvalue: below, a direction is rounding
_AUTO = 0.075  # of n: what the paper's two examples and cross-validation on eleven sets agree on
_GRID = 9
_NUMBER = int | float | np.number
_CLOSE = 0.05  # log α need not be known better


class KernelMixture(KernelEstimator):
    """A Gaussian mixture on kernel coordinates."""

    spectrum_: Spectrum

    _stays_behind: ClassVar[tuple[str, ...]] = ("responsibilities_",)

    #: coordinates that ``rank=None`` keeps at most
    _most: ClassVar[int] = 1000

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

    def _coordinates(self, sample: Sample) -> Array:
        """Decompose K and return the coordinates of the training points."""
        spectrum = self._decompose(sample, self._wanted(sample))
        self.spectrum_ = spectrum
        self.kernel_ = spectrum.kernel
        values = spectrum.eigenvalues
        self.rank_ = int((values > _ZERO * values[0]).sum())
        return kept(spectrum.projections[:, : self.rank_].astype(np.float64))

    def _wanted(self, sample: Sample) -> int | float | None:
        n = sample.points.n
        if self.rank is None:
            return None if n <= self._most else self._most
        return min(self.rank, n) if isinstance(self.rank, int | np.integer) else self.rank

    def _decompose(self, sample: Sample, count: int | float | None) -> Spectrum:
        # a mixture does not depend on the basis of a subspace, so ties need no warning
        with suppress_warnings(IdentifiabilityWarning):
            return decompose(
                sample,
                "variance",
                count,
                solver=self.solver,
                center=self.center,
                random_state=self.random_state,
                at_most=not isinstance(count, float),
            )

    def _run(self, Z: Array, weights: Array, alpha: float) -> MixtureFit:
        """EM from all starts; the best penalised likelihood wins."""
        rng = np.random.default_rng(self.random_state)
        best: MixtureFit | None = None
        for start in range(self.n_init if self.n_components > 1 else 1):
            rows = (
                farthest_rows(Z, weights, self.n_components)
                if start == 0
                else scattered_rows(Z, weights, self.n_components, rng)
            )
            # every other random start leaves out k-means, whose clusters all starts might share
            members = kmeans(Z, weights, rows, **({"steps": 0} if start % 2 else {}))
            run = fit_mixture(
                Z, weights, members, alpha, self.beta, max_iter=self.max_iter, tol=self.tol
            )
            if best is None or run.bound > best.bound:
                best = run
        assert best is not None, "n_init is at least 1"
        return best

    def _keep(self, fit: MixtureFit, weights: Array, alpha: float) -> None:
        self.mixture_ = fit.mixture
        self.alpha_ = alpha
        self.responsibilities_ = fit.responsibilities
        self.weights_ = np.exp(fit.mixture.log_weights)
        self.effective_weights_ = effective_weights(weights, fit.responsibilities)
        self.lower_bounds_ = fit.lower_bounds
        self.converged_ = fit.converged
        self.n_iter_ = len(fit.lower_bounds)
        if not fit.converged:
            warn(
                f"EM stopped at max_iter={self.max_iter} while the penalised likelihood still rose "
                f"by more than tol={self.tol:g} per row. Raise max_iter or tol.",
                ConvergenceWarning,
            )
        found = len(self.effective_weights_)
        if found < self.n_components:
            warn(
                f"n_components={self.n_components} collapsed to {found}: the others are empty or "
                f"the same. In each of {self.rank_} dimensions the larger component gains where it "
                f"has no use for it, and alpha={alpha:.3g} hides what is smaller. Use a rank cut "
                "with an alpha in the scale of the coordinates (rank=10, alpha='scaled'), a kernel "
                "of low rank, more starts (n_init), or fewer components.",
                IdentifiabilityWarning,
            )

    def _left_out(self, Z: Array) -> Array:
        """Squared lengths of what the coordinates of the training points leave out."""
        return mapped(_residuals, self.spectrum_.expansion.training_squared_norms(), Z)

    # --- new points -----------------------------------------------------------------------------

    def _seen(self, points: Points) -> tuple[Array, Array]:
        """Coordinates, and the squared length of what they leave out."""
        Z = self.spectrum_.project(points)[:, : self.rank_].astype(np.float64)
        residuals = self.spectrum_.squared_norms(points) - np.einsum("ij,ij->i", Z, Z)
        return Z, np.maximum(residuals, 0)

    def _log_components(self, points: Points) -> Array:
        """Log-densities of the components, without their weights, of shape (m, M)."""
        return log_components(self.mixture_, *self._seen(points))

    def _log_joint(self, points: Points) -> Array:
        return self._log_components(points) + self.mixture_.log_weights

    def _training_scores(self, Z: Array) -> Array:
        """Log-densities of the training points in feature space, not normalised."""
        return mapped(partial(_log_densities, self.mixture_), Z, self._left_out(Z))

    # --- parameters -----------------------------------------------------------------------------

    def _check_parameters(self, n: int) -> None:
        for name in ("n_components", "n_init", "max_iter"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise ValueError(f"{name}={value!r} must be a whole number of at least 1.")
        if self.n_components > n:
            raise ValueError(
                f"n_components={self.n_components} exceeds the number of rows with a positive "
                f"weight (n_samples={n}); pass at most {n}."
            )
        for name, value in (("beta", self.beta), ("tol", self.tol)):
            if not (isinstance(value, _NUMBER) and 0 <= value < np.inf):
                raise ValueError(f"{name}={value!r} must be a finite number of at least 0.")
        if not isinstance(self.alpha, str) and not (
            isinstance(self.alpha, _NUMBER) and 0 < self.alpha < np.inf
        ):
            raise ValueError(
                f"alpha={self.alpha!r} must be a finite number above 0 (without it covariances are "
                f"singular), {self._alpha_rules}."
            )

    _alpha_rules: ClassVar[str] = "'auto' (0.075 n), 'scaled' or 'leave-one-out'"

    def _unknown_alpha(self) -> ValueError:
        return ValueError(f"alpha={self.alpha!r} must be a number, {self._alpha_rules}.")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "mixture_")


def best_alpha(likelihood: Callable[[float], float], low: float, high: float) -> float:
    """The α between the limits with the highest held-out likelihood: a grid, then a search."""
    grid = np.linspace(np.log(low), np.log(high), _GRID)
    values = [likelihood(float(np.exp(point))) for point in grid]
    at = int(np.argmax(values))
    bounds = (grid[max(at - 1, 0)], grid[min(at + 1, _GRID - 1)])
    found = minimize_scalar(
        lambda point: -likelihood(float(np.exp(point))),
        bounds=bounds,
        method="bounded",
        options={"xatol": _CLOSE},
    )
    return float(np.exp(found.x if -found.fun >= values[at] else grid[at]))


def ruled_alpha(rule: str, Z: Array, weights: Array) -> float | None:
    """α by "auto" or "scaled"; None for other names."""
    if rule == "auto":
        return _AUTO * summed(_total, weights)
    if rule == "scaled":
        squares = summed(partial(_squares, weighted_mean(Z, weights)), Z, weights)
        return _AUTO * max(squares, np.finfo(float).tiny)
    return None


def _residuals(norms: Array, Z: Array) -> Array:
    return np.maximum(norms - np.einsum("ij,ij->i", Z, Z), 0)


def _log_densities(mixture: Mixture, Z: Array, residuals: Array) -> Array:
    return expectation(mixture, Z, residuals)[0]


def _total(weights: Array) -> float:
    return float(weights.sum())


def _squares(mean: Array, Z: Array, weights: Array) -> float:
    return float(weights @ ((Z - mean) ** 2).mean(axis=1))
