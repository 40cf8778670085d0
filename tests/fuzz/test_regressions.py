"""Inputs that fuzzing found, one of each kind."""

import numpy as np
import pytest

from tests.fuzz import load_target
from tests.fuzz.forging import archive, npy
from tests.fuzz.table_files import IN_PARTS, OPTIONS

pytest.importorskip("pandas", reason="the table reader needs mercer[io]")

TABLES = {
    "a date outside of the range of pandas": npy(np.array([2**59, 1, 2, 3], "M8[D]")),
    "differences that overflow": b"a,b\n1.7e308,2\n-1.7e308,1\n3,5\n1e308,4\n",
    "an archive of other files": archive([("a.txt", b"1,2"), ("X.npy", npy(np.eye(3)))]),
    "parts whose header is not text": b"a,\xff\n1,2\n2,3\n3,5\n",
    "parts whose cells are not text": b"a,b\n1,2\n2,\xc3\xeb\n3,5\n4,4\n",
    "parts of ragged lines": b"a,b\n1,2\n1,2,3,4\n3,5\n4,4\n",
    "parts of empty lines": b" \n\n",
    "parts that are not Parquet": b"PAR1 and no more",
}


@pytest.mark.parametrize("name", TABLES)
def test_invalid_tables_give_a_clear_error(name, tmp_path):
    pytest.importorskip("dask", reason="parts need mercer[dask]")
    load_target("tables").check(bytes([IN_PARTS]) + TABLES[name], tmp_path)


REQUESTS = {
    "deeply nested JSON": b"POST /api/rows?data=given\n\n" + b"[" * 9000,
    "a length in non-ASCII digits": b"POST /api/upload\ncontent-length: \xb2\n\na,b\n",
    "a length of many digits": b"POST /api/upload\ncontent-length: %s\n\na,b\n" % (b"9" * 5000),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_invalid_requests_give_a_clear_error(name, tmp_path):
    pytest.importorskip("starlette", reason="the explorer needs mercer[web]")
    load_target("requests").check(REQUESTS[name], tmp_path)


def test_utf16_parts_without_byte_order_mark(tmp_path):
    pytest.importorskip("dask", reason="parts need mercer[dask]")
    utf16 = bytes([IN_PARTS + 7])
    load_target("tables").check(utf16 + b"a,b\n1,2\n2,3\n4,4\n", tmp_path)


def test_labels_of_type_bytes(tmp_path):
    import pandas as pd

    table = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [b"\xff", b"x", None]})
    labeled = bytes([OPTIONS.index({"label": "b"})])
    load_target("tables").check(labeled + table.to_parquet(index=False), tmp_path)


@pytest.mark.parametrize("change", [b'"index_columns ', b'"indexes_there"'])
def test_parquet_with_invalid_pandas_metadata(change, tmp_path):
    """Invalid JSON, or JSON without a required key."""
    pytest.importorskip("dask", reason="parts need mercer[dask]")
    import pandas as pd

    content = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3, 1, 7]}).to_parquet(index=False)
    assert b'"index_columns"' in content
    load_target("tables").check(b"\0" + content.replace(b'"index_columns"', change), tmp_path)
