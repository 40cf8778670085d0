"""Gaussian mixtures in feature space and the densities that they induce on the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from mercer.data.dask import passes_for
from mercer.data.points import Points, Sample, rowwise, validate_points
from mercer.density.base import mean_log_density
from mercer.errors import ApproximationWarning, NoDomainError, warn
from mercer.kernels import Kernel
from mercer.mixture.base import (
    KernelMixture,
    maximize_alpha,
    one_component_alpha,
    total_squared_norm,
)
from mercer.mixture.domains import Domain, Nodes, Normalization, integrate, resample
from mercer.mixture.feature_space import (
    dual_parameters,
    prior_coefficients,
    prior_scale,
    push_forward_counts,
)
from mercer.mixture.gaussian_mixture import GaussianMixture, leave_each_out, log_components
from mercer.utils.estimators import all_or_nothing
from mercer.utils.resources import check_memory
from mercer.utils.types import Array
from mercer.utils.validation import check_choice, check_integer, check_real
from mercer.utils.weights import Moments

__all__ = ["MercerMixture"]

_FULL_RANK = 300  # of several components with a given α
_BLOCK_NODES = 2048  # nodes whose densities under all leave-one-out fits are in memory


class MercerMixture(DensityMixin, KernelMixture):  # type: ignore[misc]
    r"""Gaussian mixture in the feature space of a kernel, fitted by EM (Macready 2003).

    The mixture induces a density on the data that the kernel compares,
    :math:`p(x) \propto \sum_m \rho_m G(\Phi(x); \mu_m, \Sigma_m)`, with an inverse-Wishart prior
    on every covariance. In kernel coordinates z (those of uncentered kernel PCA, rank r)

    .. math:: \Sigma_m = \frac{S_m + \alpha J}{n_m + \beta}, \qquad
              -2 \log G = (z - \mu_m)'\Sigma_m^{-1}(z - \mu_m)
              + \frac{k(x, x) - |z|^2}{\alpha / (n_m + \beta)} + \log|2\pi\Sigma_m|,

    where the middle term is the squared distance from the span of the training points, and J is the
    identity or as in ``covariance_prior``.

    Parameters
    ----------
    n_components : int
        M. M > 1 is meaningful only in few coordinates (``rank``); in many the component with the
        larger weight absorbs the others. A collapse causes a warning.
    kernel : str or Kernel
        Any kernel: on vectors, tables, strings, graphs, …; names as in :class:`KernelPCA`. The
        bandwidth "auto" is Silverman's rule for at most three columns, and the median distance
        divided by √2 for more.
    alpha : float, "auto", "scaled" or "leave-one-out"
        α: large values make covariances spherical and densities smooth. It should grow with n and
        with the scale of the kernel. "auto" is 0.075 times the sum of k(x, x) for one component,
        and "scaled" divided by M for several. "scaled" is 0.075 n times the mean variance of the
        coordinates. "leave-one-out" maximizes the leave-one-out likelihood over the domain (for
        M > 1 with the responsibilities of all rows); it warns at its limits. For several components
        the first two suit labels; their densities may be far too sharp, which a fit with a domain
        reports by a warning.
    beta : float
        β. For M = 1 its only effect is a power of the density.
    covariance_prior : float or array of shape (n, n)
        C of the scale matrix of the prior, :math:`J = I + VCV'`, where V are the features of the
        training rows (with positive weight) as columns. A number stands for this multiple of the
        covariance of the features: with larger ones, components have more of its shape and are less
        spherical. 0 gives the identity, as in the paper. After a rank cut J is that of the
        coordinates.
    domain : Domain or None
        Domain of the density: a :class:`~mercer.domains.FiniteSpace`,
        :class:`~mercer.domains.Box`, :class:`~mercer.domains.GaussianBase` or, for tables,
        :class:`~mercer.domains.ProductDomain`. With None the density is not normalized.
    center : bool
        Move the origin of feature space to the mean. It changes the model only with a rank cut,
        which then selects directions of large variance instead of large second moment. Random
        starts (``n_init``) differ, because they depend on the coordinates.
    rank : int, float or None
        Number of coordinates: an integer, a fraction of the trace, or None for all above rounding
        error, at most 1000. None for several components: 10, which keeps them apart; but at most
        300 if α is a number or "leave-one-out" and the kernel is not smooth, so that more than 1 %
        of the trace is outside of 10 coordinates: better for densities; pass 10 for labels. After a
        cut the variance of the remaining directions is estimated from the residuals of the training
        rows.
    solver : str or solver
    n_init : int
        Number of EM runs: the first starts from k-means in feature space, the others from random
        rows, with and without k-means. The run with the largest penalized likelihood is used.
    max_iter : int
        Maximum number of EM steps.
    tol : float
        EM stops when the penalized likelihood increases by less per row.
    random_state : int or None
        Seed of the random starts.

    Attributes
    ----------
    weights_ : array of shape (M,)
        ρ.
    effective_weights_ : array
        Weights of the components that are neither empty nor equal: shorter than M after a collapse.
    responsibilities_ : array of shape (n, M)
        p(m | z) of the training rows with positive weight.
    lower_bounds_ : array
        Penalized log-likelihood after each step; never decreases.
    converged_ : bool
    n_iter_ : int
    alpha_ : float
        α.
    rank_ : int
        r.
    mixture_ : GaussianMixture
        Means and Cholesky factors in kernel coordinates.
    normalization_ : Normalization
        Normalizers of the components with their errors, if there is a domain.
    spectrum_ : Spectrum
    kernel_ : Kernel

    Notes
    -----
    Setting p(x) proportional to the density in feature space ignores the volume change of Φ, so the
    masses of components are wrong: in the paper's first example 99 % instead of 50 % at the center.
    With a domain each component is therefore normalized separately,
    :math:`p(x) = \sum_m \rho_m G_m(x) / \int G_m`. The posterior of this density differs from that
    in feature space; ``predict`` and ``predict_proba`` offer both by name.

    For a local kernel such as the Gaussian the density tends to a positive constant far from the
    data, so it has no normalizer over R^d. A box or a base measure must be given, and the result
    depends on it.

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

    A strong prior makes the covariance spherical, or leaves it the shape of the sample (the
    features of the linear kernel are the points):

    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> X = np.random.default_rng(0).normal(size=(50, 2)) * [1.0, 5.0]
    >>> for prior in (0.0, 10.0):
    ...     mixture = MercerMixture(kernel=Linear(), alpha=500.0, covariance_prior=prior).fit(X)
    ...     factor = mixture.mixture_.factors[0]
    ...     print(np.linalg.cond(factor @ factor.T).round(1))
    3.2
    26.3
    """

    _alpha_rules: ClassVar[tuple[str, ...]] = ("auto", "scaled", "leave-one-out")
    _max_rank: ClassVar[int] = 1000

    def __init__(
        self,
        n_components: int = 1,
        *,
        kernel: str | Kernel = "gaussian",
        alpha: float | str = "auto",
        beta: float = 1.0,
        covariance_prior: float | Array = 0.0,
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
        self.covariance_prior = covariance_prior
        self.domain = domain

    # --- fitting --------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the mixture, and normalize it if there is a domain.

        Parameters
        ----------
        X : array-like of shape (n, d), Dask array or data frame, or data that the kernel compares
        y : ignored
        sample_weight : array-like of shape (n,) or None
            Sample weights; an integer weight is equivalent to repeated rows.
        """
        sample = self._validate_training(X, sample_weight)
        self._check_parameters(sample.points.n)
        weights = None if sample.weights is None else sample.multiplicities
        domain = self._fitted_domain(self.domain, sample.points, weights)
        Z = self._fit_coordinates(sample)
        if self._uses_all_coordinates(sample):
            Z = self._fit_coordinates(sample, _FULL_RANK)
        self._prior_scale = self._fit_prior(Z, sample)
        alpha = self._alpha_by_rule(Z, sample)
        if alpha is None:
            alpha = self._leave_one_out_alpha(Z, sample, domain)
        self._fit_em(Z, sample, alpha, self._training_residuals(Z, sample.passes))
        if domain is not None:
            self._normalize(domain)
            if self.n_components > 1 and self.alpha in ("auto", "scaled"):
                self._warn_if_too_sharp(Z, sample, domain)
        elif hasattr(self, "normalization_"):
            del self.normalization_
        return self

    def _uses_all_coordinates(self, sample: Sample) -> bool:
        """Return whether several components need more than the few coordinates of the default.

        These keep the components apart, as the rules for α do; a given α is for all coordinates.
        """
        is_default = self.rank is None and self.n_components > 1 and not sample.points.is_chunked
        follows_rank = self.alpha in ("auto", "scaled")
        return is_default and not follows_rank and not self._has_all_coordinates(0.01)

    def _fit_prior(self, Z: Array, sample: Sample) -> Array | None:
        """Return J in kernel coordinates; None for the identity."""
        if np.ndim(self.covariance_prior):
            if sample.points.is_chunked:
                raise ValueError(
                    "covariance_prior must be a number for Dask collections; an array has one row "
                    "and column per training row."
                )
            return prior_scale(np.asarray(self.covariance_prior), Z)
        factor = check_real(self.covariance_prior, "covariance_prior", low=0)
        if factor == 0:
            return None
        moments: Moments = sample.passes.sum(Moments.of, Z, sample.multiplicities)
        return np.asarray(np.eye(self.rank_) + factor * moments.scatter / moments.total)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit, and return the component index of every row."""
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def normalize(self, domain: Domain) -> Self:
        """Normalize over a domain; later densities refer to that domain.

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
                "of mercer.domains. Over R^d the density of a local kernel has no normalizer."
            )
        self._normalize(fitted)
        return self

    def _normalize(self, domain: Domain) -> None:
        nodes, logs = domain.resolve(self._at_nodes(self.mixture_))
        self.normalization_: Normalization = integrate(domain, nodes, logs)

    def _at_nodes(self, mixture: GaussianMixture) -> Callable[[Any], Array]:
        """Return the log-densities of the components as a function of nodes."""
        return lambda nodes: log_components(mixture, *self._coordinates(self._as_points(nodes)))

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
                "kernel='precomputed' has no kernel values at the points of a domain. Pass a "
                "kernel object."
            )
        return domain.fit(points, weights)

    def _leave_one_out_alpha(self, Z: Array, sample: Sample, domain: Domain | None) -> float:
        if domain is None:
            raise ValueError(
                "alpha='leave-one-out' requires a normalized density: pass "
                "domain=FiniteSpace(objects), Box(low, high) or GaussianBase() of mercer.domains, "
                "or a number for alpha."
            )
        if sample.points.is_chunked:
            raise ValueError(
                "alpha='leave-one-out' compares all rows with all nodes of the domain, which is "
                "not supported for Dask collections. Pass a number for alpha, 'auto' or 'scaled', "
                "or choose it on a sample of the rows."
            )
        if sample.points.n < 2:
            raise ValueError(
                "alpha='leave-one-out' requires at least 2 rows with a positive weight; got "
                f"n_samples={sample.points.n}. Pass a number for alpha."
            )
        unit = total_squared_norm(sample)
        alpha, n_nodes = unit, 0
        for _ in range(4):  # a smaller α may need more nodes
            mixture = self._run_em(Z, sample, alpha).mixture
            nodes, _ = domain.resolve(self._at_nodes(mixture))
            if len(nodes.log_weights) <= n_nodes:
                break
            n_nodes = len(nodes.log_weights)
            likelihood = self._leave_one_out_likelihood(Z, sample, domain, nodes)
            alpha = maximize_alpha(likelihood, 1e-3 * unit, unit)
        return alpha

    def _leave_one_out_likelihood(
        self,
        Z: Array,
        sample: Sample,
        domain: Domain,
        nodes: Nodes,
        rows: Array | None = None,
    ) -> Callable[[float], float]:
        """Return the mean leave-one-out log-density of all or some rows as a function of α."""
        rows = np.arange(len(Z)) if rows is None else rows
        weights = sample.multiplicities
        at_nodes = self._coordinates(self._as_points(nodes.points))
        residuals = self._training_residuals(Z, sample.passes)
        base = domain.log_base(sample.points)
        outside = self._residual_variance(residuals, sample)

        def likelihood(alpha: float) -> float:
            run = self._run_em(Z, sample, alpha)
            prior = (alpha, self.beta)
            variances = (
                None if outside is None else outside.without_each(residuals, weights, *prior)
            )
            terms = [
                log_weight[rows]
                + part.take(rows).at(Z[rows], residuals[rows])
                - _log_integrals(part.take(rows), nodes, *at_nodes)
                for log_weight, part in leave_each_out(
                    Z, weights, run.responsibilities, *prior, variances, self._prior_scale
                )
            ]
            return float(np.average(logsumexp(terms, axis=0) + base[rows], weights=weights[rows]))

        return likelihood

    def _warn_if_too_sharp(self, Z: Array, sample: Sample, domain: Domain) -> None:
        """Warn if an α that keeps several components apart fits the sample only."""
        if sample.points.is_chunked:
            return
        nodes, _ = domain.resolve(self._at_nodes(self.mixture_))
        some = np.unique(np.linspace(0, len(Z) - 1, 200).astype(int))
        likelihood = self._leave_one_out_likelihood(Z, sample, domain, nodes, some)
        smooth = one_component_alpha(sample)
        gain = likelihood(smooth) - likelihood(self.alpha_)
        if gain > 1:
            warn(
                f"The density is too sharp: with alpha={smooth:.3g} instead of {self.alpha_:.3g} "
                f"its leave-one-out log-likelihood is higher by {gain:.1f} nats per row. "
                f"alpha={self.alpha!r} keeps {self.n_components} components apart, for labels; "
                "use alpha='leave-one-out' for a density.",
                ApproximationWarning,
            )

    # --- prediction and densities ---------------------------------------------------------------

    @rowwise
    def predict_proba(self, X: Any, posterior: str = "feature") -> Array:
        r"""Return the probabilities of the components given x, of shape (m, M).

        Parameters
        ----------
        X : data that the kernel compares
        posterior : {"feature", "domain"}
            "feature": :math:`p(m | \Phi(x)) \propto \rho_m G_m(x)`, the responsibilities of EM.
            "domain": :math:`p(m | x) \propto \rho_m G_m(x) / \int G_m`, the posterior of ``pdf``,
            which the labels of ``sample`` follow.
        """
        joint = self._log_posterior(X, posterior)
        return np.asarray(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)))

    @rowwise
    def predict(self, X: Any, posterior: str = "feature") -> Array:
        """Return the index of the most probable component; posteriors as in ``predict_proba``."""
        return np.asarray(np.argmax(self._log_posterior(X, posterior), axis=1))

    def _log_posterior(self, X: Any, posterior: str) -> Array:
        check_choice(posterior, "posterior", ("feature", "domain"))
        joint = self._log_joint(self._validate_new(X))
        if posterior == "feature":
            return joint
        if not hasattr(self, "normalization_"):
            raise NoDomainError(
                "posterior='domain' requires a domain. Pass MercerMixture(domain=…), call "
                "normalize(…), or use posterior='feature'."
            )
        return np.asarray(joint - self.normalization_.log_constants)

    @rowwise
    def score_samples(self, X: Any) -> Array:
        """Return the logarithm of the induced density.

        Without a domain it is not normalized, and only differences between points of one fit are
        meaningful. With a domain it is the density there (for a base measure, with respect to
        Lebesgue measure), -inf outside.
        """
        points = self._validate_new(X)
        if not hasattr(self, "normalization_"):
            return np.asarray(logsumexp(self._log_joint(points), axis=1))
        found = self.normalization_
        logs = self._log_components(points) - found.log_constants + self.mixture_.log_weights
        return np.asarray(logsumexp(logs, axis=1)) + found.domain.log_base(points)

    def pdf(self, X: Any) -> Array:
        """Return the induced density ``exp(score_samples(X))``."""
        logs = self.score_samples(X)
        return passes_for(logs).map(np.exp, logs)

    @property
    def score(self) -> Callable[..., float]:
        """``score(X, y=None, sample_weight=None)`` returns the mean log-density over the domain.

        Without a domain there is no such method, since the scale of a density that is not
        normalized depends on the parameters, and a grid search would be meaningless.
        """
        if self.domain is None and not hasattr(self, "normalization_"):
            raise NoDomainError(
                "score requires a domain: otherwise the induced density is not normalized, and its "
                "scale depends on the parameters. Pass MercerMixture(domain=…) or call "
                "normalize(…) with FiniteSpace(objects), Box(low, high) or GaussianBase() of "
                "mercer.domains."
            )
        return self._mean_log_density

    def _mean_log_density(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        return mean_log_density(self.score_samples(X), sample_weight)

    def sample(self, n_samples: int = 1, *, random_state: int | None = None) -> tuple[Any, Array]:
        """Draw from the density over the domain.

        First a component is drawn by weight; then an element of a finite space, a cell of a box's
        grid and a point within it, or, in other domains, a candidate by importance resampling, with
        a warning if the effective sample size is small.

        Parameters
        ----------
        n_samples : int
        random_state : int or None
            With None, every call returns different draws.

        Returns
        -------
        X : draws in the form of the training data
        labels : int array of shape (n_samples,)
            Component index of each draw.
        """
        self._fitted_spectrum()
        if not hasattr(self, "normalization_"):
            raise ValueError(
                "sample requires a domain: call normalize(…) with FiniteSpace(objects), "
                "Box(low, high) or GaussianBase() of mercer.domains. (Draws from the Gaussians in "
                "feature space are far from the features of any point.)"
            )
        check_integer(n_samples, "n_samples")
        rng = np.random.default_rng(random_state)
        domain = self.normalization_.domain
        counts = rng.multinomial(n_samples, self.weights_ / self.weights_.sum())
        nodes, logs = domain.candidates(n_samples, rng, self._at_nodes(self.mixture_))
        labels = np.repeat(np.arange(len(counts)), counts)
        chosen = resample(nodes, logs, counts, rng)
        order = rng.permutation(n_samples)
        chosen = chosen[order]
        widths = None if nodes.widths is None else nodes.widths[chosen]
        drawn = self._as_points(nodes.points).take(chosen)
        return domain.jitter(drawn, widths, rng).data, labels[order]

    # --- feature space --------------------------------------------------------------------------

    def dual_parameters(self) -> tuple[Array, Array, Array]:
        r"""Return the parameters a, B and ε of the paper's kernelized EM.

        With the features of the training rows as the columns of V, the components have

        .. math:: \mu_m = V a_m, \qquad \Sigma_m = \epsilon_m I + V B_m V', \qquad
                  a_{im} = \frac{w_i\, p(m|i)}{n_m}, \qquad
                  \epsilon_m = \frac{\alpha}{n_m + \beta},

        .. math:: B_m = \sum_i \frac{w_i\, p(m|i)}{n_m + \beta} (e_i - a_m)(e_i - a_m)'
                  + \epsilon_m C,

        where C is that of ``covariance_prior``. The responsibilities p(m|i) are
        ``responsibilities_``, so the values are those of one more M step. Products with features of
        any point need kernel values only: :math:`\Phi(x)'\mu_m = \sum_i a_{im} k(x, x_i)`.

        Returns
        -------
        a : array of shape (M, n)
        B : array of shape (M, n, n)
        epsilon : array of shape (M,)

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import MercerMixture
        >>> from mercer.kernels import Gaussian
        >>> X = np.random.default_rng(0).normal(size=(20, 2))
        >>> mixture = MercerMixture(kernel=Gaussian(1.0), alpha=2.0).fit(X)
        >>> a, B, epsilon = mixture.dual_parameters()
        >>> a.shape, B.shape, epsilon.round(3).tolist()
        ((1, 20), (1, 20, 20), [0.095])
        """
        spectrum = self._fitted_spectrum()
        if spectrum.points.is_chunked:
            raise ValueError(
                "dual_parameters has matrices of all pairs of rows, which are not computed for "
                "Dask collections. Fit a sample of the rows."
            )
        if not self._has_all_coordinates():
            raise ValueError(
                f"The mixture has rank_={self.rank_} coordinates, fewer than the rank of K, so its "
                "covariances are not of the form εI + VBV'. Pass rank=n_samples."
            )
        n, M = self.responsibilities_.shape
        check_memory(8.0 * M * n**2, f"dual_parameters with {n} rows", "Fit fewer rows")
        weights = spectrum.multiplicities_of_rows
        prior = prior_coefficients(self.covariance_prior, weights)
        if prior is not None and self.center:  # C refers to centered features
            centering = np.eye(n) - (weights / weights.sum())[:, None]
            prior = centering @ prior @ centering.T
        masses = weights[:, None] * self.responsibilities_
        return dual_parameters(masses, self.alpha_, self.beta, prior)

    def push_forward(
        self, X: Any, n_draws: int = 10_000, *, random_state: int | None = None
    ) -> Array:
        r"""Return the probabilities that a draw in feature space is nearest to Φ(x), for rows x.

        This is the density of the paper's footnote 4, :math:`p(x) = \int \delta(x -
        \Phi^-(\phi))\, p_F(\phi)\, d\phi`, where :math:`\Phi^-` maps φ to the row of X with the
        nearest features: exact on a finite space up to the error of simulation; on a grid divide by
        the volume of its cells. Draws are not close to the features of any point if many directions
        have variance, so this density is smoother than ``pdf``.

        Parameters
        ----------
        X : data that the kernel compares
            All elements of a finite space, or a grid, each once.
        n_draws : int
            The standard error of a probability p is :math:`\sqrt{p(1 - p) / n}`.
        random_state : int or None

        Returns
        -------
        array of shape (len(X),)
            Probabilities that add up to 1.

        Examples
        --------
        >>> from mercer import MercerMixture
        >>> from mercer.domains import bit_strings
        >>> from mercer.kernels import Hamming
        >>> space = bit_strings(2, text=True)
        >>> mixture = MercerMixture(kernel=Hamming(0.3)).fit(["01", "01", "00", "11"])
        >>> p = mixture.push_forward(space.objects, random_state=0)
        >>> space.objects[p.argmax()]
        '01'
        """
        points = self._validate_new(X)
        check_integer(n_draws, "n_draws")
        if points.is_chunked or points.kind == "gram":
            raise ValueError(
                "push_forward compares all rows of X with each other. Pass rows in memory and a "
                "kernel object."
            )
        m = points.n
        check_memory(24.0 * m**2, f"push_forward for {m} rows", "Pass fewer rows")
        Z, _ = self._coordinates(points)
        products = self._centered(self.kernel_(points.data), points)
        rng = np.random.default_rng(random_state)
        counts = rng.multinomial(n_draws, self.weights_ / self.weights_.sum())
        norms = products.diagonal().copy()
        found = push_forward_counts(self.mixture_, Z, products - Z @ Z.T, norms, counts, rng)
        return np.asarray(found / n_draws)

    def _as_points(self, data: Any) -> Points:
        return validate_points(data, self.kernel_, estimator=self, reset=False)

    def _fitted_spectrum(self) -> Any:
        check_is_fitted(self)
        return self.spectrum_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse &= self.domain is None
        return tags


def _log_integrals(part: Any, nodes: Nodes, Z: Array, residuals: Array) -> Array:
    """Return the leave-one-out log normalizers of one component, computed in blocks of nodes."""
    total: Array | float = -np.inf
    for first in range(0, len(Z), _BLOCK_NODES):
        rows = slice(first, first + _BLOCK_NODES)
        logs = part.everywhere(Z[rows], residuals[rows]) + nodes.log_weights[rows, None]
        total = np.logaddexp(total, logsumexp(logs, axis=0))
    return np.asarray(total)
