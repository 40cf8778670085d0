"""Self-tuning and neighbor kernels against loops over pairs."""

import numpy as np
import pandas as pd
import pytest

from mercer import KernelECA, KernelPCA, load, save
from mercer.bandwidth import fit_kernel
from mercer.kernels import (
    Categorical,
    Gaussian,
    Neighbors,
    On,
    Precomputed,
    SelfTuning,
    check_kernel,
    table_kernel,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = RNG.normal(size=(15, 3)) + 0.5


def radius(x, training, count):
    """Distance of x to the count-th training row that differs from it."""
    distances = sorted(d for d in np.linalg.norm(training - x, axis=1) if d > 0)
    return distances[min(count, len(distances)) - 1]


def self_tuned(A, B, training, count):
    return np.array(
        [
            [
                np.exp(
                    -np.sum((a - b) ** 2)
                    / (radius(a, training, count) * radius(b, training, count))
                )
                for b in B
            ]
            for a in A
        ]
    )


def connected(A, B, training, count):
    def half(a, b):
        distance = np.linalg.norm(a - b)
        near = [distance <= radius(p, training, count) * (1 + 1e-9) for p in (a, b)]
        return sum(near) / 2

    return np.array([[half(a, b) for b in B] for a in A])


@pytest.mark.parametrize("count", [1, 3, 7])
def test_self_tuning_equals_loop(count):
    kernel = fit_kernel(SelfTuning(count), X)
    np.testing.assert_allclose(kernel(Y, X), self_tuned(Y, X, X, count), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(kernel(X), self_tuned(X, X, X, count), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("count", [1, 4])
def test_neighbors_equals_loop(count):
    kernel = fit_kernel(Neighbors(count), X)
    np.testing.assert_array_equal(kernel(X), connected(X, X, X, count))
    np.testing.assert_array_equal(kernel(Y, X), connected(Y, X, X, count))
    np.testing.assert_array_equal(kernel.sparse(X).toarray(), kernel(X))
    np.testing.assert_array_equal(kernel.sparse(Y, X).toarray(), kernel(Y, X))


@pytest.mark.parametrize("mode", ["connectivity", "weighted"])
def test_mutual_neighbors_are_neighbors_of_each_other(mode):
    kernel = fit_kernel(Neighbors(4, mode=mode, mutual=True), X)
    both = connected(X, X, X, 4) == 1
    expected = both if mode == "connectivity" else both * self_tuned(X, X, X, 4)
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-12)
    np.testing.assert_allclose(kernel.sparse(X).toarray(), expected, rtol=1e-12)
    np.testing.assert_allclose(kernel.sparse(Y, X).toarray(), kernel(Y, X), rtol=1e-12)


def test_weighted_neighbors_are_the_product_of_both_kernels():
    graph, scaled = fit_kernel(Neighbors(4), X), fit_kernel(SelfTuning(4), X)
    weighted = fit_kernel(Neighbors(4, mode="weighted"), X)
    np.testing.assert_allclose(weighted(Y, X), graph(Y, X) * scaled(Y, X), rtol=1e-14)
    np.testing.assert_allclose(weighted.sparse(Y, X).toarray(), weighted(Y, X), rtol=1e-14)


KERNELS = [
    SelfTuning(5),
    SelfTuning(3, kernel=Gaussian(1.0)),
    Neighbors(5),
    Neighbors(5, mode="weighted"),
    Neighbors(5, mutual=True),
    Neighbors(5, mode="weighted", mutual=True),
    Neighbors(3, kernel=Gaussian("median-distance")),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernel_interface(kernel):
    check_kernel(fit_kernel(kernel, X), X, Y)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_weights_equal_repeated_rows(kernel):
    weights = RNG.integers(0, 4, len(X))
    weighted = fit_kernel(kernel, X, weights.astype(float))
    repeated = fit_kernel(kernel, np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted(Y, X), repeated(Y, X), rtol=1e-10)


@pytest.mark.parametrize("kernel", [SelfTuning(5), Neighbors(5)], ids=repr)
def test_values_do_not_depend_on_units_or_origin(kernel):
    expected = fit_kernel(kernel, X)(Y, X)
    for scale, shift in ((1e-150, 0.0), (1e140, 0.0), (1.0, 1e3)):
        moved = fit_kernel(kernel, scale * X + shift)(scale * Y + shift, scale * X + shift)
        np.testing.assert_allclose(moved, expected, rtol=1e-9, atol=1e-300)


def test_gaussian_distances_have_the_same_neighbors():
    plain = fit_kernel(Neighbors(4), X)
    induced = fit_kernel(Neighbors(4, kernel=Gaussian(2.0)), X)  # a monotone function of distance
    np.testing.assert_array_equal(plain(Y, X), induced(Y, X))


def test_ties_are_all_neighbors():
    grid = np.array([[x, y] for x in range(4) for y in range(4)], dtype=float)
    kernel = fit_kernel(Neighbors(1), grid)
    distances = np.abs(grid[:, None] - grid).sum(axis=2)
    np.testing.assert_array_equal(kernel.sparse(grid).toarray(), distances <= 1)


def test_more_neighbors_than_rows_use_the_farthest():
    kernel = fit_kernel(SelfTuning(100), X)
    np.testing.assert_allclose(kernel(Y, X), self_tuned(Y, X, X, 100), rtol=1e-10)


def test_rows_in_single_precision_equal_training_rows():
    kernel = fit_kernel(SelfTuning(5), X)
    np.testing.assert_allclose(kernel(X.astype(np.float32)), kernel(X), atol=1e-5)


def test_tables():
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "red", "blue")})
    kernel = table_kernel(frame)
    for neighbors in (SelfTuning(3, kernel=kernel), Neighbors(3, kernel=kernel)):
        fitted = fit_kernel(neighbors, frame)
        K = fitted.kernel(frame)
        squares = K.diagonal()[:, None] + K.diagonal() - 2 * K
        distinct = np.where(squares > 1e-12, squares, np.inf)
        radii = np.sqrt(np.sort(distinct, axis=1)[:, 2])
        if isinstance(neighbors, SelfTuning):
            expected = np.exp(-squares / np.outer(radii, radii))
        else:
            near = np.sqrt(np.maximum(squares, 0)) <= radii[:, None] * (1 + 1e-7)
            expected = (near + near.T.astype(float)) / 2
        np.testing.assert_allclose(fitted(frame), expected, atol=1e-9)


def test_models_are_saved_and_loaded(tmp_path):
    for kernel in (SelfTuning(5), Neighbors(5)):
        model = KernelPCA(2, kernel=kernel).fit(X)
        save(model, tmp_path / "model.mercer")
        np.testing.assert_array_equal(
            load(tmp_path / "model.mercer").transform(Y), model.transform(Y)
        )


def test_unfitted_kernels_raise_a_clear_error():
    with pytest.raises(ValueError, match="training sample"):
        SelfTuning(5)(X)


def test_wrong_parameters():
    with pytest.raises(ValueError, match="n_neighbors=0"):
        fit_kernel(SelfTuning(0), X)
    with pytest.raises(ValueError, match="mode='full'"):
        fit_kernel(Neighbors(3, mode="full"), X)(X)
    with pytest.raises(ValueError, match="1 distinct row"):
        fit_kernel(SelfTuning(3), np.ones((5, 2)))
    with pytest.raises(ValueError, match="precomputed"):
        KernelECA(2, kernel=SelfTuning(3, kernel=Precomputed())).fit(np.eye(4))


def test_dask_collections_raise_a_clear_error():
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="in memory"):
        KernelECA(2, kernel=SelfTuning(3)).fit(da.from_array(X, chunks=(20, 3)))


def test_parameters_of_the_inner_kernel_can_be_set():
    kernel = SelfTuning(3, kernel=On(0, Categorical(0.5)))
    kernel.set_params(kernel__kernel__rho=0.25)
    assert kernel.kernel.kernel.rho == 0.25
