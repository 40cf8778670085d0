"""Solvers on matrices whose eigenpairs are known."""

from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.eigen import count_above
from mercer.errors import ConvergenceError, RankError
from mercer.solvers import Dense, Lanczos
from tests.eigen.problems import DiagonalProblem, RotatedProblem, selection
from tests.expectations import raises

VALUES = np.array([9.0, 7.0, 7.0, 4.0, 2.0, 1.0, 0.5])
MASSES = np.array([0.05, 0.2, 0.1, 0.3, 0.05, 0.25, 0.05])
SOLVERS = [Dense(), Lanczos()]
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=["dense", "lanczos"])


def solved(solver, problem, target, k):
    return solver.solve(problem, selection(problem, target, k), random_state=0)


@every_solver
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_components_by_variance(solver, scale):
    problem = DiagonalProblem(scale * VALUES, MASSES)
    found = solved(solver, problem, "variance", 4)
    assert_allclose(found.values, scale * VALUES[:4], rtol=1e-12)
    assert_array_equal(found.ranks, [1, 2, 3, 4])
    # the double eigenvalue: all overlap in the first of the two
    expected = np.sqrt(7 * np.array([0.05, 0.3, 0, 0.3]))
    assert_allclose(found.overlaps, expected, atol=1e-12)
    assert_allclose(found.vectors.T @ problem.start, expected, atol=1e-12)
    assert_allclose(
        problem.product(found.vectors), found.vectors * found.values, atol=1e-11 * scale
    )
    assert found.converged
    # a random block finds all eigenpairs with probability 1, which is not a proof
    assert found.certified == isinstance(solver, Dense)
    assert found.lowest == 0


@every_solver
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_components_by_entropy(solver, scale):
    """The terms are 0.45, 2.1 (of the double one), 1.2, 0.1, 0.25 and 0.025 times scale / 7."""
    problem = DiagonalProblem(scale * VALUES, MASSES)
    found = solved(solver, problem, "entropy", 3)
    assert_allclose(found.values, scale * np.array([7, 4, 9]), rtol=1e-12)
    assert_allclose(found.overlaps, np.sqrt(7 * np.array([0.3, 0.3, 0.05])), rtol=1e-11)
    assert_allclose(found.vectors.T @ problem.start, found.overlaps, rtol=1e-11)
    assert found.certified
    assert found.lowest == 0


@every_solver
def test_known_eigenvalues_and_terms(solver):
    problem = DiagonalProblem(VALUES, MASSES)
    found = solved(solver, problem, "entropy", None)
    terms = np.array([0.45, 2.1, 1.2, 0.1, 0.25, 0.025]) / 7
    with_entropy = found.known_terms > 1e-15
    assert_allclose(found.known_values[with_entropy], [9, 7, 4, 2, 1, 0.5], rtol=1e-12)
    assert_allclose(found.known_terms[with_entropy], terms, rtol=1e-11)


def test_full_decomposition_reports_multiplicities():
    problem = DiagonalProblem([3, 1, 3, 2, 3, 1], np.ones(6))
    found = solved(Dense(), problem, "variance", None)
    assert_allclose(found.values, [3, 3, 3, 2, 1, 1], rtol=1e-14)
    assert_array_equal(found.multiplicities, [3, 3, 3, 1, 2, 2])
    assert_array_equal(found.ranks, np.arange(1, 7))
    assert found.products == 0


@every_solver
@pytest.mark.parametrize("target", ["variance", "entropy"])
def test_lowest_eigenvalue_is_reported_if_negative(solver, target):
    problem = DiagonalProblem([5.0, 3.0, 1.0, -0.5, -2.0], np.full(5, 0.2))
    found = solved(solver, problem, target, None)
    assert_allclose(found.lowest, -2, rtol=1e-12)
    assert_allclose(found.values, [5, 3, 1], rtol=1e-12)


@every_solver
@pytest.mark.parametrize("target", ["variance", "entropy"])
def test_fractions(solver, target):
    problem = DiagonalProblem(VALUES, MASSES)
    found = solved(solver, problem, target, 0.7)
    # 9 + 7 + 7 of 30.5; 2.1 + 1.2 of 4.125
    expected = [9, 7, 7] if target == "variance" else [7, 4]
    assert_allclose(found.values, expected, rtol=1e-12)


@every_solver
def test_fractions_that_need_many_components(solver):
    """More than the 16 pairs that an iteration starts with."""
    values = 0.95 ** np.arange(100)
    found = solved(solver, DiagonalProblem(values, np.ones(100)), "variance", 0.9)
    needed = int(np.argmax(np.cumsum(values) >= 0.9 * values.sum())) + 1
    assert 32 < needed < 64
    assert_allclose(found.values, values[:needed], rtol=1e-11)


@every_solver
@pytest.mark.parametrize("target", ["variance", "entropy"])
def test_requests_beyond_the_rank_raise_with_the_rank(solver, target):
    problem = DiagonalProblem([5.0, 3.0, 1.0, 0.0, -2.0], np.full(5, 0.2))
    with raises(RankError, "n_components=4", 3) as caught:
        solved(solver, problem, target, 4)
    assert caught.value.rank == 3
    if isinstance(solver, Dense):  # iterations need not reach the lowest eigenvalue
        assert "-2" in str(caught.value)


@every_solver
@pytest.mark.parametrize("target", ["variance", "entropy"])
def test_requests_beyond_the_number_of_rows_raise_with_the_rank(solver, target):
    problem = DiagonalProblem(VALUES, MASSES)
    with pytest.raises(RankError) as caught:
        solved(solver, problem, target, 8)
    assert caught.value.rank == 7


@every_solver
def test_zero_matrices_have_rank_zero(solver):
    with pytest.raises(RankError) as caught:
        solved(solver, DiagonalProblem(np.zeros(4), np.ones(4)), "variance", 1)
    assert caught.value.rank == 0


def test_components_without_entropy_are_certified_too():
    problem = DiagonalProblem([7.0, 6.0, 5.0, 4.0, 3.0, 2.0], np.array([0, 0, 0.6, 0, 0.4, 0]))
    found = solved(Lanczos(), problem, "entropy", 4)
    assert found.certified
    assert_allclose(found.values, [5, 3, 7, 6], rtol=1e-12)
    with pytest.raises(RankError) as caught:
        solved(Lanczos(), problem, "entropy", 7)
    assert caught.value.rank == 6


@pytest.mark.parametrize(("target", "k"), [("variance", 5), ("variance", 0.9), ("entropy", 5)])
def test_convergence_error_holds_the_pairs_found(rng, target, k):
    problem = DiagonalProblem(np.linspace(1, 2, 400), rng.dirichlet(np.ones(400)))
    with raises(ConvergenceError, "max_products") as caught:
        solved(Lanczos(max_products=2), problem, target, k)
    pairs = caught.value.pairs
    assert not pairs.certified
    assert pairs.products > 0
    assert {field.name for field in fields(pairs)} >= {"values", "vectors"}


def test_max_products_must_be_positive():
    with raises(ValueError, "max_products=0", 1):
        solved(Lanczos(max_products=0), DiagonalProblem(VALUES, MASSES), "entropy", 1)


# --- ranks among all eigenvalues -----------------------------------------------------------------


@pytest.mark.parametrize("size", [10, 200])
def test_ranks_equal_positions_in_the_spectrum(rng, size):
    values = np.sort(rng.uniform(size=size))[::-1]
    problem = DiagonalProblem(values, np.ones(size))
    at = np.array([0, 3, size // 2, size - 1])
    assert_array_equal(count_above(problem, values[at]), at + 1)
    shuffled = at[[2, 0, 3, 1]]
    assert_array_equal(count_above(problem, values[shuffled]), shuffled + 1)


def test_equal_eigenvalues_share_the_first_rank():
    problem = DiagonalProblem([3, 2, 2, 2, 1], np.ones(5))
    assert_array_equal(count_above(problem, np.array([2.0, 1.0])), [2, 5])


def test_close_eigenvalues_have_different_ranks():
    values = np.array([1.0, 1 - 1e-7, 0.5])
    assert_array_equal(count_above(DiagonalProblem(values, np.ones(3)), values), [1, 2, 3])


def test_ranks_of_values_with_a_known_error():
    values = np.linspace(10, 1, 10)
    problem = DiagonalProblem(values, np.ones(10))
    assert_array_equal(count_above(problem, np.array([8.1]), error=0.2), [3])
    assert_array_equal(count_above(problem, np.array([7.9]), error=0.2), [3])
    assert_array_equal(count_above(problem, np.array([7.9])), [4])


def test_ranks_among_many_eigenvalues_are_found_if_affordable():
    values = 0.8 ** np.arange(4001)
    problem = DiagonalProblem(values, np.ones(4001))
    assert_array_equal(count_above(problem, values[[0, 20]]), [1, 21])
    assert count_above(problem, values[[20]], affordable=16) is None


@pytest.mark.parametrize("only_selected", [False, True])
@pytest.mark.parametrize("target", ["variance", "entropy"])
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_some_eigenvectors_of_a_larger_matrix(monkeypatch, only_selected, target, k):
    """60 rows: the eigenvectors come from a tridiagonal matrix; 5, 5, 5 are tied, and 4, 4."""
    rng = np.random.default_rng(0)
    values = np.r_[9.0, 5, 5, 5, 4, 4, np.linspace(1, 0.01, 54)]
    problem = RotatedProblem(values, rng.uniform(0.1, 1, 60))
    found = solved(Dense(only_selected), problem, target, k)
    monkeypatch.setattr("mercer.eigen.dense._FEW", 0.0)
    expected = solved(Dense(), problem, target, k)  # by a full decomposition
    assert_allclose(found.values, expected.values, rtol=1e-12)
    assert_allclose(found.overlaps, expected.overlaps, atol=1e-10)
    assert_array_equal(found.ranks, expected.ranks)
    assert_array_equal(found.multiplicities, expected.multiplicities)
    residuals = problem.product(found.vectors) - found.vectors * found.values
    assert_allclose(residuals, 0, atol=1e-12)
    assert_allclose(found.vectors.T @ problem.start, found.overlaps, atol=1e-10)
    leading = only_selected and target == "variance"
    assert len(found.known_values) == ({1: 1, 2: 4, 3: 4, 5: 6}[k] if leading else 60)


def test_all_eigenvalues_of_a_centered_matrix_are_known():
    values = np.linspace(1, 0.01, 60)
    problem = RotatedProblem(values, np.ones(60))
    problem.has_entropy = False
    found = solved(Dense(), problem, "variance", 3)
    assert found.vectors.shape == (60, 3)
    assert_allclose(found.known_values, values, rtol=1e-12)
    assert_allclose(found.known_terms[3:], 0, atol=0)
    assert len(found.known_terms) == 60


def test_too_many_leading_components_state_the_rank():
    problem = DiagonalProblem(np.r_[3.0, 2, 1, np.zeros(57)], np.ones(60))
    with raises(RankError, "has 3 positive eigenvalues"):
        solved(Dense(only_selected=True), problem, "variance", 4)
