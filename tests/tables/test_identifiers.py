"""Columns that identify rows are left out; measurements that resemble them are not."""

import warnings

import numpy as np
import pandas as pd
import pytest

from mercer.cli import main
from mercer.errors import ColumnWarning
from mercer.kernels import table_kernel
from mercer.kernels.tables import has_identifier_name, identify_rows
from mercer.tables import as_table, prepare

N = 60


def codes(pattern):
    return [pattern.format(i) for i in range(N)]


IDENTIFIERS = {
    "customer_id": np.arange(10_000, 10_000 + N),
    "orderId": np.random.default_rng(0).permutation(N) * 5 + 3,
    "KEY": np.random.default_rng(1).choice(10**9, N, replace=False),
    "customer": np.arange(10_000, 10_000 + N),
    "code": codes("C-{:05d}"),
    "account key": codes("k{}"),
}
MEASUREMENTS = {
    "sorted": np.sort(np.random.default_rng(2).normal(size=N)),
    "sorted integers": np.sort(np.random.default_rng(3).choice(10**6, N, replace=False)),
    "year": np.arange(1950, 1950 + N),
    "position": np.arange(N),
    "minute": np.arange(N) * 15,
    "store id": np.arange(N) % 12,
    "width": np.random.default_rng(4).permutation(N) + 100,
    "when": pd.date_range("2026-01-01", periods=N).strftime("%Y-%m-%d"),
    "sequence": ["ACGT" * (1 + i % 7) + "ACGTACG"[: i % 7] + "A" * i for i in range(N)],
}
REST = {"x": np.random.default_rng(5).normal(size=N), "color": ["red", "blue"] * (N // 2)}


def names_of(kernel):
    return {term.columns for term in getattr(kernel, "terms", [kernel])}


@pytest.mark.parametrize("name", IDENTIFIERS)
def test_identifiers_are_left_out_everywhere(name):
    frame = pd.DataFrame({name: IDENTIFIERS[name], **REST})
    table = as_table(frame)
    assert name not in table.columns
    assert [one.column for one in table.omissions] == [name]
    with pytest.warns(ColumnWarning, match=name):
        kernel = table_kernel(frame)
    assert names_of(kernel) == {"x", "color"}


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_measurements_are_kept(name):
    frame = pd.DataFrame({name: MEASUREMENTS[name], **REST})
    with warnings.catch_warnings():
        warnings.simplefilter("error", ColumnWarning)
        assert name in names_of(table_kernel(frame))
    if name != "sequence":  # a different label in every row
        assert name in as_table(frame).columns


@pytest.mark.parametrize("name", IDENTIFIERS)
def test_include_keeps_identifiers(name):
    frame = pd.DataFrame({name: IDENTIFIERS[name], **REST})
    with warnings.catch_warnings():
        warnings.simplefilter("error", ColumnWarning)
        assert name in names_of(table_kernel(frame, include=[name]))
        table = as_table(frame, include=[name])
        assert name in table.columns
        assert name in names_of(prepare(table).kernel)


def test_missing_values_do_not_hide_identifiers():
    numbers = IDENTIFIERS["orderId"].astype(float)
    numbers[7] = np.nan
    assert "orderId" not in as_table(pd.DataFrame({"orderId": numbers, **REST})).columns


def test_few_rows_and_a_single_column_are_kept():
    assert not identify_rows("id", np.arange(100, 119))
    only = pd.DataFrame({"customer_id": IDENTIFIERS["customer_id"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error", ColumnWarning)
        assert names_of(table_kernel(only)) == {"customer_id"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("userID", True), ("User Id", True), ("idea", False), ("valid", False), ("monkey", False)],
)
def test_names_of_identifiers_are_compared_by_words(name, expected):
    assert has_identifier_name(name) == expected


@pytest.mark.parametrize("engine", ["memory", "dask"])
@pytest.mark.parametrize("include", [False, True])
def test_commands_leave_out_identifiers_and_include_them_on_request(
    engine, include, tmp_path, capsys
):
    if engine == "dask":
        pytest.importorskip("dask")
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"customer_id": np.arange(10_000, 10_060), "x": rng.normal(size=60)})
    frame.assign(y=rng.normal(size=60)).to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / ("o.csv" if engine == "memory" else "folder")
    options = ["--include", "customer_id"] if include else []
    arguments = ["embed", str(tmp_path / "t.csv"), "--out", str(out), "--engine", engine]
    assert main([*arguments, *options]) == 0
    text = capsys.readouterr().err
    assert ("3 columns" in text) == include
    assert ("customer_id" in text) != include
