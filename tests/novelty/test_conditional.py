"""The conditional statistic of tables: regressions, refits, copies, Dask, cells, bad input."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import KernelNovelty
from mercer.data.points import Points, Sample
from mercer.kernels import Gaussian, Table, table_kernel
from mercer.kernels.column_features import NumberFeatures
from mercer.novelty import conditional, kernel_novelty
from mercer.novelty.conditional import ConditionalDistance
from tests.expectations import raises
from tests.kernels.test_additive_tables import mixed_frame

pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.ColumnWarning")
PRIOR = 3.0  # rows that the covariance is shrunk by


def naive_distances(kernel, train, weights, rows):
    """Regress each block on all others, and measure the residual by its covariance.

    The regression is that of the rows and of ``PRIOR`` uncorrelated rows with the mean square of
    all features, times the squared degree of cosines.
    """
    F, G = kernel.features(train), kernel.features(rows)
    p, total = F.shape[1], weights.sum()
    mean = np.average(F, axis=0, weights=weights)
    degrees = np.ones(p)
    for (_, at), column in zip(kernel.blocks, kernel.columns, strict=True):
        if isinstance(column, NumberFeatures):  # value, cosines, indicator of missing values
            degrees[at.start + 1 : at.stop - 1] = np.arange(1, at.stop - at.start - 1)
    scale = np.sqrt(PRIOR * len(kernel.blocks) / p) * degrees
    # rows of a least-squares problem: the weighted training rows, then the prior
    A = np.vstack([np.sqrt(weights)[:, None] * (F - mean), np.diag(scale)])
    found = np.empty((len(G), len(kernel.blocks)))
    expected = np.empty_like(G)
    for j, (_, at) in enumerate(kernel.blocks):
        others = np.delete(np.arange(p), np.arange(p)[at])
        slopes = np.linalg.lstsq(A[:, others], A[:, at], rcond=None)[0]
        residuals = A[:, at] - A[:, others] @ slopes
        covariance = residuals.T @ residuals / (total + PRIOR)
        expected[:, at] = mean[at] + (G - mean)[:, others] @ slopes
        e = G[:, at] - expected[:, at]
        found[:, j] = np.einsum("ij,ij->i", e @ np.linalg.inv(covariance), e)
    return found, expected


def frame_of(n=80, seed=0):
    """Return a table with dependent columns, without texts and sets to keep it small."""
    frame = mixed_frame(n, seed)[["size", "color", "smoker", "day"]]
    noise = np.random.default_rng(seed + 100).normal(size=n)
    return frame.assign(double=2 * frame["size"].fillna(0.0) + 0.1 * noise)


def fitted(frame, weights=None):
    kernel = table_kernel(frame, combine="sum")
    sample = Sample.of(kernel, Points(frame, "objects"), weights)
    return kernel, *ConditionalDistance.fit(sample)


def test_distances_and_expectations_equal_regressions_on_the_other_columns():
    frame, new = mixed_frame(90), mixed_frame(20, seed=1)
    weights = np.random.default_rng(0).integers(1, 4, 90).astype(float)
    kernel, model, _ = fitted(frame, weights)
    distances, expected = naive_distances(kernel, frame, weights, new)
    features = kernel.features(new)
    assert_allclose(model.distances(features), distances, rtol=1e-8)
    assert_allclose(model.expected(features), expected, atol=1e-9)
    assert_allclose(model(Points(new, "objects")), distances.sum(axis=1))


@pytest.mark.parametrize("kind", ["ones", "integers", "fractions"])
def test_leave_one_out_values_equal_refits_without_one_unit_of_the_row(kind):
    frame = frame_of(40)
    rng = np.random.default_rng(0)
    weights = {"ones": np.ones(40), "integers": rng.integers(1, 4, 40) * 1.0}.get(
        kind, rng.uniform(1, 2, 40)
    )
    kernel, _, own = fitted(frame, weights)
    counts = Sample.of(kernel, Points(frame, "objects"), weights).multiplicities
    for i in range(0, 40, 3):
        rest = counts.copy()
        rest[i] -= 1
        refit, _ = naive_distances(kernel, frame, np.maximum(rest, 0), frame.iloc[[i]])
        assert_allclose(own[i], refit.sum(), rtol=1e-8)


def test_leave_one_out_value_of_a_single_category_is_that_of_an_unseen_one():
    frame = frame_of().assign(color=["rare"] + ["a", "b"] * 39 + ["a"])
    _, model, own = fitted(frame)
    unseen = model(Points(frame.iloc[[0]].assign(color="unseen"), "objects"))[0]
    assert own[0] > 10 * np.median(own)
    assert 0.5 < own[0] / unseen < 2


def test_rows_outside_the_fit_have_plain_values():
    frame = frame_of()
    kernel = table_kernel(frame, combine="sum")
    sample = Sample.of(kernel, Points(frame, "objects"), None)
    regular = np.arange(80) >= 8
    model, own = ConditionalDistance.fit(sample, regular)
    rest = frame.iloc[8:]
    _, expected = ConditionalDistance.fit(Sample.of(kernel, Points(rest, "objects"), None))
    assert_allclose(own[8:], expected)
    assert_allclose(own[:8], model(Points(frame.iloc[:8], "objects")))


def test_weights_equal_copies_and_zero_weights_equal_absent_rows():
    frame = frame_of(60)
    weights = np.random.default_rng(0).integers(0, 4, 60)
    copies = frame.loc[np.repeat(np.arange(60), weights)].reset_index(drop=True)
    one = KernelNovelty(statistic="conditional").fit(frame, sample_weight=weights)
    other = KernelNovelty(statistic="conditional").fit(copies)
    assert_allclose(one.score_samples(frame), other.score_samples(frame), rtol=1e-7)
    assert_allclose(one.p_values(frame), other.p_values(frame))
    assert one.n_calibration_ == weights.sum()


def test_units_and_the_order_of_rows_and_columns_do_not_matter():
    frame = frame_of()
    changed = frame.assign(size=1e6 * frame["size"] - 3).sample(frac=1, random_state=0)
    model = KernelNovelty(statistic="conditional").fit(frame)
    other = KernelNovelty(statistic="conditional").fit(changed[changed.columns[::-1]])
    expected = model.score_samples(frame.loc[changed.index])
    assert_allclose(other.score_samples(changed), expected, rtol=1e-5)


def test_scores_do_not_depend_on_chunks(monkeypatch):
    frame = frame_of()
    expected = KernelNovelty(statistic="conditional").fit(frame).p_values(frame)
    monkeypatch.setattr(conditional, "_CHUNK", 200)
    model = KernelNovelty(statistic="conditional").fit(frame)
    assert_allclose(model.p_values(frame), expected)
    found = model.explain(frame)
    assert_allclose(
        found.groupby("row")["contribution"].sum(), -model.score_samples(frame), rtol=1e-9
    )


def dependent_array(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    return np.column_stack([x, x[:, 0] ** 2 + 0.1 * x[:, 1]])


def test_arrays_are_tables_without_names():
    X, new = dependent_array(100), dependent_array(30, seed=1)
    model = KernelNovelty(statistic="conditional").fit(X)
    named = KernelNovelty(statistic="conditional").fit(pd.DataFrame(X, columns=list("abcde")))
    assert_allclose(model.p_values(new), named.p_values(pd.DataFrame(new, columns=list("abcde"))))
    assert_allclose(model.p_values(new.tolist()), model.p_values(new))
    assert model.explain(new)["column"].isin(range(5)).all()
    new[:, 2] = np.nan
    assert np.isfinite(model.p_values(new)).all()
    with raises(ValueError, "4", "5"):
        model.p_values(new[:, :4])


def test_dask_equals_memory():
    da = pytest.importorskip("dask.array")
    X, new = dependent_array(100), dependent_array(30, seed=1)
    weights = np.arange(100.0) % 3
    expected = KernelNovelty(statistic="conditional").fit(X, sample_weight=weights)
    chunked = da.from_array(X, chunks=(30, 5))
    model = KernelNovelty(statistic="conditional").fit(chunked, sample_weight=weights)
    lazy = model.p_values(da.from_array(new, chunks=(10, 5)))
    assert lazy.chunks == ((10,) * 3,)
    assert_allclose(lazy.compute(), expected.p_values(new))
    assert_allclose(model.score_samples(new), expected.score_samples(new))


def test_many_rows_are_drawn(monkeypatch):
    monkeypatch.setattr(kernel_novelty, "_MAX_CALIBRATION_ROWS", 300)
    model = KernelNovelty(statistic="conditional", max_samples=100, random_state=0)
    model.fit(dependent_array(1000))
    assert model.n_calibration_ == 700  # 400 rows of the fit, and 300 others
    alarms = (model.predict(dependent_array(2000, seed=1)) == -1).mean()
    assert abs(alarms - 0.05) < 0.03


@pytest.mark.parametrize("calibration", ["auto", "split"])
def test_false_alarm_rate_on_new_rows(calibration):
    """The mean over 30 samples of 100 rows differs from 10 % by at most 4 standard errors."""
    rates = []
    for seed in range(30):
        frame = frame_of(300, seed)
        model = KernelNovelty(
            statistic="conditional", calibration=calibration, false_alarm_rate=0.1, random_state=0
        )
        rates.append((model.fit(frame[:100]).predict(frame[100:]) == -1).mean())
    n = 100 if calibration == "auto" else 50
    error = np.sqrt(0.1 * 0.9 * (1 / n + 1 / 200) / 30)
    assert 0.1 - 1 / (n + 1) - 4 * error <= np.mean(rates) <= 0.1 + 4 * error


# --- cells ----------------------------------------------------------------------------------------


def animals(n=300, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.choice(["cat", "horse"], n)
    weight = np.where(kind == "cat", 4.0, 500.0) * rng.uniform(0.8, 1.2, n)
    return pd.DataFrame({"kind": kind, "weight": weight, "born": rng.integers(2000, 2020, n)})


def test_explain_names_cells_with_observed_and_expected_values():
    frame = animals()
    model = KernelNovelty(statistic="conditional").fit(frame)
    new = pd.DataFrame({"kind": ["cat", "horse"], "weight": [480.0, 500.0], "born": 2010})
    new.index = ["wrong", "right"]
    found = model.explain(new)
    assert found["row"].tolist() == ["wrong"] * 3 + ["right"] * 3
    assert (found.groupby("row")["contribution"].diff().dropna() <= 0).all()
    wrong = found[found["row"] == "wrong"].set_index("column")
    assert wrong.index[2] == "born"
    assert wrong.loc["kind", ["observed", "expected"]].tolist() == ["cat", "horse"]
    assert wrong.loc["kind", "probability"] < 0.1
    assert wrong.loc["kind", "expected_probability"] > 0.9
    assert wrong.loc["weight", "observed"] == 480
    assert wrong.loc["weight", "expected"] < 50
    assert np.isnan(wrong.loc["weight", "probability"])
    right = found[found["row"] == "right"].set_index("column")
    assert right.loc["kind", "expected"] == "horse"
    assert 400 < right.loc["weight", "expected"] < 600
    assert model.predict(new).tolist() == [-1, 1]


def test_explain_of_all_types_of_columns():
    frame = mixed_frame()
    model = KernelNovelty(statistic="conditional").fit(frame)
    found = model.explain(frame.head(20))
    assert len(found) == 20 * 7
    by_column = found.groupby("column")
    assert all(isinstance(cell, pd.Timestamp) for cell in by_column.get_group("day")["expected"])
    assert by_column.get_group("size")["observed"].isna().sum() == 3
    assert by_column.get_group("color")["probability"].between(0, 1).all()
    assert_allclose(
        found.groupby("row")["contribution"].sum(), -model.score_samples(frame.head(20))
    )


def test_categories_never_seen_and_impossible_numbers_are_abnormal():
    frame = animals().assign(gain=np.r_[np.zeros(280), 10.0 ** np.arange(20)])
    model = KernelNovelty(statistic="conditional").fit(frame)
    typical = frame.iloc[[0]]
    assert model.p_values(typical)[0] > 0.05
    for changed in ({"kind": "dragon"}, {"born": 9999}):
        row = typical.assign(**changed)
        assert model.p_values(row)[0] <= 0.05
        assert model.explain(row)["column"][0] == next(iter(changed))


# --- storage, bad input ---------------------------------------------------------------------------


def test_saved_and_pickled_models_give_the_same_cells(tmp_path):
    frame = mixed_frame()
    model = KernelNovelty(statistic="conditional").fit(frame)
    mercer.save(model, tmp_path / "model.mercer")
    for copy in (mercer.load(tmp_path / "model.mercer"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(copy.p_values(frame), model.p_values(frame))
        assert copy.explain(frame.head(5)).equals(model.explain(frame.head(5)))


def hard_frames():
    frame = frame_of(60)
    wide = np.random.default_rng(0).normal(size=(50, 300))
    return {
        "constant column": frame.assign(k=5.0, c="same"),
        "all missing": frame.assign(none=np.nan),
        "one value per row": frame.assign(code=[f"row {i}" for i in range(60)], i=np.arange(60.0)),
        "perfect copies": frame.assign(copy=frame["size"], again=frame["color"]),
        "copied rows": frame.iloc[np.repeat(np.arange(6), 10)].reset_index(drop=True),
        "3 rows": frame.head(3),
        "more columns than rows": pd.DataFrame(wide).rename(columns=str),
        "huge numbers": frame.assign(big=1e300 * np.r_[np.zeros(59), 1]),
    }


@pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")
@pytest.mark.parametrize("name", list(hard_frames()))
def test_hard_tables_have_finite_results(name):
    frame = hard_frames()[name]
    model = KernelNovelty(statistic="conditional").fit(frame)
    # unknown categories, missing and very large values
    new = frame.head(9).copy()
    new.iloc[:, 0] = [np.nan, 1e300, -1e9][: len(new)] * (len(new) // 3)
    if "color" in new:
        new["color"] = "unknown"
    for rows in (frame, new):
        p = model.p_values(rows)
        assert ((p > 0) & (p <= 1)).all()
        assert np.isfinite(model.score_samples(rows)).all()
        found = model.explain(rows)
        assert np.isfinite(found["contribution"]).all()
        assert len(found) == len(rows) * len(model.kernel_.blocks)


def test_broken_copies_are_abnormal():
    frame = frame_of(200)
    frame["copy"] = frame["size"]
    model = KernelNovelty(statistic="conditional").fit(frame)
    row = frame.iloc[[1]].assign(copy=frame["size"].max())
    assert model.p_values(row)[0] < 0.01
    assert set(model.explain(row)["column"][:2]) <= {"copy", "size", "double"}


def test_errors_name_the_problem():
    frame = frame_of()
    with raises(ValueError, "conditional", "Gaussian", "Table()"):
        KernelNovelty(Gaussian(1.0), statistic="conditional").fit(dependent_array(20))
    with raises(ValueError, "'size'", "infinite"):
        KernelNovelty(statistic="conditional").fit(frame.assign(size=np.inf))
    model = KernelNovelty(statistic="conditional").fit(frame)
    with raises(ValueError, "'size'", "infinite"):
        model.p_values(frame.assign(size=np.inf))
    with raises(ValueError, "'size'"):
        model.p_values(frame.drop(columns="size"))
    with raises(ValueError, "'size'", "'tall'"):
        model.p_values(frame.astype({"size": object}).assign(size="tall"))
    with raises(ValueError, "2 columns"):
        KernelNovelty(statistic="conditional").fit(pd.DataFrame({"a": [1, 1], "b": ["x", "x"]}))
    with raises(ValueError, "at least 2 rows"):
        KernelNovelty(statistic="conditional").fit(frame.head(1))
    assert KernelNovelty(Table(), statistic="conditional").fit(frame).offset_ == model.offset_
