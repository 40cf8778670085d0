"""The names "table" and "auto", and kernels of tables fitted with estimators."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, cross_val_predict

from mercer import (
    ComponentClassifier,
    EntropyClustering,
    KernelDenoiser,
    KernelECA,
    KernelLDA,
    KernelPCA,
    MercerMixture,
    ParzenDensity,
    measure_diversity,
)
from mercer.bandwidth import fit_kernel
from mercer.information import renyi_entropy
from mercer.kernels import Gaussian, Linear, NGram, Normalized, Table, as_kernel, check_kernel
from tests.expectations import raises

pd = pytest.importorskip("pandas")


def mixed_frame(n=60, seed=0):
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 2
    frame = pd.DataFrame({"size": rng.normal(size=n) + 3 * group, "rate": rng.normal(size=n)})
    frame["color"] = np.where(group == 1, "red", "blue")
    frame.loc[rng.random(n) < 0.1, "size"] = np.nan
    frame.loc[rng.random(n) < 0.1, "color"] = None
    return frame, group


def test_auto_is_the_kernel_of_tables_for_mixed_frames_only():
    frame, _ = mixed_frame()
    numbers = frame[["rate"]]
    assert as_kernel("auto", frame) == Table()
    assert as_kernel("auto", frame, table="product") == Normalized(Table("product"))
    for X in (numbers, numbers.to_numpy(), None):
        assert as_kernel("auto", X) == Gaussian()
    missing = numbers.mask(numbers["rate"] > 1)
    assert as_kernel("auto", missing) == Table()
    assert as_kernel("auto", frame, table=None) == Gaussian()


@pytest.mark.parametrize(
    ("estimator", "form"),
    [
        (KernelPCA(2), "sum"),
        (KernelLDA(), "sum"),
        (KernelECA(2), "product"),
        (EntropyClustering(2), "product"),
        (MercerMixture(2), "product"),
        (ComponentClassifier(4), "sum"),
    ],
)
def test_auto_and_table_are_the_same_fit_of_a_mixed_frame(estimator, form):
    frame, group = mixed_frame()
    kernels = [estimator.set_params(kernel=k).fit(frame, group).kernel_ for k in ("auto", "table")]
    assert kernels[0] == kernels[1]
    assert isinstance(kernels[0], Table if form == "sum" else Normalized)


@pytest.mark.parametrize("estimator", [KernelDenoiser(2), ParzenDensity()])
@pytest.mark.parametrize("kernel", ["auto", "gaussian"])
def test_methods_on_vectors_name_an_encoder(estimator, kernel):
    frame, _ = mixed_frame()
    with raises(ValueError, "OneHotEncoder", "MercerMixture"):
        estimator.set_params(kernel=kernel).fit(frame)


def test_texts_without_a_kernel_name_ngram():
    for model in (KernelPCA(1), KernelPCA(1, kernel="auto")):
        with raises(ValueError, "NGram"):
            model.fit(["a", "b"])


def test_cross_validation_fits_the_table_to_training_rows():
    """A category that only a test fold has is unknown to the kernel of that fold."""
    frame, group = mixed_frame()
    frame["where"] = np.where(np.arange(60) % 3 == 0, "north", "south")
    frame.loc[40:, "where"] = "west"
    frame.loc[40:, "rate"] += 100
    folds = KFold(3)  # the last fold has the rows from 40
    model = KernelLDA(kernel="table")
    found = cross_val_predict(model, frame, group, cv=folds, method="predict_proba")
    assert np.isfinite(found).all()
    model.fit(frame[:40], group[:40])
    np.testing.assert_array_equal(model.predict_proba(frame[40:]), found[40:])
    # features that know the category differ from those of the training rows
    known = fit_kernel(Table(), frame)
    assert known.blocks != model.kernel_.blocks
    assert model.kernel_ == fit_kernel(Table(), frame[:40])


def test_normalized_kernel_has_ones_on_the_diagonal():
    kernel = Normalized(Linear() + 2.0 * Linear())
    check_kernel(kernel)
    X = np.random.default_rng(0).normal(size=(5, 3))
    unit = X / np.linalg.norm(X, axis=1)[:, None]
    np.testing.assert_allclose(kernel(X, X[:2]), unit @ unit[:2].T, atol=1e-14)
    np.testing.assert_allclose(kernel.diagonal(X), 1)
    features = Normalized(Linear()).features(X)
    np.testing.assert_allclose(features, unit)
    np.testing.assert_allclose(Normalized(NGram(2))(["abab", "ab", ""]).diagonal(), [1, 1, 0])


def test_diversity_of_a_table_counts_rows_with_missing_values_as_one_row():
    """For the product, k(x, x) = 1 also where values are missing."""
    frame, _ = mixed_frame()
    kernel = fit_kernel(as_kernel("table", frame, table="product"), frame)
    np.testing.assert_allclose(kernel.diagonal(frame), 1, rtol=1e-12)
    assert 1 <= measure_diversity(frame, kernel="table").scores[0] <= 60
    V = kernel(frame).mean()
    assert renyi_entropy(frame, "table") == pytest.approx(-np.log(V))
