"""Kernels on columns, and missing values."""

from __future__ import annotations

import pickle
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from mercer import KernelPCA
from mercer.bandwidth import fit_kernel, silverman
from mercer.kernels import (
    Categorical,
    Gaussian,
    Graph,
    Hamming,
    Jaccard,
    Laplacian,
    Linear,
    MinMax,
    NGram,
    On,
    Precomputed,
    check_kernel,
    table_kernel,
)
from mercer.tables import as_table
from tests.expectations import raises
from tests.kernels.naive import smallest_eigenvalue
from tests.kernels.table_cases import FRAME, NAMES, mean_embedding, with_missing_values

pd = pytest.importorskip("pandas")

# --- columns --------------------------------------------------------------------------------------

SELECTIONS = [
    ("age", Gaussian(20.0), FRAME[["age"]].to_numpy()),
    (["age", "height"], Gaussian(np.array([20.0, 0.1])), FRAME[["age", "height"]].to_numpy()),
    (["height", "age"], Laplacian(np.array([0.1, 20.0])), FRAME[["height", "age"]].to_numpy()),
    (slice(0, 2), Linear(), FRAME[["age", "height"]].to_numpy()),
    (1, Gaussian(0.1), FRAME[["height"]].to_numpy()),
    (-1, Gaussian(0.7), FRAME[["alive"]].to_numpy().astype(float)),
    ("land", Categorical(0.3), FRAME["land"].tolist()),
    ("size", Categorical(0.3, ("s", "m", "l")), list("smlsmlsml")),
    (["land", "alive"], Hamming(0.3), FRAME[["land", "alive"]].to_numpy()),
    (["land"], Hamming(0.3), FRAME[["land"]].to_numpy()),
    ("land", Hamming(0.3), FRAME["land"].tolist()),
    ("name", NGram(2, normalize=True), NAMES),
    (["name"], NGram(2), NAMES),
    (["age", "height"], MinMax(), FRAME[["age", "height"]].to_numpy()),
]


@pytest.mark.parametrize(("columns", "kernel", "cells"), SELECTIONS)
def test_on_uses_its_columns_only(columns, kernel, cells):
    expected = kernel(cells)
    on = On(columns, kernel)
    assert_array_equal(on(FRAME), expected)
    assert_array_equal(on(FRAME, FRAME.iloc[2:5]), expected[:, 2:5])
    check_kernel(on, FRAME, FRAME.iloc[3:8])
    if not isinstance(columns, slice | int):
        assert_array_equal(on(FRAME[FRAME.columns[::-1]]), expected)
        assert_array_equal(on(FRAME, FRAME[FRAME.columns[::-1]].assign(more=1)), expected)
    else:
        assert_array_equal(on(FRAME.to_numpy(dtype=object)), expected)
        assert_array_equal(on(FRAME.to_numpy(dtype=object).tolist()), expected)


def test_sums_and_products_of_columns_are_those_of_matrices():
    one, two = On("age", Gaussian(20.0)), On("land", Categorical(0.3))
    assert_allclose((2.0 * one + two)(FRAME), 2 * one(FRAME) + two(FRAME), rtol=1e-14)
    assert_allclose((one * two)(FRAME), one(FRAME) * two(FRAME), rtol=1e-14)
    kernel = On(["age"], Gaussian(20.0) + Linear())
    assert_allclose(kernel(FRAME), (Gaussian(20.0) + Linear())(FRAME[["age"]]), rtol=1e-14)
    check_kernel(one * two + 0.5 * one, FRAME)


def test_bandwidth_rules_use_their_columns_only():
    kernel = On("age", Gaussian("silverman")) * On("height", Gaussian("silverman"))
    fitted = fit_kernel(kernel, FRAME)
    for term, name in zip(fitted.terms, ("age", "height"), strict=True):
        assert term.kernel.bandwidth == silverman(FRAME[[name]])
    assert isinstance(kernel.terms[0].kernel.bandwidth, str)
    incomplete = with_missing_values(FRAME)
    seen = incomplete["age"].dropna().to_numpy()[:, None]
    assert fit_kernel(On("age", Gaussian("scott")), incomplete).kernel.bandwidth == pytest.approx(
        fit_kernel(Gaussian("scott"), seen).bandwidth, rel=1e-14
    )


def test_column_positions_become_names_when_fitted():
    fitted = fit_kernel(On([1, 0], Gaussian(1.0)) + On(2, Categorical()), FRAME)
    assert fitted.terms[0].columns == ["height", "age"]
    assert fitted.terms[1].columns == "land"
    assert fit_kernel(On(1, Gaussian(1.0)), FRAME[["age", "height"]].to_numpy()).columns == 1
    relabeled = FRAME[["age", "height"]].set_axis(
        [1, 0], axis=1
    )  # labels take precedence over positions
    assert_array_equal(On(1, Gaussian(9.0))(relabeled), On("age", Gaussian(9.0))(FRAME))


@pytest.mark.parametrize(
    ("kernel", "data", "values"),
    [
        (On("weight", Linear()), FRAME, ["'weight'", "'age'", "'height'"]),
        (On(["age", "weight"], Linear()), FRAME, ["'weight'"]),
        (On("age", Linear()), FRAME.to_numpy(), [6, "'age'"]),
        (On(6, Linear()), np.zeros((3, 6)), ["6 columns", "column 6"]),
        (On(6, Linear()), FRAME, [6]),
        (On([], Linear()), FRAME, ["On([]"]),
        (On(slice(9, 12), Linear()), FRAME, ["slice(9, 12", 6]),
        (On(0, Linear()), ["a", "b"], ["list", 1]),
        (On("land", Gaussian(1.0)), FRAME, ["'land'", "'uk'", "Categorical"]),
        (On("age", Linear()), FRAME.assign(age=np.inf), ["'age'", "infinite"]),
        (On("age", Precomputed()), FRAME, ["'age'", "Precomputed()"]),
        (
            On("age", Linear()),
            pd.concat([FRAME, FRAME[["age"]]], axis=1),
            [2, "'age'"],
        ),
    ],
)
def test_errors_name_columns_that_cannot_be_selected(kernel, data, values):
    with raises(ValueError, *values):
        kernel(data)


def test_errors_name_the_column():
    with raises(ValueError, "'age'", "bandwidth"):
        fit_kernel(On("age", Gaussian("auto")), FRAME.assign(age=1.0))
    with raises(TypeError, "'age'", "'gaussian'"):
        On("age", "gaussian")(FRAME)


def test_dates_are_days():
    days = np.array([0, 1, 40, 365])
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D")
    frame = pd.DataFrame({"when": when, "zoned": when.tz_localize("UTC"), "after": when - when[0]})
    expected = Gaussian(30.0)(days[:, None].astype(float))
    for name in frame.columns:
        assert_allclose(On(name, Gaussian(30.0))(frame), expected, rtol=1e-9)
    frame.loc[1, "when"] = pd.NaT
    assert smallest_eigenvalue(fit_kernel(On("when", Gaussian(30.0)), frame)(frame)) > -1e-14


DAYS = pd.Series(pd.date_range("2024-03-01", periods=60, freq="D"))  # summer time begins

LATER = {
    "naive": DAYS,
    "zoned": DAYS.dt.tz_localize("UTC"),
    "Berlin": DAYS.dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin"),
    "seconds": DAYS.astype("datetime64[s]"),
    "periods": DAYS.dt.to_period("D"),
    "objects": DAYS.astype(object),
    "days": DAYS.dt.date.astype(object),
    "text": DAYS.dt.strftime("%Y-%m-%d"),
    "text with offsets": pd.Series(
        [t.isoformat() for t in DAYS.dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")]
    ),
    "objects with offsets": pd.Series(
        list(DAYS.dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")), dtype=object
    ),
    "Arrow": DAYS.astype("timestamp[us][pyarrow]"),
    "Arrow, zoned": DAYS.dt.tz_localize("UTC").astype("timestamp[us, tz=UTC][pyarrow]"),
    "Arrow days": DAYS.dt.date.astype("date32[day][pyarrow]"),
}


@pytest.mark.parametrize("kind", LATER)
@pytest.mark.parametrize("first", ["naive", "zoned", "text", "periods", "Arrow"])
def test_dates_of_all_kinds_are_compared(first, kind):
    """Dates with a time zone were categories, so that later ones were unknown labels."""
    frame = pd.DataFrame({"x": np.arange(60.0), "when": LATER[first]})
    kernel = table_kernel(frame)
    assert isinstance(kernel.terms[1].kernel, Gaussian)
    assert as_table(frame).column_types["when"] == "date"
    later = frame.assign(when=LATER[kind])
    assert_allclose(kernel(frame, later), kernel(frame), rtol=1e-12)
    pca = KernelPCA(2, kernel=kernel).fit(frame)
    assert_allclose(pca.transform(later), pca.transform(frame), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([Decimal("1.5"), None, Decimal(3), Decimal(7)], [1.5, np.nan, 3, 7]),
        ([Decimal("1.5"), 2, 3.5, np.float32(7)], [1.5, 2, 3.5, 7]),
        (pd.to_timedelta([1, 2, None, 5], unit="h"), [1 / 24, 2 / 24, np.nan, 5 / 24]),
        (
            pd.Series([timedelta(1), None, timedelta(2), timedelta(5)], dtype=object),
            [1, np.nan, 2, 5],
        ),
        (pd.array([1, None, 2**53, 4], dtype="int64[pyarrow]"), [1, np.nan, 2**53, 4]),
        (pd.Series([1, 2, 4, 7]).astype("Sparse[int]"), [1, 2, 4, 7]),
    ],
    ids=["decimals", "mixed", "durations", "timedeltas", "Arrow integers", "sparse"],
)
def test_numbers_of_all_kinds_are_numbers(values, expected):
    frame = pd.DataFrame({"x": values})
    kernel = table_kernel(frame)
    assert isinstance(kernel.kernel, Gaussian)
    table = as_table(frame, missing="keep")
    assert table.column_types == {"x": "number"}
    assert_allclose(table.frame["x"], np.array(expected)[table.rows])
    assert kernel.kernel == table_kernel(pd.DataFrame({"x": expected})).kernel


@pytest.mark.parametrize("dtype", [complex, object])
def test_complex_numbers_are_rejected(dtype):
    frame = pd.DataFrame({"z": pd.Series([1j, 2.0, 3.0], dtype=dtype), "x": [1.0, 2.0, 5.0]})
    with raises(ValueError, "'z'", "complex"):
        table_kernel(frame)
    with raises(ValueError, "'z'", "complex"):
        as_table(frame)


@pytest.mark.parametrize("names", [["a", "a"], [1, "1"]], ids=["equal", "number"])
def test_duplicate_column_names_are_rejected(names):
    frame = pd.DataFrame(np.arange(10.0).reshape(5, 2) ** 2, columns=names)
    kernel = On(0, Gaussian(1.0))
    for use in (table_kernel, as_table, lambda X: KernelPCA(2, kernel=kernel).fit(X)):
        with raises(ValueError, names[1]):
            use(frame)


@pytest.mark.parametrize("library", ["polars", "pyarrow", "Arrow columns"])
def test_frames_of_other_libraries(library):
    frame = FRAME.drop(columns="size").assign(
        when=pd.date_range("2024-01-01", periods=9, tz="UTC"),
        count=pd.array([1, 2, 3, None, 5, 6, 7, 8, 9], dtype="Int64"),
    )
    other = as_library(frame, library)
    kernel = table_kernel(frame)
    assert table_kernel(other)(frame) == pytest.approx(kernel(frame))
    for X, Y in [(other, None), (other, frame), (frame, other)]:
        assert_array_equal(kernel(X, Y), kernel(frame))
    assert_array_equal(kernel.diagonal(other), kernel.diagonal(frame))
    assert as_table(other).column_types == as_table(frame).column_types
    for fitted in (frame, other):
        pca = KernelPCA(2, kernel=kernel).fit(fitted)
        assert pca.feature_names_in_.tolist() == list(frame.columns)
        assert_array_equal(pca.transform(other), pca.transform(frame))
    numbers = as_library(frame[["age", "height"]], library)
    vectors = KernelPCA(2).fit(numbers)
    assert vectors.feature_names_in_.tolist() == ["age", "height"]
    assert_array_equal(vectors.transform(numbers), vectors.transform(frame[["age", "height"]]))


def as_library(frame, library):
    if library == "polars":
        return pytest.importorskip("polars").from_pandas(frame)
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_pandas(frame)
    return table if library == "pyarrow" else table.to_pandas(types_mapper=pd.ArrowDtype)


ALL = slice(None)


def test_logarithms_of_products_of_columns_do_not_underflow():
    near = pd.DataFrame({"age": [0.0, 1.0], "height": [0.0, 2.0], "land": ["a", "b"]})
    far = pd.DataFrame(
        {"age": [0.0, 1e3, 1e4], "height": [1.0, 1e3, -5.0], "land": ["a", "c", "b"]}
    )
    factors = [On("age", Gaussian(2.0)), On("height", Laplacian(0.5)), On("land", Categorical(0.5))]
    product = factors[0] * factors[1] * factors[2]
    assert (product(far, near)[1:] == 0).all()
    logs = product.log_tiles(far, near)(ALL, ALL, None)
    assert np.isfinite(logs).all()
    assert_array_equal(logs, sum(factor.log_tiles(far, near)(ALL, ALL, None) for factor in factors))
    age = (far[["age"]].to_numpy() - near["age"].to_numpy()) ** 2 / 8
    assert_allclose(factors[0].log_tiles(far, near)(ALL, ALL, None), -age, rtol=1e-14)


def test_logarithms_of_missing_values_are_those_of_the_mean_embedding():
    train = pd.DataFrame({"age": [0.0, 1.0, 3.0], "land": ["a", "b", None]})
    rows = pd.DataFrame({"age": [2.0, np.nan, 1e3], "land": [None, "a", "c"]})
    kernel = fit_kernel(On("age", Gaussian(1.0)) * On("land", Categorical(0.5)), train)
    for X, Y in [(rows, train), (rows, rows)]:
        with np.errstate(divide="ignore"):
            expected = np.log(kernel(X, Y))
        found = kernel.log_tiles(X, Y.copy())(ALL, ALL, None)
        positive = expected > -np.inf
        assert_allclose(found[positive], expected[positive], rtol=1e-12)
        assert np.isfinite(found).all()


def test_logarithms_of_negative_factors_and_means():
    frame = pd.DataFrame({"x": [-1.0, 1.0, 5.0, np.nan], "y": [-2.0, 3.0, 1.0, 1.0]})
    kernel = fit_kernel(On("x", Linear()) * On("y", Linear()), frame)
    values = kernel(frame)
    found = kernel.log_tiles(frame, frame.copy())(ALL, ALL, None)
    assert_allclose(found[values > 0], np.log(values[values > 0]), rtol=1e-12)
    assert np.isnan(found[values < 0]).all()


# --- missing values -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("land", Categorical(0.3)),
        ("size", Categorical(0.3, "sml")),
        ("name", NGram(2)),
        ("name", NGram(2, True, 0.2)),
        ("alive", Categorical(0.6)),
    ],
)
def test_missing_value_is_the_mean_embedding(name, kernel):
    frame = with_missing_values(FRAME)
    fitted = fit_kernel(On(name, kernel), frame)
    missing = frame[name].isna().to_numpy()
    assert 0 < missing.sum() < 8
    expected = mean_embedding(kernel, frame[name].tolist(), missing)
    assert_allclose(fitted(frame), expected, rtol=1e-13)
    assert_allclose(fitted.diagonal(frame), expected.diagonal(), rtol=1e-13)
    check_kernel(fitted, frame, frame.iloc[2:8])


def test_missing_numbers_in_frames_and_arrays():
    frame = with_missing_values(FRAME)
    X = frame[["age", "height"]].to_numpy()
    gone = np.isnan(X).any(axis=1)
    expected = mean_embedding(Gaussian(15.0), X, gone)
    for columns, data in [(["age", "height"], frame), ([0, 1], X), ([0, 1], X.astype(object))]:
        fitted = fit_kernel(On(columns, Gaussian(15.0)), data)
        assert_allclose(fitted(data), expected, rtol=1e-13)
        assert_allclose(fitted(data[:4], data), expected[:4], rtol=1e-13)
        assert_allclose(fitted(data, data[2:]), expected[:, 2:], rtol=1e-13)
        check_kernel(fitted, data)


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "float64", object])
def test_every_kind_of_missing_number(dtype):
    values = pd.Series([1, 5, None, 9], dtype=dtype)
    frame = pd.DataFrame({"x": values})
    expected = mean_embedding(Gaussian(3.0), [[1.0], [5.0], [0.0], [9.0]], [0, 0, 1, 0])
    assert_allclose(fit_kernel(On("x", Gaussian(3.0)), frame)(frame), expected, rtol=1e-13)


@pytest.mark.parametrize("missing_value", [None, np.nan, pd.NA, pd.NaT, np.datetime64("NaT")])
def test_every_kind_of_missing_object(missing_value):
    table = np.array([["a"], ["b"], [missing_value], ["a"]], dtype=object)
    expected = mean_embedding(Categorical(0.5), ["a", "b", "", "a"], [0, 0, 1, 0])
    assert_allclose(fit_kernel(On(0, Categorical(0.5)), table)(table), expected, rtol=1e-14)


def test_columns_of_sets_and_graphs_may_have_missing_values():
    triangle, path = [(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2)]
    frame = pd.DataFrame({"tags": [{1, 2}, None, {2}], "molecule": [triangle, path, None]})
    kernel = On("tags", Jaccard()) * On("molecule", Graph(2, normalize=True))
    expected = mean_embedding(Jaccard(), [{1, 2}, None, {2}], [0, 1, 0]) * mean_embedding(
        Graph(2, normalize=True), [triangle, path, None], [0, 0, 1]
    )
    fitted = fit_kernel(kernel, frame)
    assert_allclose(fitted(frame), expected, rtol=1e-13)
    check_kernel(fitted, frame)


def test_integer_weights_equal_repeated_rows():
    frame = with_missing_values(FRAME)
    weights = np.array([2, 1, 0, 3, 1, 0, 1, 2, 1])
    kernel = On("age", Gaussian("silverman")) * On("land", Categorical(0.3)) * On("name", NGram(2))
    fitted = fit_kernel(kernel, frame, weights)
    repeated = fit_kernel(kernel, frame.iloc[np.repeat(np.arange(9), weights)])
    assert_allclose(fitted(frame), repeated(frame), rtol=1e-12)
    land = On("land", Categorical(0.3))
    expected = mean_embedding(
        Categorical(0.3), frame["land"].tolist(), frame["land"].isna().to_numpy(), weights
    )
    present = weights > 0  # categories of other rows may be unknown
    found = fit_kernel(land, frame, weights)(frame)
    assert_allclose(found[np.ix_(present, present)], expected[np.ix_(present, present)], rtol=1e-13)


def test_omitting_missing_columns_is_not_positive_semidefinite():
    """A product over the observed columns only fails for five rows."""
    rows = [("a", "a"), ("a", None), (None, "b"), ("b", "b"), ("b", "a")]

    def observed_product(x, y):
        factors = [1 if a == b else 0.0 for a, b in zip(x, y, strict=True) if a and b]
        return float(np.prod(factors))

    shortcut = np.array([[observed_product(x, y) for y in rows] for x in rows])
    assert np.linalg.eigvalsh(shortcut)[0] < -0.1
    table = np.array(rows, dtype=object)
    kernel = On(0, Categorical(1e-9)) * On(1, Categorical(1e-9))
    assert smallest_eigenvalue(fit_kernel(kernel, table)(table)) > -1e-14


def test_many_values_are_replaced_by_representatives():
    rng = np.random.default_rng(0)
    x = rng.normal(size=5000)
    frame = pd.DataFrame({"x": x, "word": [f"{i:05d}" for i in rng.permutation(5000)]})
    frame.loc[5000] = [np.nan, None]
    fitted = fit_kernel(On("x", Gaussian(0.5)), frame)
    assert len(fitted.observed.cells) == 256
    exact = Gaussian(0.5)(x[:200, None], x[:, None]).mean(axis=1)
    # 256 equally spaced quantiles: the error of the distribution function is at most 1/512, and
    # the total variation of the kernel is 2
    assert_allclose(fitted(frame)[5000, :200], exact, atol=2 / 512)
    shuffled = frame.iloc[rng.permutation(5001)]
    again = fit_kernel(On("x", Gaussian(0.5)), shuffled)
    assert again.observed == fitted.observed
    texts = fit_kernel(On("word", NGram(2)), frame)
    assert len(texts.observed.cells) == 256
    assert texts.observed == fit_kernel(On("word", NGram(2)), shuffled).observed


def test_unfitted_kernel_rejects_missing_values():
    with raises(ValueError, "'age'", "mercer.bandwidth.fit_kernel"):
        On("age", Gaussian(1.0))(with_missing_values(FRAME))


def test_columns_without_observed_values_raise():
    frame = FRAME.assign(age=np.nan)
    with raises(ValueError, "'age'", 9):
        fit_kernel(On("age", Gaussian("auto")), frame)
    weights = np.r_[np.zeros(5), np.ones(4)]
    frame = FRAME.assign(age=[1.0, 2, 3, 4, 5, *[np.nan] * 4])
    with raises(ValueError, "'age'", 4):
        fit_kernel(On("age", Gaussian("auto")), frame, weights)
    with raises(ValueError, "'age'", 9):
        table_kernel(FRAME.assign(age=np.nan))


def test_parameters_may_change_after_fitting():
    frame = with_missing_values(FRAME)
    fitted = fit_kernel(On("land", Categorical(0.3)), frame)
    fitted(frame)
    fitted.set_params(kernel__rho=0.9)
    missing = frame["land"].isna().to_numpy()
    expected = mean_embedding(Categorical(0.9), frame["land"].tolist(), missing)
    assert_allclose(fitted(frame), expected, rtol=1e-13)


def test_fitted_kernels_survive_cloning_pickling_and_comparison():
    frame = with_missing_values(FRAME)
    kernel = table_kernel(frame)
    K = kernel(frame)
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        assert copy == kernel
        assert_array_equal(copy(frame), K)
    assert table_kernel(FRAME) != kernel
    assert table_kernel(frame) == kernel
