"""Gaussian mixtures in feature space, and the densities that they induce on the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from mercer.chunks import is_dask, mapped
from mercer.data import Points, admit
from mercer.domains import Domain, Nodes, Normalization, integrate, resample
from mercer.errors import NoDomainError
from mercer.estimators.atomic_fit import all_or_nothing
from mercer.estimators.dask_methods import rowwise
from mercer.estimators.density_base import mean_log_density
from mercer.estimators.mixture_base import (
    KernelMixture,
    best_alpha,
    ruled_alpha,
)
from mercer.kernels import Kernel
from mercer.maths.leave_one_out import leave_each_out
from mercer.maths.types import Array
from mercer.operators import Sample

__all__ = ["MercerMixture"]

_NODES = 2048  # nodes whose densities under all left-out fits are held at a time
_LOWEST, _HIGHEST = 1e-3, 1.0  # of n: where the best α is sought


class MercerMixture(DensityMixin, KernelMixture):  # type: ignore[misc]
    r"""Gaussian mixture in the feature space of a kernel, fitted by EM (Macready 2003).

    The mixture induces a density on whatever the kernel compares,
    :math:`p(x) \propto \sum_m \rho_m G(\Phi(x); \mu_m, \Sigma_m)`, with an inverse-Wishart prior
    on every covariance. In kernel coordinates z (those of uncentred kernel PCA, rank r)

    .. math:: \Sigma_m = \frac{S_m + \alpha I}{n_m + \beta}, \qquad
              -2 \log G = (z - \mu_m)'\Sigma_m^{-1}(z - \mu_m)
              + \frac{k(x, x) - |z|^2}{\alpha / (n_m + \beta)} + \log|2\pi\Sigma_m|,

    where the middle term is what lies outside of the training points' span.

    Parameters
    ----------
    n_components : int
        M. More than one is honest for kernels of low rank only, or with a rank cut: otherwise the
        larger component swallows the others, which is reported.
    kernel : str or Kernel
        Any: on vectors, tables, strings, graphs, ….
    alpha : float, "auto", "scaled" or "leave-one-out"
        α: large values make covariances spherical and densities smooth. It grows with n. "auto" is
        0.075 n, for one component and k(x, x) near 1. "scaled" is 0.075 n times the mean variance
        of the kept coordinates: for several components, with a rank cut. "leave-one-out" maximises
        the likelihood of left-out rows over the domain (for M > 1 with the responsibilities of all
        rows).
    beta : float
        β. For M = 1 it only raises the density to a power.
    domain : Domain or None
        Where the density lives: a :class:`~mercer.domains.FiniteSpace`,
        :class:`~mercer.domains.Box` or :class:`~mercer.domains.GaussianBase`. None leaves it
        without a normaliser.
    center : bool
        Move the origin of feature space to the mean.
    rank : int, float or None
        Coordinates to keep: a number, a fraction of the trace, or None for all that are not
        rounding (1000 at most).
    solver : str or solver
    n_init : int
        Starts of EM: the first from k-means in feature space, the others random, with and without
        k-means; the best penalised likelihood is kept.
    max_iter : int
        EM steps.
    tol : float
        EM stops when the penalised likelihood rises by less per row.
    random_state : int or None
        Seed of the random starts.

    Attributes
    ----------
    weights_ : array of shape (M,)
        ρ.
    effective_weights_ : array
        Of the components that are there and differ: shorter than M after a collapse.
    responsibilities_ : array of shape (n, M)
        p(m | z) of the training rows with a positive weight. With a rank cut these are those of
        the coordinates, as EM sees them; ``predict_proba`` adds what the cut left out.
    lower_bounds_ : array
        Penalised log-likelihood after each step; never falls.
    converged_ : bool
    n_iter_ : int
    alpha_ : float
        α as a number.
    rank_ : int
        r.
    mixture_ : Mixture
        Means and Cholesky factors in kernel coordinates.
    normalization_ : Normalization
        Normalisers of the components with their errors, once there is a domain.
    spectrum_ : Spectrum
    kernel_ : Kernel

    Notes
    -----
    Setting p(x) proportional to the density in feature space ignores how Φ stretches the data
    space, so masses of components come out wrong: in the paper's first example 99 % instead of
    50 % at the centre. With a domain each component is therefore normalised by itself,
    :math:`p(x) = \sum_m \rho_m G_m(x) / \int G_m`. ``predict`` and ``predict_proba`` stay in
    feature space, with a domain or without.

    For a local kernel (Gaussian, say) the density tends to a positive constant far from the data.
    Over all of R^d it has no normaliser, and none is pretended: a box or a base measure must be
    named, and the answer depends on it.

    Examples
    --------
    >>> from mercer import MercerMixture
    >>> from mercer.datasets import make_halo
    >>> from mercer.kernels import Polynomial
    >>> X, y = make_halo(random_state=0)
    >>> kernel = Polynomial(degree=2)
    >>> mixture = MercerMixture(2, kernel=kernel, alpha=1.0, n_init=10, random_state=0).fit(X)
    >>> labels = mixture.predict(X)
    >>> bool(max((labels == y).mean(), (labels != y).mean()) > 0.95)
    True
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        kernel: str | Kernel = "gaussian",
        alpha: float | str = "auto",
        beta: float = 1.0,
        domain: Domain | None = None,
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
        self.domain = domain

    # --- fitting --------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the mixture, and normalise it where there is a domain.

        Parameters
        ----------
        X : array-like of shape (n, d), Dask array or data frame, or what the kernel compares
        y : ignored
        sample_weight : array-like of shape (n,) or None
            How often each row counts.
        """
        sample = self._admit_training(X, sample_weight)
        self._check_parameters(sample.points.n)
        domain = self._fitted_domain(self.domain, sample.points, sample.weights)
        Z, weights = self._coordinates(sample), sample.counts
        alpha = self._resolved_alpha(Z, weights, sample, domain)
        self._keep(self._run(Z, weights, alpha), weights, alpha)
        if domain is not None:
            self._normalize(domain)
        elif hasattr(self, "normalization_"):
            del self.normalization_
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit, and return the component of every row."""
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def normalize(self, domain: Domain) -> Self:
        """Normalise over a domain: from now on densities are those of that domain.

        Parameters
        ----------
        domain : Domain
            A finite space (exact), a box, or a base measure (importance sampling, with its standard
            error and effective sample size in ``normalization_``).
        """
        spectrum = self._fitted_spectrum()
        fitted = self._fitted_domain(domain, spectrum.points, spectrum.weights)
        if fitted is None:
            raise ValueError(
                "normalize needs a domain: FiniteSpace(objects), Box(low, high) or GaussianBase() "
                "of mercer.domains. Over all of R^d a local kernel's density has no normaliser."
            )
        self._normalize(fitted)
        return self

    def _normalize(self, domain: Domain) -> None:
        nodes = domain.nodes()
        logs = self._log_components(self._admit_nodes(nodes))
        self.normalization_: Normalization = integrate(domain, nodes, logs)

    def _fitted_domain(self, domain: Any, points: Points, weights: Array | None) -> Domain | None:
        if domain is None:
            return None
        if not isinstance(domain, Domain):
            raise TypeError(
                f"domain={domain!r} must be FiniteSpace(objects), Box(low, high) or GaussianBase() "
                "of mercer.domains, or None."
            )
        if points.kind == "gram":
            raise ValueError(
                "kernel='precomputed' has no kernel values at the points of a domain; pass a "
                "kernel object."
            )
        return domain.fit(points, weights)

    def _resolved_alpha(
        self, Z: Array, weights: Array, sample: Sample, domain: Domain | None
    ) -> float:
        if not isinstance(self.alpha, str):
            return float(self.alpha)
        ruled = ruled_alpha(self.alpha, Z, weights)
        if ruled is not None:
            return ruled
        if self.alpha != "leave-one-out":
            raise self._unknown_alpha()
        if domain is None:
            raise ValueError(
                "alpha='leave-one-out' compares held-out likelihoods, which need a normalised "
                "density: pass domain=FiniteSpace(objects), Box(low, high) or GaussianBase() of "
                "mercer.domains, or a number for alpha."
            )
        if is_dask(Z):
            raise ValueError(
                "alpha='leave-one-out' compares all rows with all nodes of the domain, which is "
                "not done on Dask collections. Pass a number for alpha, 'auto' or 'scaled', or "
                "find it on a sample of the rows."
            )
        total = float(weights.sum())
        if sample.points.n < 2 or total <= 1:
            raise ValueError(
                "alpha='leave-one-out' needs at least 2 rows that weigh more than 1 together, and "
                f"n_samples={sample.points.n} weigh {total:.6g}; pass a number for alpha."
            )
        likelihood = self._held_out(Z, weights, sample, domain)
        return best_alpha(likelihood, _LOWEST * total, _HIGHEST * total)

    def _held_out(
        self, Z: Array, weights: Array, sample: Sample, domain: Domain
    ) -> Callable[[float], float]:
        """Mean log-density of left-out rows, as a function of α."""
        nodes = domain.nodes()
        at_nodes = self._seen(self._admit_nodes(nodes))
        residuals = self._left_out(Z)
        base = domain.log_base(sample.points)

        def likelihood(alpha: float) -> float:
            run = self._run(Z, weights, alpha)
            terms = [
                log_weight + part.at(Z, residuals) - _log_integrals(part, nodes, *at_nodes)
                for log_weight, part in leave_each_out(
                    Z, weights, run.responsibilities, alpha, self.beta
                )
            ]
            return float(np.average(logsumexp(terms, axis=0) + base, weights=weights))

        return likelihood

    # --- use ------------------------------------------------------------------------------------

    @rowwise
    def predict_proba(self, X: Any) -> Array:
        """Responsibilities of the components in feature space, of shape (m, M)."""
        joint = self._log_joint(self._admit_new(X))
        return np.asarray(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)))

    @rowwise
    def predict(self, X: Any) -> Array:
        """Numbers of the components with the largest responsibilities."""
        return np.asarray(np.argmax(self._log_joint(self._admit_new(X)), axis=1))

    @rowwise
    def score_samples(self, X: Any) -> Array:
        """Logarithm of the induced density.

        Without a domain it is not normalised, and only differences between points of one fit mean
        something. With a domain it is the density there (with a base measure, with respect to
        Lebesgue measure), -inf outside.
        """
        points = self._admit_new(X)
        if not hasattr(self, "normalization_"):
            return np.asarray(logsumexp(self._log_joint(points), axis=1))
        found = self.normalization_
        logs = self._log_components(points) - found.log_constants + self.mixture_.log_weights
        return np.asarray(logsumexp(logs, axis=1)) + found.domain.log_base(points)

    def pdf(self, X: Any) -> Array:
        """Induced density: ``exp(score_samples(X))``."""
        return mapped(np.exp, self.score_samples(X))

    @property
    def score(self) -> Callable[..., float]:
        """``score(X, y=None, sample_weight=None)``: mean log-density of the rows over the domain.

        It is what a grid search may maximise. Without a domain there is no such method: the size of
        a density that is not normalised depends on the parameters.
        """
        if self.domain is None and not hasattr(self, "normalization_"):
            raise NoDomainError(
                "score needs a domain: without one the induced density is not normalised, its size "
                "depends on the parameters, and a search for the highest score would maximise "
                "nonsense. Pass MercerMixture(domain=…) or call normalize(…) with "
                "FiniteSpace(objects), Box(low, high) or GaussianBase() of mercer.domains."
            )
        return self._mean_log_density

    def _mean_log_density(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        return mean_log_density(self.score_samples(X), sample_weight)

    def sample(self, n_samples: int = 1, *, random_state: int | None = None) -> tuple[Any, Array]:
        """Draw from the density over the domain.

        Components are drawn by their weights; then elements of a finite space exactly, cells of a
        box's grid and places within them, or, in other domains, candidates by their densities
        (sampling, importance resampling), with a warning where too few of them matter.

        Parameters
        ----------
        n_samples : int
        random_state : int or None
            None: another draw every time.

        Returns
        -------
        X : draws in the form of the training data
        labels : int array of shape (n_samples,)
            The component that each came from.
        """
        self._fitted_spectrum()
        if not hasattr(self, "normalization_"):
            raise ValueError(
                "sample needs a domain to draw from: call normalize(…) with FiniteSpace(objects), "
                "Box(low, high) or GaussianBase() of mercer.domains. (Draws from the Gaussians in "
                "feature space are far from any point's features.)"
            )
        if not isinstance(n_samples, int | np.integer) or n_samples < 1:
            raise ValueError(f"n_samples={n_samples!r} must be a whole number of at least 1.")
        rng = np.random.default_rng(random_state)
        domain = self.normalization_.domain
        counts = rng.multinomial(n_samples, self.weights_ / self.weights_.sum())
        nodes = domain.candidates(n_samples, rng)
        points = self._admit_nodes(nodes)
        chosen = resample(nodes, self._log_components(points), counts, rng)
        labels = np.repeat(np.arange(len(counts)), counts)
        order = rng.permutation(n_samples)
        return domain.jitter(points.take(chosen[order]), rng).data, labels[order]

    def _admit_nodes(self, nodes: Nodes) -> Points:
        return admit(nodes.points, self.kernel_.compares, estimator=self, reset=False)

    def _fitted_spectrum(self) -> Any:
        check_is_fitted(self)
        return self.spectrum_


def _log_integrals(part: Any, nodes: Nodes, Z: Array, residuals: Array) -> Array:
    """Normalisers of one component less each row in turn, some nodes at a time."""
    total: Array | float = -np.inf
    for first in range(0, len(Z), _NODES):
        rows = slice(first, first + _NODES)
        logs = part.everywhere(Z[rows], residuals[rows]) + nodes.log_weights[rows, None]
        total = np.logaddexp(total, logsumexp(logs, axis=0))
    return np.asarray(total)
