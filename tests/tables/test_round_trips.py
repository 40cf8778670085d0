"""Tables written in any supported form are read back with the same types and values."""

import csv
import io
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mercer.kernels import Categorical, Gaussian, NGram, table_kernel
from mercer.tables import as_table, read_table

BERLIN = ZoneInfo("Europe/Berlin")  # two offsets from UTC per year
KERNELS = {"number": Gaussian, "date": Gaussian, "category": Categorical, "text": NGram}


@dataclass(frozen=True)
class Column:
    """Python values, None where missing, and what a table should make of them."""

    content: str
    values: list[Any]

    @property
    def column_type(self):
        named = {"number": "number", "integer": "number", "text": "text"}
        return named.get(self.content, "date" if self.content in DATES else "category")

    @property
    def expected(self):
        if self.column_type == "number":
            return [None if v is None else float(v) for v in self.values]
        if self.column_type == "date":
            return [None if v is None else instant(v) for v in self.values]
        return [None if v is None else str(v) for v in self.values]


DATES = {
    "day": st.dates(date(1900, 1, 1), date(2100, 1, 1)),
    "time": st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)),
    # times of the hour that is repeated in autumn would be ambiguous
    "zoned": st.dates(date(1990, 1, 1), date(2030, 1, 1)).map(
        lambda day: datetime(day.year, day.month, day.day, 12, tzinfo=BERLIN)
    ),
}


def instant(value):
    """Return a date as a moment in UTC; without a time zone it is in UTC."""
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)


def values_of(content, special):
    """Return a strategy for values; the first letter of labels keeps them from being numbers."""
    letters = st.text(alphabet="abü 01" + special, max_size=6).map(lambda s: ("k" + s).rstrip())
    return {
        "number": st.floats(-1e12, 1e12).map(lambda x: x + 0.0),
        "integer": st.integers(-(2**53), 2**53),
        "label": letters,
        "text": letters.map(lambda s: s + " a long sentence"),
        "identifier": st.integers(0, 999).map(lambda i: f"0{i}"),
        "boolean": st.booleans(),
        **DATES,
    }[content]


@st.composite
def columns(draw, contents, special=""):
    """Draw columns with distinct values, half of which at most are missing."""
    n = draw(st.integers(6, 12))
    first = draw(st.lists(st.floats(-100, 100), min_size=n, max_size=n, unique=True))
    found = {"x": Column("number", first)}
    for i, content in enumerate(draw(st.lists(st.sampled_from(contents), max_size=4))):
        values = values_of(content, special)
        distinct = draw(st.lists(values, min_size=2, max_size=n, unique_by=str))
        if content == "text":
            distinct = draw(st.lists(values, min_size=n, max_size=n, unique=True))
        cells = (distinct * n)[:n]
        missing = set(draw(st.lists(st.integers(2, n - 1), max_size=(n - 2) // 3)))
        if content == "text":
            missing = set()
        name = f"c{i}" + draw(st.text(alphabet="aä " + special, max_size=3)).rstrip()
        found[name] = Column(content, [None if j in missing else v for j, v in enumerate(cells)])
    return found


def check(table, expected):
    assert table.column_types == {name: c.column_type for name, c in expected.items()}
    for name, column in expected.items():
        cells = table.frame[name]
        assert cells.isna().tolist() == [value is None for value in column.values]
        if column.column_type == "date":
            found = pd.to_datetime(cells, utc=True).tolist()
        else:
            found = cells.tolist()
        for value, wanted in zip(found, column.expected, strict=True):
            if wanted is None:
                continue
            assert (
                value == pytest.approx(wanted, rel=1e-14)
                if isinstance(wanted, float)
                else (value == wanted)
            )


# --- text files --------------------------------------------------------------------------------


@st.composite
def dialects(draw):
    separator = draw(st.sampled_from([",", ";", "\t", "|"]))
    quote_all = draw(st.booleans())
    return {
        "separator": separator,
        "quoting": csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL,
        # without quotes only the separator itself is quoted, and others would be ambiguous
        "special": ',;|\t"' if quote_all else separator + '"',
        "decimal": draw(st.sampled_from(".,")) if separator != "," else ".",
        "encoding": draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"])),
        "line_end": draw(st.sampled_from(["\n", "\r\n"])),
        "missing": draw(st.sampled_from(["", "NA", "nan"])),
    }


def written(value, dialect):
    if value is None:
        return dialect["missing"]
    if isinstance(value, float):
        return repr(value).replace(".", dialect["decimal"])
    return value.isoformat() if isinstance(value, date) else str(value)


def text_file(table, dialect):
    file = io.StringIO()
    writer = csv.writer(
        file,
        delimiter=dialect["separator"],
        quoting=dialect["quoting"],
        lineterminator=dialect["line_end"],
    )
    writer.writerow(table)
    for row in zip(*(column.values for column in table.values()), strict=True):
        writer.writerow([written(value, dialect) for value in row])
    return io.BytesIO(file.getvalue().encode(dialect["encoding"]))


IN_TEXT = ["number", "integer", "label", "text", "identifier", "boolean", *DATES]


@pytest.mark.slow
@settings(deadline=None, max_examples=200, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_text_files(data):
    dialect = data.draw(dialects())
    table = data.draw(columns(IN_TEXT, dialect["special"]))
    file = text_file(table, dialect)
    encoding = "latin-1" if dialect["encoding"] == "latin-1" else "utf-8"
    check(read_table(file, encoding=encoding, missing="keep"), table)


@pytest.mark.slow
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(
    dialects(),
    st.lists(
        st.one_of(
            st.sampled_from(["01", "1", "001", "NA", "nan", "None", "1.10", "1.1", "no label", ""]),
            st.integers(2**53, 2**53 + 3).map(str),
        ),
        min_size=6,
        max_size=12,
    ),
)
def test_labels_and_categories_of_text_files(dialect, labels):
    dialect |= {"encoding": "utf-8"}
    table = {
        "x": Column("number", [i / 2 for i in range(len(labels))]),
        "label": Column("label", labels),
        "category": Column("label", ["01", "1", *labels[2:]]),
    }
    read = read_table(text_file(table, dialect), label="label", categorical=["category"])
    assert read.has_label.tolist() == [label != "" for label in labels]
    found = read.labels[read.has_label].tolist()
    texts = [label for label in labels if label]
    if isinstance(next(iter(found), ""), str):
        assert found == texts
    else:
        assert found == [int(text) if text.isdigit() else float(text) for text in texts]
        assert len(set(found)) == len(set(texts))
    if "category" in read.columns:
        expected = ["01", "1", *labels[2:]]
        assert [c for c in read.frame["category"].tolist() if isinstance(c, str)] == [
            label for label in expected if label
        ]


# --- data frames and binary files ----------------------------------------------------------------

IN_FRAMES = ["number", "integer", "label", "text", "identifier", "boolean", *DATES]


def pandas_frame(table):
    def series(column):
        if column.content in ("time", "zoned"):
            return pd.Series(pd.to_datetime(pd.Series(column.values, dtype=object), utc=None))
        return pd.Series(column.values, dtype=object).infer_objects()

    return pd.DataFrame({name: series(column) for name, column in table.items()})


def arrow_table(table):
    import pyarrow as pa

    return pa.table({name: pa.array(column.values) for name, column in table.items()})


def polars_frame(table):
    import polars as pl

    return pl.from_arrow(arrow_table(table))


def arrow_columns(table):
    return arrow_table(table).to_pandas(types_mapper=pd.ArrowDtype)


def parquet_file(table):
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(arrow_table(table), file)
    file.seek(0)
    return file


FORMS = {
    "objects": lambda table: pd.DataFrame(
        {name: pd.Series(column.values, dtype=object) for name, column in table.items()}
    ),
    "pandas": pandas_frame,
    "nullable": lambda table: pandas_frame(table).convert_dtypes(),
    "pandas with Arrow columns": arrow_columns,
    "polars": polars_frame,
    "pyarrow": arrow_table,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.slow
@settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
@given(table=columns(IN_FRAMES, ',;"'))
def test_data_frames(form, table):
    frame = FORMS[form](table)
    check(as_table(frame, missing="keep"), table)
    kernel = table_kernel(frame)
    terms = {term.columns: type(term.kernel) for term in getattr(kernel, "terms", [kernel])}
    assert terms == {name: KERNELS[column.column_type] for name, column in table.items()}
    assert np.isfinite(kernel(frame)).all()


@pytest.mark.slow
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(table=columns(IN_FRAMES, ',;"'))
def test_parquet_files(table):
    check(read_table(parquet_file(table), missing="keep"), table)


@pytest.mark.slow
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(table=columns(["number", "integer", "label", "identifier", "boolean", "day"]))
def test_array_files(table):
    complete = {
        name: Column(c.content, [c.values[0] if v is None else v for v in c.values])
        for name, c in table.items()
    }
    file = io.BytesIO()
    others = {name: column for name, column in complete.items() if name != "x"}
    days = {name: "M8[D]" for name, column in others.items() if column.content == "day"}
    arrays = {name: np.array(c.values, dtype=days.get(name)) for name, c in others.items()}
    np.savez(file, X=np.array(complete["x"].values)[:, None], **arrays)
    file.seek(0)
    check(read_table(file), {"x1": complete["x"], **others})


def test_berlin_has_two_offsets():
    assert datetime(2024, 1, 1, tzinfo=BERLIN).utcoffset() == timedelta(hours=1)
    assert datetime(2024, 7, 1, tzinfo=BERLIN).utcoffset() == timedelta(hours=2)
