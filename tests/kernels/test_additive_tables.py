"""The sum of kernels of columns: its features, and estimators with ``kernel="table"``."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import mercer
from mercer import KernelLDA, KernelPCA
from mercer.bandwidth import fit_kernel
from mercer.errors import ColumnWarning
from mercer.kernels import Gaussian, Product, Table, as_kernel, check_kernel, table_kernel
from tests.expectations import raises

pd = pytest.importorskip("pandas")


def mixed_frame(n: int = 120, seed: int = 0):
    """Return a table with all types of columns, and missing values."""
    rng = np.random.default_rng(seed)
    words = rng.choice(["fox", "dog", "cat"], n)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "income": np.exp(3 * rng.normal(size=n)),
            "color": rng.choice(list("abc"), n),
            "smoker": rng.random(n) < 0.3,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, n), unit="D"),
            "note": [f"the quick brown {word} jumps {i}" for i, word in enumerate(words)],
            "tags": [set(rng.choice(list("pqrs"), 2).tolist()) for _ in range(n)],
        }
    )
    frame.loc[::7, "size"] = np.nan
    frame.loc[::5, "color"] = None
    return frame


# --- features -------------------------------------------------------------------------------------


def test_the_sum_satisfies_the_contract_of_kernels():
    frame = mixed_frame(40)
    check_kernel(table_kernel(frame, combine="sum"), frame, mixed_frame(30, seed=1))


def test_each_block_has_a_mean_squared_norm_of_one():
    frame = mixed_frame()
    kernel = table_kernel(frame, combine="sum")
    F = kernel.features(frame)
    assert [name for name, _ in kernel.blocks] == list(frame)
    for name, at in kernel.blocks:
        assert_allclose((F[:, at] ** 2).sum(axis=1).mean(), 1, err_msg=name)
    assert_allclose(kernel(frame), F @ F.T)


def test_features_of_numbers_are_value_and_cosines_of_the_rank():
    x = np.array([4.0, 1.0, 2.0, 8.0, 2.0, 100.0, np.nan, 3.0])
    F = table_kernel(pd.DataFrame({"x": x}), combine="sum").features(pd.DataFrame({"x": x}))
    seen = x[~np.isnan(x)]
    low, high = np.quantile(seen, [0.25, 0.75])
    z = (seen - np.median(seen)) / ((high - low) / 1.349)
    value = np.sign(z) * np.where(
        np.abs(z) > 3, 3 + np.log1p(np.maximum(np.abs(z) - 3, 0)), np.abs(z)
    )
    ranks = [(np.sum(seen < a) + np.sum(seen <= a)) / 2 / len(seen) for a in seen]
    naive = np.zeros((8, 6))
    naive[~np.isnan(x), 0] = value
    for j in range(1, 5):  # as many functions as distinct values allow
        naive[~np.isnan(x), j] = np.sqrt(2) * np.cos(np.pi * j * np.array(ranks))
    naive[6, :5] = naive[~np.isnan(x), :5].mean(axis=0)
    naive[6, 5] = np.sqrt(8)
    assert_allclose(F, naive / np.sqrt((naive**2).sum(axis=1).mean()), atol=1e-12)


def test_features_of_categories_are_indicators_divided_by_the_root_of_their_probability():
    frame = pd.DataFrame({"c": ["a", "b", None, "a", "b", "a"]})
    kernel = table_kernel(frame, combine="sum")
    new = pd.DataFrame({"c": ["a", "b", None, "z"]})
    # the last indicator, of other categories, is that of one of n + 1 rows
    expected = np.diag(np.sqrt([6 / 3, 6 / 2, 6 / 1, 7])) / np.sqrt(3)
    assert_allclose(np.abs(kernel.features(new)), expected)


def test_the_unit_of_a_column_does_not_matter():
    frame = mixed_frame()[["size", "income"]]
    K = table_kernel(frame, combine="sum")(frame)
    assert_allclose(table_kernel(1e6 * frame + 7, combine="sum")(1e6 * frame + 7), K, atol=1e-6)


def test_constant_columns_are_zero_for_their_value_only():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "k": 5.0, "c": "same", "none": [None] * 3})
    kernel = table_kernel(frame, combine="sum")
    blocks = dict(kernel.blocks)
    new = frame.assign(k=[5.0, 6.0, np.nan], c=["same", "other", None], none=[None, "a", "b"])
    for name in ("k", "c", "none"):
        norms = np.linalg.norm(kernel.features(new)[:, blocks[name]], axis=1)
        assert norms[0] == 0
        assert norms[1:].min() > 1


def test_very_large_numbers_have_finite_and_increasing_features():
    x = np.random.default_rng(0).normal(size=(50, 1))
    kernel = table_kernel(x, combine="sum")
    values = kernel.features(np.array([[10.0], [100.0], [1e10], [1e300]]))[:, 0]
    assert (np.diff(values) > 0).all()
    assert np.isfinite(values).all()


def test_wide_tables_have_few_features_per_column():
    X = np.random.default_rng(0).normal(size=(10, 1000))
    assert table_kernel(X, combine="sum").features(X).shape[1] <= 3000
    frame = pd.DataFrame({f"c{j}": [f"v{i}" for i in range(10)] for j in range(500)})
    F = table_kernel(frame, combine="sum").features(frame)
    assert F.shape[1] <= 4 * 500


# --- fitting --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::mercer.errors.ColumnWarning")
@pytest.mark.parametrize("combine", ["sum", "product"])
def test_weights_equal_copies(combine):
    frame = mixed_frame(60).drop(columns=["tags"] if combine == "product" else [])
    weights = np.random.default_rng(0).integers(0, 4, 60)
    copies = frame.loc[np.repeat(np.arange(60), weights)].reset_index(drop=True)
    weighted = fit_kernel(Table(combine), frame, weights)
    repeated = fit_kernel(Table(combine), copies)
    assert_allclose(weighted(frame), repeated(frame), rtol=1e-9, atol=1e-12)


def test_the_order_of_the_rows_does_not_matter():
    frame = mixed_frame()
    shuffled = frame.sample(frac=1, random_state=0)
    K = table_kernel(frame, combine="sum")(frame)
    assert_allclose(table_kernel(shuffled, combine="sum")(frame), K, atol=1e-9)


@pytest.mark.filterwarnings("ignore::mercer.errors.ColumnWarning")
def test_an_unfitted_table_is_fitted_with_the_estimator():
    frame = mixed_frame()
    assert as_kernel("table") == Table()
    model = KernelPCA(2, kernel="table").fit(frame[:60])
    assert model.kernel_ == table_kernel(frame[:60], combine="sum")
    assert model.kernel_ != table_kernel(frame, combine="sum")
    product = KernelPCA(2, kernel=Table("product")).fit(frame.drop(columns="tags")[:60])
    assert isinstance(product.kernel_, Product)
    assert product.kernel_ == table_kernel(frame.drop(columns="tags")[:60])
    fitted = KernelPCA(2, kernel=model.kernel_).fit(frame)
    assert fitted.kernel_ == model.kernel_


def test_kernel_pca_of_a_table_is_pca_of_its_features():
    frame = mixed_frame(200)
    model = KernelPCA(3, kernel="table").fit(frame)
    assert "exact features" in model.spectrum_.method
    F = model.kernel_.features(frame)
    values = np.linalg.eigvalsh(np.cov(F.T, bias=True) * len(F))[::-1]
    assert_allclose(model.eigenvalues_, values[:3])
    assert_allclose(model.transform(frame), model.fit_transform(frame), atol=1e-9)


def test_cross_validation_and_clone():
    frame = mixed_frame()
    scores = cross_val_score(clone(KernelLDA(kernel=Table())), frame, frame["income"] > 1)
    assert scores.min() > 0.8


def test_fitted_tables_are_saved_and_pickled(tmp_path):
    frame = mixed_frame()
    model = KernelPCA(2, kernel="table").fit(frame)
    mercer.save(model, tmp_path / "model.mercer")
    for copy in (mercer.load(tmp_path / "model.mercer"), pickle.loads(pickle.dumps(model))):
        assert copy.kernel_ == model.kernel_
        assert_array_equal(copy.transform(frame), model.transform(frame))


def test_identifiers_are_left_out():
    frame = mixed_frame().assign(customer_id=np.arange(120) + 1000)
    with pytest.warns(ColumnWarning, match="customer_id"):
        kernel = table_kernel(frame, combine="sum")
    assert "customer_id" not in dict(kernel.blocks)
    assert "customer_id" in dict(table_kernel(frame, combine="sum", include=["customer_id"]).blocks)


def test_arrays_are_tables_of_numbers():
    X = np.random.default_rng(0).normal(size=(50, 3))
    kernel = table_kernel(X, combine="sum")
    named = table_kernel(pd.DataFrame(X, columns=list("abc")), combine="sum")
    assert_allclose(kernel(X), named(pd.DataFrame(X, columns=list("abc"))))
    assert_allclose(kernel(X.astype(object)), kernel(X))


# --- errors ---------------------------------------------------------------------------------------


def test_errors_name_the_problem():
    frame = mixed_frame()
    with raises(ValueError, "combine='mean'", "'sum'", "'product'"):
        fit_kernel(Table("mean"), frame)
    with raises(ValueError, "Table()", "fitted"):
        Table()(frame)
    with raises(ValueError, "None of the 2 columns"):
        fit_kernel(Table(), pd.DataFrame({"a": [1, 1], "b": ["x", "x"]}))
    with raises(TypeError, "1 dimension", "data frame"):
        fit_kernel(Table(), ["a", "b"])
    with raises(ValueError, "'x'", "infinite"):
        fit_kernel(Table(), pd.DataFrame({"x": [1.0, np.inf]}))
    with raises(TypeError, "'x'", "list"):
        fit_kernel(Table(), pd.DataFrame({"x": [[1], [2]]}))
    with raises(ValueError, "'size'"):
        table_kernel(frame, combine="sum").features(frame.drop(columns="size"))
    with raises(ValueError, "bandwidth"):
        table_kernel(frame, combine="sum").scale_bandwidths(2.0)
    assert isinstance(table_kernel(frame[["size"]]).kernel, Gaussian)
