"""Views match the library, and the exported code reproduces them."""

import json
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the explorer needs mercer[web]")
import mercer
from mercer import (
    EntropyClustering,
    KernelECA,
    KernelNovelty,
    KernelPCA,
    SeriesDensity,
    SpectralClustering,
)
from mercer.cluster.table_clustering import describe_kernel
from mercer.datasets import make_rings
from mercer.kernels import Gaussian
from tests.expectations import names_values
from tests.explorer_client import connect
from tests.processes import environment

ALL = "points,data,spectrum,embedding,clusters,density,gram,eigenfunctions"


def ask(client, query, show=ALL):
    answer = client.get(f"/api/views?{query}&show={show}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def up_to_sign(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    return np.allclose(found, expected, atol=1e-5) or np.allclose(found, -expected, atol=1e-5)


# --- views -----------------------------------------------------------------------------------


def test_views_match_the_library(client):
    X, _ = make_rings(random_state=0)
    answer = ask(client, "bandwidth=3.7")
    eca = KernelECA(3, kernel=Gaussian(3.7)).fit(X)
    summary, views = answer["summary"], answer["views"]
    assert summary["ranks"] == eca.component_ranks_.tolist() == [1, 2, 9]
    assert summary["potential_fraction"] == pytest.approx(eca.entropy_ratio_.sum(), rel=1e-9)
    spectrum = KernelPCA(24, kernel=Gaussian(3.7), center=False).fit(X).spectrum_
    np.testing.assert_allclose(views["spectrum"]["eigenvalues"], spectrum.eigenvalues, rtol=1e-4)
    np.testing.assert_allclose(
        views["spectrum"]["entropy_ratio"], spectrum.entropy_terms / spectrum.potential, atol=1e-6
    )
    np.testing.assert_allclose(np.array(views["embedding"]["eca"]).T, eca.transform(X), atol=1e-6)
    pca = KernelPCA(3, kernel=Gaussian(3.7)).fit_transform(X)
    for ours, theirs in zip(views["embedding"]["pca"], pca.T, strict=True):
        assert up_to_sign(ours, theirs)
    clustering = EntropyClustering(3, kernel=Gaussian(3.7)).fit(X)
    assert views["points"]["clusters"] == clustering.labels_.tolist()
    assert views["clusters"]["cost"] == pytest.approx(clustering.cost_)
    assert views["clusters"]["agreement"] == 1.0


@pytest.mark.parametrize("bandwidth", [0.5, 3.7])
def test_spectral_clusters_do_not_depend_on_the_bandwidth(client, bandwidth):
    X, _ = make_rings(random_state=0)
    views = ask(client, f"bandwidth={bandwidth}&method=spectral", "points,clusters")["views"]
    clustering = SpectralClustering(3).fit(X)
    assert views["points"]["clusters"] == clustering.labels_.tolist()
    assert views["clusters"]["kernel"] == describe_kernel(clustering.kernel_)
    assert views["clusters"]["agreement"] == 1.0


def test_density_in_entropy_order_is_the_series_density(client):
    X, _ = make_rings(random_state=0)
    density = ask(client, "bandwidth=3.7&components=3", "density")["views"]["density"]
    grid = np.array([[x, y] for y in density["y"] for x in density["x"]])
    series = SeriesDensity(kernel=Gaussian(3.7), terms=3, positive=False).fit(X)
    expected = np.maximum(series.pdf(grid), 0)
    assert np.allclose(np.ravel(density["z"]), expected, atol=1e-5 * expected.max())


def test_density_of_all_terms_integrates_to_one(client):
    density = ask(client, "terms=all", "density")["views"]["density"]
    z = np.array(density["z"])
    cell = np.diff(density["x"]).mean() * np.diff(density["y"]).mean()
    assert z.sum() * cell == pytest.approx(1, abs=0.02)  # the grid cuts some of the tails


def test_all_views_use_the_picked_components(client):
    X, _ = make_rings(random_state=0)
    answer = ask(client, "bandwidth=3.7&picks=1,5")
    spectrum = KernelPCA(5, kernel=Gaussian(3.7), center=False).fit(X).spectrum_
    assert answer["summary"]["ranks"] == [1, 5]
    assert answer["views"]["spectrum"]["selected"] == [1, 5]
    fraction = spectrum.entropy_terms[[0, 4]].sum() / spectrum.potential
    assert answer["summary"]["potential_fraction"] == pytest.approx(fraction, rel=1e-9)
    for ours, column in zip(answer["views"]["embedding"]["eca"], (0, 4), strict=True):
        assert up_to_sign(ours, spectrum.projections[:, column])
    assert len(answer["views"]["clusters"]["sizes"]) == 2
    assert answer["views"]["eigenfunctions"]["ranks"] == [1, 5]


def test_components_without_entropy_have_no_clusters_and_no_density(client, tmp_path):
    content = "x,y\n" + "\n".join(f"{x},{y}" for x in (-1, 1) for y in (-2, 2) for _ in range(5))
    key = client.post("/api/upload?name=square.csv", content=content).json()["data"]
    query = f"data={key}&picks=2&bandwidth=1&scale=0"  # an odd function, so its mean is zero
    views = ask(client, query)["views"]
    assert views["clusters"]["reason"]
    assert views["density"]["reason"]
    assert len(views["embedding"]["eca"][0]) == 20
    (tmp_path / "square.csv").write_text(content)
    (found,) = run([client.get(f"/api/code.py?{query}").text], tmp_path)
    assert found["labels"] == views["points"]["clusters"] == [0] * 20
    assert client.get(f"/api/scores.csv?{query}").status_code == 200
    assert client.get(f"/api/model?{query}").status_code == 200


def test_warnings_become_notes(client):
    assert ask(client, "data=wine&bandwidth=0.05", "points")["summary"]["notes"]
    assert ask(client, "data=wine", "points")["summary"]["notes"] == []


def test_path_of_a_mixed_table_sweeps_multipliers(client):
    path = ask(client, "data=machines", "path")["views"]["path"]
    assert path["bandwidth"][0] == 0.25
    assert path["optimum"] in path["bandwidth"]


def test_component_of_high_rank_can_be_picked(client):
    answer = ask(client, "picks=1,100", "points,spectrum")
    assert answer["views"]["spectrum"]["ranks"][-1] == 100
    assert answer["summary"]["ranks"] == [1, 100]


def test_rank_beyond_the_leading_eigenvalues_is_computed(client):
    """Sine and cosine components on a circle have large eigenvalues but no entropy."""
    angles = 2 * np.pi * np.arange(892) / 892
    X = np.concatenate([np.column_stack([np.cos(angles), np.sin(angles)]), [[9.0, 9.0]] * 8])
    content = "\n".join(["x,y", *(f"{x:.6f},{y:.6f}" for x, y in X)])
    key = client.post("/api/upload?name=circle.csv", content=content).json()["data"]
    answer = ask(client, f"data={key}&components=2&bandwidth=0.05&scale=0", "points")
    ranks = answer["summary"]["ranks"]
    values = np.linalg.eigvalsh(Gaussian(0.05)(X.round(6)))
    assert ranks == [1, 1 + (values > 8.001).sum()]
    assert ranks[1] > 24


def test_picks_beyond_the_rank_of_the_kernel_raise(client):
    content = "x,y\n" + "\n".join(f"{i},{i * i % 7}" for i in range(9))
    key = client.post("/api/upload?name=few.csv", content=content).json()["data"]
    answer = client.get(f"/api/views?data={key}&picks=10,300&show=points")
    assert answer.status_code == 422
    assert names_values(answer.json()["error"], 9, "10, 300") == []


def test_kernel_of_rank_zero_raises(client):
    answer = client.get("/api/views?bandwidth=1e12&components=1&show=embedding")
    assert answer.status_code == 422
    assert names_values(answer.json()["error"], 315) == []


def test_unusual_rows_are_those_of_kernel_novelty(client):
    from mercer.tables import as_table, read_rows

    found = ask(client, "data=machines", "points,unusual")["views"]
    frame = as_table(read_rows("machines").frame, ignore=["class"]).frame
    direct = KernelNovelty(random_state=0).fit(frame)
    unusual, rows = found["unusual"], np.array(found["points"]["rows"])
    assert (
        rows[unusual["members"]].tolist()
        == np.argsort(direct.p_values_, kind="stable")[:10].tolist()
    )
    expected = np.sort(direct.p_values_)[:10]  # rounded to seven digits of the largest
    np.testing.assert_allclose(unusual["p_values"], expected, atol=1e-7 * expected[-1])
    cells = direct.explain(frame.iloc[rows[unusual["members"]]])
    for phrases, row in zip(unusual["cells"], rows[unusual["members"]], strict=True):
        first = cells[cells["row"] == row].iloc[0]
        assert len(phrases) == 2
        assert phrases[0].startswith(f"{first['column']} is ")


def test_unusual_rows_of_numbers_are_compared_with_typical_values(client):
    unusual = ask(client, "data=wine&label=class", "unusual")["views"]["unusual"]
    assert len(unusual["members"]) == 10
    assert all("expected" in phrase for phrases in unusual["cells"] for phrase in phrases)


def test_gram_matrix_is_ordered_by_cluster(client):
    views = ask(client, "bandwidth=3.7", "points,gram")["views"]
    codes = np.array(views["points"]["clusters"])[views["gram"]["rows"]]
    assert (np.diff(codes) >= 0).all()
    assert views["gram"]["size"] == len(views["gram"]["rows"]) == 200


def test_path_marks_the_bandwidth_selected_by_the_library(client):
    X, _ = make_rings(random_state=0)
    path = ask(client, "", "path")["views"]["path"]
    clustering = EntropyClustering(3).fit(X)
    assert path["optimum"] == pytest.approx(clustering.kernel_.bandwidth)
    at = path["bandwidth"].index(pytest.approx(path["optimum"]))
    assert path["components"][at] == clustering.eca_.component_ranks_.tolist()
    assert path["cost"][at] == pytest.approx(clustering.cost_ / len(X), rel=1e-5)


@pytest.mark.parametrize(
    "query",
    [
        "kernel=polynomial&degree=3",
        "kernel=linear&data=iris",
        "kernel=cosine&data=wine",
        "kernel=laplacian&order=variance",
        "kernel=matern&nu=0.5&center=0",
        "kernel=epanechnikov&components=2",
        "data=machines&components=4&clusters=2",
        "data=diabetes",
        "data=iris&x=petal length (cm)&y=sepal width (cm)",
        "data=wine&ignore=alcohol&ignore=ash&categorical=hue",
        "data=wine&label=&terms=kronmal-tarter",
        "data=iris&label=petal width (cm)",
        "components=1",
        "components=12&dimensions=2",
    ],
)
def test_every_control_returns_all_views(client, query):
    answer = ask(client, query)
    summary, views = answer["summary"], answer["views"]
    assert set(views) == set(ALL.split(","))
    assert len(views["points"]["clusters"]) == len(views["points"]["rows"]) == summary["shown"]
    scores = np.array(views["embedding"]["eca"], dtype=float)
    assert scores.shape[1] == summary["shown"]
    assert np.isfinite(scores).all()
    eigenvalues = np.array(views["spectrum"]["eigenvalues"])
    assert (np.diff(eigenvalues) <= 0).all()


def test_polynomial_kernel_has_no_density(client):
    density = ask(client, "kernel=polynomial", "density")["views"]["density"]
    assert set(density) == {"reason"}


def test_large_tables_are_subsampled(client, rng):
    rows = "\n".join(",".join(f"{v:.3f}" for v in row) for row in rng.normal(size=(3000, 3)))
    key = client.post("/api/upload?name=big.csv", content=f"a,b,c\n{rows}\n").json()["data"]
    summary = ask(client, f"data={key}", "points")["summary"]
    assert (summary["rows"], summary["analyzed"], summary["shown"]) == (3000, 2000, 1000)
    assert not summary["is_large"]


def test_all_rows_of_large_planar_data_are_analyzed(client, rng):
    import io

    X = np.concatenate([rng.normal(at, 0.3, size=(10_000, 2)) for at in (0, 3)])
    file = io.BytesIO()
    np.save(file, X)
    key = client.post("/api/upload?name=plane.npy", content=file.getvalue()).json()["data"]
    answer = ask(client, f"data={key}&components=2&bandwidth=0.4&scale=0")
    assert answer["summary"]["analyzed"] == 20_000
    assert answer["summary"]["is_large"]
    eca = KernelECA(2, kernel=Gaussian(0.4)).fit(X)
    assert answer["summary"]["potential_fraction"] == pytest.approx(
        eca.entropy_ratio_.sum(), rel=1e-6
    )
    assert sum(answer["views"]["clusters"]["sizes"]) == 1000
    assert min(answer["views"]["clusters"]["sizes"]) > 400  # the two blobs
    picked = ask(client, f"data={key}&picks=1,3&bandwidth=0.4&scale=0", "points,spectrum")
    assert picked["views"]["spectrum"]["selected"] == [1, 3]


# --- exports ---------------------------------------------------------------------------------


REPRODUCED = [
    "bandwidth=3.7",
    "bandwidth=3.7&picks=1,2,5",
    "data=wine&order=variance&components=4&clusters=2&terms=kronmal-tarter",
    "data=machines&components=3&categorical=power",
    "data=machines&components=2&missing=drop",
    "data=machines&components=3&method=spectral",
    "data=iris&kernel=matern&nu=2.5&terms=all&center=0&label=&ignore=sepal width (cm)",
]
# runs each exported script and writes its results as JSON
DRIVER = """
import json, sys
from pathlib import Path
for name in sys.argv[1:]:
    found = {}
    exec(compile(Path(name).read_text(encoding="utf-8"), name, "exec"), found)
    results = {key: found[key].T.tolist() for key in ("labels", "scores", "pca_scores")}
    results["density"] = found["density"](found["X"]).tolist() if "density" in found else None
    Path(name + ".json").write_text(json.dumps(results))
"""


def test_exported_code_reproduces_the_views(client, rng, tmp_path):
    mine = upload_of_sampled_rows(client, rng, tmp_path)
    queries = [*REPRODUCED, mine]
    results = run([client.get(f"/api/code.py?{query}").text for query in queries], tmp_path)
    for query, found in zip(REPRODUCED, results, strict=False):
        views = ask(client, query)["views"]
        assert found["labels"] == views["points"]["clusters"], query
        for ours, theirs in zip(found["scores"], views["embedding"]["eca"], strict=False):
            assert up_to_sign(ours, theirs), query
        for ours, theirs in zip(found["pca_scores"], views["embedding"]["pca"], strict=True):
            assert up_to_sign(ours, theirs), query
        if "at_points" in views["density"]:
            values = np.maximum(found["density"], 0)
            assert np.allclose(values / values.max(), views["density"]["at_points"], atol=1e-5)
    # the page shows some of the analyzed rows, the CSV file all of them
    lines = client.get(f"/api/scores.csv?{mine}").text.splitlines()
    assert lines[0].startswith("row,kind,cluster,component_")
    cells = np.array([line.split(",") for line in lines[1:]])
    assert cells.shape == (2000, 5)
    np.testing.assert_allclose(cells[:, 3:].astype(float).T, results[-1]["scores"], atol=1e-8)
    assert cells[:, 2].astype(int).tolist() == results[-1]["labels"]


@pytest.mark.parametrize("method", ["entropy", "spectral"])
def test_exported_code_of_large_planar_data(client, rng, tmp_path, method):
    """Components use all rows, clusters the shown rows."""
    X = np.concatenate([rng.normal(at, 0.3, size=(1200, 2)) for at in (0, 3)]).round(4)
    content = "\n".join(["x,y", *(f"{x:.4f},{y:.4f}" for x, y in X)])
    (tmp_path / "plane.csv").write_text(content)
    key = client.post("/api/upload?name=plane.csv", content=content).json()["data"]
    query = f"data={key}&components=2&bandwidth=0.4&scale=0&method={method}"
    (found,) = run([client.get(f"/api/code.py?{query}").text], tmp_path)
    answer = ask(client, query, "points,embedding")
    assert answer["summary"]["is_large"]
    at = np.array(answer["views"]["points"]["rows"])
    assert len(at) == 1000
    assert np.array(found["labels"])[at].tolist() == answer["views"]["points"]["clusters"]
    for ours, theirs in zip(found["scores"], answer["views"]["embedding"]["eca"], strict=True):
        assert up_to_sign(np.array(ours)[at], theirs)
    for ours, theirs in zip(found["pca_scores"], answer["views"]["embedding"]["pca"], strict=True):
        assert up_to_sign(ours, theirs)


def upload_of_sampled_rows(client, rng, folder):
    """Upload a table with more rows than are analyzed, and write it for the exported code."""
    lines = [f"{x:.4f},{y:.4f},{z:.4f},k{int(x > 0)}" for x, y, z in rng.normal(size=(2500, 3))]
    content = "\n".join(["a,b,c,kind", *lines])
    (folder / "mine.csv").write_text(content)
    key = client.post("/api/upload?name=mine.csv", content=content).json()["data"]
    return f"data={key}&label=kind&components=2"


def run(codes, folder):
    """Run exported scripts in another process and return their results."""
    names = [f"view{i}.py" for i in range(len(codes))]
    for name, code in zip(names, codes, strict=True):
        (folder / name).write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DRIVER, *names],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    return [json.loads((folder / f"{name}.json").read_text()) for name in names]


def test_exported_code_of_numbers_with_missing_values(client, rng, tmp_path):
    X = np.concatenate([rng.normal(at, 0.3, size=(30, 2)) for at in (0, 3)]).round(4)
    lines = [f"{x},{'' if i % 2 else y}" for i, (x, y) in enumerate(X)]
    content = "\n".join(["x,y", *lines])
    (tmp_path / "missing.csv").write_text(content)
    key = client.post("/api/upload?name=missing.csv", content=content).json()["data"]
    query = f"data={key}&components=2&missing=keep&method=spectral"
    (found,) = run([client.get(f"/api/code.py?{query}").text], tmp_path)
    assert found["labels"] == ask(client, query, "points")["views"]["points"]["clusters"]


def test_model_file_takes_raw_rows(client, tmp_path):
    from sklearn.datasets import load_wine

    query = "data=wine&bandwidth=3"
    path = tmp_path / "view.mercer"
    path.write_bytes(client.get(f"/api/model?{query}").content)
    model = mercer.load(path)
    frame = load_wine(as_frame=True).data
    assert model.predict(frame).tolist() == ask(client, query)["views"]["points"]["clusters"]
    path.write_bytes(client.get(f"/api/model?{query}&picks=1,3").content)
    scores = mercer.load(path).transform(frame)[:, [0, 2]]
    picked = ask(client, f"{query}&picks=1,3")["views"]["embedding"]["eca"]
    for ours, theirs in zip(scores.T, picked, strict=True):
        assert up_to_sign(ours, theirs)
    query += "&method=spectral&picks=1,3,4"
    path.write_bytes(client.get(f"/api/model?{query}").content)
    found = mercer.load(path).predict(frame)
    assert found.tolist() == ask(client, query, "points")["views"]["points"]["clusters"]


def test_rows_are_returned_as_read(client):
    answer = client.post("/api/rows?data=machines", json={"rows": [2, 0, 10**9, -1]}).json()
    assert [line[0] for line in answer["rows"]] == [2, 0]
    assert answer["columns"][-1] == "class"
    assert len(answer["rows"][0]) == 1 + len(answer["columns"])


# --- summary ---------------------------------------------------------------------------------


def test_omitted_columns_have_a_code(client):
    """The page depends on the code, not on the text of the reason."""
    rows = "\n".join(f"{i},{i * i % 7},5,{'ab'[i % 2]}" for i in range(20))
    content = f"x,y,constant,kind\n{rows}\n"
    key = client.post("/api/upload?name=a.csv", content=content).json()["data"]
    summary = ask(client, f"data={key}&ignore=kind&components=2", "points")["summary"]
    codes = {one["column"]: one["code"] for one in summary["omissions"]}
    assert codes["kind"] == "ignored"
    assert codes["constant"] != "ignored"
    summary = ask(client, "data=iris&label=", "points")["summary"]
    assert [one["code"] for one in summary["omissions"]] == ["ignored"]


def test_kernel_pca_has_three_components(client):
    """The number does not depend on the selected components."""
    for n_components in (1, 5):
        views = ask(client, f"data=wine&components={n_components}", "embedding")["views"]
        assert len(views["embedding"]["pca"]) == 3


def test_given_file_is_read_with_its_encoding(tmp_path):
    rows = "\n".join(f"{i},{i * i % 7},{'üé'[i % 2]}" for i in range(20))
    path = tmp_path / "latin.csv"
    path.write_bytes(f"x,größe,kind\n{rows}\n".encode("latin-1"))
    with connect(given=path, encoding="latin-1") as client:
        query = "data=given&label=kind&components=2"
        answer = ask(client, query, "points")
        assert answer["summary"]["columns"] == ["x", "größe"]
        assert answer["views"]["points"]["classes"]["names"] == ["é", "ü"]
        (found,) = run([client.get(f"/api/code.py?{query}").text], tmp_path)
        assert found["labels"] == answer["views"]["points"]["clusters"]


def test_compressed_upload_is_not_decompressed_by_the_server(client, monkeypatch):
    """The table is read once, in another process, and stored as it was read."""
    import gzip

    def read(file, size=-1):
        raise AssertionError("the server decompressed an upload")

    monkeypatch.setattr(gzip.GzipFile, "read", read)
    content = "x,y\n" + "\n".join(f"{i},{i * i % 7}" for i in range(20))
    packed = gzip.compress(content.encode())
    answer = client.post("/api/upload?name=a.csv.gz", content=packed).json()
    assert answer["rows"] == 20
    monkeypatch.setattr("mercer.explorer.models.Cache.get", lambda self, key, compute: compute()[0])
    assert ask(client, f"data={answer['data']}", "points")["summary"]["rows"] == 20


def test_upload_compressed_twice_is_rejected(client):
    import gzip

    content = gzip.compress(gzip.compress(b"x,y\n1,2\n2,1\n3,3\n4,5\n"))
    answer = client.post("/api/upload?name=a.csv.gz", content=content)
    assert answer.status_code == 422
    assert "a.csv.gz" in answer.json()["error"]


def test_labels_and_categories_of_files_are_as_written(client):
    rows = [f"{i},{code}" for i, code in enumerate(["01", "1", "NA", "001"] * 3)]
    content = "\n".join(["x,code", *rows]).encode()
    data = client.post("/api/upload?name=codes.csv", content=content).json()["data"]
    scores = client.get(f"/api/scores.csv?data={data}&label=code").text
    codes = [line.split(",")[1] for line in scores.splitlines()[1:]]
    assert codes == ["01", "1", "NA", "001"] * 3
    summary = ask(client, f"data={data}&categorical=code", "points")["summary"]
    assert ["code", "category"] in summary["all_columns"]
