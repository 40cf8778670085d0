"""Damaged model files, and files of other formats."""

import hashlib
import io
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer.kernels import Gaussian
from mercer.persistence import container
from tests.expectations import raises
from tests.fuzz.forging import npy
from tests.persistence.tools import X, assert_rejected


@settings(deadline=None, max_examples=100)
@given(position=st.floats(0, 1, exclude_max=True), change=st.integers(1, 255))
def test_any_changed_byte_is_rejected(tmp_path_factory, model, position, change):
    data = bytearray(model)
    data[int(position * len(data))] ^= change
    assert_rejected(bytes(data), tmp_path_factory.getbasetemp() / "flipped.mercer")


def test_each_changed_byte_at_both_ends_is_rejected(path, model):
    for position in [*range(150), *range(len(model) - 150, len(model))]:
        data = bytearray(model)
        data[position] ^= 1
        assert_rejected(bytes(data), path)


def test_truncated_and_extended_files_are_rejected(path, model):
    for length in [*range(0, len(model), 97), len(model) - 1]:
        assert_rejected(model[:length], path)
    assert_rejected(model + b"\n", path)
    assert_rejected(model[: len(model) // 2] + model[len(model) // 2 + 1 :], path)
    assert_rejected(model[:-200], path)


def test_files_of_other_formats_are_rejected(path):
    assert_rejected(b"", path, "empty")
    assert_rejected(b"number,label\n1,a\n", path)
    assert_rejected(pickle.dumps(Gaussian(1.0)), path, "pickle")
    assert_rejected(npy(X), path, "numpy.save")
    buffer = io.BytesIO()
    np.savez(buffer, X=X)
    assert_rejected(buffer.getvalue(), path)
    joblib = pytest.importorskip("joblib")
    for compress in (0, 3, ("gzip", 3), ("bz2", 3), ("xz", 3)):
        joblib.dump(Gaussian(1.0), path, compress=compress)
        assert_rejected(path.read_bytes(), path)


def test_missing_files_and_folders_are_rejected(tmp_path):
    with raises(FileNotFoundError, tmp_path / "none.mercer"):
        mercer.load(tmp_path / "none.mercer")
    with raises(ValueError, tmp_path):
        mercer.load(tmp_path)
    with raises(ValueError, tmp_path):
        mercer.save(Gaussian(), tmp_path)


def test_digest_of_a_file_that_shrinks_while_it_is_read_ends():
    found = container._digest(io.BytesIO(b"short"), 100)
    assert found == hashlib.sha256(b"short").hexdigest().encode()
