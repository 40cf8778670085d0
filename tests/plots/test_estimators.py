"""Displays of what users have: pipelines, clusterers, detectors, mixed tables."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    EntropyClustering,
    KernelECA,
    KernelNovelty,
    KernelPCA,
    ParzenDensity,
    ProcessMonitor,
    SeriesDensity,
    SpectralClustering,
)
from mercer.datasets import make_clusters, make_process
from mercer.plots import (
    BandwidthDisplay,
    DensityDisplay,
    EigenfunctionDisplay,
    EmbeddingDisplay,
    GramDisplay,
    MonitoringDisplay,
    SpectrumDisplay,
)
from tests.expectations import raises

pytest.importorskip("matplotlib").use("Agg")
pd = pytest.importorskip("pandas")

X, y = make_clusters(random_state=0)


def scaled(estimator):
    return make_pipeline(StandardScaler(), estimator)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_embedding_of_a_pipeline_is_its_transformation():
    pipeline = scaled(KernelPCA(2)).fit(X)
    display = EmbeddingDisplay.from_estimator(pipeline, X, labels=y)
    assert_allclose(display.points, pipeline.transform(X))
    assert_allclose(EmbeddingDisplay.from_estimator(pipeline).points, pipeline.transform(X))


@pytest.mark.parametrize("clusterer", [EntropyClustering(3), SpectralClustering(3)])
def test_embedding_of_a_clusterer_is_colored_by_its_clusters(clusterer):
    pipeline = scaled(clusterer).fit(X)
    display = EmbeddingDisplay.from_estimator(pipeline, X)
    assert_array_equal(display.labels, pipeline.predict(X))
    assert len(display.scatters_) == 3


def test_embedding_of_a_detector_marks_abnormal_rows():
    detector = scaled(KernelNovelty()).fit(X)
    new = np.r_[X[:50], [[9.0, 9.0]]]
    display = EmbeddingDisplay.from_estimator(detector, new)
    assert display.labels[-1] == "abnormal"
    assert set(display.scatters_) == {"abnormal", "normal"}
    with raises(ValueError, "KernelNovelty", "X"):
        EmbeddingDisplay.from_estimator(detector)


def test_embedding_of_a_mixed_table():
    frame = pd.DataFrame({"size": X[:, 0], "group": np.array(list("abc"))[y % 3]})
    detector = KernelNovelty().fit(frame)
    assert EmbeddingDisplay.from_estimator(detector, frame).points.shape == (len(X), 2)


def test_spectrum_and_gram_of_a_pipeline_are_those_of_its_last_step():
    pipeline = scaled(KernelECA(2)).fit(X)
    inner = SpectrumDisplay.from_estimator(pipeline[-1])
    assert_array_equal(SpectrumDisplay.from_estimator(pipeline).eigenvalues, inner.eigenvalues)
    gram = GramDisplay.from_estimator(pipeline, labels=y).gram
    assert_array_equal(gram, GramDisplay.from_estimator(pipeline[-1], labels=y).gram)
    with raises(TypeError, "KernelNovelty", "KernelPCA"):
        SpectrumDisplay.from_estimator(scaled(KernelNovelty()).fit(X))


def test_sweep_of_a_pipeline():
    pipeline = scaled(EntropyClustering(3, bandwidths=[0.5, 0.7])).fit(X)
    assert_allclose(BandwidthDisplay.from_estimator(pipeline).bandwidths, [0.5, 0.7])
    with raises(TypeError, "SpectralClustering", "EntropyClustering"):
        BandwidthDisplay.from_estimator(SpectralClustering(3).fit(X))


def test_density_of_a_pipeline_has_the_names_of_its_columns():
    frame = pd.DataFrame(X, columns=["length", "width"])
    pipeline = scaled(ParzenDensity()).fit(frame)
    display = DensityDisplay.from_estimator(pipeline, frame, grid=20)
    assert display.ax_.get_xlabel() == "length"
    nodes = np.stack(np.meshgrid(*display.axes_points, indexing="ij"), axis=-1).reshape(-1, 2)
    assert_allclose(display.values.ravel(), pipeline[-1].pdf(nodes))


@pytest.mark.parametrize("density", [ParzenDensity(), GaussianMixture(2, random_state=0)])
@pytest.mark.filterwarnings("error")
def test_density_of_a_frame_is_evaluated_with_the_names_of_its_columns(density):
    frame = pd.DataFrame(X, columns=["length", "width"])
    display = DensityDisplay.from_estimator(density.fit(frame), frame, grid=5)
    assert display.values.shape == (5, 5)


def test_density_of_another_library():
    mixture = GaussianMixture(3, random_state=0).fit(X)
    display = DensityDisplay.from_estimator(mixture, X, grid=30)
    assert display.values.min() >= 0


def test_eigenfunctions_of_a_pipeline():
    pipeline = scaled(SeriesDensity()).fit(X)
    display = EigenfunctionDisplay.from_estimator(pipeline, X, n_functions=2, grid=20)
    assert_allclose(display.points, pipeline[:-1].transform(X))


def test_monitoring_of_a_pipeline_and_of_a_detector():
    normal, new = make_process(400, random_state=0), make_process(60, fault="leak", random_state=1)
    monitor = scaled(ProcessMonitor(n_lags=1)).fit(normal)
    assert len(MonitoringDisplay.from_estimator(monitor, new).axes_) == 3
    detector = scaled(KernelNovelty(false_alarm_rate=0.02)).fit(normal)
    frame = MonitoringDisplay.from_estimator(detector, new).frame
    assert_allclose(frame["p_value"], detector[-1].p_values(detector[:-1].transform(new)))
    assert frame["alarm"].any()
    with raises(TypeError, "KernelPCA", "ProcessMonitor"):
        MonitoringDisplay.from_estimator(KernelPCA(2).fit(X), X)


@pytest.mark.parametrize(
    "display", [EmbeddingDisplay, SpectrumDisplay, GramDisplay, DensityDisplay, BandwidthDisplay]
)
def test_pipelines_that_are_not_fitted_raise(display):
    with pytest.raises(NotFittedError):
        display.from_estimator(scaled(KernelPCA(2)))
