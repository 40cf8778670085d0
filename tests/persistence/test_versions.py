"""Formats, versions of mercer and scikit-learn, and missing attributes."""

import json
import zipfile

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import persistence
from mercer.errors import VersionWarning
from mercer.kernels import Gaussian
from tests.expectations import warns
from tests.fuzz.forging import forged, manifest, members_of
from tests.persistence.tools import X, assert_rejected, load_bytes, of_class


def test_newer_format_is_rejected_with_a_remedy(path):
    data = forged([("mercer.json", manifest("?", format=persistence.FORMAT + 1, mercer="9.9"))])
    assert_rejected(data, path, f"format {persistence.FORMAT + 1}", "9.9")


def test_format_without_migration_is_rejected(path):
    data = forged([("mercer.json", manifest(None, format=0, mercer="0.0.1"))])
    assert_rejected(data, path, "format 0", "0.0.1")


@pytest.mark.parametrize("writer", ["99.0", "0.1.1", "0.2.0rc1", "unknown"])
def test_file_of_a_newer_or_unknown_version_warns(path, monkeypatch, writer):
    monkeypatch.setattr(mercer, "__version__", "0.1.0.dev0")
    data = manifest(of_class("mercer.kernels.Gaussian", {"bandwidth": 2.0}), mercer=writer)
    with warns(VersionWarning, path, writer, "0.1.0.dev0"):
        assert load_bytes(forged([("mercer.json", data)]), path) == Gaussian(2.0)


@pytest.mark.parametrize("writer", ["1.1.9", "0.12.0", "1.2.0.dev3", "1.2.0+local"])
def test_file_of_an_older_version_does_not_warn(path, monkeypatch, recwarn, writer):
    monkeypatch.setattr(mercer, "__version__", "1.2.0")
    data = manifest(of_class("mercer.kernels.Gaussian", {"bandwidth": 2.0}), mercer=writer)
    assert load_bytes(forged([("mercer.json", data)]), path) == Gaussian(2.0)
    assert not recwarn


def test_missing_attributes_are_named_with_the_version(path):
    data = manifest(of_class("mercer.utils.Moments", {"total": 1.0}), mercer="99.0")
    assert_rejected(
        forged([("mercer.json", data)]), path, "mercer.utils.Moments", "mean, scatter", "99.0"
    )


def test_missing_parameter_gets_its_default(path):
    state = {"n_components": 3, "kernel": "linear"}
    data = manifest(of_class("mercer.decomposition.KernelECA", state))
    loaded = load_bytes(forged([("mercer.json", data)]), path)
    assert loaded.get_params() == mercer.KernelECA(3, kernel="linear").get_params()


def test_another_version_of_scikit_learn_warns(path):
    mercer.save(make_pipeline(StandardScaler(), mercer.KernelPCA()), path)
    (name, text), *others = members_of(path.read_bytes())
    old = {**json.loads(text), "scikit-learn": "0.1"}
    path.write_bytes(forged([(name, json.dumps(old).encode()), *others]))
    with warns(VersionWarning, path, "0.1", "StandardScaler"):
        mercer.load(path)


def test_version_of_scikit_learn_does_not_matter_without_its_objects(path, recwarn):
    mercer.save(mercer.KernelPCA(), path)
    (name, text), *others = members_of(path.read_bytes())
    old = {**json.loads(text), "scikit-learn": "0.1"}
    path.write_bytes(forged([(name, json.dumps(old).encode()), *others]))
    mercer.load(path)
    assert not recwarn


def test_arrays_can_be_read_without_mercer(path):
    mercer.save({"X": X}, path)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        np.testing.assert_array_equal(np.load(archive.open("arrays/0.npy")), X)
        assert json.loads(archive.read("mercer.json"))["mercer"] == mercer.__version__
