"""Files of embeddings."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose

from mercer.information import vendi_score
from mercer.tables.readers import read_embeddings
from mercer.utils.frames import as_numbers
from tests.expectations import raises

X = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
TEXTS = [f"text {i}" for i in range(6)]


def test_arrays_are_read(tmp_path):
    np.save(tmp_path / "x.npy", X)
    found = read_embeddings(tmp_path / "x.npy")
    assert isinstance(found.vectors, np.memmap)
    assert_allclose(found.vectors, X)
    np.save(tmp_path / "half.npy", X.astype(np.float16))
    assert read_embeddings(tmp_path / "half.npy").vectors.dtype == np.float32
    np.savez(tmp_path / "x.npz", y=np.zeros((6, 2)), X=X, names=np.array(TEXTS))
    found = read_embeddings(tmp_path / "x.npz")
    assert_allclose(found.vectors, X)
    assert found.captions == TEXTS


@pytest.mark.parametrize("fixed", [True, False])
def test_parquet_with_a_column_of_lists(tmp_path, fixed):
    flat = pa.array(X.ravel())
    column = pa.FixedSizeListArray.from_arrays(flat, 3) if fixed else pa.array(X.tolist())
    pq.write_table(pa.table({"text": TEXTS, "v": column}), tmp_path / "x.parquet")
    found = read_embeddings(tmp_path / "x.parquet")
    assert_allclose(found.vectors, X)
    assert found.captions == TEXTS


def test_tables_with_many_columns(tmp_path):
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "flag": [True] * 6})
    pq.write_table(table, tmp_path / "x.parquet")
    assert_allclose(read_embeddings(tmp_path / "x.parquet").vectors, X)
    for name, separator in (("x.csv", ","), ("x.tsv", "\t")):
        lines = [separator.join(["a", "b", "c", "t"])]
        lines += [separator.join([*map(repr, map(float, row)), "one"]) for row in X]
        (tmp_path / name).write_text("\n".join(lines))
        found = read_embeddings(tmp_path / name)
        assert_allclose(found.vectors, X)
        assert found.captions == ["one"] * 6


def test_files_without_vectors_raise(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(4))
    with raises(ValueError, "(4,)"):
        read_embeddings(tmp_path / "x.npy")
    np.savez(tmp_path / "x.npz", y=np.zeros(4))
    with raises(ValueError, "(4,)"):
        read_embeddings(tmp_path / "x.npz")
    pq.write_table(pa.table({"text": TEXTS}), tmp_path / "x.parquet")
    with raises(ValueError, "x.parquet"):
        read_embeddings(tmp_path / "x.parquet")
    with raises(ValueError, ".txt"):
        read_embeddings(tmp_path / "x.txt")


def test_arrow_arrays_share_memory():
    flat = pa.array(X.ravel())
    fixed = pa.FixedSizeListArray.from_arrays(flat, 3)
    assert np.shares_memory(as_numbers(fixed), flat.to_numpy())
    chunked = pa.chunked_array([fixed[:2], fixed[2:]])
    assert_allclose(as_numbers(chunked), X)
    assert_allclose(
        as_numbers(
            pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.float32(), (3,)), fixed)
        ),
        X,
    )
    assert as_numbers(flat) is flat
    assert_allclose(vendi_score(fixed, "cosine"), vendi_score(X, "cosine"), rtol=1e-6)
    with raises(ValueError, 1, 2):
        as_numbers(pa.array([[1.0], [1.0, 2.0]]))
    with raises(ValueError, "missing"):
        as_numbers(pa.array([[1.0], [None]]))


class Tensor:
    """The methods of a torch tensor that are used."""

    def __init__(self, array):
        self.array = array

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self.array


def test_tensors_without_a_numpy_type_are_converted():
    class BFloat16(Tensor):
        dtype = "torch.bfloat16"

        def numpy(self):
            raise TypeError("Got unsupported ScalarType BFloat16")

        def float(self):
            return Tensor(self.array.astype(np.float32))

    converted = as_numbers(BFloat16(X))
    assert converted.dtype == np.float32
    assert_allclose(converted, X, rtol=1e-6)


def test_tensors_share_memory():
    assert as_numbers(Tensor(X)) is X
    assert_allclose(vendi_score(Tensor(X), "cosine"), vendi_score(X, "cosine"))
