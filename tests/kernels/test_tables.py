"""Kernels chosen for a table."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mercer.bandwidth import fit_kernel
from mercer.kernels import (
    Categorical,
    Gaussian,
    Hamming,
    Linear,
    NGram,
    On,
    check_kernel,
    table_kernel,
)
from mercer.kernels.columns import Observed
from mercer.kernels.tables import are_texts
from tests.expectations import raises
from tests.kernels.naive import smallest_eigenvalue
from tests.kernels.table_cases import FRAME, NAMES, mean_embedding, with_missing_values

pd = pytest.importorskip("pandas")

# --- kernels for tables ---------------------------------------------------------------------------


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
