"""Values that cannot be saved, and packages that loading needs."""

import datetime
import io
import os
import struct
import sys
import threading
import zoneinfo

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import mercer
from mercer.persistence import codecs, pandas_codecs
from tests.expectations import raises
from tests.persistence.tools import Halved


class Slotted:
    __slots__ = ("a",)


class Reduced:
    def __reduce__(self):
        return (print, ("never",))


class Text(str):
    pass


def nameless_zone():
    """A time zone read from a file has no name."""
    head = b"TZif" + bytes(16) + struct.pack(">6l", 0, 0, 0, 0, 1, 4)
    return zoneinfo.ZoneInfo.from_file(io.BytesIO(head + struct.pack(">lbb", 0, 0, 0) + b"UTC\0"))


def offset_zone():
    return pytest.importorskip("dateutil.tz").tzoffset("X", 3600)


def pd_series(value, dtype):
    return pytest.importorskip("pandas").Series([value], dtype=dtype)


FALSE_PARIS = datetime.timezone(datetime.timedelta(hours=7), "Europe/Paris")

UNSAVABLE = {
    "lambda": lambda: lambda x: x,
    "function": lambda: np.sum,
    "ufunc": lambda: np.log1p,
    "module": lambda: np.random,
    "open file": lambda: open(os.devnull, "rb"),  # noqa: SIM115
    "lock": threading.Lock,
    "thread": threading.Thread,
    "generator": lambda: iter([1]),
    "class": lambda: Halved,
    "slots": Slotted,
    "own __reduce__": Reduced,
    "subclass of str": lambda: Text("a"),
    "masked array": lambda: np.ma.array([1.0], mask=[True]),
    "exception": lambda: ValueError("x"),
    "objects in records": lambda: np.zeros(1, dtype=[("a", object)]),
    "a record with objects": lambda: np.zeros(1, dtype=[("a", object)])[0],
    "type of strings": np.dtypes.StringDType,
    "time zone of a file": nameless_zone,
    "lazy bag": lambda: pytest.importorskip("dask.bag").from_sequence([1]),
    "other sparse matrix": lambda: sp.dia_array(np.eye(3)),
    "other graph": lambda: pytest.importorskip("networkx").PlanarEmbedding(),
    "column of periods": lambda: pd_series("2024-01", dtype="period[M]"),
    "zone that is not its name": lambda: pd_series(
        "2024-01-01", dtype=pytest.importorskip("pandas").DatetimeTZDtype("ns", FALSE_PARIS)
    ),
    "zone of an offset": lambda: pd_series(
        "2024-01-01", dtype=pytest.importorskip("pandas").DatetimeTZDtype("ns", offset_zone())
    ),
}


@pytest.mark.parametrize("name", UNSAVABLE)
def test_error_names_the_attribute_that_cannot_be_saved(name, tmp_path):
    estimator = mercer.KernelECA(kernel=Halved(function=UNSAVABLE[name]()))
    with raises(TypeError, "KernelECA.kernel.function"):
        mercer.save(estimator, tmp_path / "new" / "model.mercer")
    assert list(tmp_path.iterdir()) == []


def test_error_names_the_path_to_the_value(path):
    pipeline = make_pipeline(FunctionTransformer(np.log1p), mercer.KernelPCA())
    with raises(TypeError, "Pipeline.steps[0][1].func", "ufunc"):
        mercer.save(pipeline, path)
    with raises(TypeError, "dict['a'][1]", "builtin_function_or_method"):
        mercer.save({"a": [0, print]}, path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("package", "make"),
    [
        ("pandas", lambda pd: pd.DataFrame({"a": [1.0]})),
        ("networkx", lambda nx: nx.path_graph(3)),
    ],
    ids=["pandas", "networkx"],
)
def test_error_names_the_package_that_is_missing(package, make, path, monkeypatch):
    mercer.save([make(pytest.importorskip(package))], path)
    codecs._codecs.cache_clear()
    monkeypatch.setitem(sys.modules, package, None)
    with raises(ModuleNotFoundError, package, "pip install"):
        mercer.load(path)


def test_strings_of_pyarrow_can_be_loaded_without_pyarrow(path, monkeypatch):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    texts = pd.Series(["a", None, "β"], dtype=pd.StringDtype("pyarrow"))
    mercer.save(texts, path)
    monkeypatch.setattr(pandas_codecs, "find_spec", lambda name: None)
    loaded = mercer.load(path)
    assert loaded.dtype.storage == "python"
    assert loaded[[0, 2]].tolist() == ["a", "β"]
    assert loaded.isna().tolist() == [False, True, False]
