"""Kernels in pipelines and grid searches of scikit-learn."""

from __future__ import annotations

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline

from mercer import KernelECA, KernelPCA
from mercer.datasets import make_rings
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial
from tests.expectations import raises


def test_a_grid_search_reaches_the_bandwidth_from_the_default_name():
    X, y = make_rings(random_state=0)
    steps = [("pca", KernelPCA(n_components=4)), ("classify", LogisticRegression())]
    bandwidths = [0.05, 3.0, 500.0]
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(Pipeline(steps), {"pca__kernel__bandwidth": bandwidths}, cv=folds)
    search.fit(X, y)
    assert search.estimator.named_steps["pca"].kernel == "gaussian"  # the parameter does not change
    best = search.best_params_["pca__kernel__bandwidth"]
    assert search.best_estimator_.named_steps["pca"].kernel_ == Gaussian(best)
    assert best == 3.0  # the others are far too small or too large for the rings
    for bandwidth, score in zip(bandwidths, search.cv_results_["mean_test_score"], strict=True):
        manual = make_pipeline(KernelPCA(4, kernel=Gaussian(bandwidth)), LogisticRegression())
        predicted = cross_val_predict(manual, X, y, cv=folds)
        assert score == pytest.approx((predicted == y).mean(), abs=1e-12)


def test_a_grid_search_reaches_into_combinations():
    X, y = make_rings(random_state=0)
    kernel = Gaussian(1.0) + 0.1 * Linear()
    pipe = make_pipeline(KernelPCA(4, kernel=kernel), LogisticRegression())
    grid = {"kernelpca__kernel__0__bandwidth": [0.05, 3.0], "kernelpca__kernel__1__factor": [0.2]}
    search = GridSearchCV(pipe, grid, cv=3).fit(X, y)
    found = search.best_estimator_[0].kernel_
    assert (
        found == Gaussian(search.best_params_["kernelpca__kernel__0__bandwidth"]) + 0.2 * Linear()
    )
    assert kernel == Gaussian(1.0) + 0.1 * Linear()


@pytest.mark.parametrize("estimator", [KernelPCA, KernelECA])
def test_set_params_from_a_name(estimator):
    model = estimator(kernel="laplacian").set_params(kernel__bandwidth=2.0)
    assert model.kernel == Laplacian(2.0)
    model.set_params(kernel__degree=3, kernel="polynomial")
    assert model.kernel == Polynomial(3)
    with raises(ValueError, "'bandwidth'", "degree"):
        model.set_params(kernel__bandwidth=1.0)
