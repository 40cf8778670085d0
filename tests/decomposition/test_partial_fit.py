"""partial_fit on batches equals one fit on their union."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from mercer import KernelECA, KernelPCA
from mercer.errors import ApproximationWarning
from mercer.kernels import Gaussian, Linear
from mercer.solvers import Fourier, Lanczos, Nystrom
from tests.expectations import raises, warns

ESTIMATORS = [KernelECA(3), KernelPCA(3), KernelPCA(3, center=False)]


@pytest.fixture(params=ESTIMATORS, ids=repr)
def estimator(request):
    return clone(request.param)


@pytest.fixture
def X(rng):
    return rng.normal(size=(600, 2)) * [1.0, 2.0]


def fit_in_batches(estimator, X, weights=None, batches=4):
    for rows in np.array_split(np.arange(len(X)), batches):
        estimator.partial_fit(X[rows], sample_weight=None if weights is None else weights[rows])
    return estimator


def assert_same_components(streamed, whole, X, atol):
    assert_allclose(streamed.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
    assert_allclose(streamed.spectrum_.trace, whole.spectrum_.trace, rtol=1e-10)
    assert_allclose(streamed.spectrum_.potential, whole.spectrum_.potential, rtol=1e-10)
    assert streamed.spectrum_.total_weight == pytest.approx(whole.spectrum_.total_weight)
    found, expected = streamed.transform(X), whole.transform(X)
    if streamed.spectrum_.centered:  # signs follow the last batch
        found = found * np.sign((found * expected).sum(axis=0))
    assert_allclose(found, expected, atol=atol)
    assert_allclose(streamed.hotelling(X), whole.hotelling(X), atol=1e-8)
    assert_allclose(streamed.reconstruction_error(X), whole.reconstruction_error(X), atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_batches_on_a_frequency_grid_equal_one_fit(estimator, X, rng, weighted):
    weights = rng.integers(0, 3, size=len(X)) if weighted else None
    box = (X.min(axis=0) - 1, X.max(axis=0) + 1)
    estimator.set_params(kernel=Gaussian(0.5), solver=Fourier(box=box))
    whole = clone(estimator).fit(X, sample_weight=weights)
    assert_same_components(fit_in_batches(estimator, X, weights), whole, X, atol=1e-9)


def test_batches_with_landmarks_of_the_first_batch(estimator, X):
    """The landmarks come from the first batch: the same ones are chosen from it alone."""
    estimator.set_params(kernel=Gaussian(0.8), solver=Nystrom(40))
    with warns(ApproximationWarning, "40 landmarks"):
        streamed = fit_in_batches(clone(estimator), X, batches=3)
    landmarks = streamed.spectrum_.expansion.features.landmarks.data
    first = X[:200]
    assert all((first == row).all(axis=1).any() for row in landmarks)
    features = streamed.spectrum_.expansion.features(X)
    A = features @ features.T
    if streamed.spectrum_.centered:
        J = np.eye(len(X)) - 1 / len(X)
        A = J @ A @ J
    values, vectors = np.linalg.eigh(A)
    if isinstance(streamed, KernelECA):
        order = np.argsort(-values * vectors.sum(axis=0) ** 2)[:3]
    else:
        order = np.argsort(-values)[:3]
    assert_allclose(streamed.eigenvalues_, values[order], rtol=1e-8)
    missing = len(X) - np.einsum("ij,ij->", features, features)
    assert_allclose(streamed.spectrum_.error_bound, missing, rtol=1e-8)


def test_exact_features_far_from_the_origin(rng):
    """The mean is removed without cancellation, batch by batch."""
    X = rng.normal(size=(400, 5)) + 1e6
    streamed = fit_in_batches(KernelPCA(3, kernel=Linear()), X)
    whole = KernelPCA(3, kernel=Linear()).fit(X)
    assert_allclose(streamed.eigenvalues_, whole.eigenvalues_, rtol=1e-8)
    centered = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:3] ** 2
    assert_allclose(streamed.eigenvalues_, centered, rtol=1e-6)


def test_points_outside_the_box_raise_and_change_nothing(X):
    estimator = KernelECA(2, kernel=Gaussian(0.5), solver=Fourier())
    estimator.partial_fit(X)
    before = estimator.transform(X[:5])
    with raises(ValueError, "Column 1", "Fourier(box="):
        estimator.partial_fit(X + np.array([0, 50.0]))
    assert_allclose(estimator.transform(X[:5]), before, atol=0)
    estimator.partial_fit(X)  # continues after the earlier batch
    assert estimator.spectrum_.total_weight == 2 * len(X)


@pytest.mark.parametrize("solver", ["dense", "lanczos", Lanczos()], ids=repr)
def test_partial_fit_is_unavailable_for_solvers_that_cannot_grow(X, solver):
    estimator = KernelPCA(2, solver=solver)
    assert not hasattr(estimator, "partial_fit")
    with pytest.raises(AttributeError) as caught:
        estimator.partial_fit(X)
    assert "Nystrom" in str(caught.value.__cause__)
    with pytest.raises(NotFittedError):
        estimator.transform(X)


def test_partial_fit_is_unavailable_for_unknown_solvers():
    """The check itself used to raise ValueError; newer versions of scikit-learn hide that."""
    estimator = KernelPCA(2, solver="arpack")
    assert not hasattr(estimator, "partial_fit")
    with raises(AttributeError) as caught:
        estimator.partial_fit  # noqa: B018
    assert isinstance(caught.value.__cause__, AttributeError)
    assert "'arpack'" in str(caught.value.__cause__)


def test_batches_with_small_weights(X):
    """The sum of the weights is not the number of rows."""
    weights = np.full(len(X), 1e-3)
    estimator = KernelECA(3, kernel=Gaussian(0.5), solver=Fourier(box=(-20.0, 20.0)))
    streamed = fit_in_batches(clone(estimator), X, weights)
    whole = clone(estimator).fit(X, sample_weight=weights)
    assert_allclose(streamed.eigenvalues_, whole.eigenvalues_, rtol=1e-9)


def test_fit_discards_earlier_batches(X):
    estimator = KernelECA(2, kernel=Gaussian(0.5), solver=Fourier())
    fit_in_batches(estimator, np.repeat(X, 2, axis=0), batches=1)
    estimator.fit(X)
    assert estimator.spectrum_.total_weight == len(X)
    estimator.partial_fit(X)
    assert estimator.spectrum_.total_weight == len(X)


def test_auto_uses_landmarks_and_the_bandwidth_of_the_first_batch(X):
    estimator = KernelECA(2).partial_fit(X[:300])
    width = estimator.kernel_.bandwidth
    with warns(ApproximationWarning, "landmarks"):  # the points are far from all landmarks
        estimator.partial_fit(10 * X[300:])
    assert estimator.kernel_.bandwidth == width
    assert "landmarks" in estimator.spectrum_.method
