"""Kernels on columns, missing values, and kernels chosen for a table."""

from __future__ import annotations

import pickle
import re
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
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
from mercer.kernels.columns import Observed
from mercer.kernels.tables import are_texts
from mercer.tables import as_table
from tests.expectations import raises
from tests.kernels.naive import smallest_eigenvalue

pd = pytest.importorskip("pandas")

NAMES = ["Ada", "Grace", "Emmy", "Sofia", "Maria", "Emilie", "Hypatia", "Mary", "Ada"]
FRAME = pd.DataFrame(
    {
        "age": [36.0, 85.0, 53.0, 41.0, 80.0, 42.0, 60.0, 91.0, 36.0],
        "height": [1.6, 1.7, 1.55, 1.62, 1.58, 1.71, 1.66, 1.6, 1.6],
        "land": ["uk", "us", "de", "ru", "it", "fr", "eg", "uk", "uk"],
        "size": pd.Categorical(list("smlsmlsml"), categories=list("sml"), ordered=True),
        "name": NAMES,
        "alive": [False, False, False, True, False, False, True, False, False],
    }
)


def with_missing_values(frame, fraction=0.3, seed=0):
    """Return the frame with missing values and at least two observed values per column."""
    gone = np.random.default_rng(seed).random(frame.shape) < fraction
    gone[:2] = False
    return frame.astype({"alive": object}).mask(gone)


# --- columns -----------------------------------------------------------------------------------

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


# --- missing values ----------------------------------------------------------------------------


def mean_embedding(kernel, cells, missing, weights=None):
    """Return ``P K P'``: a row of P selects an observed value, or averages for a missing one."""
    weights = np.ones(len(cells)) if weights is None else weights
    seen = [i for i, gone in enumerate(missing) if not gone and weights[i] > 0]
    P = np.zeros((len(cells), len(cells)))
    fraction = np.zeros(len(cells))
    fraction[seen] = weights[seen] / weights[seen].sum()
    for i, gone in enumerate(missing):
        P[i] = fraction if gone else np.eye(len(cells))[i]
    filled = [cells[seen[0]] if gone else cell for cell, gone in zip(cells, missing, strict=True)]
    return P @ kernel(filled) @ P.T


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


# --- kernels for tables ------------------------------------------------------------------------


def test_kernels_follow_the_types_of_columns():
    frame = FRAME.assign(
        when=pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(9), unit="D"),
        count=pd.array([1, 2, 3, None, 5, 6, 7, 8, 9], dtype="Int64"),
        story=[f"{name} lived a long and interesting life" for name in NAMES],
        kind=pd.Categorical(list("xyzxyzxyz")),
        constant="same",
    )
    terms = {term.columns: term.kernel for term in table_kernel(frame).terms}
    assert "constant" not in terms
    for name in ("age", "height", "when", "count"):
        assert isinstance(terms[name], Gaussian)
        assert terms[name].bandwidth > 0
    for name in ("land", "alive", "kind", "name"):
        assert isinstance(terms[name], Categorical)
        assert terms[name].order is None
    assert terms["size"].order == ("s", "m", "l")
    assert isinstance(terms["story"], NGram)
    assert terms["story"].normalize
    check_kernel(table_kernel(frame), frame)
    many = pd.DataFrame({"code": [f"{i:04d}" for i in range(60)]})
    assert isinstance(table_kernel(many).kernel, NGram)


def test_repr_of_table_kernel():
    text = repr(table_kernel(FRAME[["age", "land", "size"]]))
    assert re.fullmatch(
        r"On\('age', Gaussian\(bandwidth=[\d.]+\)\) \* "
        r"On\('land', Categorical\(rho=[\d.]+, order=None\)\) \* "
        r"On\('size', Categorical\(rho=[\d.]+, order=\('s', 'm', 'l'\)\)\)",
        text,
    )


@pytest.mark.parametrize("copies", [1, 2, 6])
def test_a_typical_value_does_not_depend_on_the_number_of_columns(copies):
    rng = np.random.default_rng(0)
    n = 300
    texts = np.array(["kernel", "eigen", "value", "entropy", "matrix", "vector", "density", "gram"])
    columns = {}
    for i in range(copies):
        columns |= {
            f"x{i}": rng.normal(size=n),
            f"y{i}": 100 + rng.uniform(size=n),
            f"label{i}": rng.choice(list("abcde"), n),
            f"rank{i}": pd.Categorical(rng.choice(list("sml"), n), list("sml"), ordered=True),
            f"text{i}": [" ".join(rng.choice(texts, 5)) for _ in range(n)],
        }
    frame = pd.DataFrame(columns)
    off_diagonal = table_kernel(frame)(frame)[np.triu_indices(n, 1)]
    # the mean of log k is -1 by construction; parameters have four digits, scales are estimated
    # from quartiles, and 200 of the texts are used
    assert np.log(off_diagonal).mean() == pytest.approx(-1, abs=0.15)


def test_a_rare_category_does_not_isolate_its_rows():
    frame = pd.DataFrame({"x": np.arange(200.0), "rare": ["no"] * 199 + ["yes"]})
    kernel = table_kernel(frame)
    assert kernel.terms[1].kernel.rho == pytest.approx(np.exp(-2), rel=1e-3)


def test_table_kernel_rejects_invalid_tables():
    with raises(TypeError, "ndarray", "pandas.DataFrame"):
        table_kernel(np.zeros((3, 2)))
    with raises(ValueError, 2):
        table_kernel(pd.DataFrame({"a": [1, 1], "b": ["x", "x"]}))
    with raises(TypeError, "'tags'", "set", "On('tags', Jaccard"):
        table_kernel(FRAME.assign(tags=[{1}] * 9))
    with raises(ValueError, "'age'", "infinite"):
        table_kernel(FRAME.assign(age=[*range(8), np.inf]))
    with raises(ValueError, "'age'"):
        table_kernel(pd.concat([FRAME, FRAME[["age"]]], axis=1))


@st.composite
def tables(draw):
    """Draw a table of mixed columns in which 30 % of the values are missing."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(4, 40))
    makers = {
        "normal": lambda: rng.normal(size=n),
        "wild": lambda: rng.standard_cauchy(size=n) * 1e6,
        "integer": lambda: rng.integers(-5, 5, n),
        "flag": lambda: rng.random(n) < 0.3,
        "label": lambda: rng.choice(["red", "green", "blue"], n),
        "rank": lambda: pd.Categorical(rng.choice(list("sml"), n), list("sml"), ordered=True),
        "text": lambda: ["".join(rng.choice(list("abc "), rng.integers(0, 30))) for _ in range(n)],
        "date": lambda: np.datetime64("2020-01-01") + rng.integers(0, 999, n),
    }
    chosen = draw(st.lists(st.sampled_from(sorted(makers)), min_size=1, max_size=8))
    frame = pd.DataFrame({f"{kind}{i}": makers[kind]() for i, kind in enumerate(chosen)})
    frame = frame.astype({c: object for c in frame.columns if frame[c].dtype == bool})
    gone = rng.random(frame.shape) < 0.3
    gone[:2] = False
    frame = frame.mask(gone)
    return frame.loc[:, [frame[c].nunique() > 1 for c in frame.columns]]


@settings(deadline=None, max_examples=150)
@given(tables())
def test_table_kernels_are_positive_semidefinite_with_missing_values(frame):
    assume(frame.shape[1] > 0)
    kernel = table_kernel(frame)
    assert kernel.is_psd
    K = kernel(frame)
    assert smallest_eigenvalue(K) >= -1e-10 * len(frame)
    half = len(frame) // 2  # fitted on one half, evaluated on both
    first = frame.iloc[:half]
    other = fit_kernel(On(list(frame.columns), Hamming(0.5)), frame)
    assert smallest_eigenvalue(other(frame)) >= -1e-10 * len(frame)
    if (first.nunique() > 1).any() and first.notna().any().all():
        assert smallest_eigenvalue(table_kernel(first)(frame)) >= -1e-10 * len(frame)


def test_scaling_bandwidths_divides_squared_distances():
    frame = pd.DataFrame({"x": [0.0, 1.0, 3.0], "c": ["a", "b", "a"]})
    kernel = On("x", Gaussian(2.0)) * On("c", Categorical(0.3))
    assert_allclose(kernel.scale_bandwidths(0.5)(frame), kernel(frame) ** 4, rtol=1e-12)
    assert kernel.scale_bandwidths(1.0) == kernel
    assert NGram(2, normalize=True, rho=0.3).scale_bandwidths(0.5) == NGram(
        2, normalize=True, rho=0.3**4
    )


def test_scaling_needs_a_bandwidth():
    with raises(ValueError, "Linear"):
        Linear().scale_bandwidths(2.0)
    with raises(ValueError, "'auto'"):
        Gaussian().scale_bandwidths(2.0)
    with raises(ValueError, "factor=0"):
        Gaussian(1.0).scale_bandwidths(0)


def test_observed_values_may_be_changed():
    frame = with_missing_values(FRAME)
    fitted = fit_kernel(On("land", Categorical(0.3)), frame)
    fitted(frame)  # k of two missing values is cached
    cells = np.array(["it", "fr"], dtype=object)
    fitted.set_params(observed=Observed(cells, np.array([0.25, 0.75])))
    missing = frame["land"].isna().to_numpy()
    # k of two missing values is Σ s² + 0.3 (1 - Σ s²)
    assert_allclose(fitted.diagonal(frame)[missing], 0.625 + 0.3 * 0.375)


def test_columns_of_integer_arrays():
    X = np.array([[1, 5], [4, 5], [2, 7]])
    assert_array_equal(On(0, Gaussian(2.0))(X), Gaussian(2.0)(X[:, [0]]))
    assert_array_equal(On([0, 1], Linear())(X), Linear()(X))


def test_unsortable_values_have_row_order():
    table = np.array([["a"], [1], [None], ["a"]], dtype=object)
    expected = mean_embedding(Categorical(0.5), ["a", 1, None, "a"], [0, 0, 1, 0])
    fitted = fit_kernel(On(0, Categorical(0.5)), table)
    assert fitted.observed.cells.tolist() == ["a", 1]
    assert_allclose(fitted.observed.weights, [2 / 3, 1 / 3])
    assert_allclose(fitted(table), expected, rtol=1e-14)


def test_the_sign_of_numbers_does_not_matter():
    numbers = pd.DataFrame({"a": [-1.0, -2.0, -5.0, -9.0], "b": [1e200, -3e200, 0.0, 2e200]})
    ours, mirrored = table_kernel(numbers), table_kernel(-numbers)
    assert_array_equal(ours(numbers), mirrored(-numbers))
    assert 0 < ours.get_params()["0__kernel__bandwidth"] < 10


def test_columns_of_different_types():
    days = pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-01"])
    frame = pd.DataFrame({"day": days, "count": [1, 1, 2]})
    expected = [[1, 0.5, 0.5], [0.5, 1, 0.25], [0.5, 0.25, 1]]
    assert_array_equal(On(["day", "count"], Hamming(0.5))(frame), expected)


@pytest.mark.parametrize(
    ("different", "rows", "length", "texts"),
    [
        (50, 100, 5, False),
        (51, 100, 5, True),
        (60, 3600, 5, False),
        (61, 3600, 5, True),
        (20, 40, 13, False),
        (21, 40, 13, True),
        (21, 40, 12, False),
    ],
)
def test_labels_and_texts(different, rows, length, texts):
    """Texts: more than max(50, √n) distinct values, or more than half of the rows and long."""
    labels = [f"{i % different:0{length}d}" for i in range(rows)]
    assert are_texts(np.array(labels, dtype=object)) is texts


@pytest.mark.parametrize("columns", [1, 3])
def test_typical_kernel_value_of_texts(columns):
    """``ρ + (1 - ρ) · mean cosine = exp(-1/D)``, to the four digits of ρ."""
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abcd"), size=20)) for _ in range(80)]
    kernel = table_kernel(pd.DataFrame({f"text {j}": texts for j in range(columns)}))
    term = kernel if columns == 1 else kernel.terms[0]
    K = term.kernel(texts)
    assert_allclose(K[np.triu_indices(80, 1)].mean(), np.exp(-1 / columns), rtol=1e-3)


def test_repr_of_observed_is_the_number_of_values():
    assert repr(Observed(np.arange(3.0), np.full(3, 1 / 3))) == "<3 values>"


def test_mean_embedding_does_not_depend_on_row_order(rng):
    frame = with_missing_values(FRAME)
    kernel = On("land", Categorical(0.3)) * On("age", Gaussian(20.0))
    assert fit_kernel(kernel, frame) == fit_kernel(kernel, frame.iloc[rng.permutation(9)])
    assert fit_kernel(kernel, frame).terms[0].observed.cells.tolist() == sorted(
        set(frame["land"].dropna())
    )


def test_booleans_with_missing_values_are_categories():
    frame = pd.DataFrame({"smoker": [True, None, False, True], "age": [30, None, 40.0, 22]})
    kernel = table_kernel(frame.astype({"smoker": object}))
    assert [type(term.kernel) for term in kernel.terms] == [Categorical, Gaussian]
