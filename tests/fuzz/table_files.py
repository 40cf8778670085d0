"""Fuzz target for the table readers: a consistent table or a clear error for any bytes.

The first byte of an input selects the options (``OPTIONS``) and whether the file is also read in
chunks (``IN_PARTS``), which takes longer. The other bytes are the file.
"""

import bz2
import gzip
import io
import lzma
import re

import numpy as np

from tests.fuzz import mutations
from tests.fuzz.forging import archive, members_of
from tests.fuzz.invariants import is_clear_error, require, strict_warnings

COLUMN_TYPES = {"number", "date", "category", "text"}
OPTIONS = (
    {},
    {"missing": "drop"},
    {"missing": "keep"},
    {"label": "b"},
    {"ignore": ["a"]},
    {"categorical": ["a"]},
    {"encoding": "latin-1"},
    {"encoding": "utf-16"},
    {"label": "b", "missing": "drop"},
)
IN_PARTS = 128
TOKENS = [
    *(
        b",",
        b";",
        b"\t",
        b"|",
        b"\n",
        b"\r\n",
        b"\r",
        b'"',
        b'""',
        b"\n\n",
        b" ",
        b"\0",
        b"#",
        b"\\",
    ),
    *(
        b"NA",
        b"NaN",
        b"None",
        b"null",
        b"True",
        b"-",
        b"?",
        b"1e5",
        b"1,5",
        b"007",
        b"id",
        b"Unnamed: 0",
    ),
    *(b"1.234,5", b"1,234.5", b"9007199254740993", b"true", b"FALSE"),
    *(b"2024-01-31", b"2024-02-30", b"2024-01", b"9999-12-31", b"0001-01-01", b"1j", b"(1+2j)"),
    *(b"2024-01-01T00:00:00Z", b"2024-01-01T00:00:00+05:30", b"12:30", b"a", b"b", b"a.1"),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xc3\xa9", b"\xe9", b"\xe2\x80\xa8", b"\xf0"),
    *(b"PAR1", b"\x93NUMPY\x01\x00", b"PK\x03\x04", b"\x1f\x8b", b"BZh9", b"<f8", b"<U3", b"|O"),
    *(b"<M8[D]", b"<m8[s]", b"<c16", b"|b1", b"<f2", b"|S2", b">i4", b"|V8", b"(3, 2)", b"(6,)"),
]


# --- inputs ----------------------------------------------------------------------------------


def seeds():
    texts = [
        b"a,b,kind\n1,2,x\n2,1,y\n3,5,x\n4,4,y\n5,1,x\n",
        b"a,b\n1.5,2\n2,-1e3\n3,5\n,4\n5,1\n6,0\n7,2\n",
        b"a;b\n1,5;2\n2,5;3\n0,5;1\n7,5;3\n",
        b'a\tb\r\n1\t"x\ty"\r\n2\ty\r\n3\tx\r\n4\t\r\n',
        b"id,when,b\n1,2024-01-31,7\n2,2024-02-29,8\n3,2025-03-01,8\n4,,1\n",
        b"1,2\n3,4\n5,7\n8,9\n",
        b"a|b\n3|007\n1.234,5|1\n2|9007199254740993\n7|\n",
        b"when,b\n2024-03-30T12:00+01:00,1\n2024-03-31T12:00+02:00,2\n,4\n2024-04-01,3\n",
        "\ufeffa,gr\u00f6\u00dfe\n1,\u00fc\n2,\u00e9\n3,\u00fc\n4,\u00df\n".encode(),
        "a,b\n1,2\n2,3\n3,1\n5,5\n".encode("utf-16"),
        b"a,b,text\n1,2,the red fox\n2,3,a blue whale\n3,5,some other words\n4,4,one more text\n",
        b"a,b\n1.7e308,2\n-1.7e308,1e-320\n3,5\n1e308,4\n-1e300,2\n",
        b"a,a,b\n1,True,\n2,False,2\n3,True,3\n4,True,4\n",
    ]
    files = [*texts, *_arrays(), *_parquet()]
    compressed = [gzip.compress(texts[0], mtime=0), bz2.compress(texts[0]), lzma.compress(texts[0])]
    compressed += [gzip.compress(_arrays()[0], mtime=0), gzip.compress(files[-1], mtime=0)]
    plain = [b"\0" + content for content in [*files, *compressed]]
    plain += [bytes([i]) + texts[i % 2] for i in range(1, len(OPTIONS))]
    plain += [b"\3" + content for content in _parquet()]
    return [
        *plain,
        *(bytes([IN_PARTS]) + content for content in (texts[1], texts[5], _parquet()[0])),
    ]


def _arrays():
    X = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 4.0], [0.5, np.nan], [7.0, 1.0], [2.0, 2.0]])
    records = np.array([(1, 2.0, b"x"), (2, 1.0, b"y"), (4, 1.5, b"x")], "i4,f8,S1")
    days = np.array(["2024-01-31", "2024-02-29", "NaT", "2025-01-01"], "M8[D]")
    integers = np.nan_to_num(X).astype(">i2")
    single = [_saved(np.save, one) for one in (X, integers, records, days)]
    return [*single, _saved(np.savez, X=X, b=np.arange(6)), _saved(np.savez_compressed, X)]


def _saved(save, *arrays, **named):
    buffer = io.BytesIO()
    save(buffer, *arrays, **named)
    return buffer.getvalue()


def _parquet():
    import pandas as pd

    numbers = pd.DataFrame({"a": [1.0, 2.0, None, 4.0, 6.0, 7.0], "b": [1, 2, 3, 5, 8, 13]})
    words = pd.DataFrame({"a": ["x", None, "y", "x"], "b": pd.to_datetime(["2024-01-31"] * 4)})
    words["c"] = pd.Categorical(["u", "v", "v", "u"])
    things = pd.DataFrame({"a": [[1], [2, 3], None, []], "b": [b"\xff", b"x", None, b"x"]})
    things["c"] = [{"x": 1}, None, {"x": 2}, {"x": 1}]
    times = pd.DataFrame({"a": pd.to_timedelta([1, 2, None, 4], unit="s")})
    times["b"] = pd.to_datetime([0, 1, 2, 3], unit="D", utc=True).tz_convert("Europe/Berlin")
    times["c"] = pd.array([2**64 - 1, None, 3, 4], dtype="UInt64")
    plain = numbers.to_parquet(index=False, compression=None)
    return [plain, *(table.to_parquet(index=False) for table in (numbers, words, things, times))]


def mutate(data, random):
    """Return similar bytes; the content of compressed files is changed before compression."""
    option, content = data[:1] or b"\0", data[1:]
    if random.random() < 0.1:
        option = bytes([random.randrange(len(OPTIONS)) + random.choice((0, 0, IN_PARTS))])
    opened = _opened(content) if random.random() < 0.8 else None
    if opened is None and content.startswith(b"PK\x03\x04") and random.random() < 0.8:
        return option + _other_archive(content, random)
    if opened is None:
        return option + mutations.near(content, random, TOKENS, _others())
    compress, plain = opened
    return option + compress(mutations.near(plain, random, TOKENS, _others()))


def _other_archive(content, random):
    """Return an archive with a changed or renamed array, and valid checksums."""
    try:
        members = members_of(content)
    except Exception:
        return mutations.near(content, random, TOKENS, _others())
    place = random.randrange(len(members)) if members else 0
    if members and random.random() < 0.7:
        name, data = members[place]
        members[place] = (name, mutations.near(data, random, TOKENS, _others()))
    else:
        name = random.choice(("X.npy", "b.npy", "a", "../x.npy", "a/b.npy", "x1.npy"))
        members[place:place] = [(name, random.choice(_arrays()))]
    return archive(dict(members).items())


def _others():
    return [seed[1:] for seed in seeds_once()]


def seeds_once():
    if not _seeds:
        _seeds.extend(seeds())
    return _seeds


_seeds = []


def _opened(content):
    """Return the compression function and the content, or None if it is not compressed."""
    for magic, compress, expand in (
        (b"\x1f\x8b", lambda plain: gzip.compress(plain, mtime=0), gzip.decompress),
        (b"BZh", bz2.compress, bz2.decompress),
        (b"\xfd7zXZ", lzma.compress, lzma.decompress),
    ):
        if content.startswith(magic):
            try:
                return compress, expand(content)[: mutations.LARGEST]
            except Exception:
                return None
    return None


# --- checks ----------------------------------------------------------------------------------


def check(data, folder):
    from mercer.tables import read_table

    first, content = data[0] if data else 0, data[1:]
    options = OPTIONS[first % IN_PARTS % len(OPTIONS)]
    with strict_warnings():
        table = outcome(lambda: read_table(io.BytesIO(content), **options))
        path = folder / "the file"
        path.write_bytes(content)
        again = outcome(lambda: read_table(path, **options))
        same_outcome(table, again, str(path))
        if not isinstance(table, str):
            is_sound(table, options)
        if first >= IN_PARTS:
            in_chunks(content, options, table, folder)


def outcome(read):
    """Return the table, or the message of a clear error."""
    try:
        return read()
    except Exception as error:
        if is_clear_error(error):
            return str(error)
        raise


def same_outcome(first, second, path):
    if isinstance(first, str) or isinstance(second, str):
        names = [path, "the file", "table"]
        require(
            without(first, names) == without(second, names),
            f"from memory: {first}; from a path: {second}",
        )
        return
    first_facts, second_facts = facts(first), facts(second)
    require(first_facts == second_facts, "read twice:", first_facts, second_facts)
    require(first.frame.equals(second.frame), "cells differ when they are read twice")


def without(text, names):
    text = re.sub(r"0x[0-9a-f]{8,}", "", str(text))
    for name in names:
        text = text.replace(name, "")
    return text


def facts(table):
    labels = None if table.labels is None else table.labels.tolist()
    return (
        *(table.column_types, table.label, table.rows_read, table.omissions, table.notes),
        *(table.rows.tolist(), labels, table.missing),
    )


def is_sound(table, options):
    """Check that the attributes of a table are consistent."""
    frame, types = table.frame, table.column_types
    require(set(types.values()) <= COLUMN_TYPES, types)
    require(list(frame.columns) == list(types) == list(table.columns), frame.columns, types)
    require(len(set(types)) == len(types) and all(type(name) is str for name in types), types)
    require(table.n == len(frame) == len(table.rows) >= 3 and len(types) >= 1, frame.shape)
    require(frame.index.equals(frame.reset_index().index), "the index is not a range from 0")
    rows = table.rows.tolist()
    require(sorted(set(rows)) == rows and rows[0] >= 0 and rows[-1] < table.rows_read, rows)
    require(table.rows_omitted == table.rows_read - table.n, table.rows_omitted)
    require(table.labels is None or len(table.labels) == table.n, table.labels)
    require(all(o.reason and o.column not in types for o in table.omissions), table.omissions)
    require(repr(table) and repr(types), "a table has no repr")
    missing = {name: int(frame[name].isna().sum()) for name in types}
    require(table.missing == {name: count for name, count in missing.items() if count}, missing)
    require(options.get("missing") != "drop" or not table.missing, table.missing)
    for name, column_type in types.items():
        require(frame[name].nunique() > 1, f"column {name!r} is constant")
        if column_type == "number":
            require(frame[name].dtype == np.float64, frame[name].dtype)
            require(not np.isinf(frame[name].to_numpy()).any(), f"infinity in {name!r}")
        if column_type == "date":
            require(frame[name].dtype.kind == "M", frame[name].dtype)
    if table.is_numeric:
        require(np.isfinite(table.X).all() and table.X.shape == frame.shape, table.X)


def in_chunks(content, options, table, folder):
    """Check that reading in chunks gives the same table, or a clear error."""
    from mercer.tables.chunked_table import read_chunked_rows

    ending = "parquet" if content.startswith(b"PAR1") else "csv"
    if not isinstance(table, str) and not table.is_numeric:
        return  # tables in chunks are numeric
    path = folder / f"part.{ending}"
    path.write_bytes(content)
    read_options = {key: value for key, value in options.items() if key in ("label", "encoding")}
    select_options = {key: value for key, value in options.items() if key in ("ignore", "missing")}
    if "categorical" in options:
        return
    chunked = outcome(lambda: read_chunked_rows(path, **read_options).table(**select_options))
    if isinstance(chunked, str) or isinstance(table, str) or table.notes:
        return
    types = chunked.column_types
    require(types == table.column_types, f"in chunks {types}, in memory {table.column_types}")
    require(chunked.rows_read == table.rows_read, f"{chunked.rows_read} rows in chunks")
    require(chunked.n == table.n, f"{chunked.n} rows in chunks, {table.n} in memory")
    with np.errstate(all="ignore"):
        center, spread = (table.X / table.n).sum(axis=0), np.abs(table.X).max(axis=0)
        close = np.abs(chunked.mean - center) <= 1e-9 * spread
    require(close.all(), f"means in chunks {chunked.mean}, in memory {center}")
