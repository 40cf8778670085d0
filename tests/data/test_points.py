"""Validation of data, points and samples."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import KernelECA, KernelPCA
from mercer.data.points import Points, select_rows, validate_points, validate_weights
from mercer.kernels import Gaussian, Kernel, Linear, check_kernel
from tests.expectations import raises

ESTIMATORS = [KernelPCA, KernelECA]


def array(n=30, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


class CommonCharacters(Kernel):
    """Number of characters that two strings have in common."""

    compares = "objects"

    def matrix(self, X, Y):
        return np.array([[len(set(x) & set(y)) for y in Y] for x in X])


WORDS = ["kernel", "eigen", "value", "entropy", "matrix", "vector", "density", "points", "gram"]
NEW = ["spectrum", "zzz", "kernel"]


def indicators(words):
    """Characters as 0/1 columns: the features of CommonCharacters."""
    return np.array([[float(c in word) for c in "abcdefghijklmnopqrstuvwxyz"] for word in words])


# --- vectors -----------------------------------------------------------------------------------


def test_lists_and_integers_become_double_precision():
    for X in ([[1, 2], [3, 4]], np.array([[1, 2], [3, 4]], dtype=np.int32), ((1.0, 2), (3, 4))):
        points = validate_points(X, "vectors")
        assert points.data.dtype == np.float64
        assert_array_equal(points.data, [[1.0, 2.0], [3.0, 4.0]])
        assert (points.n, points.dimension, points.dtype) == (2, 2, np.float64)


def test_single_precision_is_preserved():
    points = validate_points(array().astype(np.float32), "vectors")
    assert points.data.dtype == np.float32
    assert points.dtype == np.float32
    assert validate_points(array().astype(np.float16), "vectors").dtype == np.float64


@pytest.mark.parametrize("change", [np.asfortranarray, np.ascontiguousarray, lambda X: X[::2]])
def test_arrays_are_not_copied(change):
    X = change(array())
    X.setflags(write=False)
    assert np.shares_memory(validate_points(X, "vectors").data, X)


def test_memory_maps_are_not_copied(tmp_path):
    np.save(tmp_path / "points.npy", array())
    X = np.load(tmp_path / "points.npy", mmap_mode="r")
    points = validate_points(X, "vectors")
    assert np.shares_memory(points.data, X)
    assert_array_equal(points.data, array())


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_results_do_not_depend_on_the_container(estimator, tmp_path):
    X = np.round(array() * 64) / 64  # exact in single precision too
    np.save(tmp_path / "points.npy", X)
    readonly = X.copy()
    readonly.setflags(write=False)
    forms = {
        "list": X.tolist(),
        "fortran": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=0)[::2],
        "memory map": np.load(tmp_path / "points.npy", mmap_mode="r"),
        "read-only": readonly,
    }
    expected = estimator(kernel=Gaussian(1.5)).fit_transform(X)
    for name, form in forms.items():
        model = estimator(kernel=Gaussian(1.5)).fit(form)
        # the same numbers in another layout may be summed in another order
        assert_allclose(model.transform(form), expected, rtol=0, atol=1e-12, err_msg=name)
    single = estimator(kernel=Gaussian(1.5)).fit(X.astype(np.float32))
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    # eps of float32 times n, over an eigenvalue difference of some tenths of the largest
    assert_allclose(single.transform(X.astype(np.float32)), expected, rtol=0, atol=1e-4)
    assert_array_equal(X, np.round(array() * 64) / 64)


def test_frames_provide_feature_names():
    pd = pytest.importorskip("pandas")
    X = array()
    frame = pd.DataFrame(X, columns=["width", "height", "depth"])
    model = KernelPCA()
    points = validate_points(frame, "vectors", estimator=model)
    assert points.feature_names == ("width", "height", "depth")
    assert_array_equal(points.data, X)
    assert validate_points(X, "vectors", estimator=KernelPCA()).feature_names is None
    assert points.take(slice(0, 3)).feature_names == points.feature_names


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_frames_agree_with_arrays_and_names_are_checked(estimator):
    pd = pytest.importorskip("pandas")
    X = array()
    frame = pd.DataFrame(X, columns=["width", "height", "depth"])
    model = estimator().fit(frame)
    assert model.feature_names_in_.tolist() == ["width", "height", "depth"]
    expected = estimator().fit(X).transform(X)  # a frame has another memory layout
    assert_allclose(model.transform(frame), expected, rtol=0, atol=1e-12)
    with raises(ValueError, "feature names"):
        model.transform(frame[["height", "width", "depth"]])
    with raises(ValueError, 2, 3):
        estimator().fit(X).transform(X[:, :2])


def test_integer_frames_become_double_precision():
    pd = pytest.importorskip("pandas")
    points = validate_points(pd.DataFrame({"a": [1, 2, 3], "b": [4.0, 5.0, 7.0]}), "vectors")
    assert points.data.dtype == np.float64


def test_points_are_returned_unchanged():
    points = Points(array())
    assert validate_points(points, "vectors") is points


# --- chunks and rows ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 30, 1000])
def test_chunks_cover_every_row_once(size):
    points = Points(array())
    ranges, parts = zip(*points.chunks(size), strict=True)
    assert_array_equal(np.concatenate(parts), points.data)
    assert ranges[0].start == 0
    assert ranges[-1].stop == 30
    for before, after in pairwise(ranges):
        assert before.stop == after.start
    assert max(part.shape[0] for part in parts) == min(size, 30)
    for rows, part in zip(ranges, parts, strict=True):
        assert_array_equal(points.data[rows], part)


def test_take_selects_rows_of_every_container():
    pd = pytest.importorskip("pandas")
    rows = np.array([2, 0, 2])
    for data, kind in [
        (list("abcd"), "objects"),
        (tuple("abcd"), "objects"),
        (np.array(list("abcd")), "objects"),
        (pd.Series(list("abcd"), index=[9, 8, 7, 6]), "objects"),
    ]:
        points = Points(data, kind)
        assert list(points.take(rows).data) == ["c", "a", "c"]
        assert list(points.take(slice(1, 3)).data) == ["b", "c"]
        assert list(select_rows(data, slice(1, 3))) == ["b", "c"]
        assert points.take(rows).kind == kind
    frame = pd.DataFrame({"a": [1, 2, 3, 4]}, index=[9, 8, 7, 6])
    assert select_rows(frame, rows)["a"].tolist() == [3, 1, 3]
    selected = Points(array()).take(rows)
    assert_array_equal(selected.data, array()[rows])


# --- objects -----------------------------------------------------------------------------------


def test_custom_kernel_on_strings_passes_check_kernel():
    check_kernel(CommonCharacters(), WORDS, NEW)


@pytest.mark.parametrize("combine", [lambda k: 0.5 * k, lambda k: k + 0.5 * k, lambda k: k * k])
def test_integer_valued_kernels_can_be_combined(combine):
    K = CommonCharacters()(WORDS).astype(float)
    assert_allclose(combine(CommonCharacters())(WORDS), combine(K), rtol=1e-15)


@pytest.mark.parametrize("solver", ["auto", "dense", "lanczos"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("container", [list, tuple, np.array, lambda w: np.array(w, dtype=object)])
def test_strings_agree_with_explicit_features(estimator, solver, container):
    model = estimator(3, kernel=CommonCharacters(), solver=solver)
    found = model.fit_transform(container(WORDS))
    same = estimator(3, kernel=Linear(), solver="dense")
    expected = same.fit_transform(indicators(WORDS))
    # K has entries up to 7 and eigenvalue differences of order 1: 1e-12 is 1000 rounding errors
    assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert_allclose(model.transform(container(WORDS)), expected, rtol=0, atol=1e-12)
    assert_allclose(
        model.transform(container(NEW)), same.transform(indicators(NEW)), rtol=0, atol=1e-12
    )
    assert_array_equal(model.transform(container(NEW))[2], model.transform(["kernel"])[0])
    assert found.dtype == np.float64


def test_weighted_strings_equal_repeated_strings():
    weights = np.array([1, 2, 0, 1, 1, 1, 3, 1, 1])
    model = KernelECA(2, kernel=CommonCharacters()).fit(WORDS, sample_weight=weights)
    repeated = [word for word, w in zip(WORDS, weights, strict=True) for _ in range(w)]
    expected = KernelECA(2, kernel=CommonCharacters()).fit(repeated)
    assert_allclose(model.entropy_terms_, expected.entropy_terms_, rtol=1e-12)
    assert_allclose(model.transform(NEW), expected.transform(NEW), rtol=0, atol=1e-12)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_single_objects_raise(estimator):
    model = estimator(kernel=CommonCharacters())
    for wrong, name in [("kernel", "str"), (7, "int"), (b"kernel", "bytes")]:
        with raises(TypeError, name):
            model.fit(wrong)
    with raises(ValueError, 0, 1):
        model.fit([])


# --- precomputed -------------------------------------------------------------------------------


def test_gram_matrix_is_not_copied():
    K = Gaussian(1.0)(array())
    points = validate_points(K, "gram")
    assert np.shares_memory(points.data, K)
    assert points.dimension is None
    assert validate_points(K[:4], "gram", reset=False).n == 4


def test_gram_matrix_must_be_square_and_symmetric():
    K = Gaussian(1.0)(array())
    with raises(ValueError, 30, 29, "transform"):
        validate_points(K[:, :29], "gram")
    K[3, 4] += 1e-3
    with raises(ValueError, 0.001, "(K + K.T) / 2"):
        validate_points(K, "gram")
    K[4, 3] = K[3, 4] + 1e-12  # rounding errors are allowed
    validate_points(K, "gram")


def test_asymmetry_is_detected_in_every_stripe():
    n = 2100  # more than one stripe of 2^22 / n rows
    K = np.zeros((n, n))
    K.flat[:: n + 1] = 1.0
    validate_points(K, "gram")
    K[n - 1, n - 2] = 0.5
    with raises(ValueError, 0.5, "(K + K.T) / 2"):
        validate_points(K, "gram")


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_precomputed_kernels_preserve_precision(estimator, dtype):
    K = Gaussian(1.0)(array()).astype(dtype)
    model = estimator(kernel="precomputed")
    assert model.fit_transform(K).dtype == dtype
    assert model.transform(K).dtype == dtype


# --- weights -----------------------------------------------------------------------------------


def test_weights_become_double_precision():
    assert validate_weights(None, 3) is None
    assert_array_equal(validate_weights([1, 0, 2], 3), [1.0, 0.0, 2.0])
    assert_array_equal(validate_weights(2, 3), [2.0, 2.0, 2.0])
    assert validate_weights([1, 0, 2], 3).dtype == np.float64


@pytest.mark.parametrize(
    ("weights", "values"),
    [
        ([1.0, 2.0], [(2,), (3,)]),
        ([[1.0], [2.0], [3.0]], [(3, 1), (3,)]),
        ([1.0, np.nan, 1.0], ["NaN"]),
        ([1.0, np.inf, 1.0], ["infinity"]),
        ([1.0, -0.5, 1.0], [-0.5]),
        ([0.0, 0.0, 0.0], ["zero"]),
    ],
)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_invalid_weights_raise(estimator, weights, values):
    with raises(ValueError, "sample_weight", *values):
        validate_weights(weights, 3)
    with raises(ValueError, "sample_weight", *values):
        estimator(kernel=Gaussian(1.0)).fit(array(3), sample_weight=weights)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_scalar_weight_is_repeated(estimator):
    X = array()
    found = estimator(kernel=Gaussian(1.0)).fit_transform(X, sample_weight=2.0)
    expected = estimator(kernel=Gaussian(1.0)).fit_transform(X, sample_weight=np.full(30, 2.0))
    assert_array_equal(found, expected)
