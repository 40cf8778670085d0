"""Loaders: known properties of the data sets. Tests are skipped if a file is not available."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from papers.data import (
    load_frey_faces,
    load_ida,
    load_newsgroups,
    load_pendigits,
    load_segment,
    load_thyroid,
    load_usps,
)
from tests.expectations import raises
from tests.papers.loading import load_or_skip


def counts(y):
    return np.unique(y, return_counts=True)[1].tolist()


@pytest.mark.parametrize(
    ("subset", "expected"),
    [
        ("all", [1143, 1143, 1144, 1055, 1144, 1055, 1056, 1142, 1055, 1055]),
        ("train", [780, 779, 780, 719, 780, 720, 720, 778, 719, 719]),
        ("test", [363, 364, 364, 336, 364, 335, 336, 364, 336, 336]),
    ],
)
def test_pendigits_shape_range_and_classes(subset, expected):
    digits = load_or_skip(load_pendigits, subset=subset)
    assert digits.data.shape == (sum(expected), 16)
    assert digits.data.dtype == np.float64
    assert digits.target.dtype == np.int64
    assert (digits.data.min(), digits.data.max()) == (0, 100)
    assert counts(digits.target) == expected
    assert digits.feature_names[:4] == ["x1", "y1", "x2", "y2"]
    assert len(digits.feature_names) == 16


@pytest.mark.parametrize(("load", "error"), [(load_pendigits, 2.26), (load_usps, 5.63)])
def test_nearest_neighbor_error_of_the_published_split(load, error):
    """Depends on rows, classes, scale and split."""
    from sklearn.neighbors import KNeighborsClassifier

    nearest = KNeighborsClassifier(1).fit(*load_or_skip(load, subset="train", return_X_y=True))
    X, y = load(subset="test", return_X_y=True)
    assert_allclose(100 * (1 - nearest.score(X, y)), error, atol=0.005)


@pytest.mark.parametrize(("subset", "per_class"), [("all", 330), ("train", 30), ("test", 300)])
def test_segment_shape_and_classes(subset, per_class):
    segment = load_or_skip(load_segment, subset=subset)
    assert segment.data.shape == (7 * per_class, 19)
    assert np.unique(segment.target).tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert counts(segment.target) == [per_class] * 7
    assert segment.target_names[[3, 1, 6]].tolist() == ["CEMENT", "SKY", "GRASS"]
    assert_array_equal(segment.data[:, segment.feature_names.index("region-pixel-count")], 9)


@pytest.mark.parametrize("load", [load_pendigits, load_segment, load_usps])
def test_subset_all_is_train_followed_by_test(load):
    X, y = load_or_skip(load, return_X_y=True)
    parts = [load(subset=subset, return_X_y=True) for subset in ("train", "test")]
    assert_array_equal(X, np.vstack([part[0] for part in parts]))
    assert_array_equal(y, np.concatenate([part[1] for part in parts]))


def test_thyroid_shape_range_and_classes():
    thyroid = load_or_skip(load_thyroid)
    assert thyroid.data.shape == (215, 5)
    assert np.unique(thyroid.target).tolist() == [1, 2, 3]
    assert counts(thyroid.target) == [150, 35, 30]
    assert thyroid.data.min(axis=0).tolist() == [65, 0.5, 0.2, 0.1, -0.7]
    assert thyroid.data.max(axis=0).tolist() == [144, 25.3, 10, 56.4, 56.3]
    assert thyroid.target_names.tolist() == ["normal", "hyper", "hypo"]
    assert len(thyroid.feature_names) == 5


@pytest.mark.parametrize(
    ("subset", "expected"),
    [
        ("train", [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644]),
        ("test", [359, 264, 198, 166, 200, 160, 170, 147, 166, 177]),
    ],
)
def test_usps_shape_range_and_classes(subset, expected):
    usps = load_or_skip(load_usps, subset=subset)
    assert usps.data.shape == (sum(expected), 256)
    assert usps.data.dtype == np.float64
    assert (usps.data.min(), usps.data.max()) == (-1.0, 1.0)
    assert counts(usps.target) == expected
    assert usps.images.shape == (len(usps.data), 16, 16)


def test_newsgroups_shape_range_and_classes():
    news = load_or_skip(load_newsgroups)
    assert news.data.shape == (16242, 100)
    assert news.data.dtype == np.float64
    assert np.unique(news.data).tolist() == [0, 1]
    assert news.data.sum() == 65451
    assert (news.data.sum(axis=1).min(), news.data.sum(axis=1).max()) == (1, 44)
    assert counts(news.target) == [4605, 3519, 2657, 5461]
    assert news.target_names.tolist() == ["comp.*", "rec.*", "sci.*", "talk.*"]
    assert len(news.feature_names) == 100
    assert news.feature_names == sorted(news.feature_names)


def test_frey_faces_shape_and_range():
    faces = load_or_skip(load_frey_faces)
    assert faces.data.shape == (1965, 560)
    assert faces.images.shape == (1965, 28, 20)
    assert (faces.data.min(), faces.data.max()) == (8, 238)
    assert "target" not in faces
    start = faces.data[:1400] / 255
    assert_allclose([start.mean(), start.std()], [0.6049, 0.1763], atol=5e-5)


IDA = {  # features, +1, -1, training rows, splits
    "banana": (2, 2376, 2924, 400, 10),
    "breast_cancer": (9, 81, 196, 200, 10),
    "german": (20, 300, 700, 700, 10),
    "heart": (13, 120, 150, 170, 10),
    "image": (18, 1320, 990, 1300, 9),
    "ringnorm": (20, 3664, 3736, 400, 10),
    "titanic": (3, 711, 1490, 150, 10),
    "twonorm": (20, 3703, 3697, 400, 1),
    "waveform": (21, 1647, 3353, 400, 10),
}


@pytest.mark.parametrize("name", IDA)
def test_ida_shape_classes_and_splits(name):
    features, positive, negative, n_train, n_splits = IDA[name]
    ida = load_or_skip(load_ida, name)
    n = positive + negative
    assert ida.data.shape == (n, features)
    assert np.unique(ida.target).tolist() == [-1, 1]
    assert counts(ida.target) == [negative, positive]
    assert ida.train.shape == (n_splits, n_train)
    assert ida.test.shape == (n_splits, n - n_train)
    for split in np.hstack([ida.train, ida.test]):
        assert_array_equal(np.sort(split), np.arange(n))


@pytest.mark.parametrize("name", IDA)
def test_ida_features_are_standardized(name):
    X, _ = load_or_skip(load_ida, name, return_X_y=True)
    # breast_cancer was published with approximate scaling, the others with seven digits
    atol = 0.15 if name == "breast_cancer" else 1e-5
    assert_allclose(X.mean(axis=0), 0, atol=atol)
    assert_allclose(X.std(axis=0, ddof=1), 1, atol=atol)


def test_ida_returns_one_split():
    everything, third = load_or_skip(load_ida, "banana"), load_or_skip(load_ida, "banana", 2)
    assert_array_equal(third.train, everything.train[2])
    assert_array_equal(third.test, everything.test[2])
    assert_array_equal(third.data, everything.data)


def test_ida_image_is_segment_standardized():
    image, segment = load_or_skip(load_ida, "image"), load_or_skip(load_segment)
    X = np.delete(segment.data, segment.feature_names.index("region-pixel-count"), axis=1)
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    # the rows have another order, so each feature is sorted
    assert_allclose(np.sort(image.data, axis=0), np.sort(X, axis=0), atol=1e-6)


@pytest.mark.parametrize("realisation", [-1, 10])
def test_ida_rejects_splits_that_are_not_in_the_file(realisation):
    load_or_skip(load_ida, "banana")
    with raises(ValueError, f"realisation={realisation}", 0, 9):
        load_ida("banana", realisation)


def test_ida_error_lists_the_names():
    with raises(ValueError, "splice", *IDA):
        load_ida("splice")


def test_ida_rejects_return_X_y_with_a_split():
    with raises(ValueError, "return_X_y", "realisation=0"):
        load_ida("banana", 0, return_X_y=True)


@pytest.mark.parametrize(
    "load", [load_pendigits, load_segment, load_thyroid, load_usps, load_newsgroups]
)
def test_return_X_y_equals_the_bunch(load):
    bunch, (X, y) = load_or_skip(load), load_or_skip(load, return_X_y=True)
    assert_array_equal(X, bunch.data)
    assert_array_equal(y, bunch.target)
    assert bunch.source.endswith(".npz")
    assert "Source: " in bunch.DESCR
