r"""Population discriminants: of polynomial kernels from moments, of any kernel by quadrature.

Liang (2014, chapter 5) derives them for polynomial kernels and two classes. For any kernel, with
the eigenpairs of the centered operator under the mixture of the classes, the coordinates
:math:`z_i(x) = \sqrt{\lambda_i}\,\phi_i(x)` are the limits of those of centered kernel PCA, and the
discriminants in these coordinates are the limits of those of :class:`mercer.KernelLDA`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.kernels import Kernel, as_kernel
from mercer.population.comparison import operator_of
from mercer.population.measure import Measure, admit_vectors, monomial_values
from mercer.population.measures import Mixture, as_measure
from mercer.population.operator import PolynomialFeatures
from mercer.population.quadrature import Quadrature
from mercer.supervised.scatter import ClassMoments, class_signs
from mercer.utils.formatting import Result
from mercer.utils.types import Array
from mercer.utils.validation import check_integer, check_real
from mercer.utils.weights import checked_proportions

__all__ = [
    "DiscriminantComparison",
    "KernelDiscriminant",
    "PolynomialDiscriminant",
    "compare_discriminants",
]

_RANK_TOLERANCE = 1e-12


class PolynomialDiscriminant:
    r"""The functions that best separate measures, for ``k(x, y) = (constant + x'y)^degree``.

    With :math:`\delta = E_1 x^j - E_0 x^j` and :math:`W_0 = \sum_l \pi_l \mathrm{Cov}_l(x^j)` over
    the monomials of the kernel, the ratio of the variation between classes to that within them,
    :math:`(a'\delta)^2 / a'W_0a`, is largest for :math:`a \propto W_0^{-1}\delta`:

    .. math:: f(x) = \sum_j a_j x^j, \qquad \rho = \delta' W_0^{-1} \delta, \qquad a'W_0a = 1.

    For more than two classes the variation between them is
    :math:`B_0 = \sum_l \pi_l (E_l x^j - E x^j)(E_l x^j - E x^j)'`, as in
    :class:`mercer.KernelLDA`, and the functions solve :math:`B_0 a = \lambda W_0 a`. (For two
    classes that would be :math:`\pi_0 \pi_1 \delta\delta'`, and :math:`\lambda = \pi_0 \pi_1 \rho`;
    the thesis writes λ for ρ.)

    Parameters
    ----------
    degree : int
        At least 1.
    measures : sequence of at least two measures
        The distributions of the classes. Each f has a positive mean, relative to the overall mean,
        under the last measure for which that is not 0.
    priors : sequence of numbers
        π, positive, adding up to 1.
    constant : float
        Nonnegative.

    Attributes
    ----------
    ratio : float, or array of shape (q,) for more than two classes
        ρ of f; for more classes the λ of each f, largest first, where q is at most the number of
        classes minus one.
    exponents : int array of shape (m, p)
    coefficients : array of shape (m,), or (q, m) for more than two classes
        a, on the raw monomials ``x^j``.
    between, within : arrays of shape (m, m)
        B* and W* of the thesis (eq. 5.3), with multiplicities.
    thesis_coefficients : array of the shape of ``coefficients``
        The C of the thesis, with ``B* C = ρ W* C``, ``C'W*C = 1`` and ``f = Σ binom_j C_j x^j``, up
        to sign.

    Notes
    -----
    The thesis prints 2 C_1 and 2 C_2 in its cubic f, where the multiplicities are 3.

    Examples
    --------
    >>> from mercer.population import Normal, PolynomialDiscriminant
    >>> f = PolynomialDiscriminant(1, [Normal([2, -2]), Normal([-1, 2])], [0.5, 0.5])
    >>> round(f.ratio, 10), f.coefficients.round(4).tolist(), f([[-1.0, 2.0]]).round(4).tolist()
    (25.0, [-0.6, 0.8], [2.2])
    """

    def __init__(
        self, degree: int, measures: Sequence[Any], priors: Any, *, constant: float = 0.0
    ) -> None:
        self.measures = tuple(as_measure(measure) for measure in measures)
        if len(self.measures) < 2:
            raise ValueError(
                f"PolynomialDiscriminant needs at least 2 measures; got {len(self.measures)}."
            )
        self.priors = checked_proportions(priors, len(self.measures), "priors")
        dimensions = [measure.dimension for measure in self.measures]
        if len(set(dimensions)) > 1:
            raise ValueError(
                f"The measures have dimensions {dimensions}. Use measures of the same dimension."
            )
        features = PolynomialFeatures(dimensions[0], degree, constant)
        self.exponents = features.exponents
        found = [measure.monomial_moments(self.exponents) for measure in self.measures]
        means, covariances = map(np.array, zip(*found, strict=True))
        within = np.tensordot(self.priors, covariances, 1)
        shifts = means - self.priors @ means
        two_classes = len(means) == 2
        spread = means[1:] - means[:1] if two_classes else np.sqrt(self.priors)[:, None] * shifts
        directions, ratios = _best_directions(within, spread)
        directions = directions * class_signs(shifts @ directions.T)[:, None]
        self.coefficients = directions[0] if two_classes else directions
        self.ratio: Any = float(ratios[0]) if two_classes else ratios
        times = features.multiplicities
        self.between = (times * spread).T @ (times * spread)
        self.within = times[:, None] * within * times
        self.thesis_coefficients = self.coefficients / times

    def __call__(self, X: Any) -> Array:
        """Return ``f(x)`` at points, shape (n,), or (n, q) for more than two classes."""
        points = admit_vectors(X, self.measures[0].dimension)
        return np.asarray(monomial_values(points, self.exponents) @ self.coefficients.T)

    def __repr__(self) -> str:
        ratio = ", ".join(f"{value:.6g}" for value in np.atleast_1d(self.ratio))
        return f"PolynomialDiscriminant(ratio={ratio}, {list(self.measures)!r})"


def _best_directions(within: Array, spread: Array) -> tuple[Array, Array]:
    """Return the directions a (rows) with ``S'S a = λ W a``, ``a'Wa = 1``, and the ratios λ > 0.

    The rows of S must be 0 in the null space of W.
    """
    deviations = np.sqrt(np.diag(within))
    scale = np.where(deviations > 0, deviations, 1.0)  # correlations, so that units do not matter
    values, vectors = np.linalg.eigh(within / np.outer(scale, scale))
    along = spread / scale @ vectors
    varies = values > _RANK_TOLERANCE * max(float(values[-1]), 0.0)
    beyond = float(np.abs(along[:, ~varies]).max(initial=0.0))
    size = float(np.abs(along).max())
    if size == 0:
        raise ValueError(
            "Every monomial of this degree has the same mean under all measures, so no "
            "function of this kernel separates them. Use another degree, or a constant."
        )
    if beyond > 1e-6 * size:
        raise ValueError(
            f"The measures differ (by {beyond:.3g}, in standard units) along a combination of "
            "monomials that is constant within all of them, so the ratio is infinite. Use a lower "
            "degree, more points, or measures of full rank."
        )
    whitening = vectors[:, varies] / np.sqrt(values[varies]) / scale[:, None]
    _, roots, axes = np.linalg.svd(spread @ whitening, full_matrices=False)
    positive = roots > _RANK_TOLERANCE * roots[0]
    return (whitening @ axes[positive].T).T, roots[positive] ** 2


class KernelDiscriminant:
    r"""The functions that best separate several measures, for any kernel.

    In the coordinates :math:`z_i(x) = \sqrt{\lambda_i}\,\phi_i(x)` of the centered operator under
    the mixture :math:`\sum_l \pi_l p_l`, with class means :math:`m_l`,
    :math:`W = \sum_l \pi_l \mathrm{Cov}_l` and :math:`B = \sum_l \pi_l m_l m_l'`,

    .. math:: f(x) = a'z(x), \qquad B a = \lambda (W + \gamma I) a, \qquad
        a'(W + \gamma I) a = 1.

    This is what :class:`mercer.KernelLDA` estimates, with the same rank and ridge. A kernel of
    infinite rank needs a ridge: without it the ratio grows with the rank, because W has
    arbitrarily small eigenvalues.

    Parameters
    ----------
    kernel : str or Kernel
        A kernel on vectors whose parameters are numbers.
    measures : sequence of measures or frozen scipy distributions
        The distributions of the classes, at least two.
    priors : sequence of numbers
        π, positive, adding up to 1.
    rank : int
        Maximal number of coordinates. As in KernelLDA, those with an eigenvalue below 1e-8 of the
        trace are dropped: their functions are not accurate.
    regularization : float
        Nonnegative; γ = regularization · tr(W) / rank.
    ridge : float or None
        γ itself; None to compute it from ``regularization``.

    Attributes
    ----------
    eigenvalues : array of shape (q,)
        λ, largest first; q is the number of classes minus one (or the rank, if that is smaller).
    class_means : array of shape (n_classes, q)
        Means of the functions under each measure.
    ridge : float
        γ.
    rank : int
        Number of coordinates.
    operator : PopulationOperator
        The centered operator under the mixture.
    error : float
        Estimated error of the class moments, relative to the largest eigenvalue of the operator.

    See Also
    --------
    PolynomialDiscriminant : the exact result for polynomial kernels.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.population import KernelDiscriminant, Normal
    >>> classes = [Normal(-2), Normal(0), Normal(2)]
    >>> f = KernelDiscriminant(Gaussian(2.0), classes, [0.3, 0.4, 0.3])
    >>> f.eigenvalues.round(2).tolist(), f([[-2.0], [2.0]]).shape
    ([2.72, 0.59], (2, 2))
    """

    def __init__(
        self,
        kernel: str | Kernel,
        measures: Sequence[Any],
        priors: Any,
        *,
        rank: int = 30,
        regularization: float = 1e-3,
        ridge: float | None = None,
    ) -> None:
        self.measures = tuple(as_measure(measure) for measure in measures)
        if len(self.measures) < 2:
            raise ValueError(f"A discriminant needs at least 2 measures; got {len(self.measures)}.")
        self.priors = checked_proportions(priors, len(self.measures), "priors")
        mixture = Mixture(self.priors, self.measures)
        check_real(regularization, "regularization", low=0)
        self.operator = operator_of(
            as_kernel(kernel), mixture, center=True, n_components=check_integer(rank, "rank")
        )
        self.kernel = self.operator.kernel
        usable = self.operator.eigenvalues > 1e-8 * self.operator.trace
        self.rank = max(1, int(np.count_nonzero(usable)))
        moments, self.error = _class_moments(self.priors, self.measures, self._coordinates)
        self.ridge = regularization * moments.scale if ridge is None else float(ridge)
        self._discriminants = moments.discriminants(self.ridge)
        self.eigenvalues = self._discriminants.ratios
        self.class_means = self._discriminants.class_means

    def _coordinates(self, X: Array) -> Array:
        functions = self.operator._functions(X)[:, : self.rank]
        return np.asarray(functions * np.sqrt(self.operator.eigenvalues[: self.rank]))

    def __call__(self, X: Any) -> Array:
        """Return the functions at points, shape (n, q)."""
        return self._discriminants(self._coordinates(admit_vectors(X, self.measures[0].dimension)))

    def __repr__(self) -> str:
        return (
            f"KernelDiscriminant({self.kernel!r}, {list(self.measures)!r}, "
            f"eigenvalues={self.eigenvalues.round(6).tolist()})"
        )


def _class_moments(
    priors: Array, measures: Sequence[Measure], coordinates: Callable[[Array], Array]
) -> tuple[ClassMoments, float]:
    """Return means and covariance within classes, and their error relative to the largest."""
    means, errors = [], []
    within: Any = 0.0

    def moments(rule: Quadrature) -> Array:
        Z = coordinates(rule.points)
        weighted = rule.weights[:, None] * Z
        return np.vstack([weighted.sum(axis=0), Z.T @ weighted])

    for prior, measure in zip(priors, measures, strict=True):
        found, error, _ = measure.integrate(moments, 1e-6, 2**15)
        means.append(found[0])
        within = within + prior * (found[1:] - np.outer(found[0], found[0]))
        errors.append(float(error.max()))
    result = ClassMoments(priors, priors, np.array(means), within)
    return result, max(errors) / max(float(np.trace(within)), 1e-300)


# --- comparison with a sample ---------------------------------------------------------------------


@dataclass(frozen=True)
class DiscriminantComparison(Result):
    """Discriminant functions of a sample and of the population.

    Attributes
    ----------
    sample_eigenvalues, population_eigenvalues : arrays of shape (q,)
        Ratios of between-class to within-class variance. Those of a sample are larger, because the
        functions adapt to it; they decrease to the population's with n.
    correlations : array of shape (q,)
        ``|correlation|`` of each function of the sample with that of the population, under the
        mixture of the classes.
    n : int
        Number of training points.
    discriminant : KernelDiscriminant

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelLDA
    >>> from mercer.kernels import Gaussian
    >>> from mercer.population import Normal, compare_discriminants
    >>> classes = [Normal([0, 0]), Normal([2, 1])]
    >>> X = np.vstack([p.sample(500, random_state=i) for i, p in enumerate(classes)])
    >>> lda = KernelLDA(kernel=Gaussian(2.0), rank=10).fit(X, np.repeat([0, 1], 500))
    >>> comparison = compare_discriminants(lda, classes)
    >>> bool(comparison.correlations[0] > 0.98)
    True
    """

    sample_eigenvalues: Array
    population_eigenvalues: Array
    correlations: Array
    n: int
    discriminant: KernelDiscriminant = field(repr=False)

    def __str__(self) -> str:
        lines = ["function     sample  population  correlation"]
        rows = zip(
            self.sample_eigenvalues, self.population_eigenvalues, self.correlations, strict=True
        )
        for i, (sample, population, correlation) in enumerate(rows, start=1):
            lines.append(f"{i:8d}  {sample:9.5g}  {population:10.5g}  {correlation:11.4f}")
        return "\n".join(lines)


def compare_discriminants(estimator: Any, measures: Sequence[Any]) -> DiscriminantComparison:
    """Compare a fitted KernelLDA with the discriminants of assumed class distributions.

    The population discriminants use the kernel, priors, rank and ridge of the estimator, so the
    differences are due to sampling alone.

    Parameters
    ----------
    estimator : fitted KernelLDA
    measures : sequence of measures or frozen scipy distributions
        One for each of ``estimator.classes_``, in this order.

    Returns
    -------
    DiscriminantComparison
        Its ``str`` is a table.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelLDA
    >>> from mercer.kernels import Polynomial
    >>> from mercer.population import Normal, compare_discriminants
    >>> classes = [Normal([2, -2]), Normal([-1, 2])]
    >>> X = np.vstack([p.sample(300, random_state=i) for i, p in enumerate(classes)])
    >>> lda = KernelLDA(kernel=Polynomial(3)).fit(X, np.repeat([0, 1], 300))
    >>> compare_discriminants(lda, classes).sample_eigenvalues.shape
    (1,)
    """
    if not all(hasattr(estimator, name) for name in ("ridge_", "rank_", "priors_", "transform")):
        raise TypeError(f"{type(estimator).__name__} is not a fitted KernelLDA.")
    if len(measures) != len(estimator.priors_):
        raise ValueError(
            f"The estimator has {len(estimator.priors_)} classes, but {len(measures)} measures "
            "were passed. Pass one measure per class, in the order of classes_."
        )
    population = KernelDiscriminant(
        estimator.kernel_,
        measures,
        estimator.priors_,
        rank=estimator.rank_,
        ridge=estimator.ridge_,
    )
    count = min(estimator.n_components_, len(population.eigenvalues))
    correlations = _correlations(estimator, population, count)
    return DiscriminantComparison(
        estimator.eigenvalues_[:count],
        population.eigenvalues[:count],
        correlations,
        int(estimator.spectrum_.points.n),
        population,
    )


def _correlations(estimator: Any, population: KernelDiscriminant, count: int) -> Array:
    """Return the correlations under the mixture of the classes."""

    def moments(X: Array) -> Array:
        f, g = estimator.transform(X)[:, :count], population(X)[:, :count]
        return np.stack([f, g, f * f, g * g, f * g], axis=1)

    f, g, ff, gg, fg = population.operator.measure.expectation(moments, tolerance=1e-3)
    return np.minimum(np.abs(fg - f * g) / np.sqrt((ff - f**2) * (gg - g**2)), 1.0)
