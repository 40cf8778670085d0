r"""Densities of y given x from a Gaussian mixture of the features of both (Macready, section 5).

Notation: z and t kernel coordinates of x and y, :math:`R_y = k_y(y, y) - |t|^2`. A mixture of
Gaussians is fitted to (z, t), in the feature space of :math:`k(x, x') + k_y(y, y')`. Given z each
component is a Gaussian of t with mean :math:`m_m(x)` and covariance :math:`C_m`, and

.. math:: p(y \mid x) = \sum_m p(m \mid x)\, \frac{g_m(y \mid x)}{\int g_m(y' \mid x)\, dy'}, \quad
          -2 \log g_m = (t - m_m)' C_m^{-1} (t - m_m) + R_y / \varepsilon_m .
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import logsumexp
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from mercer.bandwidth import fit_kernel
from mercer.data.points import Points, Sample
from mercer.eigen.decompose import decompose
from mercer.errors import IdentifiabilityWarning, suppress_warnings
from mercer.kernels import Kernel, as_kernel
from mercer.mixture.base import KernelMixture, maximize_alpha
from mercer.mixture.conditional_mixture import Conditional, condition
from mercer.mixture.gaussian_mixture import GaussianMixture
from mercer.utils.estimators import all_or_nothing
from mercer.utils.row_passes import IN_MEMORY
from mercer.utils.targets import TargetScale, numeric_targets
from mercer.utils.types import Array
from mercer.utils.validation import check_real

__all__ = ["JointMixtureDensity"]

_N_FOLDS = 5
_N_NODES = 400  # of the grid of y


class JointMixtureDensity(RegressorMixin, KernelMixture):  # type: ignore[misc]
    r"""Density of a number y given x, from a Gaussian mixture of the features of both.

    With a local kernel on y, p(y | x) is typically not Gaussian even for one component: its shape
    and its width depend on x. Where no data are near x, it approaches the distribution of y in the
    sample, so intervals widen.

    Parameters
    ----------
    n_components : int
    kernel : str or Kernel
        Kernel on X: vectors, tables, strings, graphs, …. The bandwidth "auto" as in
        :class:`MercerMixture`.
    y_kernel : str or Kernel
        Kernel on y, divided by its standard deviation.
    y_range : tuple (low, high) or None
        Range of y outside of which the density is 0; None: the range of the training targets,
        extended by half of it on both sides.
    alpha : float or "auto"
        α of the prior. "auto" maximizes the likelihood of y given x in five folds.
    beta : float
    center : bool
    rank : int, float or None
        Number of kernel coordinates of x; None: all, at most 300.
    solver : str or solver
    n_init, max_iter, tol, random_state
        As in :class:`MercerMixture`.

    Attributes
    ----------
    y_nodes_ : array of shape (400,)
        Grid of y on which densities are normalized.
    mixture_, weights_, responsibilities_, lower_bounds_, alpha_, rank_, spectrum_, kernel_
        As in :class:`MercerMixture`.

    Notes
    -----
    The features of x have 4 times the scale of those of y: α smooths both, and with equal scales an
    α that suits the density of y smooths its dependence on x too much.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import JointMixtureDensity
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, size=(200, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=200)
    >>> model = JointMixtureDensity().fit(X, y)
    >>> low, high = model.predict_interval([[1.0], [30.0]], level=0.9).T
    >>> bool(low[0] < np.sin(1.0) < high[0]), bool((high - low)[1] > 2 * (high - low)[0])
    (True, True)
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        kernel: str | Kernel = "gaussian",
        y_kernel: str | Kernel = "gaussian",
        y_range: tuple[float, float] | None = None,
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
        super().__init__(
            n_components,
            kernel=kernel,
            alpha=alpha,
            beta=beta,
            center=center,
            rank=rank,
            solver=solver,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
        )
        self.y_kernel = y_kernel
        self.y_range = y_range

    # --- fitting --------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the mixture of X and y.

        Parameters
        ----------
        X : array-like of shape (n, d), or data that the kernel compares
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,) or None
        """
        sample, used = self._validate_with_rows(X, sample_weight)
        self._check_parameters(sample.points.n)
        targets = numeric_targets(y, len(used))
        if targets.ndim > 1 and targets.shape[1] > 1:
            raise ValueError(
                f"y has shape {targets.shape}; JointMixtureDensity needs one number per row. Fit "
                "one model per target."
            )
        y = column_or_1d(targets, warn=True)[used]
        self._target = TargetScale.of(y, sample.weights)
        y = self._target.standardize(y)
        self._set_nodes(y)
        T = self._fit_y(y, None if sample.weights is None else sample.multiplicities)
        # α smooths both; with equal scales the α that suits the density of y oversmooths its
        # dependence on x
        (Z, residuals), total = self._scaled_coordinates(sample, 4.0), sample.sample_size
        folds = _folds(Z, y)
        has_folds = len(np.unique(folds)) == _N_FOLDS

        def held_out(alpha: float) -> Array:
            return self._held_out(Z, T, folds, residuals, sample, alpha)

        def likelihood(alpha: float) -> float:
            logs = self._in_cells(held_out(alpha), y)
            return float(np.average(logs, weights=sample.weights))

        if not isinstance(self.alpha, str):
            alpha = float(self.alpha)
        elif not has_folds:
            alpha = 0.01 * total  # too few rows for cross-validation
        else:
            alpha = maximize_alpha(likelihood, 1e-4 * total, total)
        self._fit_em(np.hstack([Z, T]), sample, alpha, residuals)
        self._levels, self._level_weights = np.array([0.0, 1.0]), np.ones(2)
        if has_folds:
            self._levels = self._distribution(held_out(alpha), y)
            self._level_weights = sample.multiplicities
        return self

    def _set_nodes(self, y: Array) -> None:
        low, high = float(y.min()), float(y.max())
        if self.y_range is None:
            margin = 0.5 * (high - low) if high > low else 1.0
            limits = np.array([low - margin, high + margin])
        else:
            least, largest = map(float, self._target.restore(np.array([low, high])))
            limits = self._target.standardize(
                np.array(
                    [
                        check_real(self.y_range[0], "y_range[0]", high=least),
                        check_real(self.y_range[1], "y_range[1]", low=largest),
                    ]
                )
            )
        self._edges = np.linspace(limits[0], limits[1], _N_NODES + 1)
        self._nodes = (self._edges[:-1] + self._edges[1:]) / 2
        self.y_nodes_ = self._target.restore(self._nodes)

    def _fit_y(self, y: Array, weights: Array | None) -> Array:
        """Decompose the kernel of y, and return the coordinates of the training targets."""
        points = Points(y[:, None], "vectors")
        kernel = fit_kernel(as_kernel(self.y_kernel), points, weights)
        with suppress_warnings(IdentifiabilityWarning):
            self._y_spectrum = decompose(
                Sample.of(kernel, points, weights),
                "variance",
                min(100, points.n),
                at_most=True,
                random_state=self.random_state,
            )
        values = self._y_spectrum.eigenvalues
        self._y_rank = int((values > 1e-8 * values[0]).sum())
        self._node_coordinates = self._y_coordinates(self._nodes)
        return self._y_coordinates(y)[0]

    def _y_coordinates(self, y: Array) -> tuple[Array, Array]:
        """Return coordinates of targets in units of √k_y(y, y), and their residuals."""
        points = Points(y[:, None], "vectors")
        T = self._y_spectrum.project(points)[:, : self._y_rank]
        norms = self._y_spectrum.squared_norms(points)
        unit = self._y_spectrum.trace / self._y_spectrum.total_weight
        residuals = np.maximum(norms - np.einsum("ij,ij->i", T, T), 0)
        return T / np.sqrt(unit), residuals / unit

    def _held_out(
        self, Z: Array, T: Array, folds: Array, residuals: Array, sample: Sample, alpha: float
    ) -> Array:
        """Return log-probabilities of the cells for rows that were left out, in five folds."""
        joined, logs = np.hstack([Z, T]), np.empty((len(folds), _N_NODES))
        for fold in range(_N_FOLDS):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            some = sample.take(train)
            share = some.sample_size / sample.sample_size
            mixture = self._run_em(joined[train], some, alpha * share).mixture
            given = condition(mixture, Z[test], residuals[test])
            logs[test] = self._log_probabilities(mixture, given)
        return logs

    # --- densities ------------------------------------------------------------------------------

    def _log_probabilities(self, mixture: GaussianMixture, given: Conditional) -> Array:
        """Return log-probabilities of the cells of y given x, of shape (n, cells)."""
        T, residuals = self._node_coordinates
        terms = []
        for m, factor in enumerate(given.factors):
            nodes = solve_triangular(factor, T.T, lower=True)
            means = solve_triangular(factor, given.means[:, m].T, lower=True)
            squared = (means**2).sum(axis=0)[:, None] + (nodes**2).sum(axis=0)
            squared -= 2 * means.T @ nodes
            logs = -0.5 * (squared + residuals / mixture.residual_variances[m])
            logs -= logsumexp(logs, axis=1, keepdims=True)
            terms.append(given.log_responsibilities[:, [m]] + logs)
        return np.asarray(logsumexp(terms, axis=0))

    def _log_probabilities_given(self, X: Any) -> Array:
        given = self._given(X)
        return self._log_probabilities(self.mixture_, given)

    def _log_width(self) -> float:
        """Return the logarithm of the width of a cell in the unit of y."""
        width = (self._edges[-1] - self._edges[0]) / _N_NODES
        return float(np.log(width) + self._target.log_factor)

    def _distribution(self, logs: Array, y: Array) -> Array:
        """Return ``P(Y ≤ y_i | x_i)``."""
        pairs = zip(y, _cumulative(np.exp(logs)), strict=True)
        return np.array([np.interp(target, self._edges, row) for target, row in pairs])

    def _in_cells(self, logs: Array, y: Array) -> Array:
        """Return the log-probability of the cell of each target; -inf outside the range."""
        inside = (y >= self._edges[0]) & (y <= self._edges[-1])
        cells = np.searchsorted(self._edges, y, side="right") - 1
        found = logs[np.arange(len(y)), np.clip(cells, 0, _N_NODES - 1)]
        return np.where(inside, found, -np.inf)

    def log_density(self, X: Any, y: Any) -> Array:
        """Return ``log p(y_i | x_i)``, of shape (m,); constant within the cells of ``y_nodes_``."""
        logs = self._log_probabilities_given(X)
        targets = self._target.standardize(numeric_targets(y, len(logs)))
        return self._in_cells(logs, targets) - self._log_width()

    def pdf(self, X: Any) -> Array:
        """Return ``p(y | x)`` at ``y_nodes_``, of shape (m, 400)."""
        with np.errstate(over="ignore"):  # of subnormal y: the density exceeds all numbers
            return np.asarray(np.exp(self._log_probabilities_given(X) - self._log_width()))

    def predict(self, X: Any) -> Array:
        """Return the means of y given x."""
        probabilities = np.exp(self._log_probabilities_given(X))
        return self._target.restore(probabilities @ self._nodes)

    def predict_quantiles(self, X: Any, levels: Any) -> Array:
        """Return quantiles of y given x, of shape (m, len(levels)).

        Parameters
        ----------
        X : data that the kernel compares
        levels : sequence of numbers in (0, 1)
        """
        levels = [check_real(level, "level", above=0, below=1) for level in levels]
        return self._quantiles(X, levels)

    def predict_interval(self, X: Any, level: float = 0.9) -> Array:
        """Return intervals that contain y with probability ``level``, of shape (m, 2).

        They are calibrated: the ends are quantiles of p(y | x) at the levels between which the
        distribution function has this fraction of the training targets, each left out in one of
        five folds.

        Parameters
        ----------
        X : data that the kernel compares
        level : float in (0, 1)
        """
        check_real(level, "level", above=0, below=1)
        levels = ((1 - level) / 2, (1 + level) / 2)
        ends = [IN_MEMORY.quantile(self._levels, self._level_weights, q) for q in levels]
        return self._quantiles(X, ends)

    def _quantiles(self, X: Any, levels: Any) -> Array:
        cumulative = _cumulative(np.exp(self._log_probabilities_given(X)))
        found = [np.interp(levels, row, self._edges) for row in cumulative]
        return self._target.restore(np.array(found))


def _cumulative(p: Array) -> Array:
    """Return the distribution functions at the edges of the cells."""
    sums = np.cumsum(p, axis=1)
    return np.hstack([np.zeros((len(p), 1)), sums / sums[:, -1:]])


def _folds(Z: Array, y: Array) -> Array:
    """Return the fold of every row; equal rows, which a weight replaces, are in the same fold.

    Fewer than two distinct rows per fold are one fold.
    """
    leading = np.round(Z[:, 0] / np.abs(Z[:, 0]).max(), 6)
    _, groups = np.unique(np.column_stack([y, leading]), axis=0, return_inverse=True)
    groups = groups.reshape(-1)
    if groups.max() + 1 < 2 * _N_FOLDS:
        return np.zeros(len(y), dtype=int)
    return (np.random.default_rng(0).permutation(groups.max() + 1) % _N_FOLDS)[groups]
