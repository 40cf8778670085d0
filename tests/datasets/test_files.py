"""Search for data files: folders, errors, and OpenML."""

import os
import subprocess
import sys
from urllib.error import URLError

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.datasets import (
    files,
    load_frey_faces,
    load_ida,
    load_newsgroups,
    load_pendigits,
    load_segment,
    load_thyroid,
    load_usps,
)
from tests.expectations import raises


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
            names = [f"f{i}" for i in range(data.shape[1])]
            return Bunch(data=data, target=np.array(target, dtype=object), feature_names=names)

        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
        return requests

    return serve


def test_pendigits_are_downloaded_from_openml(openml):
    requests = openml(np.arange(32).reshape(2, 16), ["8", "0"])
    digits = load_pendigits()
    assert [options["data_id"] for options in requests] == [32]
    assert digits.data.dtype == np.float64
    assert digits.target.tolist() == [8, 0]
    assert "OpenML" in digits.source


def test_segment_from_openml_has_the_same_class_indices(openml):
    requests = openml(np.zeros((3, 19)), ["cement", "brickface", "grass"])
    segment = load_segment()
    assert requests[0]["data_id"] == 36
    assert segment.target.tolist() == [4, 1, 7]
    assert segment.feature_names[0] == "f0"


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0, 1), (0, 2), (0, 255)])
def test_usps_from_openml_has_the_same_digits_and_scale(openml, low, high):
    pixels = np.linspace(low, high, 10 * 256).reshape(10, 256)
    requests = openml(pixels, [str(i) for i in range(1, 11)])
    usps = load_usps()
    assert requests[0]["data_id"] == 41082
    assert usps.target.tolist() == list(range(10))
    assert_allclose(usps.data.ravel(), np.linspace(-1, 1, 10 * 256), atol=1e-15)


@pytest.mark.parametrize("load", [load_pendigits, load_segment, load_usps])
@pytest.mark.parametrize("subset", ["train", "test"])
def test_openml_is_not_used_for_subsets(openml, load, subset):
    requests = openml(np.zeros((2, 19)), ["1", "2"])
    with raises(FileNotFoundError, "OpenML", f"subset={subset!r}"):
        load(subset=subset)
    assert requests == []


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
