"""Fractions that columns predict equal those of naive ridge regressions."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer.information import column_dependence
from mercer.kernels import table_kernel
from tests.expectations import raises


def mixed_table(n=90, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    kind = np.where(a + rng.normal(size=n) > 0, "high", "low")
    kind[rng.random(n) < 0.2] = "other"
    b = a**2 + 0.3 * rng.normal(size=n)
    b[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame({"a": a, "kind": kind, "b": b, "c": rng.exponential(size=n)})


def naive_fraction(frame, column, predictors, weights=None):
    """Fraction from explicit regressions on the rows, with the trace of the hat matrix."""
    kernel = table_kernel(frame, combine="sum", include=list(frame.columns))
    features = kernel.features(frame)
    features = features - features.mean(axis=0)
    n = len(frame)
    blocks = dict(kernel.blocks)
    ridge = 0.001 * (features**2).sum() / n / features.shape[1]
    y = features[:, blocks[column]]
    cells = next(one for one in kernel.columns if one.name == column).cell_weights
    variation = (cells * y**2).sum() / n / (1 - 1 / n) ** 2
    if not predictors:
        return 0.0, variation
    x = np.hstack([features[:, blocks[name]] for name in predictors])
    hat = x @ np.linalg.solve(x.T @ x + n * ridge * np.eye(x.shape[1]), x.T)
    error = (cells * (y - hat @ y) ** 2).sum() / n
    error /= (1 - (1 + np.trace(hat)) / n) ** 2
    return 1 - error / variation, error


def test_fractions_equal_those_of_regressions():
    frame = mixed_table()
    found = column_dependence(frame)
    names = list(frame.columns)
    assert found.columns == tuple(names)
    for j, column in enumerate(names):
        others = [name for name in names if name != column]
        fraction, error = naive_fraction(frame, column, others)
        assert found.predicted[j] == pytest.approx(max(fraction, 0), abs=1e-9)
        for name in others:
            i = names.index(name)
            alone = max(naive_fraction(frame, column, [name])[0], 0)
            assert found.total[i, j] == pytest.approx(alone, abs=1e-9)
            without = naive_fraction(frame, column, [one for one in others if one != name])[1]
            assert found.direct[i, j] == pytest.approx(max(1 - error / without, 0), abs=1e-9)
    assert_allclose(np.diag(found.total), 1)
    assert_allclose(np.diag(found.direct), 1)
    assert found.total[0, 2] > 0.8 > 0.3 > found.total[2, 0]  # b is a function of a


def test_chunks_do_not_change_the_result(monkeypatch):
    frame = mixed_table()
    whole = column_dependence(frame)
    monkeypatch.setattr("mercer.information.dependence._CHUNK", 17)
    parts = column_dependence(frame)
    assert_allclose(parts.direct, whole.direct, atol=1e-10)
    assert_allclose(parts.predicted, whole.predicted, atol=1e-10)


def test_weights_equal_repeated_rows_and_zero_weights_absent_rows():
    frame = mixed_table(60)
    weights = np.arange(60) % 3
    weighted = column_dependence(frame, sample_weight=weights, include=frame.columns)
    repeated = column_dependence(frame.loc[frame.index.repeat(weights)], include=frame.columns)
    for name in ("predicted", "total", "direct"):
        assert_allclose(getattr(weighted, name), getattr(repeated, name), atol=1e-9)


def test_units_order_of_rows_and_order_of_columns_do_not_matter():
    frame = mixed_table()
    found = column_dependence(frame)
    changed = frame.sample(frac=1, random_state=0)[["c", "kind", "a", "b"]]
    changed = changed.assign(a=1e6 * changed["a"] - 3, c=-1e-9 * changed["c"])
    other = column_dependence(changed)
    at = [other.columns.index(name) for name in found.columns]
    assert_allclose(other.predicted[at], found.predicted, atol=1e-7)
    assert_allclose(other.total[np.ix_(at, at)], found.total, atol=1e-7)
    assert_allclose(other.direct[np.ix_(at, at)], found.direct, atol=1e-7)


def test_independent_columns_predict_nothing_and_copies_everything():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd"))
    assert column_dependence(frame).predicted.max() < 0.05
    found = column_dependence(frame.assign(copy=frame["a"]))
    assert found.predicted[[0, 4]].min() > 0.99
    assert found.groups() == [["a", "copy"]]
    three = column_dependence(frame.assign(copy=frame["a"], third=frame["a"]))
    assert three.direct[0, 4] < 0.9 * found.direct[0, 4]  # another copy replaces it


def test_linear_dependence_of_normal_columns_is_the_squared_correlation():
    rng = np.random.default_rng(0)
    covariance = [[1, 0.8, 0.4], [0.8, 1, 0.5], [0.4, 0.5, 1]]
    X = rng.multivariate_normal(np.zeros(3), covariance, size=20_000)
    found = column_dependence(X)
    assert_allclose(found.total, np.square(covariance), atol=0.02)
    inverse = np.linalg.inv(covariance)
    partial = inverse / np.sqrt(np.outer(np.diag(inverse), np.diag(inverse)))
    assert_allclose(found.direct, partial**2, atol=0.02)
    assert_allclose(found.predicted, 1 - 1 / np.diag(inverse), atol=0.02)


def test_one_category_predicts_goodman_and_kruskals_tau():
    rng = np.random.default_rng(1)
    a = rng.integers(0, 3, 30_000)
    b = np.where(rng.random(30_000) < 0.4, a, rng.integers(0, 4, 30_000))
    found = column_dependence(pd.DataFrame({"a": a.astype(str), "b": b.astype(str)}))
    joint = np.zeros((3, 4))
    np.add.at(joint, (a, b), 1 / len(a))
    p, q = joint.sum(axis=1), joint.sum(axis=0)
    tau = ((joint**2 / p[:, None]).sum() - q @ q) / (1 - q @ q)
    assert found.total[0, 1] == pytest.approx(tau, abs=0.005)


def test_equivalent_columns_have_a_one_to_one_relation():
    frame = mixed_table()
    code = frame["kind"].map({"high": 2, "low": 7, "other": 1})
    found = column_dependence(frame.assign(code=code, double=2 * frame["a"]))
    assert found.equivalent == (("kind", "code"),)  # values of a are not repeated
    code = code.astype(float).where(code.index != 5, 99.0)
    assert column_dependence(frame.assign(code=code)).equivalent == ()
    missing = frame["kind"].where(frame["kind"] != "low")
    assert column_dependence(frame.assign(gone=missing)).equivalent == (("kind", "gone"),)


def test_order_has_dependent_columns_next_to_each_other():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(300, 3))
    X = np.hstack([base, base + 0.2 * rng.normal(size=base.shape)])
    found = column_dependence(X)
    places = np.argsort(found.order)
    assert [abs(places[i] - places[i + 3]) for i in range(3)] == [1, 1, 1]
    assert sorted(map(sorted, found.groups())) == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize(
    "X",
    [
        np.array([[1.0], [2.0], [4.0]]),
        np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]]),
        np.c_[np.arange(3.0), np.arange(3.0) ** 2],
        np.random.default_rng(0).normal(size=(20, 400)),
        np.array([[1e150, 1.0], [0.0, 2.0], [-1e150, 0.0], [1.0, 7.0]]),
    ],
    ids=["one column", "constant", "three rows", "many columns", "huge"],
)
def test_results_of_degenerate_tables_are_finite(X):
    found = column_dependence(X)
    for values in (found.predicted, found.total, found.direct):
        assert np.isfinite(values).all()
        assert values.min() >= 0
        assert values.max() <= 1
    assert len(found.order) == X.shape[1]


def test_results_are_listed_as_a_frame_and_printed():
    found = column_dependence(mixed_table())
    frame = found.to_frame()
    assert len(frame) == 12
    one = frame[(frame["predictor"] == "a") & (frame["column"] == "b")].iloc[0]
    assert (one["total"], one["direct"]) == (found.total[0, 2], found.direct[0, 2])
    assert found.predictors("b")[0] == ("a", found.total[0, 2])
    assert "kind" in repr(found)
    assert "<table" in found._repr_html_()


def test_display_draws_the_larger_direction_in_the_order_of_the_result():
    pytest.importorskip("matplotlib")
    from mercer.plots import DependenceDisplay

    found = column_dependence(mixed_table())
    display = DependenceDisplay.from_result(found)
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == [found.columns[i] for i in found.order]
    drawn = display.image_.get_array().filled(np.nan).reshape(4, 4)
    expected = found.strength[np.ix_(found.order, found.order)]
    away = ~np.eye(4, dtype=bool)
    assert_allclose(drawn[away], expected[away])
    few = DependenceDisplay.from_result(found, kind="direct", max_columns=2)
    assert few.image_.get_array().size == 4
    with raises(ValueError, "kind='both'", "direct"):
        DependenceDisplay(found).plot(kind="both")
