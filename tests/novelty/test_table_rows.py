"""The default statistic of tables: tail probabilities, neighbors, rows, cells, bad input."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import KernelNovelty
from mercer.data.points import Points, Sample
from mercer.kernels import Table, table_kernel
from mercer.novelty import conditional, table_rows
from mercer.novelty.table_rows import RelativeDistance, TableStatistic, Tail
from tests.expectations import raises
from tests.kernels.test_additive_tables import mixed_frame
from tests.novelty.test_conditional import animals, dependent_array, frame_of, hard_frames

pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.ColumnWarning")


# --- tail probabilities ---------------------------------------------------------------------------


def test_tail_equals_fractions_of_values():
    values = np.random.default_rng(0).exponential(size=200)
    tail = Tail.fit(values, np.ones(200))
    inside = np.sort(values)[:170]
    expected = -np.log((values[:, None] >= inside).sum(axis=0) / 200 - 0.5 / 200)
    assert_allclose(tail(inside), expected)
    more = np.linspace(0, 50, 1000)
    assert (np.diff(tail(more)) >= 0).all()
    assert np.isfinite(tail(np.array([0.0, 1e300]))).all()


def test_tail_of_many_values_has_few_knots():
    values = np.random.default_rng(0).pareto(2, 20_000)
    tail = Tail.fit(values, np.ones(20_000))
    assert len(tail.knots) < 400
    exact = -np.log((1 + values) ** -2.0)
    assert np.abs(tail(values) - exact)[values < np.quantile(values, 0.99)].max() < 0.15


def test_slope_beyond_the_largest_tenth_is_the_exponent_of_a_power_law():
    """Hill's estimate from 2,000 values has a relative standard error of 1 / √2,000."""
    values = np.random.default_rng(0).random(20_000) ** (-1 / 3)
    tail = Tail.fit(values, np.ones(20_000))
    assert abs(tail.slope / 3 - 1) < 4 / np.sqrt(2000)
    assert_allclose(tail(np.array([1e6]))[0], np.log(1e6) * 3, rtol=4 / np.sqrt(2000))


def test_tail_of_weights_equals_tail_of_copies():
    rng = np.random.default_rng(0)
    values, weights = rng.exponential(size=50), rng.integers(1, 4, 50)
    one, other = (
        Tail.fit(values, weights * 1.0),
        Tail.fit(np.repeat(values, weights), np.ones(weights.sum())),
    )
    new = rng.exponential(size=30) * 3
    assert_allclose(one(new), other(new))


def test_tail_of_equal_values_is_finite_and_increases():
    tail = Tail.fit(np.zeros(20), np.ones(20))
    assert tail(np.array([0.0]))[0] < tail(np.array([1e-3]))[0] < tail(np.array([1.0]))[0] < np.inf


# --- neighbors ------------------------------------------------------------------------------------


def naive_relative(F, G, weights, scales, floor, skip=None):
    """Return the statistic of one row G by sorted lists of copies of the reference rows."""
    weights = weights.astype(int).copy()
    if skip is not None:
        weights[skip] -= 1
    copies = np.repeat(F * scales, weights, axis=0)
    original = np.repeat(np.arange(len(F)), weights)

    def nearest(row, rows):
        distances = np.sqrt(((rows - row) ** 2).sum(axis=1))
        order = np.argsort(distances, kind="stable")[:10]
        return distances[order].mean(), order

    mean, order = nearest(G * scales, copies)
    theirs = []
    for i in order:
        others = np.delete(copies, np.flatnonzero(original == original[i])[0], axis=0)
        theirs.append(nearest(copies[i], others)[0])
    return (mean + floor) ** 2 / (np.mean(theirs) + floor)


@pytest.mark.parametrize("kind", ["ones", "integers"])
def test_relative_distances_and_leave_one_out_values_equal_direct_computation(kind):
    frame, new = frame_of(40), frame_of(10, seed=1)
    rng = np.random.default_rng(0)
    weights = np.ones(40) if kind == "ones" else rng.integers(1, 4, 40) * 1.0
    kernel = table_kernel(frame, combine="sum")
    F, G = kernel.features(frame), kernel.features(new)
    model = RelativeDistance.fit(kernel, F, weights)
    found, own = model(G), model(F, np.arange(40))
    for i in range(10):
        assert_allclose(found[i], naive_relative(F, G[i], weights, model.scales, model.floor))
    for i in range(0, 40, 3):
        expected = naive_relative(F, F[i], weights, model.scales, model.floor, skip=i)
        assert_allclose(own[i], expected)


def test_every_column_has_variance_one_in_distances():
    frame = mixed_frame(200)
    kernel = table_kernel(frame, combine="sum")
    F = kernel.features(frame)
    model = RelativeDistance.fit(kernel, F, np.ones(200))
    scaled = F * model.scales
    for _, at in kernel.blocks:
        assert_allclose(scaled[:, at].var(axis=0).sum(), 1)


def test_nearest_rows_are_expected_and_their_differences_add_up():
    frame, new = frame_of(60), frame_of(5, seed=1)
    kernel = table_kernel(frame, combine="sum")
    F, G = kernel.features(frame), kernel.features(new)
    model = RelativeDistance.fit(kernel, F, np.ones(60))
    means, differences = model.nearest_means(G)
    for g, mean, parts in zip(G, means, differences, strict=True):
        squares = (((F - g) * model.scales) ** 2).sum(axis=1)
        near = np.argsort(squares)[:10]
        assert_allclose(mean, F[near].mean(axis=0), atol=1e-12)
        assert_allclose(parts.sum(), squares[near].mean())


# --- rows -----------------------------------------------------------------------------------------


def fitted(frame, weights=None, regular=None, n_reference=2000):
    kernel = table_kernel(frame, combine="sum")
    sample = Sample.of(kernel, Points(frame, "objects"), weights)
    return TableStatistic.fit(sample, regular, n_reference)


def test_statistic_is_the_larger_height_of_cells_and_neighbors():
    frame, new = frame_of(), frame_of(30, seed=1)
    model, _ = fitted(frame)
    features = model.conditional.kernel.features(new)
    distances = model.conditional.distances(features)
    heights = [tail(one) for tail, one in zip(model.columns, distances.T, strict=True)]
    cells = model.cells(np.sqrt(np.square(heights).sum(axis=0)))
    expected = np.maximum(cells, model.relative(model.neighbors(features)))
    assert_allclose(model(Points(new, "objects")), expected)


def test_auto_is_this_statistic_for_mixed_tables_only():
    frame = animals()
    numbers = frame[["weight", "born"]]
    assert KernelNovelty().fit(frame).statistic_ == "table"
    assert KernelNovelty().fit(numbers).statistic_ == "neighbors"
    assert (
        KernelNovelty()
        .fit(numbers.assign(born=numbers["born"].where(numbers.index > 3)))
        .statistic_
        == "table"
    )
    assert KernelNovelty("table").fit(numbers).statistic_ == "table"
    assert KernelNovelty(statistic="table").fit(numbers).statistic_ == "table"
    assert KernelNovelty(table_kernel(frame)).fit(frame).statistic_ == "neighbors"


@pytest.mark.parametrize("calibration", ["auto", "split"])
def test_false_alarm_rate_on_new_rows(calibration):
    """The mean over 30 samples of 100 rows differs from 10 % by at most 4 standard errors."""
    rates = []
    for seed in range(30):
        frame = frame_of(300, seed)
        model = KernelNovelty(calibration=calibration, false_alarm_rate=0.1, random_state=0)
        rates.append((model.fit(frame[:100]).predict(frame[100:]) == -1).mean())
    n = 100 if calibration == "auto" else 50
    error = np.sqrt(0.1 * 0.9 * (1 / n + 1 / 200) / 30)
    assert 0.1 - 1 / (n + 1) - 4 * error <= np.mean(rates) <= 0.1 + 4 * error


def test_both_kinds_of_abnormal_rows_are_found():
    rng = np.random.default_rng(0)
    frame = animals(400).assign(height=rng.normal(size=400))
    frame["shadow"] = frame["height"] + 0.05 * rng.normal(size=400)
    model = KernelNovelty().fit(frame)
    broken = frame.iloc[[0]].assign(kind="cat", weight=500.0)
    far = frame.iloc[[0]].assign(height=3.0, shadow=3.0)
    for row, basis, columns in (
        (broken, "other cells", {"kind", "weight"}),
        (far, "nearest rows", {"height", "shadow"}),
    ):
        assert model.p_values(row)[0] <= 0.03
        found = model.explain(row)
        assert set(found["basis"]) == {basis}
        assert set(found["column"][:2]) == columns


def test_weights_equal_copies_and_zero_weights_equal_absent_rows():
    frame = frame_of(60)
    weights = np.random.default_rng(0).integers(0, 4, 60)
    copies = frame.loc[np.repeat(np.arange(60), weights)].reset_index(drop=True)
    one = KernelNovelty().fit(frame, sample_weight=weights)
    other = KernelNovelty().fit(copies)
    # the distance between equal rows has a rounding error of the order of 1e-8
    assert_allclose(one.score_samples(frame), other.score_samples(frame), atol=1e-6)
    assert_allclose(one.p_values(frame), other.p_values(frame))


def test_units_and_the_order_of_rows_and_columns_do_not_matter():
    frame = frame_of()
    changed = frame.assign(size=1e6 * frame["size"] - 3).sample(frac=1, random_state=0)
    model = KernelNovelty().fit(frame)
    other = KernelNovelty().fit(changed[changed.columns[::-1]])
    expected = model.score_samples(frame.loc[changed.index])
    assert_allclose(other.score_samples(changed), expected, rtol=1e-5)


def test_scores_do_not_depend_on_chunks(monkeypatch):
    frame = frame_of()
    model = KernelNovelty().fit(frame)
    expected, cells = model.p_values(frame), model.explain(frame)
    monkeypatch.setattr(conditional, "_CHUNK", 200)
    monkeypatch.setattr(table_rows, "_BLOCK", 500)
    model = KernelNovelty().fit(frame)
    assert_allclose(model.p_values(frame), expected)
    assert_allclose(model.explain(frame)["contribution"], cells["contribution"])


def test_dask_equals_memory():
    da = pytest.importorskip("dask.array")
    X, new = dependent_array(100), dependent_array(30, seed=1)
    expected = KernelNovelty(statistic="table").fit(X)
    model = KernelNovelty(statistic="table").fit(da.from_array(X, chunks=(30, 5)))
    lazy = model.p_values(da.from_array(new, chunks=(10, 5)))
    assert lazy.chunks == ((10,) * 3,)
    assert_allclose(lazy.compute(), expected.p_values(new))


def test_few_reference_rows_and_trimmed_rows_keep_the_false_alarm_rate():
    frame = frame_of(900)
    for settings in ({"max_samples": 100}, {"robust": True}):
        model = KernelNovelty(false_alarm_rate=0.1, random_state=0, **settings).fit(frame[:500])
        assert model.n_calibration_ == 500
        rate = (model.predict(frame[500:]) == -1).mean()
        assert abs(rate - 0.1) < 4 * np.sqrt(0.1 * 0.9 * (1 / 500 + 1 / 400))


# --- cells ----------------------------------------------------------------------------------------


def test_contributions_of_cells_add_up_to_the_statistic():
    frame = mixed_frame()
    model = KernelNovelty().fit(frame)
    found = model.explain(frame.head(30))
    assert len(found) == 30 * len(frame.columns)
    assert (found.groupby("row")["contribution"].diff().dropna() <= 0).all()
    assert_allclose(
        found.groupby("row")["contribution"].sum(), -model.score_samples(frame.head(30))
    )


def adults(n=2000, seed=0):
    """Return a table like the census one: most people have no capital gain, some a huge one."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(8, 5, n), 17, 90).round()
    work = rng.choice(["private", "public", "self-employed"], n, p=[0.7, 0.2, 0.1])
    hours = np.clip(rng.normal(40, 10, n), 1, 99).round()
    gain = np.where(rng.random(n) < 0.08, np.exp(rng.normal(8.5, 1.2, n)), 0.0).round()
    return pd.DataFrame({"age": age, "work": work, "hours": hours, "gain": gain})


@pytest.mark.parametrize("statistic", ["auto", "conditional"])
@pytest.mark.parametrize("cell", [{"work": "astronaut"}, {"age": 200.0}])
def test_heavy_tails_hide_neither_new_categories_nor_impossible_numbers(statistic, cell):
    frame = adults()
    model = KernelNovelty(statistic=statistic).fit(frame)
    row = pd.DataFrame({"age": [38.0], "work": ["private"], "hours": [40.0], "gain": [0.0]})
    assert model.p_values(row)[0] > 0.1
    changed = row.assign(**cell)
    assert model.p_values(changed)[0] <= 0.002
    found = model.explain(changed)
    assert found["column"][0] == next(iter(cell))
    assert found["observed"][0] == next(iter(cell.values()))


def test_saved_models_give_the_same_cells(tmp_path):
    frame = mixed_frame()
    model = KernelNovelty().fit(frame)
    mercer.save(model, tmp_path / "model.mercer")
    copy = mercer.load(tmp_path / "model.mercer")
    assert_array_equal(copy.p_values(frame), model.p_values(frame))
    assert copy.explain(frame.head(5)).equals(model.explain(frame.head(5)))


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")
@pytest.mark.parametrize("name", list(hard_frames()))
def test_hard_tables_have_finite_results(name):
    frame = hard_frames()[name]
    model = KernelNovelty(statistic="table").fit(frame)
    new = frame.head(9).copy()
    new.iloc[:, 0] = [np.nan, 1e300, -1e9][: len(new)] * (len(new) // 3)
    if "color" in new:
        new["color"] = "unknown"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (frame, new):
            p = model.p_values(rows)
            assert ((p > 0) & (p <= 1)).all()
            assert np.isfinite(model.score_samples(rows)).all()
            assert np.isfinite(model.explain(rows)["contribution"]).all()


@pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")
def test_two_rows():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    assert np.isfinite(KernelNovelty().fit(frame).score_samples(frame)).all()


@pytest.mark.slow
def test_two_thousand_columns():
    rng = np.random.default_rng(0)
    wide = (
        pd.DataFrame(rng.normal(size=(50, 2000))).rename(columns=str).assign(kind=["a", "b"] * 25)
    )
    model = KernelNovelty().fit(wide)
    assert model.statistic_ == "table"
    new = pd.DataFrame(rng.normal(size=(20, 2000))).rename(columns=str).assign(kind="a")
    assert ((model.p_values(new) > 0) & (model.p_values(new) <= 1)).all()


def test_errors_name_the_problem():
    frame = frame_of()
    with raises(ValueError, "'size'", "infinite"):
        KernelNovelty().fit(frame.assign(size=np.inf))
    model = KernelNovelty().fit(frame)
    with raises(ValueError, "'size'", "infinite"):
        model.p_values(frame.assign(size=np.inf))
    with raises(ValueError, "'size'"):
        model.p_values(frame.drop(columns="size"))
    with raises(ValueError, "table", "Table()"):
        KernelNovelty(table_kernel(frame), statistic="table").fit(frame)
    with raises(ValueError, "2 columns"):
        KernelNovelty().fit(pd.DataFrame({"a": [1, 1], "b": ["x", "x"]}))
    assert KernelNovelty(Table()).fit(frame).offset_ == model.offset_


# --- training rows --------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"calibration": "split"}, {"max_samples": 30}])
def test_p_values_of_training_rows_count_leave_one_out_statistics(settings):
    frame = frame_of(120)
    model = KernelNovelty(random_state=0, **settings).fit(frame)
    p = model.p_values_
    assert p.shape == (120,)
    if settings:
        # uniform up to sampling error: Kolmogorov's statistic at the 1e-4 quantile
        distance = np.abs(np.sort(p) - (np.arange(120) + 0.5) / 120).max()
        assert distance < 2.2 / np.sqrt(60)
    else:
        _, own = fitted(frame)
        assert_allclose(p, (own >= own[:, None] * (1 - 1e-8)).mean(axis=1))


def test_p_values_of_weighted_rows_equal_those_of_copies():
    frame = frame_of(60)
    weights = np.random.default_rng(0).integers(0, 4, 60)
    one = KernelNovelty().fit(frame, sample_weight=weights)
    other = KernelNovelty().fit(frame.loc[np.repeat(np.arange(60), weights)])
    assert_allclose(np.repeat(one.p_values_, weights[weights > 0]), other.p_values_)


def test_rows_of_the_fit_are_left_out_with_a_split_too():
    frame = frame_of(120)
    model = KernelNovelty(calibration="split", random_state=0).fit(frame)
    own, new = model.p_values_, model.p_values(frame)
    counts = 61 * own  # whole for rows of the fit, which are no calibration rows
    of_fit = (np.abs(counts - counts.round()) < 1e-6) & (own < 1)
    assert 40 <= of_fit.sum() <= 60
    assert own[of_fit].mean() < new[of_fit].mean() - 0.02
