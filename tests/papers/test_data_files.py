"""Search for data files: folders, errors, and OpenML."""

import os
import subprocess
import sys
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from numpy.testing import assert_allclose

from papers.data import (
    files,
    load_frey_faces,
    load_ida,
    load_newsgroups,
    load_pendigits,
    load_segment,
    load_thyroid,
    load_usps,
    mirrors,
)
from tests.expectations import raises
from tests.papers.loading import load_or_skip

DATA = os.environ.get("MERCER_DATA", str(Path(__file__).parents[3] / "shared" / "data"))


def write_pendigits(folder, n):
    folder.mkdir(parents=True)
    np.savez(
        folder / "pendigits.npz",
        X=np.zeros((n, 16), np.uint8),
        y=np.arange(n),
        is_train=np.arange(n) < 1,
    )
    return folder


@pytest.fixture
def nowhere(monkeypatch):
    """No MERCER_DATA and no checkout, as for an installed package."""
    monkeypatch.delenv("MERCER_DATA", raising=False)
    monkeypatch.setattr(files, "_project_root", lambda start: None)
    monkeypatch.setattr(mirrors, "_failures", [])


@pytest.fixture
def checkout(nowhere, monkeypatch, tmp_path):
    """A checkout with a data folder that holds two digits."""
    monkeypatch.setattr(files, "_project_root", lambda start: tmp_path / "main")
    return write_pendigits(tmp_path / "shared" / "data", 2)


def test_data_folder_next_to_the_checkout_is_searched(checkout):
    digits = load_pendigits()
    assert digits.target.tolist() == [0, 1]
    assert digits.source == str(checkout / "pendigits.npz")


def test_mercer_data_takes_precedence(checkout, monkeypatch, tmp_path):
    monkeypatch.setenv("MERCER_DATA", str(write_pendigits(tmp_path / "mine", 3)))
    assert load_pendigits().target.tolist() == [0, 1, 2]


@pytest.mark.parametrize("value", ["", "no/such/folder"])
def test_search_continues_if_mercer_data_has_no_such_file(checkout, monkeypatch, value):
    monkeypatch.setenv("MERCER_DATA", value)
    assert len(load_pendigits().data) == 2


def test_subset_uses_the_mask_in_the_file(checkout):
    assert load_pendigits(subset="train").target.tolist() == [0]
    assert load_pendigits(subset="test").target.tolist() == [1]


@pytest.mark.parametrize("load", [load_pendigits, load_segment, load_usps])
def test_unknown_subset_is_rejected(load):
    with raises(ValueError, "subset='training'", "all", "train", "test"):
        load(subset="training")


def test_project_root_ignores_other_projects(tmp_path):
    ours = tmp_path / "ours"
    inner = ours / "vendored" / "broken" / "package"
    inner.mkdir(parents=True)
    (ours / "pyproject.toml").write_text('[project]\nname = "mercer"\n')
    (ours / "vendored" / "pyproject.toml").write_text('[project]\nname = "other"\n')
    (ours / "vendored" / "broken" / "pyproject.toml").write_text("not toml [")
    assert files._project_root(inner / "module.py") == ours
    assert files._project_root(tmp_path / "module.py") is None


@pytest.mark.parametrize(
    ("load", "file"),
    [
        (load_thyroid, "newthyroid.npz"),
        (load_newsgroups, "news20_w100.npz"),
        (load_frey_faces, "frey_faces.npz"),
        (lambda: load_ida("heart"), "ida_heart.npz"),
        (load_usps, "usps.npz"),
    ],
)
def test_missing_file_error_names_folders_and_contents(load, file, nowhere, monkeypatch, tmp_path):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with raises(FileNotFoundError, file, tmp_path, "../shared/data", "MERCER_DATA", "X"):
        load()


def test_missing_file_error_names_the_source(nowhere):
    with raises(FileNotFoundError, "doi:10.24432/C5D010"):
        load_thyroid()


def test_missing_file_error_names_the_failed_download(nowhere):
    with raises(FileNotFoundError, "data_id=32", "tests do not use the network") as error:
        load_pendigits()
    assert isinstance(error.value.__cause__, URLError)


def test_pickled_arrays_are_rejected(nowhere, monkeypatch, tmp_path):
    np.savez(tmp_path / "frey_faces.npz", X=np.array([{}], dtype=object))
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with raises(ValueError, "allow_pickle=False"):
        load_frey_faces()


def test_file_with_missing_arrays_is_rejected(nowhere, monkeypatch, tmp_path):
    np.savez(tmp_path / "newthyroid.npz", X=np.zeros((2, 5)), y=np.ones(2))
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with raises(ValueError, tmp_path / "newthyroid.npz", "class_names", "feature_names"):
        load_thyroid()


# --- OpenML ----------------------------------------------------------------------------------


@pytest.fixture
def openml(nowhere, monkeypatch):
    """Replace OpenML by given data, and record the requests."""
    from sklearn.utils import Bunch

    requests = []

    def serve(data, target):
        def fetch(**options):
            requests.append(options)
            return Bunch(data=data, target=np.array(target, dtype=object))

        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
        return requests

    return serve


def shuffled_copy(load, rename, scale=lambda X: X):
    """All rows of a data set in another order, and their classes as OpenML names them."""
    X, y = load_or_skip(load, return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))
    return scale(X[rows]), [rename(c) for c in y[rows]]


def six_digits(X):
    """Round to six significant digits."""
    return np.vectorize(lambda x: float(f"{x:.6g}"))(X)


SURFACES = ["brickface", "sky", "foliage", "cement", "window", "path", "grass"]


@pytest.mark.parametrize(
    ("load", "rename", "scale", "query"),
    [
        (load_pendigits, str, lambda X: X, {"data_id": 32}),
        (load_segment, lambda c: SURFACES[c - 1], six_digits, {"data_id": 36}),
        (load_usps, lambda c: str(c + 1), lambda X: 127.5 * (X + 1), {"data_id": 41082}),
        (load_thyroid, str, lambda X: X, {"name": "thyroid-new", "version": 1}),
    ],
)
def test_copy_on_openml_gets_the_original_order(
    openml, monkeypatch, tmp_path, load, rename, scale, query
):
    """The rows of a copy in another order and scale, and its subsets, equal those of the file."""
    subsets = [{}] if load is load_thyroid else [{"subset": s} for s in ("all", "train", "test")]
    monkeypatch.setenv("MERCER_DATA", DATA)
    originals = [load_or_skip(load, return_X_y=True, **subset) for subset in subsets]
    requests = openml(*shuffled_copy(load, rename, scale))
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    for subset, (X, y) in zip(subsets, originals, strict=True):
        found = load(**subset)
        assert_allclose(found.data, X, rtol=1e-5)
        assert found.target.tolist() == y.tolist()
        assert "OpenML" in found.source
    assert requests[0].items() >= query.items()


@pytest.fixture
def small_mirror(openml, monkeypatch):
    """Two rows on OpenML in the opposite order of the original."""
    X, y = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([0, 1])
    monkeypatch.setattr(mirrors, "original_order", lambda name: np.array([1, 0]))
    sha256 = mirrors.checksum(X, y, 1)
    arrays = lambda X, y: {"X": X, "y": y}  # noqa: E731
    convert = lambda X, y: (X, y.astype(int))  # noqa: E731
    return mirrors.Mirror({"data_id": 1}, 2, sha256, "small", 1, convert, arrays), X, y


def test_rows_are_sorted_verified_and_put_into_the_original_order(small_mirror, openml):
    mirror, X, y = small_mirror
    openml(X[::-1], ["1", "0"])
    found = mirrors.fetch(mirror)
    assert_allclose(found["X"], X)
    assert found["y"].tolist() == y.tolist()


@pytest.mark.parametrize("change", ["value", "row"])
def test_copy_that_differs_is_rejected(small_mirror, openml, change):
    mirror, X, _ = small_mirror
    if change == "value":
        openml(X + np.array([[0.0, 0.1], [0.0, 0.0]]), ["0", "1"])
    else:
        openml(np.vstack([X, X[:1]]), ["0", "1", "0"])
    with raises(ValueError, mirror.sha256[:12], 2):
        mirrors.fetch(mirror)


def test_network_is_tried_once(nowhere, monkeypatch, tmp_path):
    """After a network error later loaders fail at once, and name the error."""
    calls = []

    def no_network(**options):
        calls.append(options)
        raise URLError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", no_network)
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    for load in (load_usps, load_pendigits):
        with raises(files.DataNotFoundError, "OpenML", "no route to host", "MERCER_DATA"):
            load(subset="test")
    assert len(calls) == 1


def test_file_takes_precedence_over_openml(openml, checkout):
    requests = openml(np.zeros((5, 16)), ["1"] * 5)
    assert len(load_pendigits().data) == 2
    assert requests == []


def test_import_does_not_import_scikit_learn():
    code = (
        "import sys, mercer; before = set(sys.modules); import mercer.datasets; "
        "sys.exit('sklearn' in set(sys.modules) - before)"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", code], env=env, check=False).returncode == 0
