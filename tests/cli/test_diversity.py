"""``mercer diversity``: table, JSON and page."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.cli import main


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(60, 5)))
    Y = np.abs(rng.normal(size=(60, 5)))
    Y[:20, 1:] = 0
    np.save(tmp_path / "x.npy", X)
    image = b"\x89PNG\r\n\x1a\n"
    (tmp_path / "small.png").write_bytes(image)
    (tmp_path / "large.png").write_bytes(b"0" * 400_000)
    texts = ["small.png", "large.png", "absent.png"] * 20
    pq.write_table(pa.table({"v": pa.array(Y.tolist()), "t": texts}), tmp_path / "y.parquet")
    return tmp_path, X, Y


def test_json_equals_the_functions(files, capsys):
    folder, X, Y = files
    arguments = [str(folder / "y.parquet"), "--against", str(folder / "x.npy"), "--modes", "2"]
    assert main(["diversity", *arguments, "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    result, comparison = mercer.measure_diversity(Y, n_modes=2), mercer.compare_samples(X, Y)
    assert_allclose([row["score"] for row in found["scores"]], result.scores)
    assert found["comparison"]["p_value"] == comparison.p_value
    assert_allclose(found["comparison"]["novelty"], comparison.novelty, rtol=1e-6)
    assert len(found["modes"]) == 2


def test_text_and_page(files, capsys):
    folder, _, _ = files
    page = folder / "page.html"
    arguments = [str(folder / "y.parquet"), "--against", str(folder / "x.npy")]
    assert main(["diversity", *arguments, "--out", str(page)]) == 0
    printed = capsys.readouterr()
    for word in ("order", "MMD", "novel rows", "stability"):
        assert word in printed.out
    assert str(page) in printed.err
    text = page.read_text()
    assert "<svg" in text
    assert "Novel mode 1" in text
    assert text.count("data:image/png;base64") > 0
    assert "absent.png" in text


def test_images_of_the_reference_are_read_from_its_folder(files, tmp_path_factory):
    folder, _, Y = files
    other = tmp_path_factory.mktemp("reference")
    (other / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    texts = ["photo.png"] * 60
    pq.write_table(pa.table({"v": pa.array(Y.tolist()), "t": texts}), other / "y.parquet")
    page = folder / "page.html"
    arguments = [str(folder / "x.npy"), "--against", str(other / "y.parquet"), "--modes", "2"]
    assert main(["diversity", *arguments, "--out", str(page), "--quiet"]) == 0
    text = page.read_text()
    assert "Missing mode 1" in text
    assert "rows of y.parquet" in text
    assert "data:image/png;base64" in text


def test_equal_files_have_no_significant_modes(files):
    folder, _, _ = files
    page, path = folder / "page.html", str(folder / "x.npy")
    arguments = [path, "--against", path, "--modes", "1", "--kernel", "gaussian"]
    assert main(["diversity", *arguments, "--out", str(page), "--quiet"]) == 0
    text = page.read_text()
    assert "no significant novel mode and no significant missing mode" in text
    assert "5 bandwidths" in text


@pytest.mark.parametrize("order", ["entropy", "eigenvalue"])
def test_order_of_modes_and_common_mean(order, tmp_path, capsys):
    X = np.random.default_rng(0).normal(size=(50, 4)) + 20
    np.save(tmp_path / "x.npy", X)
    command = ["diversity", str(tmp_path / "x.npy"), "--mode-order", order, "--json", "--quiet"]
    page = tmp_path / "page.html"
    assert main([*command, "--modes", "3", "--out", str(page)]) == 0
    found = json.loads(capsys.readouterr().out)["modes"]
    expected = mercer.measure_diversity(X, n_modes=3, mode_order=order).modes
    assert_allclose([m["eigenvalue"] for m in found], [m.eigenvalue for m in expected], rtol=1e-6)
    assert "Subtract the mean" in page.read_text()  # the remark on the common mean


def test_gaussian_kernel_without_reference(files, capsys):
    folder, X, _ = files
    command = ["diversity", str(folder / "x.npy"), "--kernel", "gaussian", "--bandwidth", "1"]
    assert main([*command, "--orders", "0.5", "--orders", "2", "--modes", "0", "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert "stability" not in printed
    expected = mercer.information.vendi_score(X, mercer.kernels.Gaussian(1.0), 2)
    assert f"{expected:.3f}" in printed


def test_page_names_the_bandwidth_and_explains_an_infinite_divergence(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3)) + 3
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", -X)
    page = tmp_path / "page.html"
    command = ["diversity", str(tmp_path / "x.npy"), "--out", str(page), "--quiet"]
    assert main([*command, "--against", str(tmp_path / "y.npy")]) == 0
    assert "divergence is infinite because the mean kernel value" in page.read_text()
    assert main([*command, "--kernel", "gaussian", "--bandwidth", "1.23456789"]) == 0
    assert "Gaussian kernel, bandwidth 1.235" in page.read_text()


def test_missing_files_fail(files, capsys):
    assert main(["diversity", str(files[0] / "no.npy")]) == 1
    assert "no.npy" in capsys.readouterr().err
