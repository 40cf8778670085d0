"""Macready, Density Estimation with Mercer Kernels, 2003: what can be checked quickly.

``mercer reproduce macready-2003`` does the rest. Equations come from the paper as corrected by the
project's list of errata: in (4) and (5) B stands for B-tilde, and (5) is taken with d_F = r.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import MercerMixture
from mercer.datasets import make_bits, make_halo
from mercer.diagnostics import clustering_error
from mercer.domains import Box, bit_strings
from mercer.errors import IdentifiabilityWarning
from mercer.kernels import Gaussian, Hamming, Polynomial
from mercer.maths.gaussian_mixture import fit_mixture

# --- section 2: EM -------------------------------------------------------------------------------


class Kernelised:
    """The paper's updates (7), (8), (9) and its E step (5), in N × N matrices: slow and literal."""

    def __init__(self, K, alpha, beta):
        self.K, self.alpha, self.beta = K, alpha, beta
        values, vectors = np.linalg.eigh(K)
        kept = values > 1e-10 * values[-1]
        self.values, self.vectors = values[kept], vectors[:, kept]

    def step(self, R):
        """From responsibilities to the next ones."""
        K, N = self.K, len(self.K)
        logs = np.empty_like(R)
        for m, p in enumerate(R.T):
            n = p.sum()
            a = p / n  # (8)
            epsilon = self.alpha / (n + self.beta)
            gaps = np.eye(N) - a[:, None]  # columns e_i - a
            B = gaps @ np.diag(p) @ gaps.T / (n + self.beta)  # (9)
            inner = epsilon * K + K @ B @ K  # V'ΣV, of the rank of K
            small = self.vectors.T @ inner @ self.vectors
            whole = self.vectors @ np.linalg.inv(small) @ self.vectors.T
            D = K - (K @ a)[:, None]  # columns k_i - K a
            squared = np.einsum("ji,jk,ki->i", D, whole, D)  # (4)
            determinant = np.linalg.slogdet(small)[1] - np.log(self.values).sum()
            logs[:, m] = np.log(n / N) - determinant / 2 - squared / 2  # (5), (7)
        logs -= logs.max(axis=1, keepdims=True)
        R = np.exp(logs)
        return R / R.sum(axis=1, keepdims=True)


def nonsingular(rng):
    return Gaussian(0.5)(rng.normal(size=(25, 2)))


def singular(rng):
    X = rng.normal(size=(25, 2))
    return Polynomial(degree=2)(np.vstack([X, X[:5]]))


@pytest.mark.parametrize("make", [nonsingular, singular])
@pytest.mark.parametrize("seed", range(5))
def test_em_is_em_on_kernel_coordinates(make, seed):
    rng = np.random.default_rng(seed)
    K = make(rng)
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-10 * values[-1]
    Z = vectors[:, kept] * np.sqrt(values[kept])
    oracle = Kernelised(K, alpha=1.3, beta=0.7)
    R = rng.random((len(K), 2)) + np.eye(2)[rng.integers(2, size=len(K))]
    R /= R.sum(axis=1, keepdims=True)
    expected = R
    for steps in range(1, 16):
        expected = oracle.step(expected)
        fit = fit_mixture(Z, np.ones(len(K)), R, 1.3, 0.7, max_iter=steps, tol=-1)
        if len(fit.lower_bounds) == steps:
            assert_allclose(fit.responsibilities, expected, atol=1e-8)


def test_moving_the_origin_changes_no_distance():
    """Centring in feature space: the same Gaussian, up to one direction of variance ε."""
    X, _ = make_halo(random_state=0)
    plain, centred = (
        MercerMixture(kernel=Gaussian(0.3), alpha=5.0, domain=Box(-4, 4), center=center).fit(X)
        for center in (False, True)
    )
    # rounding of K, 1e-16 of its largest eigenvalue, is 1e-6 of the smallest that are kept
    assert_allclose(plain.score_samples(X), centred.score_samples(X), atol=1e-5)


# --- figure 1 ---------------------------------------------------------------------------------


def two_gaussians(seed, **settings):
    X, y = make_halo(random_state=seed)
    kernel = Polynomial(degree=2)
    settings = {"alpha": 1.0, "beta": 1.0, "n_init": 11, "random_state": 0} | settings
    return X, y, MercerMixture(2, kernel=kernel, **settings).fit(X)


@pytest.mark.parametrize("seed", range(6))
def test_figure_1_finds_core_and_halo(seed):
    X, y, mixture = two_gaussians(seed)
    assert clustering_error(y, mixture.predict(X)) <= 0.03
    assert len(mixture.effective_weights_) == 2
    assert mixture.rank_ == 3


def test_figure_1_masses():
    """Half of the mass belongs to the core; without component-wise normalisation it is 99 %."""
    raw, right = [], []
    for seed in range(4):
        *_, mixture = two_gaussians(seed, domain=Box(-3.5, 3.5))
        nodes = mixture.normalization_.domain.nodes()
        core = np.hypot(*nodes.points.data.T) < 1
        p = mixture.pdf(nodes.points.data) * np.exp(nodes.log_weights)
        assert_allclose(p.sum(), 1, rtol=1e-10)
        right.append(p[core].sum())
        *_, bare = two_gaussians(seed)
        q = bare.pdf(nodes.points.data)
        raw.append(q[core].sum() / q.sum())
    assert 0.45 <= np.mean(right) <= 0.55
    assert np.mean(raw) >= 0.97


# --- figure 2a --------------------------------------------------------------------------------

LAPLACE = np.array([[1.0, -0.6], [-0.6, 1.0]])


def draw_2a(seed, n=200):
    rng = np.random.default_rng(seed)
    part = rng.choice(3, size=n, p=[0.3, 0.3, 0.4])
    X = rng.normal(size=(n, 2)) + np.array([[-2, 2], [2, 2], [0, 0]])[part]
    X[part == 2] = rng.laplace(size=((part == 2).sum(), 2)) @ LAPLACE.T
    return X[(np.abs(X) < 8).all(axis=1)]


def density_2a(X):
    inverse = np.linalg.inv(LAPLACE)
    gaussians = [np.exp(-((X - m) ** 2).sum(axis=1) / 2) / (2 * np.pi) for m in ([-2, 2], [2, 2])]
    laplace = abs(np.linalg.det(inverse)) * np.exp(-np.abs(X @ inverse.T).sum(axis=1)) / 4
    return 0.3 * gaussians[0] + 0.3 * gaussians[1] + 0.4 * laplace


def agreement(truth, found):
    truth, found = truth / truth.sum(), found / found.sum()
    return np.corrcoef(truth, found)[0, 1], float((truth * np.log(truth / found)).sum())


def test_figure_2a():
    """One Gaussian, α = 15, β = 1, exp(-|x - x'|²): peak and tails, not better than a KDE."""
    found = []
    for seed in range(3):
        kernel = Gaussian(np.sqrt(0.5))
        domain = Box(-8, 8, n_nodes=6400)
        mixture = MercerMixture(kernel=kernel, alpha=15.0, domain=domain).fit(draw_2a(seed))
        grid = mixture.normalization_.domain.nodes().points.data
        found.append(agreement(density_2a(grid), mixture.pdf(grid)))
    correlation, divergence = np.mean(found, axis=0)
    assert correlation >= 0.85
    assert 0.24 <= divergence <= 0.38


# --- figure 2b --------------------------------------------------------------------------------

ONES = np.array(
    [
        [0.9501, 0.6068, 0.8913, 0.4565, 0.8214, 0.6154, 0.9218],
        [0.2311, 0.4860, 0.7621, 0.0185, 0.4447, 0.7919, 0.7382],
    ]
)
SPACE = bit_strings(7)
TRUTH = np.mean([np.prod(np.where(SPACE.objects == 1, q, 1 - q), axis=1) for q in ONES], axis=0)


def bits(seed):
    return make_bits(30, probabilities=ONES, random_state=seed)[0]


def test_figure_2b():
    found = []
    for seed in range(10):
        mixture = MercerMixture(kernel=Hamming(0.6), alpha=2.6, beta=0.5, domain=SPACE)
        p = mixture.fit(bits(seed)).pdf(SPACE.objects)
        assert_allclose(p.sum(), 1, rtol=1e-12)
        found.append(agreement(TRUTH, p))
    correlation, divergence = np.mean(found, axis=0)
    assert correlation >= 0.65
    assert 0.15 <= divergence <= 0.40


def test_figure_2b_two_gaussians_are_one():
    """The paper's two Gaussians collapse at its own α; the library says so."""
    for seed in range(3):
        settings = {"kernel": Hamming(0.6), "alpha": 2.6, "beta": 0.5, "domain": SPACE}
        one = MercerMixture(**settings).fit(bits(seed))
        with pytest.warns(IdentifiabilityWarning, match="collapsed to 1"):
            two = MercerMixture(2, **settings).fit(bits(seed))
        assert_allclose(two.effective_weights_, [1.0])
        assert_allclose(two.pdf(SPACE.objects), one.pdf(SPACE.objects), rtol=1e-3)


def test_figure_2b_without_the_residual_is_nonsense():
    """Off the sample the residual term decides (trap 16)."""
    X = bits(0)
    mixture = MercerMixture(kernel=Hamming(0.6), alpha=2.6, beta=0.5, domain=SPACE).fit(X)
    Z = mixture.spectrum_.project(SPACE.objects)[:, : mixture.rank_]
    fitted = mixture.mixture_
    gaps = np.linalg.solve(fitted.factors[0], (Z - fitted.means[0]).T)
    bare = np.exp(-0.5 * (gaps**2).sum(axis=0))
    assert np.corrcoef(TRUTH, bare)[0, 1] < 0.3
    assert np.corrcoef(TRUTH, mixture.pdf(SPACE.objects))[0, 1] > 0.6


def test_alpha_by_leave_one_out():
    """The paper says 2.6; over seeds 2.0 to 3.4."""
    settings = {"kernel": Hamming(0.6), "beta": 0.5, "domain": SPACE}
    chosen = [
        MercerMixture(alpha="leave-one-out", **settings).fit(bits(seed)).alpha_ for seed in range(8)
    ]
    assert 2.0 <= np.mean(chosen) <= 3.4


def test_leave_one_out_is_leaving_one_out():
    """The chosen α has the highest likelihood among refits without each row."""
    X = bits(1)

    def held_out(alpha):
        total = 0.0
        for i in range(len(X)):
            fit = MercerMixture(kernel=Hamming(0.6), alpha=alpha, beta=0.5, domain=SPACE)
            total += fit.fit(np.delete(X, i, axis=0)).score(X[[i]])
        return total

    best = MercerMixture(kernel=Hamming(0.6), alpha="leave-one-out", beta=0.5, domain=SPACE)
    alpha = best.fit(X).alpha_
    assert held_out(alpha) >= max(held_out(alpha * 1.2), held_out(alpha / 1.2))
