"""Data spectroscopy: number of groups by eigenvectors without sign changes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

from mercer import bandwidth
from mercer.cluster.spectroscopy import find_groups
from mercer.kernels import Gaussian, Kernel, Laplacian
from mercer.utils.eigenpairs import is_sign_free
from mercer.utils.quantiles import weighted_quantile
from tests.expectations import raises

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def mixture(seed, groups=3, size=60, distance=8.0, d=2):
    rng = np.random.default_rng(seed)
    return np.concatenate(
        [rng.normal(size=(size + 7 * i, d)) + distance * i for i in range(groups)]
    )


def naive_bandwidth(X):
    """Return the 95 % quantile over i of the 5 % quantile over j of |x_i - x_j|, over √χ²."""
    distances = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    near = np.quantile(distances, 0.05, axis=1)
    return np.quantile(near, 0.95) / np.sqrt(chi2.ppf(0.95, X.shape[1]))


def naive_groups(K):
    """Return the ranks of eigenvectors with min v > -ε or max v < ε, ε = max |v| / n."""
    n = len(K)
    values, vectors = np.linalg.eigh(K)
    vectors = vectors[:, ::-1][:, : max(int(np.sqrt(n)), 200)]
    vectors = vectors[:, values[::-1][: vectors.shape[1]] > 1e-12 * values.max()]
    free = []
    for j, v in enumerate(vectors.T):
        slack = np.abs(v).max() / n
        if v.min() > -slack or v.max() < slack:
            free.append(j)
    largest = np.argmax(np.abs(vectors[:, free]), axis=1)
    fraction = np.bincount(largest, minlength=len(free)) / n
    return [free[i] + 1 for i in range(len(free)) if fraction[i] > 0.02]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("groups", "distance"), [(1, 0), (2, 5.0), (3, 8.0), (4, 3.0)])
def test_groups_equal_a_naive_implementation(seed, groups, distance):
    X = mixture(seed, groups, distance=distance)
    found = find_groups(X)
    bandwidth_found = naive_bandwidth(X)
    assert_allclose(found.kernel.bandwidth, bandwidth_found, rtol=1e-10)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / (2 * bandwidth_found**2))
    expected = naive_groups(K)
    assert found.components.tolist() == expected
    assert found.n_groups == len(expected)
    assert found.n_rows == len(X)
    assert found.fractions.sum() <= 1 + 1e-12


@pytest.mark.parametrize("groups", [1, 2, 3, 5])
@pytest.mark.parametrize("d", [2, 4, 8])
def test_separated_groups_are_counted(groups, d):
    X = mixture(groups, groups, distance=12.0, d=d)
    found = find_groups(X)
    assert found.n_groups == groups
    sizes = np.array([60 + 7 * i for i in range(groups)]) / len(X)
    assert_allclose(np.sort(found.fractions), np.sort(sizes), atol=0.05)


def test_blocks_are_counted_exactly():
    for sizes in ((10, 8, 5), (9, 3), (20,)):
        y = np.repeat(np.arange(len(sizes)), sizes)
        found = find_groups((y[:, None] == y).astype(float), kernel="precomputed")
        assert found.n_groups == len(sizes)
        assert_allclose(found.fractions, np.array(sizes) / sum(sizes))


@pytest.mark.parametrize("groups", [2, 3])
def test_groups_of_equal_size_are_counted(groups):
    """Eigenvalues are tied: one basis of the eigenspace has a vector per group."""
    y = np.repeat(np.arange(groups), 8)
    assert find_groups((y[:, None] == y).astype(float), kernel="precomputed").n_groups == groups
    X = np.random.default_rng(0).normal(size=(60, 2))
    copies = np.concatenate([X + 1024.0 * i for i in range(groups)])
    assert find_groups(copies, kernel=Gaussian(1.0)).n_groups == groups


@pytest.mark.parametrize("seed", range(8))
def test_weights_equal_copies(seed):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(at, 1.0, size=(25, 2)) for at in (0, 4, 8)])
    weights = rng.integers(0, 5, size=75)
    weighted = find_groups(X, sample_weight=weights)
    copies = find_groups(np.repeat(X, weights, axis=0))
    assert_allclose(weighted.kernel.bandwidth, copies.kernel.bandwidth, rtol=1e-10)
    assert weighted.components.tolist() == copies.components.tolist()
    assert_allclose(weighted.fractions, copies.fractions, atol=1e-12)


def test_groups_do_not_depend_on_row_order():
    X = mixture(1)
    order = np.random.default_rng(0).permutation(len(X))
    one, other = find_groups(X), find_groups(X[order])
    assert one.n_groups == other.n_groups
    assert_allclose(one.fractions, other.fractions)


def test_single_outliers_are_not_groups():
    X = np.concatenate([mixture(0, 2, distance=10.0), [[100.0, 0.0], [0.0, 200.0]]])
    assert find_groups(X).n_groups == 2


def test_many_rows_are_subsampled():
    X = mixture(0, 2, size=1500, distance=10.0)
    found = find_groups(X)
    assert found.n_groups == 2
    assert found.n_rows == 2000


def test_given_bandwidths_are_not_changed():
    X = mixture(0)
    assert find_groups(X, kernel=Gaussian(1.3)).kernel == Gaussian(1.3)
    assert find_groups(X, kernel="laplacian").kernel.bandwidth == pytest.approx(naive_bandwidth(X))
    assert find_groups(X, kernel=Laplacian(1.0)).n_groups >= 1


class Letters(Kernel):
    """Fraction of common letters (Jaccard): a kernel on strings."""

    compares = "objects"

    def matrix(self, X, Y):
        return np.array([[len({*x} & {*y}) / len({*x} | {*y}) for y in Y] for x in X])


def test_groups_of_strings():
    assert find_groups(["abc", "abd", "bcd", "xyz", "xzw"], kernel=Letters()).n_groups == 2


def test_many_objects_are_subsampled(monkeypatch):
    """Evenly spaced objects with positive weight are selected."""
    monkeypatch.setattr("mercer.cluster.spectroscopy._MAX_ROWS", 10)
    strings = ["abc", "abd", "bcd"] * 20 + ["xyz", "xzw"] * 20
    found = find_groups(strings, kernel=Letters())
    assert (found.n_groups, found.n_rows) == (2, 10)
    assert_allclose(sorted(found.fractions), [0.4, 0.6])
    weights = np.zeros(100)
    weights[61::10] = 2.0
    found = find_groups(strings, kernel=Letters(), sample_weight=weights)
    assert (found.n_groups, found.n_rows) == (1, 4)


def test_kernel_with_sign_changes_has_one_group():
    """All eigenvectors of a centered linear kernel change sign; the first one counts."""
    X = np.random.default_rng(0).normal(size=(50, 3))
    found = find_groups(X - X.mean(axis=0), kernel="linear")
    assert found.components.tolist() == [1]
    assert_allclose(found.fractions, [1.0])


def test_few_rows_and_invalid_input():
    assert find_groups([[1.0, 2.0]], kernel=Gaussian(1.0)).n_groups == 1
    assert find_groups(np.ones((5, 2)), kernel=Gaussian(1.0)).n_groups == 1
    with raises(ValueError, 5, "bandwidth"):
        find_groups(np.ones((5, 2)))
    with raises(ValueError, "NaN"):
        find_groups([[np.nan], [1.0]])
    with raises(ValueError, "sample_weight"):
        find_groups(mixture(0), sample_weight=[1.0])
    with raises(ValueError, 3, 2):
        find_groups(np.ones((3, 2)), kernel="precomputed")
    with raises(ValueError, "K"):
        find_groups(np.zeros((4, 4)), kernel="precomputed")


def test_sign_free_vectors():
    v = np.array([[1.0, 1.0, -1.0, 1.0], [0.1, -0.2, -0.1, -0.3], [0.0, 0.5, 0.2, 0.0]])
    # n = 3: entries of the other sign may be up to a third of the largest entry
    assert is_sign_free(v).tolist() == [True, True, True, True]
    assert is_sign_free(np.vstack([v, np.zeros((7, 4))])).tolist() == [True, False, False, False]


# --- the bandwidth ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n", "d"), [(2, 1), (21, 2), (60, 5), (150, 3)])
def test_bandwidth_equals_a_naive_implementation(seed, n, d):
    X = np.random.default_rng(seed).normal(size=(n, d))
    if n == 2:  # the 5 % quantile is a twentieth of the distance
        distance = np.linalg.norm(X[0] - X[1])
        assert_allclose(bandwidth.spectroscopy(X), 0.05 * distance / np.sqrt(chi2.ppf(0.95, d)))
    assert_allclose(bandwidth.spectroscopy(X), naive_bandwidth(X), rtol=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_bandwidth_with_weights_equals_copies(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    weights = rng.integers(0, 4, size=40)
    copies = np.repeat(X, weights, axis=0)
    assert_allclose(bandwidth.spectroscopy(X, weights), naive_bandwidth(copies), rtol=1e-10)
    assert_allclose(bandwidth.spectroscopy(copies), naive_bandwidth(copies), rtol=1e-10)


def test_bandwidth_of_mostly_equal_rows_is_positive():
    X = np.zeros((100, 2))
    X[0] = 1.0
    assert bandwidth.spectroscopy(X) > 0


@pytest.mark.parametrize("level", [0.0, 0.05, 0.29, 0.5, 0.57, 0.95, 1.0])
def test_weighted_quantiles_equal_those_of_copies(level):
    """For many numbers of copies: level · (n - 1) may round to just below an integer."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=7)
    for _ in range(200):
        weights = rng.integers(0, 40, size=7)
        if weights.sum() == 0:
            continue
        expected = np.quantile(np.repeat(values, weights), level)
        found = weighted_quantile(values, weights.astype(float), level)
        assert_allclose(found, expected, atol=1e-9)


def test_isolated_rows_are_one_group():
    X = np.random.default_rng(0).normal(size=(60, 2000))
    assert find_groups(X).n_groups == 1
