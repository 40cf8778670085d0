"""Density estimation by series of kernel eigenfunctions."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.bandwidth import fit_kernel
from mercer.bandwidth.likelihood import most_likely_kernel
from mercer.data.dask import passes_for
from mercer.data.points import Points, Sample, rowwise
from mercer.decomposition.base import KernelEstimator
from mercer.density.base import Density, exponential
from mercer.density.kernel_sum import (
    KernelSum,
    draw_from_window,
    mean_window,
    validate_density_sample,
)
from mercer.density.mixture_weights import maximum_likelihood
from mercer.density.series_terms import (
    check_terms,
    choose_terms,
    grid_points,
    negative_mass_by_draws,
    negative_mass_on_grid,
)
from mercer.eigen.base import Target
from mercer.eigen.decompose import Spectrum, decompose
from mercer.gram import Expansion, WindowSum
from mercer.gram.fourier import FourierExpansion
from mercer.kernels import Kernel, as_kernel
from mercer.utils.distributions import GaussianTerms
from mercer.utils.estimators import all_or_nothing
from mercer.utils.types import Array
from mercer.utils.validation import check_choice

__all__ = ["SeriesDensity"]

_GRID_CELLS = {1: 4095, 2: 255}  # per axis, for the mass of the negative part


class SeriesDensity(Density, KernelEstimator):
    r"""Density as a truncated series of eigenfunctions of the kernel (Girolami 2002).

    .. math::
        \hat p_M(x) = \frac1c \sum_{i\ \text{selected}} \frac{1'e_i}{n} \sum_j e_{ji} k(x, x_j)

    with eigenvectors :math:`e_i` of the uncentered Gram matrix and the normalizer c of the kernel.
    With all terms it is the Parzen window estimate; dropping terms smooths it. The truncated series
    has the mass :math:`\sum_{selected} (1'e_i)^2/n`, and is divided by it.

    Parameters
    ----------
    kernel : str or Kernel
        A kernel with a finite integral: Gaussian, Laplacian, Matern, Epanechnikov or a sum of them.
        The bandwidth "auto" as in :class:`ParzenDensity`.
    terms : str, int or None
        Among the ``max_terms`` largest eigenvalues, "kronmal-tarter" selects all with
        :math:`(1'e_i)^2 > 2n/(n+1)`, "kronmal-tarter-run" those before the first violation, and
        "diggle-hall" the leading ones with the smallest estimated square error. On clustered data
        "kronmal-tarter-run" selects about one term per cluster, the result that the paper shows.
        An integer selects that many eigenpairs, the first in ``order``; None selects all.
    order : {"entropy", "eigenvalue"}
        Which eigenpairs an integer number of terms selects: those with the largest entropy terms,
        or those with the largest eigenvalues, as in the paper's truncation at M (eqs. 2.4 and 4.1).
    components : array-like of int or None
        Indices of the eigenpairs to select, 0 for the largest eigenvalue; ``terms`` and ``order``
        are then ignored.
    weights : None or "learned"
        How the sample is weighted in the coefficients :math:`\hat c_k = \sum_j a_j \Phi_k(x_j)`:
        by :math:`a_j = 1/n` (or sample weights), or by the maximum likelihood weights of
        :class:`ParzenDensity` (footnote 2 of the paper). The selection of terms does not depend on
        it. Not for Dask collections.
    positive : bool
        Clip negative values and renormalize. The mass of the negative part is computed by
        quadrature in one or two dimensions, if that is accurate, and otherwise from draws of the
        Parzen window estimate, whose ratio to the series is bounded; ``clipped_mass_error_`` is its
        error. If no coefficient is negative, nothing is clipped.
    solver : str or solver
        "auto", "dense", "lanczos", "fourier", "nystrom", or a solver object.
    max_terms : int
        Number of the largest eigenvalues that a rule considers. Because of noise, a fraction of all
        eigenvectors passes the criterion of Kronmal and Tarter, so the number of selected terms
        grows with this parameter.

    Attributes
    ----------
    spectrum_ : Spectrum
        The eigenpairs considered.
    selected_ : array of int
        Indices of the selected eigenpairs in ``spectrum_``, which is ordered by eigenvalue if
        ``terms`` is a rule, ``order="eigenvalue"`` or ``components`` are given, and by entropy term
        otherwise.
    coefficients_ : array
        :math:`\hat c_k` of all eigenpairs considered, for the functions
        :math:`\Phi_k = \sqrt{\lambda_k/n}\,\phi_k` (the projections of the points). If K is the
        Gram matrix of the unnormalized kernel, the series is
        :math:`\sum_k \hat c_k \Phi_k(x) / c`.
    mass_ : float
        Mass of the truncated series before renormalization.
    term_masses_ : array
        The mass of each eigenpair considered: (1'e_i)²/n, or (a'e_i)(1'e_i) with learned weights.
    entropy_terms_ : array
        ψ_i = λ_i (1'e_i)²/n² of all eigenpairs considered.
    error_terms_ : array
        ψ_i / c: the increase in squared error if a term is dropped (in the norm of the kernel's
        space; the paper uses it as the integrated square error).
    clipped_mass_, clipped_mass_error_ : float
        Mass of the negative part, in units of ``mass_``, and its error.
    kernel_ : Kernel

    Examples
    --------
    Three clusters, one term for each:

    >>> from mercer import SeriesDensity
    >>> from mercer.datasets import make_clusters
    >>> from mercer.kernels import Gaussian
    >>> X, y = make_clusters(random_state=0)
    >>> SeriesDensity(terms="kronmal-tarter-run").fit(X).selected_
    array([0, 1, 2])

    The kernel of the paper gives the same terms, but is wider than the clusters:

    >>> density = SeriesDensity(kernel=Gaussian(0.1**0.5)).fit(X)
    >>> density.selected_
    array([0, 1, 2])
    >>> round(density.mass_, 2)
    0.99

    The first five eigenvalues, as in the paper, and the five largest entropy terms:

    >>> X, y = make_clusters(noise=0.38, random_state=0)
    >>> for order in ("eigenvalue", "entropy"):
    ...     series = SeriesDensity(kernel=Gaussian(0.1**0.5), terms=5, order=order).fit(X)
    ...     print(series.spectrum_.eigenvalues.round(1))
    [38.3 32.9 28.4 18.6 17.1]
    [38.3 32.9 28.4  7.2  7.6]
    """

    def __init__(
        self,
        *,
        kernel: str | Kernel = "gaussian",
        terms: str | int | None = "kronmal-tarter",
        order: Literal["entropy", "eigenvalue"] = "entropy",
        components: Any = None,
        weights: Literal["learned"] | None = None,
        positive: bool = True,
        solver: Any = "auto",
        max_terms: int = 200,
    ) -> None:
        self.kernel = kernel
        self.terms = terms
        self.order = order
        self.components = components
        self.weights = weights
        self.positive = positive
        self.solver = solver
        self.max_terms = max_terms

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Compute the eigenpairs and select terms.

        Parameters
        ----------
        X : array-like of shape (n, d), Dask array or data frame
        y : ignored
        sample_weight : array-like of shape (n,) or None
            Sample weights; an integer weight is equivalent to repeated rows.
        """
        components = self._check_parameters()
        sample = validate_density_sample(self, X, sample_weight, as_kernel(self.kernel))
        self.kernel_ = sample.kernel
        self.spectrum_ = self._decompose(sample, components)
        whole = components is None and self.terms is None
        self._parzen = mean_window(sample, "auto" if whole else "lanczos")
        weights = self._learned_weights(sample)
        self._select_terms(self.spectrum_, components, weights, sample.sample_size)
        if not whole:
            window = self._truncated(self.spectrum_)
        elif weights is None:
            window = self._parzen
        else:
            window = WindowSum(sample.kernel, sample.points, weights)
        self.mass_ = window.mass
        self.clipped_mass_, self.clipped_mass_error_ = self._negative_mass(window)
        self._density = KernelSum(window, mass=self.mass_, clipped_mass=self.clipped_mass_)
        return self

    def _fit_kernel(self, kernel: Kernel, points: Any, weights: Any) -> Kernel:
        """Fit the kernel; "auto" is the bandwidth with the largest leave-one-out likelihood."""
        return fit_kernel(kernel, points, weights, auto=most_likely_kernel)

    def _check_parameters(self) -> Array | None:
        """Check the parameters and return the components as an array, if they are given."""
        check_terms(self.terms)
        check_choice(self.order, "order", ("entropy", "eigenvalue"))
        if self.max_terms < 1:
            raise ValueError(f"max_terms={self.max_terms} must be at least 1.")
        if self.weights not in (None, "learned"):
            raise ValueError(
                f"weights={self.weights!r} must be None or 'learned'. Pass fixed weights to fit as "
                "sample_weight."
            )
        if self.components is None:
            return None
        components = np.asarray(self.components)
        if components.ndim != 1 or components.size == 0 or components.dtype.kind not in "iu":
            raise ValueError(
                f"components={self.components!r} must be a nonempty sequence of indices, 0 for the "
                "largest eigenvalue."
            )
        if components.min() < 0 or len(np.unique(components)) < len(components):
            raise ValueError(
                f"components={self.components!r} must be distinct indices of at least 0."
            )
        return np.sort(components)

    def _decompose(self, sample: Sample, components: Array | None) -> Spectrum:
        if components is not None:
            count = int(components.max()) + 1
            if count > sample.points.n:
                raise ValueError(
                    f"components go up to {count - 1}, but there are {sample.points.n} eigenpairs, "
                    "one per row."
                )
            return decompose(sample, "variance", count, solver=self.solver)
        if isinstance(self.terms, str):
            count = min(self.max_terms, sample.points.n)
            return decompose(sample, "variance", count, solver=self.solver, at_most=True)
        target: Target = "entropy" if self.order == "entropy" else "variance"
        return decompose(sample, target, self.terms, solver=self.solver)

    def _learned_weights(self, sample: Sample) -> Array | None:
        """Return the maximum likelihood weights of all rows; None for equal weights."""
        if self.weights is None:
            return None
        if sample.points.is_chunked:
            raise ValueError(
                "weights='learned' needs the rows in memory, but X is a Dask collection. Fit a "
                "subsample."
            )
        found, support, _ = maximum_likelihood(sample)
        weights = np.zeros(sample.points.n)
        weights[support] = found.weights
        return weights

    def _select_terms(
        self,
        spectrum: Spectrum,
        components: Array | None,
        weights: Array | None,
        sample_size: float,
    ) -> None:
        n = spectrum.total_weight
        roots = np.sqrt(spectrum.eigenvalues)
        if weights is None:
            self.coefficients_ = roots * spectrum.overlaps / n
        else:
            self.coefficients_ = weights @ spectrum.projections
        self.term_masses_ = self.coefficients_ / roots * spectrum.overlaps
        self.entropy_terms_ = spectrum.entropy_terms
        with np.errstate(divide="ignore", over="ignore"):  # densities may overflow
            self.error_terms_ = np.exp(np.log(self.entropy_terms_) - self._log_normalizer())
        if components is not None:
            self.selected_ = components
            return
        second_moments = spectrum.eigenvalues / n
        rule = self.terms if isinstance(self.terms, str) else None
        self.selected_ = choose_terms(rule, self.entropy_terms_, second_moments, sample_size)
        if len(self.selected_) == 0:  # for a single point no term passes the criterion
            self.selected_ = np.array([int(np.argmax(self.entropy_terms_))])

    def _truncated(self, spectrum: Spectrum) -> WindowSum:
        """Return the selected terms as one sum of kernels, and as Fourier features if available."""
        selected = self.selected_
        roots = np.sqrt(spectrum.eigenvalues[selected])
        coefficients = self.coefficients_[selected]
        fourier = None
        if isinstance(spectrum.expansion, FourierExpansion):
            chosen = spectrum.expansion.take(selected)
            fourier = chosen.combination(coefficients)
            single = chosen.combination(coefficients / roots**2).without_points()
            at_points = spectrum.points.map_rows(partial(_first_column, single))
        else:
            combine = partial(_linear_combination, selected, coefficients / roots**2)
            at_points = spectrum.points.passes.map(combine, spectrum.projections)
        if spectrum.weights is not None:
            at_points = at_points * spectrum.weights
        return WindowSum(spectrum.kernel, spectrum.points, at_points, fourier)

    # --- clipping -------------------------------------------------------------------------------

    def _negative_mass(self, window: WindowSum) -> tuple[float, float]:
        """Return the mass of the negative part, in units of the total mass, and its error."""
        if not self.positive or window.lowest >= 0:
            return 0.0, 0.0
        points = window.points
        d = points.dimension or 0
        rng = np.random.default_rng(0)
        if d in _GRID_CELLS:
            reach = 1.5 * np.abs(self.kernel_.draw(4096, d, rng)).max(axis=0)
            low, high = points.bounds()
            box = low - reach, high + reach
            middles, edges = grid_points(*box, _GRID_CELLS[d])
            values = window.values(Points(middles)) / self.mass_
            # volumes in units of the kernel's integral, to avoid overflow
            cell = float(np.exp(np.log(edges).sum() - self._log_normalizer()))
            found = negative_mass_on_grid(values, d, cell)
            # the total mass detects a grid that is too coarse for the bandwidth
            if max(found[1], abs(values.sum() * cell - 1)) <= 1e-3:
                return found
        drawn = Points(draw_from_window(self._parzen, 2**14, rng))
        return negative_mass_by_draws(self._ratio(window, drawn) / self.mass_)

    def _log_normalizer(self) -> float:
        return float(self.kernel_.log_normalizer(self.n_features_in_))

    def _ratio(self, window: WindowSum, points: Points) -> Array:
        """Return the ratio of the series (not renormalized) to the Parzen window estimate."""
        sign, logs = window.signed_log(points)
        _, parzen = self._parzen.signed_log(points)
        return np.asarray(sign * np.exp(logs - parzen))

    # --- evaluation -----------------------------------------------------------------------------

    _density: KernelSum
    _per_row_attributes: ClassVar[tuple[str, ...]] = ("_density", "_parzen")

    @property
    def _window(self) -> WindowSum:
        assert isinstance(self._density.terms, WindowSum)
        return self._density.terms

    @property
    def why_not_saved(self) -> str | None:
        """Return a reason why a model file would be useless, or None."""
        return self._density.why_not_saved if hasattr(self, "_density") else None

    def _distribution(self) -> KernelSum:
        return self._density

    def score_samples(self, X: Any) -> Array:
        """Return the log density at every row of X.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        array of shape (m,)
            -inf where the series is not positive.
        """
        new = self._validate_new(X)
        return self._density.log_density(new)

    def pdf(self, X: Any) -> Array:
        """Return the density at every row of X; with ``positive=False`` it may be negative.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        array of shape (m,)
            inf or 0 on overflow or underflow, which ``score_samples`` avoids.
        """
        if self.positive:
            return super().pdf(X)
        new = self._validate_new(X)
        sign, logs = self._window.signed_log(new)
        logs = logs - self._density.log_scale
        return sign * passes_for(logs).map(exponential, logs)

    def cdf(self, X: Any) -> Array:
        """Return the distribution function, the probability of ``x' <= x`` in all columns.

        Parameters
        ----------
        X : array-like of shape (m, d)
            For more than one column the kernel must be a product over the columns (Gaussian without
            correlations, Laplacian).

        Returns
        -------
        array of shape (m,)
        """
        new = self._validate_new(X)
        return self._density.cdf(new)

    def gradient(self, X: Any, *, log: bool = True) -> Array:
        """Return the gradient of the log density, or of the density, at every row of X.

        Parameters
        ----------
        X : array-like of shape (m, d)
        log : bool
            False for the gradient of the density itself.

        Returns
        -------
        array of shape (m, d)
            NaN where the density is 0.
        """
        new = self._validate_new(X)
        return self._density.gradient(new, log=log)

    def gaussian_terms(self) -> tuple[GaussianTerms, ...] | None:
        """Return the density as a sum of normal densities; None if it is not such a sum.

        It is one for a Gaussian kernel, unless negative values are clipped.
        """
        check_is_fitted(self)
        return self._density.gaussian_terms()

    @rowwise
    def eigenfunctions(self, X: Any) -> Array:
        """Return the selected eigenfunctions at every row of X, with unit L2 norm on the sample.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        array of shape (m, len(selected_))
        """
        return self.spectrum_.eigenfunctions(self._validate_new(X))[:, self.selected_]

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw from the (clipped) density by rejection sampling from the Parzen window estimate.

        The series is at most ``max_j c_j/a_j`` times that estimate, where c and a are their
        coefficients. This ratio, at most √n, is about the number of proposals per draw.

        Parameters
        ----------
        n_samples : int
        random_state : int, RandomState or None

        Returns
        -------
        array of shape (n_samples, d)
        """
        check_is_fitted(self)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        series, parzen = self._window.coefficients, self._parzen.coefficients
        bound = self._window.points.passes.sum(_largest_ratio, series, parzen, combine=max)
        drawn: list[Array] = []
        remaining = n_samples
        while remaining > 0:
            proposals = min(2**16, int(1.2 * remaining * bound / self.mass_) + 16)
            candidates = draw_from_window(self._parzen, proposals, rng)
            accepted = rng.random(proposals) * bound < self._ratio(self._window, Points(candidates))
            drawn.append(candidates[accepted][:remaining])
            remaining -= len(drawn[-1])
        return np.concatenate(drawn)


def _first_column(expansion: Expansion, points: Points) -> Array:
    return expansion(points)[:, 0]


def _linear_combination(columns: Array, coefficients: Array, Z: Array) -> Array:
    return np.asarray(Z[:, columns] @ coefficients)


def _largest_ratio(series: Array, parzen: Array) -> float:
    return float((series / parzen).max(initial=-np.inf))
