"""Sparse and degree-normalized Gram operators against dense matrices."""

import numpy as np
import pytest

from mercer.bandwidth import fit_kernel
from mercer.data.points import Points, Sample
from mercer.eigen.decompose import decompose
from mercer.gram import NormalizedGram, SparseGram
from mercer.gram.gram import BlockedGram, DenseGram
from mercer.kernels import Gaussian, Linear, Neighbors, SelfTuning
from mercer.solvers import Arpack, Lanczos

RNG = np.random.default_rng(1)
X = RNG.normal(size=(60, 2))
WEIGHTS = RNG.integers(1, 4, len(X)).astype(float)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
def test_sparse_operator_equals_stored_matrix(weights):
    kernel = fit_kernel(Neighbors(4), X)
    sparse = SparseGram(kernel, Points(X), weights)
    dense = DenseGram(kernel, Points(X), weights)
    V = RNG.normal(size=(len(X), 3))
    np.testing.assert_allclose(sparse.product(V), dense.product(V), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sparse.dense(), dense.dense(), rtol=1e-14)
    np.testing.assert_allclose(sparse.diagonal(), dense.diagonal(), rtol=1e-14)
    assert sparse.potential == pytest.approx(dense.potential, rel=1e-12)


def normalized(kernel, rows):
    K = kernel(rows)
    roots = np.sqrt(K.sum(axis=1))
    return K / np.outer(roots, roots)


@pytest.mark.parametrize("base", [DenseGram, BlockedGram, SparseGram])
def test_normalized_operator_equals_dense_formula(base):
    kernel = fit_kernel(Neighbors(4), X)
    gram = NormalizedGram(base(kernel, Points(X)))
    S = normalized(kernel, X)
    np.testing.assert_allclose(gram.product(np.eye(len(X))), S, atol=1e-14)
    np.testing.assert_allclose(gram.dense(), S, atol=1e-14)
    np.testing.assert_allclose(gram.diagonal(), S.diagonal(), atol=1e-14)


@pytest.mark.parametrize("kernel", [Neighbors(8), SelfTuning(5), Gaussian(1.0)], ids=repr)
@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_weights_equal_repeated_rows(kernel, solver):
    fitted = fit_kernel(kernel, X, WEIGHTS)
    repeated = np.repeat(X, WEIGHTS.astype(int), axis=0)
    spectrum = decompose(
        Sample.of(fitted, Points(X), WEIGHTS), "variance", 3, normalize=True, solver=solver
    )
    expected = np.linalg.eigvalsh(normalized(fitted, repeated))[::-1][:3]
    np.testing.assert_allclose(spectrum.eigenvalues, expected, atol=1e-10)
    copies = decompose(
        Sample.of(fitted, Points(repeated), None), "variance", 3, normalize=True, solver=solver
    )
    new = X[:10] + 0.01
    np.testing.assert_allclose(
        np.abs(spectrum.project(new)), np.abs(copies.project(new)), atol=1e-7
    )


def test_scale_of_weights_has_no_effect():
    fitted = fit_kernel(Gaussian(1.0), X)
    spectra = [
        decompose(Sample.of(fitted, Points(X), c * WEIGHTS), "variance", 3, normalize=True)
        for c in (1.0, 1e-3)
    ]
    np.testing.assert_allclose(spectra[0].eigenvalues, spectra[1].eigenvalues, rtol=1e-12)


@pytest.mark.parametrize("kernel", [Neighbors(8), SelfTuning(5), Gaussian(1.0)], ids=repr)
def test_extension_agrees_with_training_projections(kernel):
    fitted = fit_kernel(kernel, X)
    spectrum = decompose(Sample(fitted, Points(X)), "variance", 4, normalize=True)
    np.testing.assert_allclose(spectrum.project(X), spectrum.projections, atol=1e-10)


def test_points_without_neighbors_are_projected_to_zero():
    fitted = fit_kernel(Gaussian(0.1), X)
    spectrum = decompose(Sample(fitted, Points(X)), "variance", 2, normalize=True)
    np.testing.assert_array_equal(spectrum.project(np.full((1, 2), 1e6)), 0)


def test_negative_degrees_raise_a_clear_error():
    with pytest.raises(ValueError, match="nonnegative"):
        decompose(Sample(Linear(), Points(X)), "variance", 2, normalize=True, solver="dense")


def test_factored_operators_raise_a_clear_error():
    with pytest.raises(ValueError, match="lanczos"):
        decompose(Sample(Gaussian(1.0), Points(X)), "variance", 2, normalize=True, solver="nystrom")


def test_graph_solver_needs_a_normalized_operator():
    for kernel in (fit_kernel(Neighbors(4), X), Gaussian(1.0)):
        with pytest.raises(ValueError, match="degree-normalized"):
            decompose(Sample(kernel, Points(X)), "variance", 2, solver=Arpack())


def test_lanczos_uses_the_sparse_matrix():
    kernel = fit_kernel(Neighbors(4), X)
    assert isinstance(Lanczos().gram(Sample(kernel, Points(X))), SparseGram)
