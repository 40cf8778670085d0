"""Two worker processes give the results of one process, also after the death of a worker."""

import logging
import os
import signal
import threading
import time
import warnings
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import (
    EntropyClustering,
    KernelECA,
    KernelLDA,
    KernelPCA,
    MercerMixture,
    ParzenDensity,
    SeriesDensity,
)
from mercer.data.dask import passes_for
from mercer.errors import ApproximationWarning, WorkerError
from mercer.kernels import Gaussian
from mercer.solvers import Nystrom
from tests.data.arrays import in_chunks
from tests.expectations import raises

distributed = pytest.importorskip("distributed", reason="needs mercer[dask]")
da = pytest.importorskip("dask.array", reason="needs mercer[dask]")

pytestmark = pytest.mark.filterwarnings("ignore")

MEMORY = 700_000_000  # bytes per worker
KERNEL = Gaussian(0.6)
SOLVERS = ["fourier", Nystrom(80)]
NAMES = ["fourier", "nystrom"]


@pytest.fixture(scope="module")
def client():
    import dask

    settings = {
        "distributed.worker.memory.terminate": 0.95,
        "distributed.comm.timeouts.connect": 60,
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            memory_limit=MEMORY,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=1500)
    X = 3.0 * group[:, None] + 0.5 * rng.normal(size=(1500, 2))
    weights = rng.integers(0, 3, size=1500).astype(float)
    return X, np.array(["a", "b", "c"])[group], weights


def both(model, data, client, *, y=False, weighted=False):
    """Return the model fitted in memory and on the cluster."""
    X, labels, w = data
    targets = {"y": labels} if y else {}
    lazy = {"y": in_chunks(labels, 400)} if y else {}
    if weighted:
        targets["sample_weight"], lazy["sample_weight"] = w, in_chunks(w, 500)
    return model().fit(X, **targets), model().fit(in_chunks(X, 300), **lazy)


def new_rows():
    """Rows near the data, and a few in the tails, below the tolerance of Fourier features."""
    rng = np.random.default_rng(1)
    return np.concatenate([rng.normal(3, 3, size=(200, 2)), [[30.0, 30.0], [-20.0, 3.0]]])


def assert_same(expected, lazy, atol=1e-9):
    """Compare a lazy result with the result in memory."""
    assert isinstance(lazy, da.Array)
    assert_allclose(lazy.compute(), expected, rtol=1e-9, atol=atol)


# --- results --------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS, ids=NAMES)
@pytest.mark.parametrize("estimator", [KernelPCA, KernelECA])
def test_components_agree_with_memory(client, data, estimator, solver):
    weighted = estimator is KernelECA
    here, there = both(partial(estimator, 3, solver=solver), data, client, weighted=weighted)
    assert_allclose(there.kernel_.bandwidth, here.kernel_.bandwidth, rtol=1e-12)
    assert_allclose(there.eigenvalues_, here.eigenvalues_, rtol=1e-11)
    X = new_rows()
    assert_same(here.transform(X), there.transform(in_chunks(X, 70)))
    assert_allclose(there.transform(X), here.transform(X), atol=1e-9)
    assert_same(here.reconstruction_error(X), there.reconstruction_error(in_chunks(X, 70)))
    if estimator is KernelECA:
        assert_allclose(there.entropy_terms_, here.entropy_terms_, rtol=1e-11)
        assert_allclose(there.renyi_entropy_, here.renyi_entropy_, rtol=1e-12)
        assert_array_equal(there.component_ranks_, here.component_ranks_)


@pytest.mark.parametrize("solver", SOLVERS, ids=NAMES)
def test_clustering_agrees_with_memory(client, data, solver):
    here, there = both(
        partial(EntropyClustering, 3, kernel=KERNEL, solver=solver), data, client, weighted=True
    )
    assert_array_equal(there.labels_.compute(), here.labels_)
    assert_allclose(there.cluster_centers_, here.cluster_centers_, atol=1e-9)
    assert_allclose(there.cost_, here.cost_, atol=1e-6)
    X = new_rows()
    assert_array_equal(there.predict(in_chunks(X, 70)).compute(), here.predict(X))


def test_bandwidth_sweep_agrees_with_memory(client, data):
    here, there = both(
        partial(EntropyClustering, 3, bandwidths=[0.4, 0.5, 0.9], solver="fourier"), data, client
    )
    assert there.kernel_ == here.kernel_
    for mine, theirs in zip(here.path_, there.path_, strict=True):
        assert_array_equal(theirs.labels.compute(), mine.labels)
        for name in ("cost", "eca_cost", "stability", "entropy_ratio", "coherence"):
            assert_allclose(getattr(theirs, name), getattr(mine, name), rtol=1e-8)


def test_default_sweep_and_number_of_clusters_agree_with_memory(client, data, monkeypatch):
    monkeypatch.setattr("mercer.cluster.bandwidth_sweep._DEFAULT_COUNT", 5)
    here, there = both(partial(EntropyClustering, "auto"), data, client)
    assert there.kernel_ == here.kernel_
    assert there.n_clusters_ == here.n_clusters_ == 3
    assert_array_equal(there.labels_.compute(), here.labels_)


def test_parzen_density_agrees_with_memory(client, data):
    here, there = both(
        partial(ParzenDensity, kernel=Gaussian(0.3), solver="fourier"), data, client, weighted=True
    )
    X = new_rows()
    assert_same(here.score_samples(X), there.score_samples(in_chunks(X, 70)))
    assert_same(here.pdf(X), there.pdf(in_chunks(X, 70)))
    assert_allclose(there.score_samples(X), here.score_samples(X), rtol=1e-9)
    assert_allclose(there.score(in_chunks(X, 70)), here.score(X), rtol=1e-9)
    drawn = there.sample(50, random_state=0)
    assert drawn.shape == (50, 2)
    assert np.isfinite(here.score_samples(drawn)).all()


@pytest.mark.parametrize(
    ("solver", "terms"), [("fourier", "kronmal-tarter"), (Nystrom(80), 4)], ids=NAMES
)
def test_series_density_agrees_with_memory(client, data, solver, terms):
    model = partial(SeriesDensity, kernel=KERNEL, terms=terms, solver=solver, max_terms=20)
    here, there = both(model, data, client)
    assert_array_equal(there.selected_, here.selected_)
    assert_allclose(there.mass_, here.mass_, rtol=1e-10)
    assert_allclose(there.clipped_mass_, here.clipped_mass_, atol=1e-9)
    X = new_rows()[:100]
    assert_same(here.pdf(X), there.pdf(in_chunks(X, 40)))
    assert_same(here.eigenfunctions(X), there.eigenfunctions(in_chunks(X, 40)), atol=1e-7)


@pytest.mark.parametrize(("solver", "starts"), [("fourier", 2), (Nystrom(80), 1)], ids=NAMES)
def test_mixture_agrees_with_memory(client, data, solver, starts):
    model = partial(
        MercerMixture,
        3,
        kernel=KERNEL,
        rank=6,
        alpha="scaled",
        n_init=starts,
        max_iter=20,
        random_state=0,
        solver=solver,
    )
    here, there = both(model, data, client, weighted=True)
    assert_allclose(there.lower_bounds_, here.lower_bounds_, rtol=1e-9)
    assert_allclose(there.weights_, here.weights_, rtol=1e-8)
    assert_allclose(there.effective_weights_, here.effective_weights_, rtol=1e-8)
    assert_same(here.responsibilities_, there.responsibilities_)
    X = new_rows()
    assert_same(here.predict_proba(X), there.predict_proba(in_chunks(X, 70)), atol=1e-7)
    assert_same(here.score_samples(X), there.score_samples(in_chunks(X, 70)), atol=1e-6)
    assert_array_equal(there.predict(in_chunks(X, 70)).compute(), here.predict(X))


@pytest.mark.parametrize(
    ("solver", "weighted"), [("fourier", True), (Nystrom(80), False)], ids=NAMES
)
def test_discriminant_agrees_with_memory(client, data, solver, weighted):
    model = partial(KernelLDA, kernel=KERNEL, rank=15, regularization=1e-2, solver=solver)
    here, there = both(model, data, client, y=True, weighted=weighted)
    assert_array_equal(there.classes_, here.classes_)
    assert_allclose(there.eigenvalues_, here.eigenvalues_, rtol=1e-8)
    assert_allclose(there.confidence_, here.confidence_, rtol=1e-8)
    assert_allclose(there.cv_results_["error"], here.cv_results_["error"], atol=1e-12)
    X = new_rows()[:200]
    assert_same(here.transform(X), there.transform(in_chunks(X, 70)), atol=1e-7)
    assert_same(here.predict_proba(X), there.predict_proba(in_chunks(X, 70)), atol=1e-7)
    assert_array_equal(there.predict(in_chunks(X, 70)).compute(), here.predict(X))


@pytest.mark.parametrize("estimator", [KernelPCA, KernelECA])
def test_exact_products_agree_with_memory(client, data, estimator):
    X, _, w = data
    some = X[:700]
    here = estimator(3, kernel=KERNEL, solver="lanczos").fit(some, sample_weight=w[:700])
    there = estimator(3, kernel=KERNEL, solver="lanczos").fit(
        in_chunks(some, 300), sample_weight=in_chunks(w[:700], 300)
    )
    assert_allclose(there.eigenvalues_, here.eigenvalues_, rtol=1e-11)
    assert_same(here.transform(X), there.transform(in_chunks(X, 300)))
    assert "blocks" in there.spectrum_.method


# --- transfers ------------------------------------------------------------------------------------


def transfers(client):
    """Return the sizes of all keys that workers sent to each other."""
    logs = client.run(lambda dask_worker: list(dask_worker.transfer_outgoing_log))
    return [size for log in logs.values() for entry in log for size in entry["keys"].values()]


def test_chunks_are_not_transferred(client):
    chunks = da.map_blocks(
        lambda block, block_info=None: np.random.default_rng(
            block_info[0]["chunk-location"][0]
        ).normal(size=(len(block), 2)),
        da.zeros((400_000, 1), chunks=(50_000, 1)),
        chunks=((50_000,) * 8, (2,)),
        dtype=float,
    )
    client.run(lambda dask_worker: dask_worker.transfer_outgoing_log.clear())
    eca = KernelECA(3, kernel=Gaussian(0.8), solver="fourier").fit(chunks)
    sent = transfers(client)
    doubled = np.prod([2 * n - 1 for n in eca.spectrum_.expansion.grid.shape])
    assert max(sent, default=0) <= 16 * doubled + 10_000  # one array of trigonometric sums
    assert max(sent, default=0) < 0.5 * 16 * 50_000  # half of a chunk
    assert eca.transform(chunks).sum(axis=0).compute().shape == (3,)


def test_chunks_larger_than_the_worker_memory_raise(client):
    X = da.zeros((20_000_000, 2), chunks=(20_000_000, 2))
    with raises(ValueError, "0.32 GB", "0.7 GB", "X.rechunk(("):
        KernelECA(2).fit(X)


def test_warnings_agree_with_memory(client, data):
    X = data[0]
    with warnings.catch_warnings(record=True) as here:
        warnings.simplefilter("always")
        KernelECA(2, kernel=Gaussian(0.3), solver=Nystrom(20)).fit(X)
    with warnings.catch_warnings(record=True) as there:
        warnings.simplefilter("always")
        KernelECA(2, kernel=Gaussian(0.3), solver=Nystrom(20)).fit(in_chunks(X, 300))
    ours, theirs = (
        [str(w.message) for w in found if issubclass(w.category, ApproximationWarning)]
        for found in (here, there)
    )
    assert ours
    assert theirs == ours


def test_progress_is_shown_on_request(client, data, capsys):
    KernelECA(2, kernel=KERNEL, solver="fourier", verbose=True).fit(in_chunks(data[0], 300))
    printed = capsys.readouterr()
    assert "5/5" in printed.err
    assert printed.out == ""


def test_persisted_chunks_are_not_released(client, data):
    X = in_chunks(data[0], 300).persist()
    model = KernelECA(2, kernel=KERNEL, solver="fourier").fit(X)
    lazy = model.transform(X)
    del X, model
    assert lazy.compute().shape == (1500, 2)


# --- faults ---------------------------------------------------------------------------------------


def fail_on_second_chunk(block):
    if block[0, 0] == 1:
        raise ValueError("this chunk is broken")
    return block


def test_persist_raises_errors_of_chunks(client):
    rows = da.from_array(np.arange(4.0)[:, None], chunks=(1, 1))
    lazy = rows.map_blocks(fail_on_second_chunk, meta=np.empty((0, 1)))
    with raises(ValueError, "this chunk is broken"):
        passes_for(lazy).persist(lazy)


def read_slowly(block, seen, block_info=None):
    """Return rows that depend on the index of the chunk, after a delay, and record the read."""
    time.sleep(0.1)
    with open(seen, "a") as marks:
        marks.write("x")
    rng = np.random.default_rng(block_info[0]["chunk-location"][0])
    return 2.0 * rng.integers(3, size=(200, 1)) + 0.5 * rng.normal(size=(200, 2))


@pytest.fixture
def slow_rows(tmp_path):
    """Rows in 16 chunks, and a file that grows by one byte per chunk read."""
    seen = tmp_path / "seen"
    seen.touch()
    empty = da.zeros((3200, 1), chunks=(200, 1))
    chunks = ((200,) * 16, (2,))
    return da.map_blocks(read_slowly, empty, str(seen), chunks=chunks, dtype=float), seen


@contextmanager
def worker_killed(client, seen, after):
    """Kill a worker process after so many chunks were read; its nanny starts another.

    Wait for one worker only: the other may still be restarting after an earlier test.
    """
    client.wait_for_workers(1, timeout=300)
    pids = client.run(os.getpid)
    killed = []

    def kill():
        deadline = time.monotonic() + 120
        while seen.stat().st_size < after and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(next(iter(pids.values())), signal.SIGKILL)
        killed.append(seen.stat().st_size)

    thread = threading.Thread(target=kill)
    thread.start()
    yield killed
    thread.join()
    assert after <= killed[0]


def test_fit_survives_the_death_of_a_worker(client, slow_rows):
    X, seen = slow_rows
    rows = X.compute(scheduler="synchronous")
    before = seen.stat().st_size
    # 16 chunks for the survey, and some of those for the sums
    with worker_killed(client, seen, before + 22) as killed:
        eca = KernelECA(3, solver="fourier").fit(X)
    assert killed[0] < seen.stat().st_size  # chunks were read afterwards
    expected = KernelECA(3, solver="fourier").fit(rows)
    assert_allclose(eca.eigenvalues_, expected.eigenvalues_, rtol=1e-11)
    assert_allclose(eca.entropy_terms_, expected.entropy_terms_, rtol=1e-11)


def test_transform_survives_the_death_of_a_worker(client, slow_rows):
    X, seen = slow_rows
    rows = X.compute(scheduler="synchronous")
    eca = KernelECA(3, solver="fourier").fit(rows)
    with worker_killed(client, seen, seen.stat().st_size + 6) as killed:
        found = client.compute(eca.transform(X)).result(timeout=300)
    assert killed[0] < seen.stat().st_size
    assert_allclose(found, eca.transform(rows), atol=1e-10)


def exceed_memory(block):
    """Use more memory than a worker has."""
    large = np.ones(int(1.3 * MEMORY / 8))
    time.sleep(3)  # the nanny checks ten times per second
    return block + 0 * large[:1]


def test_out_of_memory_raises_worker_error(client):
    client.wait_for_workers(1, timeout=300)  # a worker may still be restarting
    X = da.from_array(np.random.default_rng(0).normal(size=(40, 2)), chunks=(40, 2))
    client.run_on_scheduler(_set_allowed_failures, 0)
    try:
        with raises(WorkerError, "rechunk"):
            KernelECA(2, kernel=KERNEL, solver="fourier").fit(X.map_blocks(exceed_memory))
    finally:
        client.run_on_scheduler(_set_allowed_failures, 3)


def _set_allowed_failures(failures, dask_scheduler):
    dask_scheduler.allowed_failures = failures
