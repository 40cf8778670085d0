"""Macready, Density Estimation with Mercer Kernels, 2003: quick checks.

``./run reproduce macready-2003`` runs all experiments. Equations come from the paper as corrected
by the project's list of errata: B in (4) and (5) means B-tilde, and d_F = r in (5).
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import MercerMixture
from mercer.cluster.diagnostics import clustering_error
from mercer.datasets import make_halo
from mercer.domains import Box
from mercer.errors import IdentifiabilityWarning
from mercer.kernels import Gaussian, Hamming, Polynomial
from papers import macready_2003
from papers.macready_2003 import bits, plane
from papers.macready_2003.em import KernelizedEM, largest_difference
from tests.expectations import warns

# --- section 2: EM -------------------------------------------------------------------------------


@pytest.mark.parametrize("singular", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_em_equals_em_on_kernel_coordinates(singular, seed):
    assert largest_difference(seed, singular) < 1e-8


def test_centering_does_not_change_the_density():
    """Centering in feature space gives the same Gaussian, up to one direction of variance ε."""
    X, _ = make_halo(random_state=0)
    plain, centered = (
        MercerMixture(kernel=Gaussian(0.3), alpha=5.0, center=center).fit(X)
        for center in (False, True)
    )
    new = np.random.default_rng(0).uniform(-4, 4, size=(200, 2))
    # rounding errors of K, 1e-16 of the largest eigenvalue, are 1e-6 of the smallest selected one
    assert_allclose(plain.score_samples(X), centered.score_samples(X), atol=1e-5)
    assert_allclose(plain.score_samples(new), centered.score_samples(new), atol=1e-5)
    constants = [m.normalize(Box(-4, 4)).normalization_.log_constants for m in (plain, centered)]
    assert_allclose(*constants, atol=5e-3)


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


def test_figure_1_mass_of_the_core():
    """It is one half; without normalization of each component it is 99 %."""
    unnormalized, normalized = [], []
    for seed in range(4):
        *_, mixture = two_gaussians(seed, domain=Box(-3.5, 3.5))
        nodes = mixture.normalization_.domain.nodes()
        core = np.hypot(*nodes.points.data.T) < 1
        p = mixture.pdf(nodes.points.data) * np.exp(nodes.log_weights)
        assert_allclose(p.sum(), 1, rtol=1e-10)
        normalized.append(p[core].sum())
        *_, mixture = two_gaussians(seed)
        q = mixture.pdf(nodes.points.data)
        unnormalized.append(q[core].sum() / q.sum())
    assert 0.45 <= np.mean(normalized) <= 0.55
    assert np.mean(unnormalized) >= 0.97


# --- figure 2a --------------------------------------------------------------------------------


def test_figure_2a_agreement_with_the_density():
    """One Gaussian, α = 15, β = 1, exp(-|x - x'|²)."""
    found = []
    for seed in range(3):
        mixture = plane.fitted(seed)
        grid = mixture.normalization_.domain.nodes().points.data
        found.append(plane.agreement(plane.density(grid), mixture.pdf(grid)))
    correlation, divergence = np.mean(found, axis=0)
    assert correlation >= 0.85
    assert 0.24 <= divergence <= 0.38


# --- figure 2b --------------------------------------------------------------------------------

SPACE, TRUTH = bits.SPACE, bits.truth()


def test_figure_2b_agreement_with_the_probabilities():
    found = []
    for seed in range(10):
        p = bits.fitted(seed, 1).pdf(SPACE.objects)
        assert_allclose(p.sum(), 1, rtol=1e-12)
        found.append(plane.agreement(TRUTH, p))
    correlation, divergence = np.mean(found, axis=0)
    assert correlation >= 0.65
    assert 0.15 <= divergence <= 0.40


def test_figure_2b_two_gaussians_collapse_to_one():
    """At the published α, two components collapse, and a warning is issued."""
    for seed in range(3):
        settings = {"kernel": Hamming(0.6), "alpha": 2.6, "beta": 0.5, "domain": SPACE}
        one = MercerMixture(**settings).fit(bits.draw(seed))
        with warns(IdentifiabilityWarning, "n_components=2", 1):
            two = MercerMixture(2, **settings).fit(bits.draw(seed))
        assert two.rank_ == one.rank_
        assert_allclose(two.effective_weights_, [1.0])
        assert_allclose(two.pdf(SPACE.objects), one.pdf(SPACE.objects), rtol=1e-3)


def test_kernelized_em_of_the_paper_collapses_to_one_component():
    """The paper's own updates with N × N matrices, from responsibilities on either side."""
    for seed in range(3):
        K = Hamming(0.6)(bits.draw(seed))
        em = KernelizedEM(K, alpha=2.6, beta=0.5)
        p = 0.5 + 0.4 * np.sign(np.random.default_rng(seed).normal(size=len(K)))
        responsibilities = np.column_stack([p, 1 - p])
        for _ in range(200):
            responsibilities = em.step(responsibilities)
            if responsibilities.sum(axis=0).min() < 1e-6:
                break
        assert responsibilities.sum(axis=0).min() < 1e-6


def test_figure_2b_needs_the_residual_term():
    """Away from the sample, the residual term dominates (errata, trap 16)."""
    X = bits.draw(0)
    mixture = MercerMixture(kernel=Hamming(0.6), alpha=2.6, beta=0.5, domain=SPACE).fit(X)
    Z = mixture.spectrum_.project(SPACE.objects)[:, : mixture.rank_]
    fitted = mixture.mixture_
    differences = np.linalg.solve(fitted.factors[0], (Z - fitted.means[0]).T)
    without_residual = np.exp(-0.5 * (differences**2).sum(axis=0))
    assert np.corrcoef(TRUTH, without_residual)[0, 1] < 0.3
    assert np.corrcoef(TRUTH, mixture.pdf(SPACE.objects))[0, 1] > 0.6


def test_alpha_by_leave_one_out_is_near_the_published_one():
    """The paper has 2.6; seeds give 2.0 to 3.4."""
    settings = {"kernel": Hamming(0.6), "beta": 0.5, "domain": SPACE}
    chosen = [
        MercerMixture(alpha="leave-one-out", **settings).fit(bits.draw(seed)).alpha_
        for seed in range(8)
    ]
    assert 2.0 <= np.mean(chosen) <= 3.4


def test_leave_one_out_equals_refits_without_each_row():
    """The chosen α has the highest likelihood among refits without each row."""
    X = bits.draw(1)

    def held_out(alpha):
        total = 0.0
        for i in range(len(X)):
            fit = MercerMixture(kernel=Hamming(0.6), alpha=alpha, beta=0.5, domain=SPACE)
            total += fit.fit(np.delete(X, i, axis=0)).score(X[[i]])
        return total

    best = MercerMixture(kernel=Hamming(0.6), alpha="leave-one-out", beta=0.5, domain=SPACE)
    alpha = best.fit(X).alpha_
    assert held_out(alpha) >= max(held_out(alpha * 1.2), held_out(alpha / 1.2))


@pytest.mark.slow
def test_quick_tables_have_the_known_verdicts():
    """Fails if a statement that holds no longer does, or the other way around."""
    rows = [row for make in macready_2003.TABLES.values() for row in make(True).rows]
    known = {
        '"captures the sharp peak"': "agrees",
        '"captures … fat tails"': "agrees",
        '"asymptotes to a tiny but finite value"': "agrees",
        "divergence varies less over": "does not reproduce",
        "the same for ρ from .5": "not printed",
        "α by leave-one-out": "agrees",
        "number of the two Gaussians": "not printed",
        "largest difference": "identity",
    }
    for start, verdict in known.items():
        found = [row.verdict for row in rows if row.item.startswith(start)]
        assert found
        assert set(found) == {verdict}
