"""``--apply`` with estimators and pipelines that were saved with mercer.save."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler

import mercer
from mercer import KernelDenoiser, KernelNovelty, KernelPCA, ParzenDensity, SpectralClustering
from mercer.cli import main
from mercer.kernels import Gaussian, table_kernel
from tests.expectations import names_values

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture
def frame(rng):
    return pd.DataFrame(
        {
            "x": rng.normal(10, 5, 40),
            "y": rng.normal(size=40),
            "color": np.array(["red", "green", "blue"])[np.arange(40) % 3],
        }
    )


@pytest.fixture
def apply(frame, tmp_path, capsys):
    """Save a model, and apply it to the frame with permuted columns."""

    def run(command, model, rows=frame, code=0):
        mercer.save(model, tmp_path / "m.mercer")
        rows[rows.columns[::-1]].to_csv(tmp_path / "rows.csv", index=False)
        arguments = [command, tmp_path / "rows.csv", "--apply", tmp_path / "m.mercer"]
        assert main([*map(str, arguments), "--out", str(tmp_path / "out.csv")]) == code
        return pd.read_csv(tmp_path / "out.csv") if code == 0 else capsys.readouterr().err

    return run


NUMBERS = ["x", "y"]


def test_pipeline_of_scaler_and_embedding(frame, apply):
    model = make_pipeline(RobustScaler(), KernelPCA(2)).fit(frame[NUMBERS])
    found = apply("embed", model)[["pca1", "pca2"]]
    assert_allclose(found, model.transform(frame[NUMBERS]), rtol=1e-6)


def test_estimator_without_a_pipeline(frame, apply):
    model = KernelPCA(2).fit(frame[NUMBERS])
    found = apply("embed", model)[["pca1", "pca2"]]
    assert_allclose(found, model.transform(frame[NUMBERS]), rtol=1e-6)


def test_densities_of_standardized_columns_are_in_the_units_of_the_columns(frame, apply):
    model = make_pipeline(StandardScaler(), ParzenDensity(kernel=Gaussian(0.5)))
    model.fit(frame[NUMBERS])
    scales = model["standardscaler"].scale_
    direct = ParzenDensity(kernel=Gaussian(0.5 * scales)).fit(frame[NUMBERS])
    found = apply("density", model)["log_density"]
    assert_allclose(found, direct.score_samples(frame[NUMBERS]), rtol=1e-6)


def test_table_kernel_and_column_transformer(frame, apply):
    clustering = SpectralClustering(2, kernel=table_kernel(frame)).fit(frame)
    assert_array_equal(apply("cluster", clustering)["cluster"], clustering.labels_)
    encode = make_column_transformer((OneHotEncoder(), ["color"]), (StandardScaler(), NUMBERS))
    model = make_pipeline(encode, KernelNovelty(Gaussian(1.0))).fit(frame)
    scores = apply("novelty", model)["score"]
    assert_allclose(scores, model.decision_function(frame), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("imputes", [True, False])
def test_missing_values_are_imputed_or_get_empty_cells(imputes, frame, apply):
    first = SimpleImputer() if imputes else StandardScaler()
    model = make_pipeline(first, KernelPCA(2)).fit(frame[NUMBERS])
    frame.loc[3, "x"] = np.nan
    found = apply("embed", model, frame)["pca1"]
    assert np.isnan(found[3]) != imputes
    assert found.drop(3).notna().all()


def test_denoised_columns_have_their_own_units(frame, apply):
    model = make_pipeline(StandardScaler(), KernelDenoiser(4)).fit(frame[NUMBERS])
    expected = model["standardscaler"].inverse_transform(model.transform(frame[NUMBERS]))
    assert_allclose(apply("denoise", model)[NUMBERS], expected, rtol=1e-5)
    other = make_pipeline(MinMaxScaler(), KernelDenoiser(4)).fit(frame[NUMBERS])
    assert names_values(apply("denoise", other, code=1), "MinMaxScaler") == []


def test_models_without_column_names_or_of_other_commands_are_rejected(frame, apply):
    text = apply("embed", KernelPCA(2).fit(frame[NUMBERS].to_numpy()), code=1)
    assert names_values(text, "KernelPCA", "mercer embed") == []
    text = apply("cluster", KernelPCA(2).fit(frame[NUMBERS]), code=1)
    assert names_values(text, "KernelPCA", "mercer embed") == []
