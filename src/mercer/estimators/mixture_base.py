"""Base class of Gaussian mixtures in feature space: coordinates, EM and rules for α."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar

from mercer.data import Points, Sample
from mercer.decompose import decompose
from mercer.errors import ConvergenceWarning, IdentifiabilityWarning, suppress_warnings, warn
from mercer.estimators.base import KernelEstimator
from mercer.kernels import Kernel
from mercer.maths.effective_components import effective_weights
from mercer.maths.gaussian_mixture import (
    GaussianMixture,
    GaussianMixtureFit,
    expectation,
    fit_mixture,
    log_components,
)
from mercer.maths.kmeans import farthest_rows, kmeans, random_distant_rows, weighted_mean
from mercer.maths.row_passes import RowPasses
from mercer.maths.types import Array
from mercer.spectrum import Spectrum
from mercer.validation import check_choice, check_integer, check_real

__all__ = ["KernelMixture", "maximize_alpha"]

_NEGLIGIBLE = 1e-10  # eigenvalues below this fraction of the largest are rounding errors
# In units of n. It agrees with the two examples of the paper and with cross-validation on eleven
# data sets.
_AUTO_ALPHA = 0.075
_GRID_SIZE = 9
_LOG_ALPHA_TOLERANCE = 0.05


class KernelMixture(KernelEstimator):
    """A Gaussian mixture in kernel coordinates.

    A ``fit`` of a subclass calls, in this order, ``_check_parameters``, ``_fit_coordinates``,
    ``_alpha_by_rule`` (or a search of its own) and ``_fit_em``.
    """

    spectrum_: Spectrum

    _per_row_attributes: ClassVar[tuple[str, ...]] = ("responsibilities_",)

    #: rules for alpha, by name
    _alpha_rules: ClassVar[tuple[str, ...]] = ("auto", "scaled", "leave-one-out")

    #: largest number of coordinates for ``rank=None``
    _max_rank: ClassVar[int] = 1000

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

    def _fit_coordinates(self, sample: Sample, default_rank: int | None = None) -> Array:
        """Decompose K, set ``spectrum_``, and return the coordinates of the training points.

        ``default_rank`` replaces ``rank=None``.
        """
        n = sample.points.n
        rank = default_rank if self.rank is None else self.rank
        if rank is None and n > self._max_rank:
            rank = self._max_rank
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
        return sample.passes.persist(spectrum.projections[:, : self.rank_].astype(np.float64))

    def _alpha_by_rule(self, Z: Array, sample: Sample) -> float | None:
        """Return α given as a number or by "auto" or "scaled"; None for other rules."""
        rows, weights = sample.passes, sample.multiplicities
        if self.alpha == "auto":
            return _AUTO_ALPHA * rows.sum(_total, weights)
        if self.alpha == "scaled":
            mean = weighted_mean(Z, weights, rows=rows)
            squares = rows.sum(partial(_mean_squares, mean), Z, weights)
            return _AUTO_ALPHA * max(squares, np.finfo(float).tiny)
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
                rows=rows,
            )
            if best is None or run.bound > best.bound:
                best = run
        assert best is not None, "n_init is at least 1"
        return best

    def _fit_em(self, Z: Array, sample: Sample, alpha: float) -> None:
        """Run EM and set the fitted attributes."""
        fit = self._run_em(Z, sample, alpha)
        self.mixture_ = fit.mixture
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
                f"dominates, and alpha={alpha:.3g} smooths out smaller ones. Limit the rank and "
                "scale alpha (rank=10, alpha='scaled'), or use a kernel of low rank, more starts "
                "(n_init), or fewer components.",
                IdentifiabilityWarning,
            )

    # --- training points ------------------------------------------------------------------------

    def _training_residuals(self, Z: Array, rows: RowPasses) -> Array:
        """Return the squared distances of the training points from the span of the coordinates."""
        return rows.map(_residuals, self.spectrum_.expansion.training_squared_norms(), Z)

    def _training_scores(self, Z: Array, rows: RowPasses) -> Array:
        """Return the log-densities of the training points in feature space, not normalized."""
        residuals = self._training_residuals(Z, rows)
        return rows.map(partial(_log_densities, self.mixture_), Z, residuals)

    # --- new points -----------------------------------------------------------------------------

    def _coordinates(self, points: Points) -> tuple[Array, Array]:
        """Return the coordinates and the squared distances from their span."""
        Z = self.spectrum_.project(points)[:, : self.rank_].astype(np.float64)
        return Z, _residuals(self.spectrum_.squared_norms(points), Z)

    def _log_components(self, points: Points) -> Array:
        """Return the log-densities of the components, without their weights, of shape (m, M)."""
        return log_components(self.mixture_, *self._coordinates(points))

    def _log_joint(self, points: Points) -> Array:
        return self._log_components(points) + self.mixture_.log_weights

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "mixture_")


def maximize_alpha(likelihood: Callable[[float], float], low: float, high: float) -> float:
    """Return the α between the limits that maximizes a likelihood: a grid, then a search."""
    grid = np.linspace(np.log(low), np.log(high), _GRID_SIZE)
    values = [likelihood(float(np.exp(log_alpha))) for log_alpha in grid]
    at = int(np.argmax(values))
    bounds = (grid[max(at - 1, 0)], grid[min(at + 1, _GRID_SIZE - 1)])
    found = minimize_scalar(
        lambda log_alpha: -likelihood(float(np.exp(log_alpha))),
        bounds=bounds,
        method="bounded",
        options={"xatol": _LOG_ALPHA_TOLERANCE},
    )
    return float(np.exp(found.x if -found.fun >= values[at] else grid[at]))


def _residuals(squared_norms: Array, Z: Array) -> Array:
    return np.maximum(squared_norms - np.einsum("ij,ij->i", Z, Z), 0)


def _log_densities(mixture: GaussianMixture, Z: Array, residuals: Array) -> Array:
    return expectation(mixture, Z, residuals)[0]


def _total(weights: Array) -> float:
    return float(weights.sum())


def _mean_squares(mean: Array, Z: Array, weights: Array) -> float:
    return float(weights @ ((Z - mean) ** 2).mean(axis=1))
