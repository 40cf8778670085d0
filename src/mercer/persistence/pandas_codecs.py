"""Codecs of pandas: data frames are stored by column, without pickle or pyarrow."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from mercer.persistence.codecs import Codec, check_length
from mercer.utils.types import Array

__all__ = ["pandas_codecs"]


def pandas_codecs() -> tuple[Codec, ...]:
    """Return the codecs of pandas, which is imported only if a value needs it."""
    import pandas as pd

    indices = (pd.Index, pd.CategoricalIndex, pd.DatetimeIndex, pd.TimedeltaIndex)
    arrays = (pd.api.extensions.ExtensionArray,)
    return (
        Codec("pandas frame", (pd.DataFrame,), _frame_parts, _frame, True, any_length=True),
        Codec("pandas series", (pd.Series,), _series_parts, _series, True, any_length=True),
        Codec("pandas range", (pd.RangeIndex,), _range_parts, _range, True),
        Codec("pandas levels", (pd.MultiIndex,), _levels_parts, _levels, True),
        Codec("pandas index", indices, lambda index: [_values(index), index.name], _index, True),
        Codec("pandas values", arrays, _array_parts, _array, True, subclasses=True),
        Codec("pandas NA", (type(pd.NA),), lambda na: [], lambda: pd.NA),
        Codec("pandas NaT", (type(pd.NaT),), lambda nat: [], lambda: pd.NaT),
        Codec("pandas moment", (pd.Timestamp,), _moment_parts, _moment),
        Codec("pandas duration", (pd.Timedelta,), lambda t: [t.to_timedelta64()], pd.Timedelta),
        Codec("pandas dtype", _dtypes(), lambda dtype: [_empty(dtype)], lambda empty: empty.dtype),
    )


def _dtypes() -> tuple[type, ...]:
    import pandas as pd

    return (
        *(pd.CategoricalDtype, pd.DatetimeTZDtype, pd.StringDtype, pd.BooleanDtype),
        *(pd.Int8Dtype, pd.Int16Dtype, pd.Int32Dtype, pd.Int64Dtype),
        *(pd.UInt8Dtype, pd.UInt16Dtype, pd.UInt32Dtype, pd.UInt64Dtype),
        *(pd.Float32Dtype, pd.Float64Dtype),
    )


def _empty(dtype: Any) -> Any:
    import pandas as pd

    return pd.array([], dtype=dtype)


# --- tables ----------------------------------------------------------------------------------


def _values(column: Any) -> Any:
    """Return the values of a series or an index as an array of numpy or of pandas."""
    return column.to_numpy() if isinstance(column.dtype, np.dtype) else column.array


def _frame_parts(frame: Any) -> list[Any]:
    columns = [_values(frame.iloc[:, i]) for i in range(frame.shape[1])]
    return [columns, frame.columns, frame.index, frame.attrs]


def _frame(columns: list[Any], names: Any, index: Any, attrs: dict[Any, Any]) -> Any:
    import pandas as pd

    if len(columns) != len(names) or any(len(column) != len(index) for column in columns):
        raise ValueError("the columns of a data frame have different lengths")
    series = {i: _series(values, None, None) for i, values in enumerate(columns)}
    frame = pd.DataFrame(series, index=pd.RangeIndex(len(index)), copy=False)
    frame.index, frame.columns = index, names
    frame.attrs = attrs
    return frame


def _check_array(values: Any) -> Any:
    """Return an array; reject other sequences, because pandas would expand a forged range."""
    import pandas as pd

    if not isinstance(check_length(values), np.ndarray | pd.api.extensions.ExtensionArray):
        raise ValueError(f"expected an array instead of a {type(values).__name__}")
    return values


def _series_parts(series: Any) -> list[Any]:
    return [_values(series), series.index, series.name]


def _series(values: Any, index: Any, name: Any) -> Any:
    import pandas as pd

    if isinstance(_check_array(values), np.ndarray):
        values.flags.writeable = True  # columns of pandas are read-only
    # without dtype, pandas would convert arrays of objects to strings
    return pd.Series(values, index=index, name=name, dtype=values.dtype, copy=False)


def _range_parts(index: Any) -> list[Any]:
    return [index.start, index.stop, index.step, index.name]


def _range(start: int, stop: int, step: int, name: Any) -> Any:
    import pandas as pd

    return pd.RangeIndex(start, stop, step, name=name)


def _index(values: Any, name: Any) -> Any:
    import pandas as pd

    return pd.Index(_check_array(values), name=name, dtype=values.dtype)


def _levels_parts(index: Any) -> list[Any]:
    return [
        [_expanded(level) for level in index.levels],
        [np.asarray(codes) for codes in index.codes],
        list(index.names),
    ]


def _levels(levels: list[Any], codes: list[Array], names: list[Any]) -> Any:
    import pandas as pd

    for level in _check_list(levels):
        check_length(level)
    codes = [_check_array(one) for one in _check_list(codes)]
    return pd.MultiIndex(levels, codes, names=names, verify_integrity=True)


def _expanded(index: Any) -> Any:
    """Return an index of arrays, because ``load`` refuses long ranges as levels or categories."""
    import pandas as pd

    return pd.Index(index.to_numpy(), name=index.name) if type(index) is pd.RangeIndex else index


# --- pandas' own arrays ------------------------------------------------------------------------


def _array_parts(array: Any) -> list[Any]:
    import pandas as pd

    dtype = array.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return [
            "categories",
            np.asarray(array.codes),
            _expanded(dtype.categories),
            dtype.ordered,
        ]
    if isinstance(dtype, pd.DatetimeTZDtype):
        return ["moments", np.asarray(array.tz_convert(None)), _zone_name(dtype.tz), None]
    if isinstance(dtype, pd.StringDtype):
        cells = array.astype(object)
        cells[array.isna()] = None
        return ["texts", cells.tolist(), dtype.storage, dtype.na_value is pd.NA]
    if type(dtype) in _dtypes():
        missing = array.isna()
        cells = array.to_numpy(dtype=dtype.numpy_dtype, na_value=dtype.numpy_dtype.type(0))
        return ["masked", cells, missing, None]
    raise TypeError(f"columns of type {dtype} are not supported; convert them with astype")


def _array(form: str, cells: Any, detail: Any, more: Any) -> Any:
    import pandas as pd

    if form == "texts":
        if not all(cell is None or isinstance(cell, str) for cell in _check_list(cells)):
            raise ValueError("a column of strings holds other values")
        return pd.array(cells, dtype=_text_type(detail, more))
    cells = _check_array(cells)
    if form == "categories":
        if not isinstance(detail, pd.Index | None):
            raise ValueError(f"expected categories instead of a {type(detail).__name__}")
        dtype = pd.CategoricalDtype(detail, ordered=more)
        return pd.Categorical.from_codes(cells, dtype=dtype)
    if form == "moments":
        return pd.DatetimeIndex(cells).tz_localize("UTC").tz_convert(detail).array
    masked = {"b": pd.arrays.BooleanArray, "f": pd.arrays.FloatingArray}
    return masked.get(cells.dtype.kind, pd.arrays.IntegerArray)(cells, detail)


def _check_list(cells: Any) -> list[Any]:
    if not isinstance(cells, list):
        raise ValueError(f"expected a list instead of a {type(cells).__name__}")
    return cells


def _text_type(storage: str, missing_is_na: bool) -> Any:
    import pandas as pd

    if find_spec("pyarrow") is None:
        storage = "python"
    return pd.StringDtype(storage) if missing_is_na else pd.StringDtype(storage, na_value=np.nan)


def _zone_name(zone: Any) -> str | None:
    """Return the name of a time zone, if pandas finds the same zone by this name."""
    if zone is None:
        return None
    import pandas as pd

    name = str(zone)
    try:
        same = pd.DatetimeTZDtype("ns", name) == pd.DatetimeTZDtype("ns", zone)
    except Exception as error:  # errors for unknown names have several types
        raise TypeError(f"pandas has no time zone named {name}") from error
    if not same:
        raise TypeError(f"pandas has a different time zone named {name}")
    return name


def _moment_parts(moment: Any) -> list[Any]:
    zone = _zone_name(moment.tz)
    return [moment.tz_convert(None).to_datetime64() if zone else moment.to_datetime64(), zone]


def _moment(moment: Any, zone: str | None) -> Any:
    import pandas as pd

    stamp = pd.Timestamp(moment)
    return stamp if zone is None else stamp.tz_localize("UTC").tz_convert(zone)
