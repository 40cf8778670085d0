"""Model files of earlier versions load and give the same results.

``tests/files/models-0.1.0.dev0`` holds files that mercer 0.1.0.dev0 wrote (format 1), with the
results that it computed.
"""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer.persistence import FORMAT, legacy
from mercer.persistence.classes import CLASSES
from tests.expectations import raises
from tests.fuzz.forging import forged, manifest, members_of
from tests.properties.estimator_cases import results

FOLDER = Path(__file__).parents[1] / "files" / "models-0.1.0.dev0"
FILES = sorted(path.stem for path in FOLDER.glob("*.mercer"))
RESULTS = dict(np.load(FOLDER / "results.npz"))
CASES = sorted({key.partition("|")[0] for key in RESULTS if "|" in key})
WORDS = ["kernel", "colonel", "kern"]
RTOL = 1e-9  # rounding errors of about 1e-16, magnified by small eigenvalues
METHODS = {
    **dict.fromkeys(
        ["stream-fourier", "stream-nystrom", "fourier", "explicit", "weighted", "dask-eca"],
        "transform",
    ),
    "words": "transform",
    "table": "transform",
    "parzen-fourier": "score_samples",
    "dask-mixture": "score_samples",
    "dask-clusters": "predict",
    "spectrum": "project",
}
COMMANDS = {name: name.removeprefix("cli-") for name in FILES if name.startswith("cli-")}


def load(name):
    return mercer.load(FOLDER / f"{name}.mercer")


def input_of(name):
    if name == "words":
        return WORDS
    if name == "table":
        pd = pytest.importorskip("pandas")
        columns = {
            "age": [23, 31, None, 58, 44, 19],
            "city": ["a", "b", "a", None, "b", "a"],
            "note": ["x y", "y z", "z", "x", "yy", "zz x"],
        }
        return pd.DataFrame(columns)
    return RESULTS["new"]


def assert_equal(found, expected):
    if expected.dtype.kind == "f":
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=RTOL, atol=RTOL * scale)
    else:
        np.testing.assert_array_equal(found, expected)


def test_every_file_is_compared():
    assert set(FILES) == {*CASES, *METHODS, *COMMANDS}
    assert {*METHODS} == {key for key in RESULTS if "|" not in key} - {"X", "new"}


@pytest.mark.parametrize("name", CASES)
def test_estimator_gives_the_stored_results(name):
    found = results(load(name), RESULTS["new"])
    expected = {key.partition("|")[2]: value for key, value in RESULTS.items() if f"{name}|" in key}
    assert set(found) >= set(expected)
    for result, value in expected.items():
        assert_equal(found[result], value)


@pytest.mark.parametrize("name", METHODS)
def test_method_gives_the_stored_result(name):
    assert_equal(np.asarray(getattr(load(name), METHODS[name])(input_of(name))), RESULTS[name])


@pytest.mark.parametrize("name", COMMANDS)
def test_command_applies_the_stored_model(name, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("cyclopts")
    from mercer.cli import main

    out = tmp_path / "out.csv"
    model = FOLDER / f"{name}.mercer"
    arguments = [COMMANDS[name], FOLDER / "t.csv", "--apply", model, "--out", out]
    assert main([str(argument) for argument in arguments]) in (None, 0)
    found, expected = pd.read_csv(out), pd.read_csv(FOLDER / f"{name}.csv")
    assert list(found) == list(expected)
    for column in expected:
        assert_equal(found[column].to_numpy(), expected[column].to_numpy())


@pytest.mark.parametrize("name", FILES)
def test_saving_again_writes_the_current_format(name, tmp_path):
    path = tmp_path / "model.mercer"
    mercer.save(load(name), path)
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("mercer.json"))["format"] == FORMAT
    mercer.load(path)


@pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")
def test_streams_continue_after_loading():
    rows = RESULTS["X"]
    for name in ("stream-fourier", "stream-nystrom"):
        estimator = load(name)
        before = estimator.spectrum_.total_weight
        estimator.partial_fit(rows)
        assert estimator.spectrum_.total_weight == before + len(rows)


def test_old_class_names_lead_to_listed_classes():
    assert set(legacy.CLASS_NAMES.values()) <= set(CLASSES)
    assert set(legacy.UPGRADES) <= set(CLASSES)


def test_upgrades_convert_attributes_of_format_1_only(tmp_path, monkeypatch):
    def upgrade(state):
        return {"bandwidth": state.pop("sigma")}

    monkeypatch.setitem(legacy.UPGRADES, "mercer.kernels.Gaussian", upgrade)
    path = tmp_path / "model.mercer"
    old = {"object": ["mercer.kernels.stationary.Gaussian", {"sigma": 2.0}]}
    path.write_bytes(forged([("mercer.json", manifest([old, {"again": 1}], format=1))]))
    first, second = mercer.load(path)
    assert first is second
    assert first == mercer.kernels.Gaussian(2.0)
    mercer.save(first, path)
    assert mercer.load(path) == first


def test_upgrades_keep_shared_values_shared(tmp_path, monkeypatch):
    """References count the values of the old file, also those that an upgrade drops."""

    def upgrade(state):
        return {"bandwidth": state["bandwidth"]}

    monkeypatch.setitem(legacy.UPGRADES, "mercer.kernels.Gaussian", upgrade)
    state = {"dropped": [1], "bandwidth": [2.0]}
    old = {"object": ["mercer.kernels.stationary.Gaussian", state]}
    path = tmp_path / "model.mercer"
    path.write_bytes(forged([("mercer.json", manifest([old, {"again": 3}], format=1))]))
    kernel, bandwidth = mercer.load(path)
    assert kernel.bandwidth is bandwidth
    assert vars(kernel) == {"bandwidth": [2.0], "metric": None}


def test_module_paths_are_names_of_format_1_only(tmp_path):
    old = {"object": ["mercer.kernels.stationary.Gaussian", {"bandwidth": 2.0}]}
    path = tmp_path / "model.mercer"
    path.write_bytes(forged([("mercer.json", manifest(old))]))
    with raises(ValueError, path, "mercer.kernels.stationary.Gaussian"):
        mercer.load(path)
    path.write_bytes(forged([("mercer.json", manifest(old, format=1))]))
    assert mercer.load(path) == mercer.kernels.Gaussian(2.0)


def test_tables_of_format_1_are_upgraded(tmp_path):
    pd = pytest.importorskip("pandas")
    from mercer.tables import as_table

    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0], "kind": ["a", None, "b"]})
    path = tmp_path / "table.mercer"
    table = as_table(frame, label="kind")
    mercer.save(table, path)
    (name, text), *arrays = members_of(path.read_bytes())
    written = json.loads(text)
    written["format"] = 1
    class_name, state = written["value"]["object"]
    assert class_name == "mercer.tables.Table"
    del state["has_label"]
    state["kinds"] = state.pop("column_types")
    written["value"]["object"] = ["mercer.tables.table.Table", state]
    path.write_bytes(forged([(name, json.dumps(written).encode()), *arrays[:-1]]))
    loaded = mercer.load(path)
    assert loaded.column_types == table.column_types
    assert loaded.has_label.tolist() == table.has_label.tolist()
