"""Inputs that once broke a promise, one of each kind."""

import numpy as np
import pytest

from tests.fuzz import target
from tests.fuzz.forging import archive, npy
from tests.fuzz.read_tables import IN_PARTS, OPTIONS

pytest.importorskip("pandas", reason="the table reader needs mercer[io]")

TABLES = {
    "a day in a year that pandas does not know": npy(np.array([2**59, 1, 2, 3], "M8[D]")),
    "differences that overflow": b"a,b\n1.7e308,2\n-1.7e308,1\n3,5\n1e308,4\n",
    "an archive of other files": archive([("a.txt", b"1,2"), ("X.npy", npy(np.eye(3)))]),
    "parts whose header is not text": b"a,\xff\n1,2\n2,3\n3,5\n",
    "parts whose cells are not text": b"a,b\n1,2\n2,\xc3\xeb\n3,5\n4,4\n",
    "parts of ragged lines": b"a,b\n1,2\n1,2,3,4\n3,5\n4,4\n",
    "parts of empty lines": b" \n\n",
    "parts that are no Parquet": b"PAR1 and no more",
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_that_were_not_refused_in_words(name, tmp_path):
    pytest.importorskip("dask", reason="parts need mercer[dask]")
    target("tables").check(bytes([IN_PARTS]) + TABLES[name], tmp_path)


REQUESTS = {
    "JSON that is nested without end": b"POST /api/rows?data=given\n\n" + b"[" * 9000,
    "a length in other digits": b"POST /api/upload\ncontent-length: \xb2\n\na,b\n",
    "a length of many digits": b"POST /api/upload\ncontent-length: %s\n\na,b\n" % (b"9" * 5000),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_requests_that_met_a_mistake(name, tmp_path):
    pytest.importorskip("starlette", reason="the explorer needs mercer[web]")
    target("requests").check(REQUESTS[name], tmp_path)


def test_parts_without_their_mark(tmp_path):
    pytest.importorskip("dask", reason="parts need mercer[dask]")
    utf16 = bytes([IN_PARTS + 7])
    target("tables").check(utf16 + b"a,b\n1,2\n2,3\n4,4\n", tmp_path)


def test_labels_that_are_bytes(tmp_path):
    import pandas as pd

    table = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [b"\xff", b"x", None]})
    labelled = bytes([OPTIONS.index({"label": "b"})])
    target("tables").check(labelled + table.to_parquet(index=False), tmp_path)


@pytest.mark.parametrize("change", [b'"index_columns ', b'"indexes_there"'])
def test_parquet_with_damaged_notes_of_pandas(change, tmp_path):
    """The reader of parts believes them: JSON that cannot be read, or that lacks a name."""
    pytest.importorskip("dask", reason="parts need mercer[dask]")
    import pandas as pd

    content = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3, 1, 7]}).to_parquet(index=False)
    assert b'"index_columns"' in content
    target("tables").check(b"\0" + content.replace(b'"index_columns"', change), tmp_path)
