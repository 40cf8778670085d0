"""Decompositions: isolated points by their cosine in feature space (core e12), random starts."""

import numpy as np
import pytest

from mercer import KernelPCA
from mercer.data.points import Points
from mercer.eigen.decompose import NEIGHBOR_COSINE, decompose, isolated_fraction
from mercer.errors import IdentifiabilityWarning
from mercer.gram import Sample
from mercer.kernels import Gaussian, Polynomial
from tests.expectations import warns


def pairs_with_cosine(cosine):
    """Return ten pairs of points, far from each other, with this Gaussian kernel within a pair."""
    distance = np.sqrt(-2 * np.log(cosine))
    starts = 1000.0 * np.arange(10)
    return np.concatenate([starts, starts + distance])[:, None]


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(("ratio", "expected"), [(1.01, 0.0), (0.99, 1.0)])
def test_isolation_is_a_limit_of_the_cosine_not_of_the_kernel_value(scale, ratio, expected):
    X = pairs_with_cosine(ratio * NEIGHBOR_COSINE)
    assert isolated_fraction(Sample(scale * Gaussian(1.0), Points(X))) == expected


def test_cosine_divides_by_the_norms_of_both_points():
    """k(x, y) of an orthogonal row is far above 0.01 here, and its cosine is not."""
    X = np.array([[1e4, 0.0]] * 9 + [[0.0, 1e4]])
    assert Polynomial(1, constant=1.0)(X).min() == 1.0
    fraction = isolated_fraction(Sample(Polynomial(1, constant=1.0), Points(X)))
    assert fraction == pytest.approx(0.1)


def test_warning_names_the_limit():
    with warns(IdentifiabilityWarning, "100%", NEIGHBOR_COSINE):
        KernelPCA(2, kernel=Gaussian(1.0)).fit(pairs_with_cosine(0.5 * NEIGHBOR_COSINE))


@pytest.mark.parametrize("center", [False, True])
def test_block_krylov_starts_at_the_same_vectors_in_every_call(center, rng):
    """Estimators without a random state, such as KernelLDA, give the same result in every run."""
    sample = Sample(Gaussian(1.0), Points(rng.normal(size=(300, 3))))
    found = [decompose(sample, "variance", 5, solver="lanczos", center=center) for _ in range(2)]
    assert found[0].method.startswith("block Krylov")
    np.testing.assert_array_equal(found[0].eigenvectors, found[1].eigenvectors)
