"""What solvers say of matrices whose eigenpairs are known, entry by entry."""

from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.errors import ConvergenceError, RankError
from mercer.solvers import Dense, Lanczos, Selection, count_above

from .problems import DiagonalProblem

VALUES = np.array([9.0, 7.0, 7.0, 4.0, 2.0, 1.0, 0.5])
MASSES = np.array([0.05, 0.2, 0.1, 0.3, 0.05, 0.25, 0.05])
SOLVERS = [Dense(), Lanczos()]
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=["dense", "lanczos"])


def wanted(problem, target, k):
    return Selection(target, k, problem.values.sum(), problem.potential, problem.size)


def solved(solver, problem, target, k):
    return solver.solve(problem, wanted(problem, target, k), random_state=0)


@every_solver
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_by_variance(solver, scale):
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
    assert found.certified
    assert found.lowest == 0


@every_solver
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_by_entropy(solver, scale):
    """The terms are 0.45, 2.1 (of the double one), 1.2, 0.1, 0.25 and 0.025 times scale / 7."""
    problem = DiagonalProblem(scale * VALUES, MASSES)
    found = solved(solver, problem, "entropy", 3)
    assert_allclose(found.values, scale * np.array([7, 4, 9]), rtol=1e-12)
    assert_allclose(found.overlaps, np.sqrt(7 * np.array([0.3, 0.3, 0.05])), rtol=1e-11)
    assert_allclose(found.vectors.T @ problem.start, found.overlaps, rtol=1e-11)
    assert found.certified
    assert found.lowest == 0


@every_solver
def test_all_that_came_to_be_known(solver):
    problem = DiagonalProblem(VALUES, MASSES)
    found = solved(solver, problem, "entropy", None)
    terms = np.array([0.45, 2.1, 1.2, 0.1, 0.25, 0.025]) / 7
    carrying = found.known_terms > 1e-15
    assert_allclose(found.known_values[carrying], [9, 7, 4, 2, 1, 0.5], rtol=1e-12)
    assert_allclose(found.known_terms[carrying], terms, rtol=1e-11)


def test_the_full_decomposition_knows_multiplicities():
    problem = DiagonalProblem([3, 1, 3, 2, 3, 1], np.ones(6))
    found = solved(Dense(), problem, "variance", None)
    assert_allclose(found.values, [3, 3, 3, 2, 1, 1], rtol=1e-14)
    assert_array_equal(found.multiplicities, [3, 3, 3, 1, 2, 2])
    assert_array_equal(found.ranks, np.arange(1, 7))
    assert found.products == 0


@every_solver
@pytest.mark.parametrize("target", ["variance", "entropy"])
def test_the_lowest_eigenvalue_is_told_where_it_is_negative(solver, target):
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
def test_fractions_that_need_many(solver):
    """More than the 16 pairs that an iteration begins with."""
    values = 0.95 ** np.arange(100)
    found = solved(solver, DiagonalProblem(values, np.ones(100)), "variance", 0.9)
    needed = int(np.argmax(np.cumsum(values) >= 0.9 * values.sum())) + 1
    assert 32 < needed < 64
    assert_allclose(found.values, values[:needed], rtol=1e-11)


@every_solver
@pytest.mark.parametrize("target", ["variance", "entropy"])
def test_more_than_the_rank_is_refused_with_the_rank(solver, target):
    problem = DiagonalProblem([5.0, 3.0, 1.0, 0.0, -2.0], np.full(5, 0.2))
    with pytest.raises(RankError, match=r"its rank: 3; pass at most 3, or None") as caught:
        solved(solver, problem, target, 4)
    assert caught.value.rank == 3
    if isinstance(solver, Dense):  # iterations need not have come so far down
        assert "negative eigenvalues down to -2;" in str(caught.value)


@every_solver
@pytest.mark.parametrize("target", ["variance", "entropy"])
def test_more_than_there_are_rows_is_refused_with_the_rank(solver, target):
    problem = DiagonalProblem(VALUES, MASSES)
    with pytest.raises(RankError) as caught:
        solved(solver, problem, target, 8)
    assert caught.value.rank == 7
    assert "negative" not in str(caught.value)


@every_solver
def test_nothing_at_all_is_refused(solver):
    with pytest.raises(RankError, match="K is 0 to rounding"):
        solved(solver, DiagonalProblem(np.zeros(4), np.ones(4)), "variance", 1)


def test_what_carries_no_entropy_is_certified_too():
    problem = DiagonalProblem([7.0, 6.0, 5.0, 4.0, 3.0, 2.0], np.array([0, 0, 0.6, 0, 0.4, 0]))
    found = solved(Lanczos(), problem, "entropy", 4)
    assert found.certified
    assert_allclose(found.values, [5, 3, 7, 6], rtol=1e-12)
    with pytest.raises(RankError) as caught:
        solved(Lanczos(), problem, "entropy", 7)
    assert caught.value.rank == 6


@pytest.mark.parametrize(("target", "k"), [("variance", 5), ("variance", 0.9), ("entropy", 5)])
def test_an_iteration_without_enough_products_says_so_and_gives_what_it_has(rng, target, k):
    problem = DiagonalProblem(np.linspace(1, 2, 400), rng.dirichlet(np.ones(400)))
    with pytest.raises(ConvergenceError, match="max_products=…") as caught:
        solved(Lanczos(max_products=2), problem, target, k)
    pairs = caught.value.pairs
    assert not pairs.certified
    assert pairs.products > 0
    assert {field.name for field in fields(pairs)} >= {"values", "vectors"}


def test_products_must_be_allowed():
    with pytest.raises(ValueError, match=r"max_products=0\) must be at least 1"):
        solved(Lanczos(max_products=0), DiagonalProblem(VALUES, MASSES), "entropy", 1)


# --- places among all eigenvalues -----------------------------------------------------------------


@pytest.mark.parametrize("size", [10, 200])
def test_places(rng, size):
    values = np.sort(rng.uniform(size=size))[::-1]
    problem = DiagonalProblem(values, np.ones(size))
    at = np.array([0, 3, size // 2, size - 1])
    assert_array_equal(count_above(problem, values[at]), at + 1)
    shuffled = at[[2, 0, 3, 1]]
    assert_array_equal(count_above(problem, values[shuffled]), shuffled + 1)


def test_equal_eigenvalues_share_the_first_place():
    problem = DiagonalProblem([3, 2, 2, 2, 1], np.ones(5))
    assert_array_equal(count_above(problem, np.array([2.0, 1.0])), [2, 5])


def test_close_eigenvalues_have_places_of_their_own():
    values = np.array([1.0, 1 - 1e-7, 0.5])
    assert_array_equal(count_above(DiagonalProblem(values, np.ones(3)), values), [1, 2, 3])


def test_values_that_are_off_by_a_known_error():
    values = np.linspace(10, 1, 10)
    problem = DiagonalProblem(values, np.ones(10))
    assert_array_equal(count_above(problem, np.array([8.1]), error=0.2), [3])
    assert_array_equal(count_above(problem, np.array([7.9]), error=0.2), [3])
    assert_array_equal(count_above(problem, np.array([7.9])), [4])


def test_places_of_many_eigenvalues_are_found_where_that_is_cheap():
    values = 0.8 ** np.arange(4001)
    problem = DiagonalProblem(values, np.ones(4001))
    assert_array_equal(count_above(problem, values[[0, 20]]), [1, 21])
    assert count_above(problem, values[[20]], affordable=16) is None
