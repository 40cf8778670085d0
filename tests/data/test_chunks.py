"""Estimators on Dask arrays without a cluster: results, validation, errors."""

import pickle
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import (
    ComponentClassifier,
    EntropyClustering,
    JointMixtureRegressor,
    KernelDenoiser,
    KernelECA,
    KernelLDA,
    KernelPCA,
    MercerMixture,
    OrthogonalSeries,
    ParzenDensity,
    SeriesDensity,
)
from mercer.bandwidth.rules import RULES
from mercer.cluster.angular import angular_kmeans
from mercer.data.dask import passes_for
from mercer.data.dask.points import ChunkedPoints
from mercer.data.dask.validation import Survey
from mercer.data.points import Points, validate_points
from mercer.domains import Box, GaussianBase
from mercer.errors import (
    AbsentRowsError,
    MemoryBudgetError,
    MercerError,
    WeightWarning,
    WorkerError,
)
from mercer.gram.fourier import FourierExpansion
from mercer.gram.landmarks import LandmarkFeatures
from mercer.kernels import Gaussian, Linear, Polynomial, Sigmoid, table_kernel
from mercer.mixture.kmeans import random_distant_rows
from mercer.solvers import Fourier, Lanczos, Nystrom
from mercer.utils.row_passes import add_up
from tests.data.arrays import in_chunks
from tests.expectations import raises, warns

bag = pytest.importorskip("dask.bag", reason="needs mercer[dask]")
da = pytest.importorskip("dask.array", reason="needs mercer[dask]")
pd = pytest.importorskip("pandas", reason="needs mercer[dask]")
dd = pytest.importorskip("dask.dataframe", reason="needs mercer[dask]")

pytestmark = pytest.mark.filterwarnings("ignore")
KERNEL = Gaussian(0.6)


def sum_rows(function, *columns, **settings):
    return passes_for(*columns).sum(function, *columns, **settings)


# --- sums and maps --------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 40), min_size=1, max_size=30).filter(sum), st.integers(0, 100))
@settings(deadline=None, max_examples=25)
def test_passes_do_not_depend_on_the_chunks(sizes, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(sum(sizes), 3))
    lazy = da.from_array(rows, chunks=(tuple(sizes), 3))
    passes = passes_for(lazy)
    assert_allclose(passes.sum(lambda x: (x.sum(axis=0), len(x)), lazy)[0], rows.sum(axis=0))
    assert_array_equal(passes.map(np.cumsum, lazy[:, :1].rechunk(-1)[:, 0]), np.cumsum(rows[:, 0]))
    assert_array_equal(passes.map(np.negative, lazy), -rows)
    some = rng.integers(len(rows), size=20)
    assert_array_equal(passes.take(lazy, some), rows[some])
    assert_array_equal(passes.take(lazy, slice(None)), rows)
    assert_array_equal(passes.persist(lazy), rows)


def test_clustering_with_empty_chunks_and_isolated_rows():
    rng = np.random.default_rng(0)
    groups = [rng.normal(at, 0.3, size=(60, 2)) for at in (0.0, 5.0)]
    rows = np.concatenate([*groups, np.full((3, 2), 100.0)])
    lazy = da.from_array(rows, chunks=((0, 50, 0, 70, 3), 2))
    model, on_chunks = (EntropyClustering(2, kernel=KERNEL).fit(data) for data in (rows, lazy))
    assert_array_equal(on_chunks.labels_, model.labels_)
    assert set(model.labels_) == {-1, 0, 1}
    assert (model.labels_[120:] == -1).all()


def test_summaries_are_combined_in_order():
    lazy = da.arange(200, chunks=3)
    assert sum_rows(lambda x: tuple(x.tolist()), lazy, combine=lambda p: sum(p, ())) == tuple(
        range(200)
    )


def test_each_chunk_is_one_task():
    """Each task is fused with its source; the tree of sums adds a seventh."""
    from mercer.data.dask.tasks import _reduce_tree, fused_tasks

    lazy = (da.zeros((64 * 10, 2), chunks=(10, 2)) + 1) * 2
    graph, keys = fused_tasks(np.sum, [lazy], "sum")
    assert len(graph) == len(keys) == 64
    _reduce_tree(graph, keys, add_up, "sum")
    assert len(graph) == 64 + 8 + 1


def test_tasks_use_one_thread():
    from mercer.utils.resources import thread_count

    lazy = da.zeros(6, chunks=1)
    assert sum_rows(lambda x: thread_count(), lazy, combine=max) == 1
    mercer.set_config(threads=3)
    try:
        assert sum_rows(lambda x: thread_count(), lazy, combine=max) == 1
        assert thread_count() == 3
    finally:
        mercer.set_config()


def test_memory_errors_name_the_chunk_and_a_remedy():
    def greedy(rows):
        raise MemoryError

    rows = da.zeros((10, 2), chunks=(5, 2))
    with raises(WorkerError, 5, "rechunk"):
        sum_rows(greedy, rows)
    with raises(WorkerError, "rechunk"):
        sum_rows(len, rows.map_blocks(greedy, meta=np.empty((0, 2))))
    assert issubclass(WorkerError, MercerError)


def test_client_does_not_import_distributed(monkeypatch):
    from mercer.data.dask import cluster

    monkeypatch.delitem(sys.modules, "distributed", raising=False)
    assert cluster.client() is None
    assert "distributed" not in sys.modules


# --- the survey -----------------------------------------------------------------------------------


@given(st.integers(0, 1000), st.integers(1, 60), st.booleans())
@settings(deadline=None, max_examples=30)
def test_surveys_of_chunks_add_up(seed, cut, weighted):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(60, 2)) * 10.0 ** rng.integers(-3, 150) + 7
    weights = rng.integers(0, 3, size=60).astype(float) if weighted else None
    part = slice(0, cut), slice(cut, 60)
    first, second = (Survey.of(rows[p], None if weights is None else weights[p]) for p in part)
    whole, joined = Survey.of(rows, weights), first + second
    assert sum(joined.lengths) == whole.lengths[0]
    for name in ("total", "largest", "sample_size"):
        assert_allclose(getattr(joined.totals, name), getattr(whole.totals, name), rtol=1e-14)
    assert_array_equal(joined.low, whole.low)
    assert_array_equal(joined.high, whole.high)
    assert_allclose(joined.mean, whole.mean, rtol=1e-10, atol=1e-12 * np.abs(rows).max())
    assert_allclose(joined.deviation, whole.deviation, rtol=1e-10)


def columns_for(rule, X):
    """Return one column for the rules that accept no more."""
    return X[:, :1] if rule.endswith("sheather-jones") else X


@pytest.mark.parametrize("rule", sorted(RULES))
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_bandwidth_rules_agree_with_memory(X, rng, rule, weighted):
    X = columns_for(rule, np.round(X, 1))  # with copies
    weights = rng.integers(0, 3, size=len(X)).astype(float) if weighted else None
    lazy = None if weights is None else in_chunks(weights, 77)
    found = mercer.bandwidth.fit_kernel(Gaussian(rule), in_chunks(X), lazy)
    expected = mercer.bandwidth.fit_kernel(Gaussian(rule), X, weights)
    assert_allclose(found.bandwidth, expected.bandwidth, rtol=1e-12)


@pytest.mark.parametrize("rule", sorted(RULES))
@pytest.mark.parametrize("scale", [1e-12, 1 / 3, 1e6])
def test_bandwidth_rules_with_scaled_weights_agree_with_memory(X, rng, rule, scale):
    X = columns_for(rule, X)
    weights = scale * rng.uniform(0.1, 1.0, size=len(X))
    lazy = in_chunks(X), in_chunks(weights, 77)
    if rule == "improved-sheather-jones" and scale > 1:  # millions of copies have no density
        for rows, counts in (lazy, (X, weights)):
            with pytest.raises(ValueError, match="no solution"):
                mercer.bandwidth.fit_kernel(Gaussian(rule), rows, counts)
        return
    found = mercer.bandwidth.fit_kernel(Gaussian(rule), *lazy)
    expected = mercer.bandwidth.fit_kernel(Gaussian(rule), X, weights)
    # the minimum of a criterion is determined up to the square root of its rounding error
    rtol = 1e-7 if rule.endswith("-cv") else 1e-9
    assert_allclose(found.bandwidth, expected.bandwidth, rtol=rtol)


SCALED = [
    (KernelPCA(2), "transform"),
    (KernelLDA(), "predict_proba"),
    (MercerMixture(rank=3), "score_samples"),
    (ParzenDensity(), "score_samples"),
    (SeriesDensity(max_terms=20), "score_samples"),
]


@pytest.mark.parametrize(("model", "method"), SCALED, ids=lambda value: str(value)[:20])
def test_lazy_weights_of_a_small_scale_give_the_same_model(X, rng, model, method):
    weights, y = rng.uniform(0.1, 1.0, size=len(X)), (X[:, 0] > 0).astype(int)
    model.set_params(solver=Fourier())
    expected = getattr(model.fit(X, y, sample_weight=weights), method)(X[:20])
    lazy = in_chunks(1e-12 * weights, 77)
    found = getattr(model.fit(in_chunks(X), in_chunks(y), sample_weight=lazy), method)(X[:20])
    # Fourier features have an error of 1e-10
    assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def test_lazy_weights_above_ten_per_row_warn_once(X):
    lazy = in_chunks(np.full(len(X), 11.0), 77)
    with warns(WeightWarning, 11 * len(X), len(X)) as raised:
        ParzenDensity().fit(in_chunks(X), sample_weight=lazy)
    assert sum(entry.category is WeightWarning for entry in raised) == 1


def test_representatives_of_many_rows_are_close_to_those_in_memory(rng):
    rows = rng.normal(size=(60_000, 2))
    found = ChunkedPoints(in_chunks(rows, 4000)).representatives(2000).rows
    ranks = np.searchsorted(np.sort(rows[:, 0]), found[:, 0]) / len(rows)
    expected = (np.arange(2000) + 0.5) / 2000
    assert np.abs(ranks - expected).max() < 3 / 32_000  # two levels of sums, and the selection
    # other rows of the same ranks: the sampling error of 2000 rows is about 2 %
    near = mercer.bandwidth.median_distance(in_chunks(rows, 4000))
    assert_allclose(near, mercer.bandwidth.median_distance(rows), rtol=0.06)


def test_quantiles_of_lazy_columns(rng):
    values, weights = rng.normal(size=5000), rng.integers(1, 4, size=5000).astype(float)
    lazy = in_chunks(values)
    found = passes_for(lazy).quantile(lazy, in_chunks(weights), 0.9)
    assert_allclose(found, np.quantile(np.repeat(values, weights.astype(int)), 0.9))


# --- algorithms -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_angular_kmeans_in_chunks(seed):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(4, 3))[rng.integers(4, size=300)] + 0.2 * rng.normal(size=(300, 3))
    Z[::50] *= 1e-9  # too short to be clustered
    weights = rng.random(300)
    here = angular_kmeans(Z, 4, weights=weights)
    lazy = in_chunks(Z, 70)
    there = angular_kmeans(lazy, 4, weights=in_chunks(weights, 70), rows=passes_for(lazy))
    assert_array_equal(there.labels.compute(), here.labels)
    assert_allclose(there.directions, here.directions, rtol=1e-12)


def test_random_distant_rows_agree_with_memory(rng):
    Z, weights = rng.normal(size=(5000, 2)), rng.random(5000)
    here = random_distant_rows(Z, weights, 5, np.random.default_rng(3))
    lazy = in_chunks(Z)
    there = random_distant_rows(
        lazy, in_chunks(weights), 5, np.random.default_rng(3), rows=passes_for(lazy)
    )
    assert_array_equal(here, there)


def test_control_limits_agree_with_memory(X):
    here, there = (KernelPCA(3, kernel=KERNEL, solver="fourier").fit(x) for x in (X, in_chunks(X)))
    # limits of a Dask fit are those of the training rows
    for statistic, limits in here.control_limits(held_out=False).items():
        for name, limit in limits.items():
            assert_allclose(there.control_limits_[statistic][name], limit, rtol=1e-7)


@pytest.mark.parametrize(
    "domain", [Box(-5.0, 12.0), GaussianBase(n_nodes=200)], ids=["box", "base"]
)
def test_mixture_densities_agree_with_memory(X, domain):
    model = MercerMixture(1, kernel=KERNEL, rank=8, domain=domain, solver="fourier")
    here = model.fit(X).score_samples(X[:50])
    assert_allclose(model.fit(in_chunks(X)).score_samples(X[:50]), here, rtol=1e-8)
    assert_allclose(model.score(in_chunks(X[:50], 9)), here.mean(), rtol=1e-8)


def test_mixture_with_a_prior_agrees_with_memory(X):
    settings = {"kernel": KERNEL, "alpha": 2.0, "rank": 6, "solver": "fourier"}
    model = MercerMixture(2, covariance_prior=3.0, **settings)
    here = model.fit(X).score_samples(X[:50])
    assert_allclose(model.fit(in_chunks(X)).score_samples(X[:50]), here, rtol=1e-8)
    with raises(ValueError, "covariance_prior"):
        MercerMixture(covariance_prior=np.eye(len(X)), **settings).fit(in_chunks(X))
    with raises(ValueError, "dual_parameters"):
        model.dual_parameters()


def test_explicit_features_agree_with_memory_and_precision_is_preserved(X):
    for kernel in (Linear(), Polynomial(degree=2, constant=1.0)):
        here, there = (KernelPCA(2, kernel=kernel).fit(x) for x in (X, in_chunks(X)))
        assert_allclose(there.eigenvalues_, here.eigenvalues_, rtol=1e-11)
    single = X.astype(np.float32)
    model = KernelECA(2, kernel=KERNEL, solver="fourier").fit(in_chunks(single))
    assert model.transform(in_chunks(single)).dtype == np.float32
    assert model.transform(in_chunks(single)).compute().dtype == np.float32


def test_partial_fit_agrees_with_memory(X):
    for solver in (Fourier(box=(-3.0, 10.0)), Nystrom(30)):
        here, there = (KernelECA(2, kernel=KERNEL, solver=solver) for _ in range(2))
        for part in (X[:600], X[600:]):
            here.partial_fit(part)
            there.partial_fit(in_chunks(part))
        assert_allclose(there.eigenvalues_, here.eigenvalues_, rtol=1e-11)


def test_entropies_agree_with_memory(X, rng):
    for rows in (X, rng.normal(size=(200, 5))):
        found = mercer.information.renyi_entropy(in_chunks(rows), Gaussian(0.7))
        assert_allclose(found, mercer.information.renyi_entropy(rows, Gaussian(0.7)), rtol=1e-9)


def test_auto_solver_uses_fourier_features_or_landmarks(X, rng):
    narrow = KernelECA(2).fit(in_chunks(X)).spectrum_
    assert isinstance(narrow.expansion, FourierExpansion)
    wide = KernelECA(2).fit(in_chunks(rng.normal(size=(300, 5)))).spectrum_
    assert isinstance(wide.expansion.features, LandmarkFeatures)


def test_densities_in_the_tails_agree_with_memory(X):
    """Below the tolerance of Fourier features, rows are compared with all chunks."""
    sizes = (400, 0, 600)
    tails = np.vstack([X[:5], X[:5] + 12.0, X[:2] - 40.0])
    for solver in ("fourier", "lanczos"):
        here = ParzenDensity(kernel=KERNEL, solver=solver).fit(X)
        there = ParzenDensity(kernel=KERNEL, solver=solver)
        there.fit(da.from_array(X, chunks=(sizes, 2)))
        expected = here.score_samples(tails)
        assert expected.min() < -700  # exp would be 0
        assert_allclose(there.score_samples(tails), expected, rtol=1e-9)
        assert_allclose(there.score_samples(in_chunks(tails, 5)).compute(), expected, rtol=1e-9)


@pytest.mark.parametrize("solver", ["fourier", Nystrom(150)], ids=["fourier", "nystrom"])
def test_clipped_mass_of_a_series_is_exact(solver):
    X = np.random.default_rng(0).normal(size=(150, 1))
    settings = {"kernel": Gaussian(0.05), "terms": 3}
    exact = SeriesDensity(**settings, solver="dense").fit(X).clipped_mass_
    assert exact > 1e-4
    for rows in (X, in_chunks(X, 40)):
        found = SeriesDensity(**settings, solver=solver).fit(rows).clipped_mass_
        assert_allclose(found, exact, rtol=1e-6)


def test_rows_are_drawn_with_their_probabilities():
    rows = np.arange(12.0)[:, None]
    probabilities = np.array([0, 0, 0, 0, 1, 2, 0, 3, 0, 0, 0, 4]) / 10
    points = ChunkedPoints(in_chunks(rows, 4))  # the first chunk has zero weight
    found = points.draw(in_chunks(probabilities, 4), 4000, np.random.default_rng(0))
    counts = np.bincount(found[:, 0].astype(int), minlength=12)
    assert counts.sum() == 4000
    assert not counts[probabilities == 0].any()
    deviation = np.sqrt(4000 * probabilities * (1 - probabilities))
    assert (np.abs(counts - 4000 * probabilities) <= 4 * deviation).all()
    again = points.draw(in_chunks(probabilities, 4), 4000, np.random.default_rng(0))
    assert_array_equal(again, found)


# --- data frames, weights and lazy results --------------------------------------------------------


def test_data_frames_with_unknown_lengths(X, tmp_path):
    frame = pd.DataFrame(X, columns=["x", "y"])
    frame["label"] = np.where(X[:, 0] > 1.5, "right", "left")
    dd.from_pandas(frame, npartitions=4).to_parquet(tmp_path)
    lazy = dd.read_parquet(tmp_path)
    model = KernelLDA(kernel=KERNEL, rank=8).fit(lazy[["x", "y"]], lazy["label"])
    expected = KernelLDA(kernel=KERNEL, rank=8, solver="fourier").fit(
        frame[["x", "y"]], frame["label"]
    )
    assert model.feature_names_in_.tolist() == ["x", "y"]
    found = model.predict(lazy[["x", "y"]])
    assert isinstance(found, da.Array)
    assert np.isnan(found.shape[0])  # still not computed
    assert_array_equal(found.compute(), expected.predict(frame[["x", "y"]]))
    with raises(ValueError, "z"):
        model.predict(lazy[["x", "y"]].rename(columns={"y": "z"}))


def test_integers_in_column_chunks_and_empty_chunks(rng):
    X = rng.integers(10, size=(300, 2))
    expected = KernelECA(2, solver=Nystrom(30)).fit(X.astype(float))
    for chunks in ((70, 1), ((100, 0, 200), 2)):
        model = KernelECA(2, solver=Nystrom(30))
        Z = model.fit_transform(da.from_array(X, chunks=chunks))
        assert_allclose(model.kernel_.bandwidth, expected.kernel_.bandwidth)
        assert_allclose(model.eigenvalues_, expected.eigenvalues_, rtol=1e-10)
        assert_allclose(Z.compute(), expected.transform(X.astype(float)), atol=1e-9)


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (KernelPCA(2, kernel=KERNEL, solver="fourier"), "transform"),
        (KernelPCA(2, kernel=KERNEL, solver=Nystrom(300)), "transform"),
        (KernelECA(2, kernel="linear"), "transform"),
        (EntropyClustering(3, kernel=KERNEL, solver="fourier"), "predict"),
        (KernelLDA(kernel=KERNEL, rank=10, solver=Nystrom(300)), "transform"),
        (ParzenDensity(kernel=KERNEL, solver="fourier"), "score_samples"),
    ],
    ids=["fourier", "nystrom", "explicit", "clusters", "classes", "density"],
)
@pytest.mark.parametrize("weighted", [False, True], ids=["no-rows", "no-weight"])
def test_chunks_without_rows_or_weight_agree_with_memory(X, model, method, weighted):
    X = X[:300]
    lazy = da.from_array(X, chunks=((100, 0, 50, 150), 2))
    weights = np.ones(300)
    if weighted:
        weights[100:150] = 0
    y = (X[:, 0] > 1.5).astype(int)
    expected = getattr(model.fit(X, y, sample_weight=weights), method)(X)
    model.fit(lazy, y, sample_weight=weights)
    found = getattr(model, method)(lazy).compute()
    assert_allclose(found, expected, atol=1e-6)


def test_weights_of_any_type(X, rng):
    weights = rng.integers(1, 4, size=1000).astype(float)
    model = KernelECA(2, kernel=KERNEL, solver="fourier")
    expected = model.fit(X, sample_weight=weights).eigenvalues_
    column = dd.from_pandas(pd.DataFrame({"w": weights}), npartitions=3)
    for form in (weights, in_chunks(weights), in_chunks(weights[:, None]), column, column["w"]):
        found = model.fit(in_chunks(X), sample_weight=form).eigenvalues_
        assert_allclose(found, expected, rtol=1e-10)
    same = model.fit(in_chunks(X), sample_weight=2.0)
    assert same.spectrum_.total_weight == 2000
    assert_allclose(same.eigenvalues_, 2 * model.fit(X).eigenvalues_, rtol=1e-10)


def test_weights_of_scores(X, rng):
    model = ParzenDensity(kernel=KERNEL, solver="fourier").fit(X)
    weights = rng.integers(0, 3, size=1000).astype(float)
    found = model.score(in_chunks(X), sample_weight=in_chunks(weights))
    assert_allclose(found, model.score(X, sample_weight=weights), rtol=1e-10)
    assert_allclose(model.score(in_chunks(X), sample_weight=2.0), model.score(X), rtol=1e-10)
    for wrong, value in (
        (np.where(X[:, 0] > 0, np.nan, 1.0), "NaN"),
        (np.where(X[:, 0] > 0, -1.0, 1.0), -1),
        (np.zeros(1000), "zero"),
        (np.ones(999), 999),
    ):
        with raises(ValueError, "sample_weight", value):
            model.score(in_chunks(X), sample_weight=wrong)


def test_results_are_lazy(X):
    seen = []

    def record(block):
        seen.append(len(block))
        return block

    model = KernelECA(2, kernel=KERNEL, solver="fourier").fit(X)
    lazy = in_chunks(X).map_blocks(record, dtype=float, meta=np.empty((0, 0)))
    result = model.transform(lazy)
    assert seen == []
    assert result[:100].compute().shape == (100, 2)
    assert seen == [130]  # only the chunk that was needed


def test_models_fitted_to_chunks_are_pickled_without_rows(X):
    model = KernelECA(2, kernel=KERNEL, solver="fourier").fit(in_chunks(X))
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.transform(X), model.transform(X))
    assert again.spectrum_.points.n == 1000
    with raises(AbsentRowsError, 1000):
        again.inverse_transform(model.transform(X[:3]))


def test_models_fitted_to_chunks_can_be_saved(X, tmp_path):
    model = KernelECA(2, kernel=KERNEL, solver="fourier").fit(in_chunks(X))
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert_allclose(again.transform(X), model.transform(X), rtol=1e-12)
    assert again.spectrum_.points.n == 1000
    clusters = EntropyClustering(3, kernel=KERNEL, solver="fourier").fit(in_chunks(X))
    with warns(UserWarning, "EntropyClustering.labels_"):
        mercer.save(clusters, tmp_path / "clusters.mercer")
    again = mercer.load(tmp_path / "clusters.mercer")
    assert_array_equal(again.predict(X), clusters.predict(X))
    assert len(again.labels_) == 1000
    for use in (np.asarray, lambda labels: labels[:5]):
        with raises(AbsentRowsError, 1000):
            use(again.labels_)


def test_models_are_saved_without_lazy_weights(X, rng, tmp_path):
    w = in_chunks(rng.integers(1, 4, size=1000).astype(float))
    for model, method in (
        (KernelECA(2, kernel=KERNEL, solver="fourier"), "transform"),
        (KernelPCA(2, kernel=KERNEL, solver="nystrom"), "transform"),
        (ParzenDensity(kernel=KERNEL, solver="fourier"), "score_samples"),
    ):
        model.fit(in_chunks(X), sample_weight=w)
        mercer.save(model, tmp_path / "model.mercer")
        again = mercer.load(tmp_path / "model.mercer")
        assert_allclose(getattr(again, method)(X), getattr(model, method)(X), rtol=1e-12)
    eca = KernelECA(2, kernel=KERNEL, solver="fourier").fit(in_chunks(X), sample_weight=w)
    mercer.save(eca, tmp_path / "model.mercer")
    spectrum = mercer.load(tmp_path / "model.mercer").spectrum_
    assert spectrum.total_weight == eca.spectrum_.total_weight
    with raises(AbsentRowsError, 1000):
        np.asarray(spectrum.counts)


def test_models_that_need_remote_rows_are_not_saved(rng, tmp_path):
    model = ParzenDensity().fit(in_chunks(rng.normal(size=(200, 5))))
    with raises(TypeError, "ParzenDensity"):
        mercer.save(model, tmp_path / "model.mercer")
    assert list(tmp_path.iterdir()) == []


def test_models_fitted_in_memory_accept_chunks(X):
    y = X[:, 0] > 1.5
    for model, method in (
        (KernelPCA(2, kernel=KERNEL, solver="dense"), "transform"),
        (KernelDenoiser(2, kernel=KERNEL), "transform"),
        (ComponentClassifier(3, kernel=KERNEL), "predict"),
        (ParzenDensity(kernel=KERNEL), "score_samples"),
        (EntropyClustering(3, kernel=KERNEL), "predict"),
    ):
        model.fit(X, y)
        apply = getattr(model, method)
        assert_allclose(apply(in_chunks(X[:200], 70)).compute(), apply(X[:200]), atol=1e-10)


def test_dask_is_not_imported_without_need():
    import subprocess

    code = (
        "import sys, numpy as np; from mercer import KernelECA;"
        "KernelECA(2, kernel='linear').fit(np.eye(5)); sys.exit('dask' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [KernelDenoiser(2), ComponentClassifier(2), JointMixtureRegressor(), OrthogonalSeries()],
    ids=lambda model: type(model).__name__,
)
def test_estimators_without_dask_support_raise(X, model):
    with raises(TypeError, "Dask", "X[::100].compute()"):
        model.fit(in_chunks(X), X[:, 0] > 1.5)


def test_invalid_dask_input_raises(X):
    lazy = in_chunks(X)
    with raises(TypeError, "X[::100].compute()"):
        KernelPCA(2, solver="dense").fit(lazy)
    with raises(ValueError, 400_000, 300_000, "solver='fourier'"):
        KernelPCA(2, kernel=KERNEL, solver=Lanczos()).fit(da.zeros((400_000, 2), chunks=(10**5, 2)))
    with raises(ValueError, "Sigmoid"):
        KernelPCA(2, kernel=Sigmoid()).fit(lazy)
    with raises(TypeError, "Dask", "objects"):
        KernelPCA(2, kernel=table_kernel(pd.DataFrame({"a": [1.0, 2.0]}))).fit(lazy)
    with raises(ValueError, "NaN"):
        KernelPCA(2, kernel=KERNEL).fit(da.where(lazy > 6.5, np.nan, lazy))
    with raises(ValueError, (1000,), "reshape"):
        KernelPCA(2).fit(lazy[:, 0])
    with raises(ValueError, 20_000, "rechunk((20, -1))"):
        KernelPCA(2).fit(da.zeros((20_000, 2), chunks=(1, 2)))
    with raises(TypeError, "Bag", "dask.array"):
        KernelPCA(2).fit(bag.from_sequence([1, 2]))
    with raises(ValueError, "0 sample"):
        KernelPCA(2).fit(lazy[lazy[:, 0] > 100])
    with raises(ValueError, (999,), (1000,)):
        KernelPCA(2, kernel=KERNEL).fit(lazy, sample_weight=np.ones(999))
    with raises(ValueError, "sample_weight", "NaN"):
        KernelPCA(2, kernel=KERNEL).fit(lazy, sample_weight=da.full(1000, np.nan, chunks=100))
    with raises(ValueError, "y", 999, 1000):
        KernelLDA().fit(lazy, da.zeros(999, chunks=100))
    with raises(ValueError, "sample_weight", -1):
        KernelPCA(2, kernel=KERNEL).fit(lazy, sample_weight=-da.ones(1000, chunks=100))
    with raises(ValueError, "sample_weight", "zero"):
        KernelPCA(2, kernel=KERNEL).fit(lazy, sample_weight=da.zeros(1000, chunks=100))
    with raises(ValueError, "y", "one class"):
        KernelLDA().fit(lazy, da.zeros(1000, chunks=100, dtype=int))
    with raises(ValueError, "bandwidth", 100):
        KernelPCA(2).fit(da.ones((100, 2), chunks=(30, 2)))
    with raises(ValueError, "leave-one-out", "Dask"):
        MercerMixture(kernel=KERNEL, rank=4, alpha="leave-one-out", domain=Box(-9.0, 9.0)).fit(lazy)
    with raises(ValueError, "Box"):
        MercerMixture(kernel=KERNEL, rank=4, domain=Box(0.0, 1.0)).fit(lazy)


def test_chunks_larger_than_the_worker_memory_raise(monkeypatch):
    monkeypatch.setattr("mercer.data.dask.validation.worker_memory", lambda: 10**6)
    with raises(ValueError, 50_000, "0.001 GB", "rechunk((7812, -1))"):
        validate_points(da.zeros((50_000, 2), chunks=(50_000, 2)), "vectors")


def test_too_many_partitions_raise(X, monkeypatch):
    monkeypatch.setattr("mercer.data.dask.validation._MAX_CHUNKS", 30)
    frame = dd.from_pandas(pd.DataFrame(X, columns=["x", "y"]), npartitions=40)
    with raises(ValueError, 40, 30, "X.repartition(npartitions=3)"):
        KernelPCA(2).fit(frame)


def test_coordinates_larger_than_the_total_memory_raise(X, monkeypatch):
    monkeypatch.setattr("mercer.data.dask.tasks.total_memory", lambda: 10**5)
    with raises(MemoryBudgetError, "1000 × 20", "0.00016 GB", "rank"):
        KernelLDA(kernel=KERNEL, rank=20).fit(in_chunks(X), X[:, 0] > 1.5)


def test_number_of_rows_in_the_tails_is_limited(X, monkeypatch):
    monkeypatch.setattr("mercer.gram.kernel_sums._MAX_EXACT_ROWS", 10)
    model = ParzenDensity(kernel=KERNEL, solver="fourier").fit(in_chunks(X))
    far = da.from_array(np.full((20, 2), 100.0), chunks=(5, 2))
    with raises(ValueError, 20, 10):
        model.score_samples(far).compute()


def test_chunked_points_have_no_data(X):
    points = validate_points(in_chunks(X), "vectors")
    assert (points.n, points.dimension, points.dtype) == (1000, 2, np.dtype(float))
    assert isinstance(points.take(np.array([5, 3])), Points)
    with raises(TypeError, "Dask", "X[::100].compute()"):
        points.data  # noqa: B018
