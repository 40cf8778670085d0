"""Input of EntropyClustering: precomputed matrices, strings, frames, and invalid values."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from mercer import EntropyClustering
from mercer.errors import InvalidParameterError
from mercer.kernels import Gaussian, Linear, Polynomial
from tests.cluster.clustering_cases import Letters, blobs, quiet, same_partition
from tests.expectations import raises

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_precomputed_equals_the_kernel(weighted, solver):
    X, new = blobs(7), np.random.default_rng(8).normal(size=(20, 2)) * 3
    kernel = Gaussian(1.0)
    weights = np.random.default_rng(0).integers(0, 3, size=len(X)) if weighted else None
    direct = EntropyClustering(3, kernel=kernel, solver=solver).fit(X, sample_weight=weights)
    given = EntropyClustering(3, kernel="precomputed", solver=solver)
    given.fit(kernel(X), sample_weight=weights)
    assert_array_equal(given.labels_, direct.labels_)
    assert_allclose(given.cost_, direct.cost_, rtol=1e-10)
    assert_array_equal(given.predict(kernel(new, X)), direct.predict(new))
    assert given.path_[0].bandwidth is None
    assert given.__sklearn_tags__().input_tags.pairwise


def test_strings_with_a_custom_kernel():
    words = ["abc", "abcd", "bca", "cab", "xyz", "xzyw", "zyx", "wxyz"]
    found = EntropyClustering(2, kernel=Letters()).fit(words)
    same_partition(found.labels_, [0, 0, 0, 0, 1, 1, 1, 1])
    label = found.predict(["ab", "zz"])
    assert label[0] == found.labels_[0]
    assert label[1] == found.labels_[-1]
    assert found.predict(["q"]).tolist() == [-1]
    with raises(ValueError, "bandwidths=5", "bandwidths=None"):
        EntropyClustering(2, kernel=Letters(), bandwidths=5).fit(words)
    rng = np.random.default_rng(0)
    alphabets = [list("abcdefgh"), list("stuvwxyz")]
    many = ["".join(rng.choice(letters, 6)) for letters in alphabets for _ in range(40)]
    assert EntropyClustering("auto", kernel=Letters()).fit(words).n_clusters_ == 1
    assert EntropyClustering("auto", kernel=Letters()).fit(many).n_clusters_ == 2


def test_data_frames_set_feature_names():
    pandas = pytest.importorskip("pandas")
    X = blobs(0)
    frame = pandas.DataFrame(X, columns=["a", "b"])
    found = EntropyClustering(3, kernel=Gaussian(1.0)).fit(frame)
    assert list(found.feature_names_in_) == ["a", "b"]
    assert found.n_features_in_ == 2
    assert_array_equal(found.predict(frame), found.labels_)
    with raises(ValueError, "feature names"):
        found.predict(frame[["b", "a"]])
    assert_allclose(found.eca_.transform(frame), found.spectrum_.projections, atol=1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.predict(frame)


@quiet
def test_single_precision():
    X = blobs(1)
    double = EntropyClustering(3, kernel=Gaussian(1.0)).fit(X)
    single = EntropyClustering(3, kernel=Gaussian(1.0)).fit(X.astype(np.float32))
    assert_array_equal(single.labels_, double.labels_)
    assert_array_equal(single.predict(X.astype(np.float32)), single.labels_)
    assert_allclose(single.cost_, double.cost_, rtol=1e-4)
    sweep = EntropyClustering(3).fit(X.astype(np.float32))
    same_partition(sweep.labels_, EntropyClustering(3).fit(X).labels_)


def test_clone_pickle_and_parameters():
    X = blobs(0)
    given = EntropyClustering(3, kernel=Gaussian(1.0), bandwidths=[0.9, 1.1], max_iter=50)
    copy = clone(given)
    assert copy.get_params()["bandwidths"] == [0.9, 1.1]
    fitted = given.fit(X)
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.labels_, fitted.labels_)
    assert_array_equal(again.predict(X), fitted.labels_)
    assert again.path_[0].components.tolist() == fitted.path_[0].components.tolist()
    assert EntropyClustering().set_params(kernel__bandwidth=2.0).kernel == Gaussian(2.0)


@quiet
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", ["gaussian", "precomputed"])
def test_pickles_hold_the_data_once_and_no_gram_matrix(weighted, kernel):
    X = np.random.default_rng(0).normal(size=(200, 40))
    data = Gaussian(5.0)(X) if kernel == "precomputed" else X
    weights = np.ones(200)
    weights[0] = 0.0
    found = EntropyClustering(2, kernel=kernel, solver="dense")
    found.fit(data, sample_weight=weights if weighted else None)
    labels = 8 * 200 * len(found.path_)  # a label per row and bandwidth
    assert len(pickle.dumps(found)) < 3 * X.nbytes + labels + 50_000


@pytest.mark.parametrize("count", [0, -1, 2.5, "three", None, True, [3], np.nan])
def test_invalid_numbers_of_clusters_raise(count):
    with raises(InvalidParameterError, "n_clusters=", 1, "'auto'"):
        EntropyClustering(count).fit(blobs(0))


def test_more_clusters_than_rows_raise():
    with raises(ValueError, "n_clusters=9", "n_samples=5"):
        EntropyClustering(9).fit(blobs(0)[:5])
    weights = np.ones(55)
    weights[3:] = 0
    with raises(ValueError, "n_clusters=4", 3):
        EntropyClustering(4, kernel=Gaussian(1.0)).fit(blobs(0), sample_weight=weights)


def test_more_clusters_than_components_raise():
    X = np.repeat(np.arange(3.0)[:, None], 5, axis=0)
    with raises(ValueError, "n_clusters=4", 3):
        EntropyClustering(4, kernel=Gaussian(1.0)).fit(X)
    with raises(ValueError, "n_clusters=3", 2):
        EntropyClustering(3, kernel=Linear()).fit(blobs(0))


@pytest.mark.parametrize(
    "bandwidths",
    [0, -3, -1.0, 2.5, [], [1.0, -1.0], [1.0, 0.0], [np.nan], [np.inf], [[1.0, 2.0]], "many",
     ["1"], [None], True, np.array(3.0), [1j], {1.0: 2}],
    ids=repr,
)  # fmt: skip
def test_invalid_bandwidths_raise(bandwidths):
    with raises(ValueError, "bandwidths=", 1):
        EntropyClustering(3, bandwidths=bandwidths).fit(blobs(0))


@pytest.mark.parametrize("kernel", ["linear", Polynomial(2), "precomputed", 2.0 * Gaussian()])
def test_bandwidths_for_a_kernel_without_one_raise(kernel):
    X = blobs(0)
    data = Gaussian(1.0)(X) if kernel == "precomputed" else X
    with raises(ValueError, "bandwidths=5", "bandwidths=None"):
        EntropyClustering(3, kernel=kernel, bandwidths=5).fit(data)


@pytest.mark.parametrize("steps", [0, -1, 1.5, "ten", None])
def test_invalid_numbers_of_iterations_raise(steps):
    with raises(InvalidParameterError, "max_iter=", 1):
        EntropyClustering(3, kernel=Gaussian(1.0), max_iter=steps).fit(blobs(0))


def test_invalid_arrays_and_weights_raise():
    X = blobs(0)
    found = EntropyClustering(3, kernel=Gaussian(1.0)).fit(X)
    for value, name in ((np.nan, "NaN"), (np.inf, "infinity")):
        bad = X.copy()
        bad[2, 1] = value
        with raises(ValueError, name):
            EntropyClustering(3).fit(bad)
        with raises(ValueError, name):
            found.predict(bad)
    with raises(ValueError, "0 sample(s)"):
        EntropyClustering(3).fit(np.empty((0, 2)))
    with raises(ValueError, 2):
        found.predict(np.ones((2, 3)))
    with raises(ValueError, "sample_weight", "negative"):
        EntropyClustering(3).fit(X, sample_weight=-np.ones(len(X)))
    with raises(ValueError, "sample_weight", "zero"):
        EntropyClustering(3).fit(X, sample_weight=np.zeros(len(X)))
    with raises(ValueError, "square"):
        EntropyClustering(3, kernel="precomputed").fit(X)
    with raises(ValueError, 0):
        EntropyClustering(1).fit(np.ones((4, 2)))


def test_results_before_fit_raise():
    model = EntropyClustering()
    with pytest.raises(NotFittedError):
        model.predict(blobs(0))
    with pytest.raises(NotFittedError):
        _ = model.spectrum_


def test_unknown_kernel_and_solver_names_raise():
    with raises(ValueError, "nonsense"):
        EntropyClustering(3, kernel="nonsense").fit(blobs(0))
    with raises(ValueError, "nonsense"):
        EntropyClustering(3, solver="nonsense").fit(blobs(0))
