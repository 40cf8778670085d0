"""Commands that write columns: same results as the estimators."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import (
    EntropyClustering,
    KernelDenoiser,
    KernelECA,
    KernelLDA,
    KernelNovelty,
    KernelPCA,
    ParzenDensity,
    SeriesDensity,
    SpectralClustering,
)
from mercer.cli import main
from mercer.cli.console import Messages
from mercer.cluster.table_clustering import describe_kernel
from mercer.errors import ColumnWarning
from mercer.kernels import Gaussian, table_kernel
from mercer.tables import read_table
from mercer.utils.formatting import format_percent
from tests.cli.running import COLUMNS, assert_names, typed_machines

# --- same results as the estimators ---------------------------------------------------------------


def assert_close(found, expected):
    """Compare up to rounding error: frames and arrays have different memory layouts."""
    assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


def scaled(X):
    return StandardScaler().fit_transform(X)


def test_embed_equals_kernel_eca(flowers, iris, command):
    found, text = command("embed", flowers, "--label", "species", "--components", 3)
    direct = KernelECA(3, kernel=Gaussian("auto")).fit(scaled(iris[0]))
    assert list(found) == ["row", "eca1", "eca2", "eca3"]
    assert_array_equal(found["row"], np.arange(1, 151))
    assert_close(found.iloc[:, 1:], direct.transform(scaled(iris[0])))
    assert_names(text, "150 rows", "4 columns", f"{direct.kernel_.bandwidth:.4g}")
    assert_names(text, "3 components", format_percent(direct.entropy_ratio_.sum()))


def test_embed_by_variance_equals_kernel_pca(flowers, iris, command):
    options = ("--method", "pca", "--components", 0.9, "--no-scale", "--bandwidth", 1.5)
    found, text = command("embed", flowers, "--label", "species", *options)
    direct = KernelPCA(0.9, kernel=Gaussian(1.5)).fit(iris[0])
    assert list(found)[1] == "pca1"
    assert_close(found.iloc[:, 1:], direct.transform(iris[0]))
    assert_names(text, f"{direct.n_components_} components", "σ = 1.5")


def test_cluster_equals_spectral_clustering(flowers, iris, command):
    found, text = command("cluster", flowers, "--ignore", "species", "--clusters", 3)
    direct = SpectralClustering(3, standardize=False).fit(scaled(iris[0]))
    assert list(found) == ["row", "cluster"]
    assert_array_equal(found["cluster"], direct.labels_)
    assert_names(text, ", ".join(map(str, np.bincount(direct.labels_))))
    assert_names(text, describe_kernel(direct.kernel_), "neighbor graphs and k-means")


def test_cluster_with_a_bandwidth_uses_the_gaussian_kernel(flowers, iris, command):
    options = ("--ignore", "species", "--clusters", 3, "--bandwidth", 0.7, "--no-scale")
    found, text = command("cluster", flowers, *options)
    direct = SpectralClustering(3, kernel=Gaussian(0.7)).fit(iris[0])
    assert_array_equal(found["cluster"], direct.labels_)
    assert_names(text, "σ = 0.7", "Gaussian kernel")


@pytest.mark.parametrize("bandwidth", ["auto", 0.5])
def test_clusters_of_mixed_tables_use_the_table_kernel(machines, bandwidth, command):
    options = ("--ignore", "state", "--clusters", 3, "--bandwidth", bandwidth)
    found, _ = command("cluster", machines, *options)
    frame = typed_machines()
    kernel = "auto" if bandwidth == "auto" else table_kernel(frame).scale_bandwidths(bandwidth)
    direct = SpectralClustering(3, kernel=kernel).fit(frame)
    assert_array_equal(found["cluster"], direct.labels_)


def test_clusters_of_numbers_with_missing_values(tmp_path, command):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(at, 1, size=(40, 3)) for at in (0, 9)])
    X[::2, 0] = np.nan
    pd.DataFrame(X, columns=["x", "y", "z"]).to_csv(tmp_path / "x.csv", index=False)
    options = ("--clusters", 2, "--missing", "keep")
    found, text = command("cluster", tmp_path / "x.csv", *options)
    assert adjusted_rand_score(np.repeat([0, 1], 40), found["cluster"]) == 1
    assert_names(text, "kernel of a table")


def test_noise_labels_a_fraction_of_the_rows(flowers, iris, command):
    options = ("--ignore", "species", "--clusters", 2)
    found, text = command("cluster", flowers, *options, "--noise", 0.1)
    direct = SpectralClustering(2, standardize=False, noise=0.1).fit(scaled(iris[0]))
    assert_array_equal(found["cluster"], direct.labels_)
    sizes = np.bincount(direct.labels_ + 1)
    assert_names(text, ", ".join(map(str, sizes[1:])), f"{sizes[0]} of noise")
    _, text = command("cluster", flowers, *options)
    assert "noise" not in text


def test_a_chosen_number_of_clusters_is_printed_with_its_confidence(command):
    found, text = command("cluster", "rings", "--no-scale")
    direct = SpectralClustering().fit(read_table("rings").X)
    assert_array_equal(found["cluster"], direct.labels_)
    assert_names(text, "3 clusters of 63, 126, 126 rows", f"{direct.confidence_:.0%}")


def test_cluster_by_entropy_equals_entropy_clustering(flowers, iris, command):
    options = ("--method", "entropy", "--clusters", 3)
    found, text = command("cluster", flowers, "--ignore", "species", *options)
    direct = EntropyClustering(3, kernel=Gaussian("auto")).fit(scaled(iris[0]))
    assert_array_equal(found["cluster"], direct.labels_)
    Z = direct.eca_.transform(scaled(iris[0]))
    centers = direct.cluster_centers_[direct.labels_]
    cosines = (Z * centers).sum(axis=1) / np.linalg.norm(Z, axis=1)
    assert_allclose(found["cosine"], cosines, atol=1e-12)
    assert_names(text, ", ".join(map(str, np.bincount(direct.labels_))))


@pytest.mark.parametrize(
    "options", [(), ("--method", "entropy"), ("--method", "entropy", "--bandwidth", 0.2)], ids=str
)
def test_cluster_estimates_the_number_of_clusters(options, command):
    found, text = command("cluster", "rings", *options)
    assert_names(text, f"{found['cluster'].nunique()} cluster")


@pytest.mark.parametrize("method", ["spectral", "entropy"])
@pytest.mark.parametrize("options", [(), ("--clusters", "auto")], ids=" ".join)
def test_one_cluster_is_reported_with_a_remedy(tmp_path, command, method, options):
    X = np.random.default_rng(0).normal(size=(80, 2))
    pd.DataFrame(X, columns=["x", "y"]).to_csv(tmp_path / "x.csv", index=False)
    given = ("cluster", tmp_path / "x.csv", "--method", method, "--bandwidth", 1.5)
    found, text = command(*given, *options)
    assert set(found["cluster"]) == {0}
    assert_names(text, "--clusters N")
    _, text = command(*given, "--clusters", 1)
    assert "--clusters" not in text


def test_isolated_rows_have_no_cosine(tmp_path, command):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(at, 0.1, size=(30, 1)) for at in (0, 2)] + [[[900.0]]])
    pd.DataFrame(X, columns=["x"]).to_csv(tmp_path / "x.csv", index=False)
    options = ("--method", "entropy", "--clusters", 2, "--bandwidth", 0.3, "--no-scale")
    found, text = command("cluster", tmp_path / "x.csv", *options)
    assert found["cluster"].iloc[-1] == -1
    assert np.isnan(found["cosine"].iloc[-1])
    assert found["cosine"].iloc[:-1].min() > 0
    assert_names(text, "ApproximationWarning", 61, -1)


@pytest.mark.parametrize(("method", "kind"), [("parzen", ParzenDensity), ("series", SeriesDensity)])
def test_density_has_the_units_of_the_columns(flowers, iris, command, method, kind):
    options = ("--ignore", "species", "--method", method, "--bandwidth", 0.4)
    found, _ = command("density", flowers, *options)
    direct = kind(kernel=Gaussian(0.4)).fit(scaled(iris[0]))
    jacobian = np.log(iris[0].std(axis=0)).sum()
    assert_allclose(
        found["log_density"], direct.score_samples(scaled(iris[0])) - jacobian, rtol=1e-12
    )


def test_density_and_denoise_without_scaling(flowers, iris, command):
    options = ("--ignore", "species", "--no-scale", "--bandwidth", 0.4)
    found, _ = command("density", flowers, *options)
    direct = ParzenDensity(kernel=Gaussian(0.4)).fit(iris[0])
    assert_allclose(found["log_density"], direct.score_samples(iris[0]), rtol=1e-12)
    found, _ = command("denoise", flowers, *options, "--components", 3)
    direct = KernelDenoiser(3, kernel=Gaussian(0.4), order="entropy", random_state=0)
    assert_allclose(found[COLUMNS], direct.fit(iris[0]).transform(iris[0]), rtol=1e-6)


def test_density_of_one_standardized_column_has_a_rescaled_bandwidth(tmp_path, command):
    X = np.random.default_rng(3).normal(7.0, 250.0, size=(60, 1))
    pd.DataFrame(X, columns=["x"]).to_csv(tmp_path / "x.csv", index=False)
    found, _ = command("density", tmp_path / "x.csv", "--bandwidth", 0.3)
    direct = ParzenDensity(kernel=Gaussian(0.3 * X.std())).fit(X)
    assert_allclose(found["log_density"], direct.score_samples(X), rtol=1e-10)


def test_novelty_writes_p_values_and_cells_of_outliers(machines, command):
    options = ("--ignore", "state", "--false-alarm-rate", 0.03, "--cells", 2)
    found, text = command("novelty", machines, *options)
    frame = typed_machines()
    direct = KernelNovelty(false_alarm_rate=0.03, random_state=0).fit(frame)
    assert_allclose(found["p_value"], direct.p_values_, atol=1e-9)
    assert_allclose(found["score"], direct.decision_function(frame), atol=1e-9)
    outliers = np.flatnonzero(direct.p_values_ <= 0.03)
    assert len(outliers) > 0
    assert_array_equal(np.flatnonzero(found["outlier"]), outliers)
    cells = direct.explain(frame.iloc[outliers]).groupby("row")
    for k, suffix in enumerate(("", "_2")):
        expected = cells.nth(k)
        assert found.loc[outliers, f"column{suffix}"].tolist() == expected["column"].tolist()
        observed = found.loc[outliers, f"observed{suffix}"]
        texts = [str(cell) for cell in expected["observed"] if isinstance(cell, str)]
        assert set(texts) <= set(observed)
    assert found.drop(index=outliers)["column"].isna().all()
    assert "column_3" not in found
    most = int(np.argmin(direct.p_values_))
    assert_names(text, f"row {most + 1}", found["column"][most], found["expected"][most])


def test_novelty_of_numbers_names_typical_values(flowers, iris, command):
    found, _ = command("novelty", flowers, "--ignore", "species", "--false-alarm-rate", 0.1)
    frame = pd.DataFrame(iris[0], columns=COLUMNS)
    direct = KernelNovelty(false_alarm_rate=0.1, random_state=0).fit(frame)
    assert_allclose(found["p_value"], direct.p_values_, atol=1e-9)
    outliers = found[found["outlier"] == 1]
    best = direct.explain(frame.iloc[outliers.index]).idxmax(axis=1)
    assert outliers["column"].tolist() == best.tolist()
    first = outliers.iloc[0]
    assert float(first["observed"]) == frame.loc[outliers.index[0], first["column"]]
    assert_allclose(float(first["expected"]), frame[first["column"]].median(), rtol=1e-5)


def test_new_rows_have_p_values_of_new_rows(machines, tmp_path, command):
    model = tmp_path / "m.mercer"
    options = ("--ignore", "state", "--model", model, "--quiet", "--out", tmp_path / "o.csv")
    command("novelty", machines, *options)
    new = (
        pd.read_csv(machines)
        .head(20)
        .assign(vibration=np.r_[50.0, pd.read_csv(machines)["vibration"][1:20]])
    )
    new.to_csv(tmp_path / "new.csv", index=False)
    found, text = command("novelty", tmp_path / "new.csv", "--apply", model, "--keep")
    assert list(found)[: len(new.columns)] == list(new)
    assert (found["outlier"][0], found["column"][0], float(found["observed"][0])) == (
        1,
        "vibration",
        50,
    )
    assert_names(text, "row 1", "vibration", 50)
    direct = mercer.load(model)
    assert_allclose(
        found["p_value"], direct.named_steps["model"].p_values(direct[:-1].transform(new))
    )


def test_denoised_columns_have_their_own_units(flowers, iris, command):
    options = ("--components", 3, "--order", "variance", "--preimage", "mika")
    found, text = command("denoise", flowers, *options)
    scaler = StandardScaler().fit(iris[0])
    direct = KernelDenoiser(3, kernel=Gaussian("auto"), order="variance", preimage="mika")
    cleaned = direct.fit(scaler.transform(iris[0])).transform(scaler.transform(iris[0]))
    assert list(found) == ["row", *COLUMNS]
    assert_allclose(found[COLUMNS], scaler.inverse_transform(cleaned), rtol=1e-6)  # it iterates
    assert_names(text, "column species")


def test_column_named_row_is_not_replaced_by_row_numbers(tmp_path, command):
    X = np.random.default_rng(0).normal(7.0, size=(30, 2))
    pd.DataFrame(X, columns=["x", "row"]).to_csv(tmp_path / "x.csv", index=False)
    found, _ = command("denoise", tmp_path / "x.csv", "--components", 2)
    assert list(found) == ["x", "row"]
    assert abs(found["row"].mean() - 7.0) < 1  # not 15.5, the mean of row numbers


def test_discriminate_equals_kernel_lda(flowers, iris, command):
    found, text = command("discriminate", flowers, "--label", "species")
    X, y = scaled(iris[0]), iris[1]
    direct = KernelLDA(kernel=Gaussian("auto"), regularization="cv").fit(X, y)
    assert_close(found[["discriminant1", "discriminant2"]], direct.transform(X))
    assert_array_equal(found["predicted"], direct.predict(X))
    assert_close(found[[f"p_{c}" for c in direct.classes_]], direct.predict_proba(X))
    best = direct.cv_results_["error"][
        direct.cv_results_["regularization"].tolist().index(direct.regularization_)
    ]
    assert_names(text, "3 classes", format_percent(1 - best), format_percent(1 / 3))


def test_entropy_as_json_equals_kernel_eca(flowers, iris, capsys):
    assert (
        main(["entropy", str(flowers), "--ignore", "species", "--json", "--components", "4"]) == 0
    )
    results = json.loads(capsys.readouterr().out)
    direct = KernelECA(4, kernel=Gaussian("auto")).fit(scaled(iris[0]))
    assert results["information_potential"] == pytest.approx(direct.information_potential_)
    assert results["renyi_entropy"] == pytest.approx(direct.renyi_entropy_)
    assert_close([one["term"] for one in results["terms"]], direct.entropy_terms_)
    assert list(results["columns_left_out"]) == ["species"]
    own = results["renyi_entropy_in_own_units"]
    assert own == pytest.approx(direct.renyi_entropy_ + np.log(iris[0].std(axis=0)).sum())


def printed_terms(text):
    """Return the indices and eigenvalues in the printed table of terms."""
    return re.findall(r"^ *(\d+) +(\S+) .* %$", text, re.MULTILINE)


def test_entropy_as_text_equals_kernel_eca(capsys):
    assert main(["entropy", "wine"]) == 0
    printed = capsys.readouterr()
    direct = KernelECA(10, kernel=Gaussian("auto"))
    direct.fit(scaled(mercer.tables.read_table("wine").X))
    assert_names(printed.out, f"{direct.renyi_entropy_:.6g} nats")
    assert_names(printed.out, f"{direct.information_potential_:.6g}")
    expected = [(str(i + 1), f"{value:.6g}") for i, value in enumerate(direct.eigenvalues_)]
    assert printed_terms(printed.out) == expected
    assert_names(printed.err, "wine", "178 rows")


def test_entropy_prints_at_most_twenty_terms(capsys):
    assert main(["entropy", "wine", "--components", "25", "--json", "--quiet"]) == 0
    ratios = [one["share"] for one in json.loads(capsys.readouterr().out)["terms"]]
    assert main(["entropy", "wine", "--components", "25", "--quiet"]) == 0
    text = capsys.readouterr().out
    assert [int(number) for number, _ in printed_terms(text)] == list(range(1, 21))
    assert len(ratios) == 25
    assert_names(text.splitlines()[-1], 5, format_percent(sum(ratios)), "--json")


def test_cumulative_percentage_below_one_is_not_printed_as_100(capsys):
    assert main(["entropy", "wine", "--components", "25", "--json", "--quiet"]) == 0
    ratios = [one["share"] for one in json.loads(capsys.readouterr().out)["terms"]]
    assert 0.9995 < sum(ratios) < 1 - 1e-8
    assert main(["entropy", "wine", "--components", "25", "--quiet"]) == 0
    assert "100 %" not in capsys.readouterr().out


def test_entropy_of_a_table_with_fewer_than_ten_terms(tmp_path, capsys):
    (tmp_path / "x.csv").write_text("x\n1\n1\n1\n2\n2\n5\n" + "5\n" * 9, encoding="utf-8")
    assert main(["entropy", str(tmp_path / "x.csv"), "--json", "--quiet"]) == 0
    terms = json.loads(capsys.readouterr().out)["terms"]
    assert len(terms) == 3
    assert sum(one["share"] for one in terms) == pytest.approx(1)
    assert main(["entropy", str(tmp_path / "x.csv"), "--components", "9"]) == 1


def test_equal_warnings_of_several_steps_are_printed_once(capsys):
    with Messages(quiet=False).showing_warnings() as texts:
        for step in ("skewed", "isolated", "skewed"):
            warnings.warn(step, ColumnWarning, stacklevel=1)
            warnings.resetwarnings()  # as another step of the command does
            warnings.simplefilter("always")
    assert texts == ["skewed", "isolated"]
    assert capsys.readouterr().err.count("skewed") == 1
