"""The rules of mercer.eigen.plan, one by one."""

import sys
from types import SimpleNamespace

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer.eigen.decompose as decomposition
from mercer import KernelECA, KernelPCA, ParzenDensity, config_context
from mercer.data.points import Points, validate_points
from mercer.eigen import as_solver, eigenvalue_ranks
from mercer.eigen.approximations import FiniteFeatures
from mercer.eigen.plan import RULES, Plan, Request, plan, rules_table
from mercer.gram import BlockedGram, DenseGram, ExplicitGram, Sample
from mercer.kernels import Epanechnikov, Gaussian, Laplacian, Linear
from mercer.solvers import Arpack, Auto, Dense, Fourier, Lanczos, Nystrom, VerifiedLanczos
from tests.expectations import raises

GIGABYTE = 1e9


def planned(kernel, X, n_components=2, budget=GIGABYTE, solver="auto"):
    return plan(Sample(kernel, Points(X)), Request("entropy", n_components, solver), budget)


@pytest.mark.parametrize(("d", "expected"), [(10, Lanczos), (400, Nystrom)])
def test_costly_products_are_replaced_by_landmarks(d, expected):
    """20,000² (d + 20) is 1.2e10 and 1.7e11; the limit is 6e10."""
    X = np.broadcast_to(np.zeros(d), (20_000, d))
    assert isinstance(planned(Gaussian(1.0), X).operator, expected)


@pytest.mark.parametrize(
    ("solver", "for_labels", "expected"),
    [("auto", True, Nystrom), ("auto", False, Lanczos), (Auto(), True, Lanczos)],
)
def test_labels_need_fewer_products_unless_limits_are_given(solver, for_labels, expected):
    X = np.broadcast_to(np.zeros(11), (20_000, 11))
    request = Request("entropy", 2, solver, for_labels=for_labels)
    chosen = plan(Sample(Gaussian(1.0), Points(X)), request, GIGABYTE)
    assert isinstance(chosen.operator, expected)


@pytest.mark.parametrize(
    ("n", "n_components", "expected"),
    [
        (600, 2, Dense),
        (601, 2, Lanczos),
        (601, 0.9, Lanczos),
        (601, None, Dense),
        (800, 40, Lanczos),
        (800, 41, Dense),
    ],
)
def test_eigensolver_by_size_and_number_of_components(n, n_components, expected):
    chosen = planned(Gaussian(1.0), np.zeros((n, 5)), n_components)
    assert isinstance(chosen.eigensolver, expected)
    assert isinstance(chosen.operator, expected)


@pytest.mark.parametrize(
    ("n", "n_components", "budget", "expected"),
    [
        (400, 2, GIGABYTE, Dense),
        (401, 2, GIGABYTE, VerifiedLanczos),
        (600, 0.9, GIGABYTE, Dense),
        (601, 0.9, GIGABYTE, Lanczos),
        (2000, 2, GIGABYTE, VerifiedLanczos),
        (2100, 35, GIGABYTE, Lanczos),
        (2100, 36, GIGABYTE, VerifiedLanczos),
        (2100, 210, GIGABYTE, VerifiedLanczos),
        (2100, 211, GIGABYTE, Dense),
        (2000, 2, 4 * 2000**2 * 8 - 1, Lanczos),
    ],
)
def test_leading_components_by_size_number_and_memory(n, n_components, budget, expected):
    request = Request("variance", n_components)
    chosen = plan(Sample(Gaussian(1.0), Points(np.zeros((n, 5)))), request, budget)
    assert isinstance(chosen.eigensolver, expected)
    if expected is VerifiedLanczos:
        assert chosen.fallback == Dense(only_selected=True)


@pytest.mark.parametrize(
    ("n", "budget", "expected", "fallback"),
    [
        (600, GIGABYTE, Dense(), None),
        (601, GIGABYTE, Arpack(), Dense()),
        (10_000, 4 * GIGABYTE, Arpack(), Dense()),
        (10_000, 2 * GIGABYTE, Arpack(), None),
        (10_000, GIGABYTE, Lanczos(), None),
    ],
)
def test_degree_normalized_kernels(n, budget, expected, fallback):
    X = np.broadcast_to(np.zeros(2), (n, 2))
    request = Request("variance", 2, normalize=True)
    chosen = plan(Sample(Gaussian(1.0), Points(X)), request, budget)
    assert (chosen.eigensolver, chosen.fallback) == (expected, fallback)


def test_the_table_has_a_line_for_every_rule():
    lines = rules_table().splitlines()
    assert len(lines) == len(RULES) + 4
    assert rules_table() in sys.modules["mercer.eigen.plan"].__doc__
    assert len({rule.condition for rule in RULES}) == len(RULES)


def test_exact_up_to_selects_landmarks_beyond_its_limit():
    X = np.zeros((2001, 5))
    assert isinstance(planned(Gaussian(1.0), X).operator, Lanczos)
    assert isinstance(planned(Gaussian(1.0), X, solver=Auto(exact_up_to=2000)).operator, Nystrom)
    assert isinstance(planned(Gaussian(1.0), X, solver=Auto(exact_up_to=2001)).operator, Lanczos)


@pytest.mark.parametrize("estimator", [KernelECA, KernelPCA])
def test_auto_object_chooses_as_the_name_does(estimator, rng):
    """Auto(largest_gram=…) does not select the full decomposition at any size."""
    X = rng.normal(size=(700, 4))
    fitted = estimator(3, solver=Auto(largest_gram=1e9)).fit(X)
    assert fitted.spectrum_.method == estimator(3).fit(X).spectrum_.method
    assert fitted.spectrum_.products > 0


def test_auto_object_uses_the_frequency_grid_for_densities(rng):
    X = rng.normal(size=(4500, 1))
    density = ParzenDensity(kernel=Gaussian(0.5), solver=Auto()).fit(X)
    assert density._density.terms.waves is not None


def test_operator_by_memory(rng):
    X = rng.normal(size=(1000, 2))
    sample = Sample(Gaussian(1.0), Points(X))
    assert isinstance(planned(Gaussian(1.0), X, budget=1e8).gram(sample), DenseGram)
    assert isinstance(planned(Gaussian(1.0), X, budget=1e7).gram(sample), BlockedGram)
    assert isinstance(planned(Gaussian(1.0), X, None, budget=1e7).eigensolver, Lanczos)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("factor", [0.9, 1.0, 1.1, 2.0])
def test_operator_and_eigensolver_agree_near_the_memory_limit(dtype, factor):
    """The same item size and the same memory budget apply to both choices."""
    X = np.zeros((500, 5), dtype)
    chosen = planned(Gaussian(1.0), X, budget=factor * 4 * 500**2 * X.itemsize)
    assert isinstance(chosen.operator, Dense) == isinstance(chosen.eigensolver, Dense)
    assert isinstance(chosen.operator, Dense) == (factor >= 1)


def test_memory_budget_is_read_once_per_plan(monkeypatch, rng):
    calls = []
    monkeypatch.setattr("mercer.utils.resources.free_memory", lambda: calls.append(1) or 10**9)
    plan(Sample(Gaussian(1.0), Points(rng.normal(size=(700, 5)))), Request("entropy", 2))
    assert len(calls) == 1


def test_exact_features_are_used_if_they_are_few(rng):
    assert planned(Linear(), rng.normal(size=(100, 5))) == Plan(FiniteFeatures(), None)
    assert planned(Linear(), rng.normal(size=(9, 5))) == Plan(Dense(), Dense())
    sample = Sample(Linear(), Points(rng.normal(size=(100, 5))))
    assert isinstance(FiniteFeatures().gram(sample), ExplicitGram)


@pytest.fixture
def small_table(monkeypatch):
    """The table with limits that small samples reach."""
    module = sys.modules["mercer.eigen.plan"]
    limits = {"SMALL": 100, "_FOURIER_FROM": 200, "_EXACT_UP_TO": 500, "_LANDMARKS": 77}
    for name, value in limits.items():
        monkeypatch.setattr(module, name, value)
    return SimpleNamespace(module=module)


@pytest.mark.usefixtures("small_table")
@pytest.mark.parametrize(
    ("kernel", "n", "d", "budget", "expected"),
    [
        (Gaussian(1.0), 100, 1, 1e9, Dense()),
        (Gaussian(1.0), 200, 1, 1e9, Lanczos(stored=True)),
        (Gaussian(1.0), 201, 1, 1e9, Fourier()),
        (Gaussian(1e-3), 201, 1, 1e9, Lanczos(stored=True)),  # the grid costs more than a product
        (Laplacian(1.0), 600, 1, 1e9, Lanczos(stored=True)),
        (Gaussian(1.0), 500, 4, 1e6, Lanczos(stored=False)),
        (Gaussian(1.0), 501, 4, 1e9, Lanczos(stored=True)),
        (Gaussian(1.0), 501, 4, 1e6, Nystrom(77)),
        (Laplacian(1.0), 501, 1, 1e6, Nystrom(77)),
        (Epanechnikov(1.0), 501, 4, 1e6, Lanczos(stored=False)),
    ],
)
def test_rows_of_the_table(kernel, n, d, budget, expected):
    X = np.random.default_rng(0).normal(size=(n, d))
    assert planned(kernel, X, budget=budget).operator == expected


def test_grids_beyond_the_largest_are_not_used(small_table, monkeypatch):
    X = np.random.default_rng(0).normal(size=(400, 1))
    assert planned(Gaussian(1.0), X).operator == Fourier()
    monkeypatch.setattr(small_table.module, "_LARGEST_GRID", 16)
    assert planned(Gaussian(1.0), X).operator == Lanczos(stored=True)


@pytest.mark.parametrize("estimator", [KernelECA(3), KernelPCA(3)], ids=repr)
def test_stored_and_matrix_free_rows_give_the_same_numbers(estimator, rng):
    X = rng.normal(size=(650, 2)) * [2, 1]
    estimator.set_params(kernel=Gaussian(0.8))
    results, operators = {}, {}
    for memory in ("1GB", "4MB"):
        with config_context(memory=memory):
            results[memory] = estimator.fit(X).transform(X)
            operators[memory] = estimator.spectrum_.operator
    assert operators["4MB"] != operators["1GB"]
    assert_allclose(results["4MB"], results["1GB"], atol=1e-9)


@pytest.mark.filterwarnings("ignore::mercer.errors.IdentifiabilityWarning")
def test_iteration_without_proof_falls_back_to_the_full_decomposition(rng):
    """Almost isolated points: eigenvalues are close to 1 and converge too slowly."""
    X = rng.normal(size=(700, 6))
    eca = KernelECA(40, kernel=Gaussian(0.35)).fit(X)
    assert eca.certified_
    assert eca.spectrum_.products == 0
    assert len(eca.spectrum_.known_eigenvalues) == 700


def test_solver_names_and_objects():
    assert as_solver("dense") == Dense()
    assert as_solver("lanczos") == Lanczos()
    assert as_solver(Lanczos(max_products=7)).max_products == 7
    for wrong in ("arpack", Dense, 3):
        with raises(ValueError, repr(wrong), "auto", "dense", "lanczos", "fourier", "nystrom"):
            as_solver(wrong)


def test_solver_objects_must_build_an_operator():
    with raises(ValueError, "solver="):
        as_solver(object())


def test_component_ranks_after_an_iteration_equal_those_of_the_full_decomposition(rng):
    X = rng.normal(size=(900, 3))
    for kernel in (Gaussian(0.7), Gaussian(2.0)):
        krylov = KernelECA(4, kernel=kernel, solver="lanczos").fit(X)
        dense = KernelECA(4, kernel=kernel, solver="dense").fit(X)
        assert np.array_equal(krylov.component_ranks_, dense.component_ranks_)


@pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")
def test_component_ranks_of_rough_approximations_are_unknown(rng):
    """Ranks among the eigenvalues of an approximation are not ranks among those of K."""
    X = rng.normal(size=(400, 6))
    eca = KernelECA(4, kernel=Gaussian(1.0), solver=Nystrom(40)).fit(X)
    assert eca.spectrum_.error_bound > eca.eigenvalues_.min()
    assert eca.component_ranks_ is None


@pytest.mark.usefixtures("small_table")
def test_component_ranks_are_not_looked_up_in_an_approximation(rng):
    """With an exact fit the lookup itself must not use landmarks either."""
    X = rng.normal(size=(700, 6))
    with config_context(memory="2MB"):
        assert isinstance(planned(Gaussian(1.0), X, budget=2e6).operator, Nystrom)
        eca = KernelECA(2, kernel=Gaussian(1.0), solver=Lanczos(stored=False)).fit(X)
        assert eca.component_ranks_ is None


def test_ranks_that_are_too_costly_are_not_computed():
    """A lower bound on the rank is enough to know; the kernel is not evaluated."""

    class Costly(Gaussian):
        def tiles(self, X, Y=None):
            raise AssertionError("evaluated")

    sample = Sample(Costly(1.0), Points(np.zeros((4500, 5))))
    values = np.array([3.0, 1.0])
    assert eigenvalue_ranks(sample, values, 0.0, at_least=300) is None
    assert eigenvalue_ranks(sample, values, 0.0, at_least=60, products=50) is None
    with pytest.raises(AssertionError):
        eigenvalue_ranks(sample, values, 0.0, at_least=30, products=50)


def test_ranks_are_found_by_one_iteration_from_their_lower_bound(monkeypatch, rng):
    calls = []
    find = decomposition.leading_eigenpairs
    monkeypatch.setattr(
        decomposition, "leading_eigenpairs", lambda *a, **k: calls.append(a) or find(*a, **k)
    )
    X = rng.normal(size=(1000, 8))
    eca = KernelECA(3, kernel=Gaussian(3.0), solver="lanczos").fit(X)
    dense = KernelECA(3, kernel=Gaussian(3.0), solver="dense").fit(X)
    assert np.array_equal(eca.component_ranks_, dense.component_ranks_)
    assert eca.component_ranks_.max() > 16
    assert len(calls) == 1


@pytest.mark.parametrize(("n_landmarks", "known"), [(30, False), (60, False), (300, True)])
@pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")
def test_ranks_of_landmarks_are_known_if_the_error_is_negligible(n_landmarks, known, rng):
    """With 60 landmarks the error is below 0.1 % of the eigenvalues, which may exchange some."""
    X = rng.normal(size=(300, 2))
    eca = KernelECA(4, kernel=Gaussian(1.0), solver=Nystrom(n_landmarks)).fit(X)
    assert (eca.spectrum_.error_bound <= 1e-6 * eca.eigenvalues_.min()) == known
    dense = KernelECA(4, kernel=Gaussian(1.0), solver="dense").fit(X)
    expected = dense.component_ranks_ if known else None
    assert np.array_equal(eca.component_ranks_, expected)


def test_component_ranks_are_computed_once(monkeypatch, rng):
    """Also if the result is None because the ranks are too costly."""
    calls = []
    monkeypatch.setattr("mercer.decomposition.eca.component_ranks", lambda _: calls.append(1))
    eca = KernelECA(2, solver="lanczos").fit(rng.normal(size=(30, 2)))
    assert [eca.component_ranks_ for _ in range(3)] == [None] * 3
    assert len(calls) == 1


@pytest.mark.parametrize(("n", "expected"), [(2000, Nystrom), (40_000, Fourier)])
def test_grids_of_dask_collections_are_limited_by_their_rows(n, expected):
    """The doubled grid has about 3.8 million points."""
    corners = np.array([[-4.0, -4.0, -4.0], [4.0, 4.0, 4.0]])
    X = da.from_array(np.resize(corners, (n, 3)), chunks=(1000, 3))
    points = validate_points(X, Gaussian(0.4))
    chosen = plan(Sample(Gaussian(0.4), points), Request("entropy", 2), GIGABYTE)
    assert isinstance(chosen.operator, expected)
