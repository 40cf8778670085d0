"""Certificates of the entropy iteration: given where possible, and never wrong."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.eigen.dense import TIE
from mercer.eigen.lanczos import EntropySearch
from tests.eigen.problems import DiagonalProblem, selection


def search(problem, k, max_products=2000):
    return EntropySearch(problem, selection(problem, "entropy", k), max_products).run()


def random_spectrum(rng):
    """Draw flat, decaying, clustered, paired or separated spectra with various masses."""
    n = int(rng.integers(2, 80))
    width = 10.0 ** rng.uniform(-14, -1)
    values = [
        lambda: rng.exponential(size=n),
        lambda: np.exp(-rng.uniform(0, 25, size=n)),
        lambda: 1 + width * rng.normal(size=n),
        lambda: np.repeat(rng.exponential(size=n), 2)[:n] * (1 + width * rng.normal(size=n)),
        lambda: np.r_[1, np.linspace(0.1, 0.2, n - 1)],
        lambda: rng.uniform(size=n) ** 6,
    ][rng.integers(6)]()
    masses = [
        lambda: rng.dirichlet(np.full(n, 0.2)),
        lambda: np.exp(-rng.uniform(0, 40, size=n)),
        lambda: rng.uniform(size=n) * (rng.uniform(size=n) < 0.5) + 1e-30,
        lambda: np.ones(n),
    ][rng.integers(4)]()
    return np.abs(values) + 1e-12, masses


@pytest.mark.parametrize("block", range(8))
def test_certificate_is_never_wrong(block):
    """Terms above the smallest selected one belong to an eigenvalue tied with a selected one.

    Two thousand spectra. The error of a computed term is about eps · λ₁ / gap, so a term counts
    as missed only if it exceeds the smallest selected one by more than that.
    """
    proven = 0
    for seed in range(250 * block, 250 * (block + 1)):
        rng = np.random.default_rng(seed)
        values, masses = random_spectrum(rng)
        problem = DiagonalProblem(values, masses)
        k = int(rng.integers(1, min(6, problem.size) + 1))
        try:
            found = search(problem, k)
        except ValueError:  # fewer than k eigenvalues above rounding error
            assert (values > problem.numerical_zero(values.max())).sum() < k
            continue
        assert len(found.values) == k
        proven += found.certified
        if not found.certified:
            continue
        smallest = (found.values * found.overlaps**2 / problem.size**2).min()
        largest = values.max()
        selected = np.abs(values[:, None] - found.values).min(axis=1) <= 1.5 * TIE * largest
        others = np.abs(values[:, None] - values) + np.diag(np.full(problem.size, np.inf))
        gap = np.maximum(others.min(axis=1, initial=np.inf), TIE * largest)
        uncertain = 1e-14 * largest / gap * problem.potential
        missed = ~selected & (problem.terms > smallest * (1 + 1e-9) + uncertain)
        assert not missed.any(), f"seed {seed}: {found.certificate}"
    assert proven > 240  # a certificate is useful only if it is usually given


def test_component_with_the_31st_eigenvalue_is_found():
    """The largest term belongs to the 31st eigenvalue; the leading 20 pairs do not contain it."""
    values = np.r_[np.linspace(5, 2, 30), 1.0, np.linspace(0.5, 0.1, 40)]
    masses = np.r_[np.full(30, 1e-4), 0.9, np.full(40, 1e-4)]
    problem = DiagonalProblem(values, masses)
    naive = np.argsort(-problem.terms[:20])[:2]
    found = search(problem, 2)
    assert found.certified
    assert_allclose(found.values[0], 1.0, rtol=1e-9)
    truth = np.argsort(-problem.terms)[:2]
    assert_allclose(found.values, values[truth], rtol=1e-9)
    assert set(naive) != set(truth)


def test_truncated_iteration_is_not_certified(rng):
    values = np.linspace(1, 2, 200)
    problem = DiagonalProblem(values, rng.dirichlet(np.ones(200)))
    found = search(problem, 2, max_products=20)
    assert not found.certified


def test_components_without_entropy_follow_by_eigenvalue():
    """Only two eigenpairs have overlap; the others are not in the Krylov space."""
    values = np.array([7.0, 6.0, 5.0, 4.0, 3.0, 2.0])
    problem = DiagonalProblem(values, np.array([0, 0, 0.6, 0, 0.4, 0]))
    found = search(problem, 4)
    assert_allclose(found.values, [5, 3, 7, 6], rtol=1e-12)
    assert_allclose(found.overlaps[2:], 0, atol=1e-12)
    assert_allclose(np.abs(found.vectors.T @ found.vectors), np.eye(4), atol=1e-12)


def test_fraction_of_the_potential_uses_the_fewest_terms(rng):
    values, masses = rng.exponential(size=60), rng.dirichlet(np.full(60, 0.3))
    problem = DiagonalProblem(values, masses)
    found = search(problem, 0.9)
    terms = found.values * found.overlaps**2 / problem.size**2
    ordered = np.sort(problem.terms)[::-1]
    needed = int(np.argmax(np.cumsum(ordered) >= 0.9 * problem.potential)) + 1
    assert found.certified
    assert_allclose(terms, ordered[:needed], rtol=1e-9)


def test_certificate_holds_for_indefinite_matrices():
    """Masses are bounded for eigenvalues of any sign; negative ones are not selected."""
    certified = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=40)
        masses = rng.dirichlet(np.full(40, 0.3))
        problem = DiagonalProblem(values, masses)
        if problem.potential <= 0:
            continue
        found = search(problem, 3)
        assert (found.values > 0).all()
        certified += found.certified
        if found.certified:
            best = np.sort(problem.terms)[::-1][:3]
            terms = found.values * found.overlaps**2 / problem.size**2
            assert_allclose(terms, best, rtol=1e-7)
        assert found.lowest < 0
    assert certified > 80
