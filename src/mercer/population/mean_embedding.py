r"""The mean embedding of a measure and the kernel centered by it (Liang 2014, eq. 4.1).

.. math:: \mu(x) = E\,k(X, x), \qquad
    \tilde k(x, y) = k(x, y) - \mu(x) - \mu(y) + E\,k(X, X')
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.errors import ApproximationWarning, warn
from mercer.kernels import Gaussian, Kernel, as_kernel
from mercer.population.comparison import degree_of, has_moments
from mercer.population.measure import admit_vectors
from mercer.population.measures import as_measure
from mercer.population.operator import PolynomialFeatures
from mercer.population.quadrature import Quadrature
from mercer.utils.distributions import convolve, evaluate, inner_product
from mercer.utils.types import Array
from mercer.utils.validation import check_integer, check_real

__all__ = ["MeanEmbedding"]


class MeanEmbedding:
    r"""The mean :math:`\mu(x) = E\,k(X, x)` of a kernel under a measure, a function of points.

    Its squared norm is :math:`\|\mu\|^2 = E\,k(X, X')`, the limit of the information potential of a
    sample. For a Gaussian kernel under normal distributions and their mixtures, and for polynomial
    kernels, it has a closed form; otherwise it is computed by quadrature.

    Parameters
    ----------
    kernel : str or Kernel
        A kernel on vectors whose parameters are numbers.
    measure : measure or frozen scipy distribution
    tolerance : float
        Allowed error of a quadrature, relative to the largest k(x, x) or value of μ.
    max_nodes : int
        Largest number of nodes of a quadrature.

    Attributes
    ----------
    potential : float
        :math:`E\,k(X, X')` for independent X and X'.
    error : float
        Estimated error of a quadrature, at points that represent the measure; 0 for closed forms.
    method : str

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.population import MeanEmbedding, Normal
    >>> mean = MeanEmbedding(Gaussian(1.5), Normal(2, 1))
    >>> mean([[2.0]]).round(6).tolist(), round(mean.potential, 6), mean.method
    ([0.83205], 0.727607, 'closed form')
    >>> mean.centered_kernel([[2.0]], [[1.0], [3.0]]).round(4)
    array([[-0.0171, -0.0171]])
    """

    def __init__(
        self,
        kernel: str | Kernel,
        measure: Any,
        *,
        tolerance: float = 1e-8,
        max_nodes: int = 4096,
    ) -> None:
        self.kernel = as_kernel(kernel)
        self.measure = as_measure(measure)
        check_real(tolerance, "tolerance", above=0)
        check_integer(max_nodes, "max_nodes")
        self.error, self.method = 0.0, "closed form"
        self._function: _GaussianMean | _PolynomialMean | _NodeMean = (
            self._gaussian_mean()
            or self._polynomial_mean()
            or self._quadrature_mean(tolerance, max_nodes)
        )
        self.potential = self._function.squared_norm

    def __call__(self, X: Any) -> Array:
        """Return ``E k(X, x)`` at points, shape (n,)."""
        return self._function(admit_vectors(X, self.measure.dimension))

    def centered_kernel(self, X: Any, Y: Any = None) -> Array:
        """Return ``k(x, y) - μ(x) - μ(y) + E k(X, X')`` for all pairs; Y=None means Y = X."""
        X = admit_vectors(X, self.measure.dimension)
        Y = X if Y is None else admit_vectors(Y, self.measure.dimension)
        return np.asarray(self.kernel(X, Y) - self(X)[:, None] - self(Y) + self.potential)

    def __repr__(self) -> str:
        return f"MeanEmbedding({self.kernel!r}, {self.measure!r}, {self.method})"

    # --- methods --------------------------------------------------------------------------------

    def _gaussian_mean(self) -> _GaussianMean | None:
        terms = self.measure.gaussian_terms()
        if not isinstance(self.kernel, Gaussian) or terms is None:
            return None
        return _GaussianMean(self.kernel, terms, self.measure.dimension)

    def _polynomial_mean(self) -> _PolynomialMean | None:
        if not has_moments(self.kernel, self.measure):
            return None
        features = PolynomialFeatures(
            self.measure.dimension, degree_of(self.kernel), self.kernel.constant
        )
        mean = np.sqrt(features.multiplicities) * self.measure.moments(features.exponents)
        return _PolynomialMean(features, mean)

    def _quadrature_mean(self, tolerance: float, max_nodes: int) -> _NodeMean:
        probes = self.measure.probes()
        scale = float(np.abs(self.kernel.diagonal(probes)).max())

        def values(rule: Quadrature) -> Array:
            mean = _NodeMean(self.kernel, rule)
            return np.r_[mean.squared_norm, mean(probes)] / scale

        _, errors, rule = self.measure.integrate(values, tolerance, max_nodes)
        self.error = float(errors.max()) * scale
        self.method = f"quadrature, {rule.size} nodes"
        if self.error > tolerance * scale:
            warn(
                f"The mean embedding has an error of about {self.error:.1e} ({self.method}), above "
                f"the tolerance {tolerance * scale:.1e}. Raise max_nodes or, if this is "
                "sufficient, the tolerance.",
                ApproximationWarning,
            )
        return _NodeMean(self.kernel, rule)


class _GaussianMean:
    """``E k(X, x)`` is the density of X convolved with that of the kernel, times its integral."""

    def __init__(self, kernel: Gaussian, terms: Any, d: int) -> None:
        covariance = np.diag(kernel.bandwidth_vector(d) ** 2)
        self.smoothed = convolve(terms, covariance)
        self.normalizer = kernel.normalizer(d)
        self.squared_norm = self.normalizer * inner_product(terms, self.smoothed)

    def __call__(self, X: Array) -> Array:
        return self.normalizer * evaluate(self.smoothed, X)


class _PolynomialMean:
    """``E k(X, x) = Φ(x)' E Φ(X)``."""

    def __init__(self, features: PolynomialFeatures, mean: Array) -> None:
        self.features, self.mean = features, mean
        self.squared_norm = float(mean @ mean)

    def __call__(self, X: Array) -> Array:
        return np.asarray(self.features(X) @ self.mean)


class _NodeMean:
    """A sum over the nodes of a rule."""

    def __init__(self, kernel: Kernel, rule: Quadrature) -> None:
        self.kernel, self.rule = kernel, rule

    @property
    def squared_norm(self) -> float:
        return float(self.rule.weights @ self(self.rule.points))

    def __call__(self, X: Array) -> Array:
        return np.asarray(self.kernel(X, self.rule.points) @ self.rule.weights)
