"""Comparison of values before saving and after loading."""

import struct

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator

import mercer
from mercer.kernels import Kernel
from tests.expectations import raises

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
NEW = RNG.normal(size=(7, 2))


def through_file(value, path, **options):
    mercer.save(value, path)
    return mercer.load(path, **options)


def assert_same(a, b, where="it", met=None):
    """Compare types, bits and shared objects; ``met`` holds the objects already compared."""
    met = {} if met is None else met
    if id(a) in met:
        assert met[id(a)][1] is b, f"{where} is not shared any more"
        return
    assert type(a) is type(b), where
    if isinstance(a, list | dict | set | np.ndarray | BaseEstimator | Kernel):
        met[id(a)] = a, b
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, where
        assert a.shape == b.shape, where
        assert a.flags.writeable == b.flags.writeable, where
        if a.flags.c_contiguous or a.flags.f_contiguous:
            assert a.flags.f_contiguous == b.flags.f_contiguous, where
        if a.dtype.hasobject or a.dtype.kind == "T":
            for i, (one, other) in enumerate(zip(a.ravel(), b.ravel(), strict=True)):
                assert_same(one, other, f"{where}[{i}]", met)
        else:
            assert a.tobytes() == b.tobytes(), where
    elif isinstance(a, np.generic):
        assert (a.dtype, a.tobytes()) == (b.dtype, b.tobytes()), where
    elif isinstance(a, float):
        assert struct.pack("d", a) == struct.pack("d", b) or (a != a and b != b), where
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), where
        for i, (one, other) in enumerate(zip(a, b, strict=True)):
            assert_same(one, other, f"{where}[{i}]", met)
    elif isinstance(a, dict):
        assert len(a) == len(b), where
        for (key, one), (other_key, other) in zip(a.items(), b.items(), strict=True):
            assert_same(key, other_key, f"{where} key {key!r}", met)
            assert_same(one, other, f"{where}[{key!r}]", met)
    elif isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b)
    elif isinstance(a, pd.Series):
        pd.testing.assert_series_equal(a, b)
    elif isinstance(a, pd.Index):
        pd.testing.assert_index_equal(a, b)
    elif isinstance(a, np.random.RandomState):
        assert_same(a.get_state(legacy=False), b.get_state(legacy=False), where)
    elif isinstance(a, np.random.Generator):
        assert_same(a.bit_generator.state, b.bit_generator.state, where)
    elif sp.issparse(a):
        assert a.shape == b.shape, where
        assert (a != b).nnz == 0, where
    elif isinstance(a, complex):
        assert_same([a.real, a.imag], [b.real, b.imag], where)
    elif type(a).__module__.startswith(("mercer", "sklearn")):
        assert list(vars(a)) == list(vars(b)), where
        for name, value in vars(a).items():
            assert_same(value, vars(b)[name], f"{where}.{name}", met)
    else:
        assert a is b or a == b, where


METHODS = ("transform", "predict", "predict_proba", "decision_function", "score_samples", "pdf")


def assert_identity(estimator, path, new=NEW):
    """Saving and loading preserve attributes and results, and saving again gives the same file."""
    loaded = through_file(estimator, path)
    assert_same(estimator, loaded)
    first = path.read_bytes()
    mercer.save(loaded, path)
    assert path.read_bytes() == first
    compared = 0
    for name in METHODS:
        if not hasattr(estimator, name):
            continue
        try:
            expected = getattr(estimator, name)(new)
        except ValueError as error:  # the loaded estimator raises the same error
            with raises(type(error), error):
                getattr(loaded, name)(new)
            continue
        np.testing.assert_array_equal(getattr(loaded, name)(new), expected)
        compared += 1
    assert compared, "the estimator has no method to compare"
    return loaded


def table(n=30):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "count": rng.integers(0, 9, size=n),
            "yes": rng.random(n) > 0.5,
            "label": rng.choice(["a", "b", "c"], size=n),
            "size": pd.Categorical(
                rng.choice(["small", "large"], size=n), ["small", "large"], ordered=True
            ),
            "color": pd.Categorical(rng.choice(["red", "blue"], size=n)),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, size=n), "D"),
            "nullable": pd.array(rng.integers(0, 5, size=n), dtype="Int64"),
            "text": [" ".join(rng.choice(["one", "two", "three", "four"], 5)) for _ in range(n)],
        }
    )
    for i, column in enumerate(["number", "label", "size", "day", "nullable", "text"]):
        frame.loc[i, column] = None
    return frame
