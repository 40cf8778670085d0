"""The table of mercer.solvers.auto, row by row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelECA, KernelPCA, config_context
from mercer.data import Points, validate_points
from mercer.kernels import Gaussian, Linear, NGram
from mercer.operators import BlockedGram, DenseGram, ExplicitGram, Sample
from mercer.solvers import Auto, Dense, Lanczos, Nystrom, as_solver, mean_window


@pytest.mark.parametrize(
    ("n", "wanted", "expected"),
    [
        (600, 2, Dense),
        (601, 2, Lanczos),
        (601, 0.9, Lanczos),
        (601, None, Dense),
        (800, 100, Lanczos),
        (800, 101, Dense),
    ],
)
def test_solver_by_size_and_number_of_components(n, wanted, expected):
    with config_context(memory="1GB"):
        assert isinstance(
            Auto(wanted).choose(Sample(Gaussian(1.0), Points(np.zeros((n, 5))))), expected
        )


def test_landmarks_for_uses_that_need_only_the_span():
    sample = Sample(Gaussian(1.0), Points(np.zeros((2001, 5))))
    with config_context(memory="1GB"):
        assert isinstance(Auto(2).choose(sample), Lanczos)
        assert isinstance(Auto(2, exact_up_to=2000).choose(sample), Nystrom)
        assert isinstance(Auto(2, exact_up_to=2001).choose(sample), Lanczos)


def test_operator_by_memory(rng):
    points = Points(rng.normal(size=(1000, 2)))
    with config_context(memory="100MB"):
        assert isinstance(Auto(2).gram(Sample(Gaussian(1.0), points)), DenseGram)
    with config_context(memory="10MB"):
        assert isinstance(Auto(2).gram(Sample(Gaussian(1.0), points)), BlockedGram)
        assert isinstance(
            Auto(None).choose(Sample(Gaussian(1.0), points)), Lanczos
        )  # Dense would not fit


def test_exact_features_are_used_where_they_are_few(rng):
    assert isinstance(
        Auto(2).gram(Sample(Linear(), Points(rng.normal(size=(100, 5))))), ExplicitGram
    )
    assert isinstance(Auto(2).gram(Sample(Linear(), Points(rng.normal(size=(9, 5))))), DenseGram)


@pytest.mark.parametrize("estimator", [KernelECA(3), KernelPCA(3)], ids=repr)
def test_every_row_of_the_table_gives_the_same_numbers(estimator, rng):
    X = rng.normal(size=(650, 2)) * [2, 1]
    estimator.set_params(kernel=Gaussian(0.8))
    results = {}
    for memory in ("1GB", "4MB"):
        with config_context(memory=memory):
            results[memory] = estimator.fit(X).transform(X)
            results[memory + " method"] = estimator.spectrum_.method
    assert "matrix-free" in results["4MB method"]
    assert "in memory" in results["1GB method"]
    assert_allclose(results["4MB"], results["1GB"], atol=1e-9)


@pytest.mark.filterwarnings("ignore::mercer.errors.IdentifiabilityWarning")
def test_hands_over_to_the_full_decomposition_when_nothing_can_be_proven(rng):
    """Almost isolated points: eigenvalues crowd around 1 and cannot be told apart in time."""
    X = rng.normal(size=(700, 6))
    eca = KernelECA(40, kernel=Gaussian(0.35)).fit(X)
    assert eca.certified_
    assert "full decomposition" in eca.spectrum_.method


def test_names_and_objects():
    assert as_solver("dense", 1) == Dense()
    assert as_solver("lanczos", 1) == Lanczos()
    assert as_solver(Lanczos(max_products=7), 1).max_products == 7
    for wrong in ("arpack", Dense, 3):
        with pytest.raises(ValueError, match="'auto', 'dense', 'lanczos', 'fourier', 'nystrom'"):
            as_solver(wrong, 1)


def test_a_solver_makes_an_operator_and_solves():
    class Half:
        def gram(self, sample):
            """Make nothing."""

    with pytest.raises(ValueError, match="nor a solver object"):
        as_solver(Half(), 1)


def test_sums_over_many_objects_go_pair_by_pair():
    texts = validate_points(["ab", "ba", "abba"] * 1400, "objects")
    window = mean_window(Sample(NGram(1), texts))
    assert window.waves is None
    new = validate_points(["a", "bb"], "objects")
    assert_allclose(window.values(new), [4 / 3, 8 / 3], rtol=1e-12)


def test_component_ranks_of_an_iteration_are_those_of_the_full_decomposition(rng):
    X = rng.normal(size=(900, 3))
    for kernel in (Gaussian(0.7), Gaussian(2.0)):
        krylov = KernelECA(4, kernel=kernel, solver="lanczos").fit(X)
        dense = KernelECA(4, kernel=kernel, solver="dense").fit(X)
        assert np.array_equal(krylov.component_ranks_, dense.component_ranks_)
