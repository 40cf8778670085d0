"""Girolami, Orthogonal Series Density Estimation and the Kernel Eigenvalue Problem, 2002.

Numbers come from the paper as corrected by the project's list of errata.
"""

import numpy as np
import pytest
from numpy.polynomial.hermite import hermval
from numpy.testing import assert_allclose
from scipy.integrate import dblquad

from mercer import KernelPCA, ParzenDensity, SeriesDensity
from mercer.datasets import make_annulus, make_clusters
from mercer.information import entropy_terms, information_potential, renyi_entropy
from mercer.kernels import Gaussian
from papers import girolami_2002

ROOT = 0.1**0.5  # a variance of 0.1
SEEDS = range(11)

pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.IdentifiabilityWarning")


def series(X, bandwidth, terms="kronmal-tarter", max_terms=50):
    """Fit a series density that may be negative; only the selected terms are tested."""
    kernel = Gaussian(bandwidth)
    return SeriesDensity(kernel=kernel, terms=terms, max_terms=max_terms, positive=False).fit(X)


# --- identities ----------------------------------------------------------------------------------


def test_entropy_terms_add_up_to_the_mean_of_the_gram_matrix():
    X, _ = make_clusters(random_state=0)
    K = Gaussian(ROOT)(X)
    terms = entropy_terms(X, Gaussian(ROOT), solver="dense")
    assert_allclose(terms.sum(), K.mean(), rtol=1e-10)
    spectrum = SeriesDensity(kernel=Gaussian(0.02), terms=None).fit(X).spectrum_
    # at a small bandwidth K is well conditioned and has full rank
    assert_allclose((spectrum.overlaps**2).sum(), len(X), rtol=1e-10)


def test_series_of_all_terms_equals_the_parzen_density():
    X, _ = make_clusters(random_state=0)
    Y, _ = make_clusters(random_state=1)
    everything = SeriesDensity(kernel=Gaussian(ROOT), terms=None).fit(X)
    parzen = ParzenDensity(kernel=Gaussian(ROOT)).fit(X)
    assert_allclose(everything.pdf(Y), parzen.pdf(Y), rtol=1e-10)


def test_selection_equals_the_criterion_of_kronmal_and_tarter():
    """(4.2) from Kronmal and Tarter's inequality for the features Φ = √(λ/n) φ."""
    X, _ = make_clusters(spread=ROOT, random_state=0)
    density = series(X, ROOT)
    n = len(X)
    features = density.spectrum_.projections
    passes = features.mean(axis=0) ** 2 > 2 / (1 + n) * (features**2).mean(axis=0)
    assert_allclose(density.selected_, np.flatnonzero(passes))


def test_overlaps_of_a_centered_matrix_are_zero():
    X, _ = make_clusters(random_state=0)
    assert_allclose(KernelPCA(5, kernel=Gaussian(ROOT)).fit(X).spectrum_.overlaps, 0, atol=1e-8)


def test_integral_of_the_squared_density_equals_the_potential():
    """(5.2): with a Parzen window of covariance Λ the Gram kernel has covariance 2Λ."""
    X, _ = make_clusters((3, 3, 3), random_state=0)
    density = ParzenDensity(kernel=Gaussian(0.4)).fit(X)

    def squared(y, x):
        return density.pdf([[x, y]])[0] ** 2

    side = np.linspace(-4, 4, 400)
    points = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    integral = (density.pdf(points) ** 2).sum() * (side[1] - side[0]) ** 2
    wide = Gaussian(0.4 * np.sqrt(2))
    assert_allclose(integral, information_potential(X, wide, normalize=True), rtol=1e-10)
    entropy = renyi_entropy(X, Gaussian(0.4), estimator="integral")
    assert_allclose(-np.log(integral), entropy, rtol=1e-10)
    exact, _ = dblquad(squared, -0.1, 0.1, -0.1, 0.1, epsabs=1e-8)
    fine = np.linspace(-0.1, 0.1, 201)[:-1] + 0.0005  # midpoints
    points = np.stack(np.meshgrid(fine, fine), -1).reshape(-1, 2)
    assert_allclose((density.pdf(points) ** 2).sum() * 0.001**2, exact, rtol=1e-5)


# --- section 6 -----------------------------------------------------------------------------------


def test_three_clean_clusters_select_three_eigenvectors():
    """Three terms in 199 of 200 seeds, if 0.1 is the standard deviation of the clusters."""
    counts = [len(series(make_clusters(random_state=s)[0], ROOT).selected_) for s in range(10)]
    assert sum(count == 3 for count in counts) >= 9


def test_three_clean_clusters_with_the_published_variance():
    """With a variance of 0.1, runs have 1 to 3 terms, and 5 to 10 of the first 50 are selected."""
    runs, counts, fractions = [], [], []
    for seed in SEEDS:
        X, _ = make_clusters(spread=ROOT, random_state=seed)
        density = series(X, ROOT)
        counts.append(len(density.selected_))
        runs.append(len(series(X, ROOT, "kronmal-tarter-run").selected_))
        fractions.append(density.entropy_terms_[:3].sum() / density.spectrum_.potential)
    assert max(runs) <= 3
    assert np.median(runs) == 3
    assert 4 <= min(counts) <= max(counts) <= 12
    assert min(fractions) > 0.95


def test_noisy_clusters_often_have_a_run_of_about_three():
    """Runs of 2 to 4 terms in 87 % of seeds (noise sd 0.38, s² = 0.1), as in the errata."""
    runs = [
        len(
            series(
                make_clusters(noise=0.38, random_state=s)[0], ROOT, "kronmal-tarter-run"
            ).selected_
        )
        for s in range(20)
    ]
    # 20 draws with probability 0.87: fewer than 13 in less than 1 % of cases
    assert sum(2 <= run <= 4 for run in runs) >= 13


def test_annulus_selects_about_eight_terms():
    """Of the first 50 terms, 6 to 11 in 50 seeds; the accepted range is 5 to 13."""
    counts = [len(series(make_annulus(random_state=s)[0], 1.0).selected_) for s in range(5)]
    assert 5 <= min(counts) <= max(counts) <= 13


def test_eigenfunctions_of_one_cluster_are_hermite_functions():
    """The eigenfunctions under a Gaussian distribution, in closed form (Zhu et al. 1998)."""
    sd, bandwidth, n = 1.0, 1.5, 2000
    X = np.random.default_rng(0).normal(0, sd, (n, 1))
    spectrum = (
        KernelPCA(4, kernel=Gaussian(bandwidth), center=False, solver="lanczos").fit(X).spectrum_
    )
    beta = 2 * sd**2 / bandwidth**2
    c = np.sqrt(1 + 2 * beta)
    x = X[:, 0]
    for i, phi in enumerate(spectrum.eigenfunctions(X).T):
        z = (0.25 + beta / 2) ** 0.25 * x / sd
        exact = np.exp(-(x**2) / (2 * sd**2) * (c - 1) / 2) * hermval(z, np.eye(5)[i])
        correlation = np.corrcoef(phi, exact)[0, 1]
        assert (abs(correlation) if i else correlation) > 0.99  # the first one is positive
    first = 2 / (1 + beta + c)
    # five standard errors of the first eigenvalue at n = 1000, from the errata
    assert_allclose(spectrum.operator_eigenvalues[0], np.sqrt(first), rtol=5 * 0.0072 / 0.75)


def test_divergence_of_the_series_equals_its_formula():
    """At 600 points, with the kernel exp(-d²/v), both densities normalized on the points."""
    v, seed = 0.1, 3
    X, _ = make_clusters(spread=v**0.5, random_state=seed)
    points = np.random.default_rng(1000 + seed).uniform(-2, 2, (600, 2))
    centers = np.array([[0.0, 0.7], [0.7, -0.7], [-0.7, -0.7]])
    p = np.exp(-((points[:, None] - centers) ** 2).sum(axis=2) / (2 * v)).sum(axis=1)
    values, vectors = np.linalg.eigh(np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / v))
    leading = vectors[:, np.argsort(-values)[:50]]
    overlaps = leading.sum(axis=0)
    passes = overlaps**2 > 600 / 301
    coefficients = leading[:, passes] @ overlaps[passes]
    q = np.exp(-((points[:, None] - X) ** 2).sum(axis=2) / v) @ coefficients
    p, q = p[q > 0], q[q > 0]
    p, q = p / p.sum(), q / q.sum()
    found = girolami_2002.divergences(4, [v])["at 600 points of [-2, 2]²"]
    assert_allclose(found[seed, 0, 0], sum(p * np.log(p / q)), rtol=1e-8)


def test_series_has_the_printed_divergence_and_em_from_many_starts_a_smaller_one():
    """Printed .036; thirty repetitions have a mean of .036 and a standard deviation of .003."""
    (found,) = girolami_2002.divergences(1)["at 600 points of [-2, 2]²"]
    series, _, best, wide = found.mean(axis=0)
    assert_allclose(series, 0.036, atol=5 * 0.003)
    assert best < series < wide
