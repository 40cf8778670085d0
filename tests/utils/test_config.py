"""Settings: parsing, errors, contexts; results do not depend on the number of threads."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_info

import mercer
from mercer import KernelECA, KernelPCA, config_context, get_config, set_config
from mercer.data.points import Points
from mercer.gram import BlockedGram
from mercer.gram.landmarks import LandmarkFeatures
from mercer.kernels import Gaussian, Laplacian
from mercer.solvers import Lanczos
from mercer.utils.resources import (
    free_memory,
    memory_budget,
    parse_memory,
    results_in_order,
    run_each_in_threads,
    run_in_threads,
    single_threaded_blas,
    thread_count,
)
from tests.expectations import raises


@pytest.fixture(autouse=True)
def defaults():
    set_config(memory=None, threads=None)
    yield
    set_config(memory=None, threads=None)


# --- values ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        ("2GB", 2 * 10**9),
        ("2 GB", 2 * 10**9),
        (" 2gb ", 2 * 10**9),
        ("1.5MB", 1_500_000),
        ("3KB", 3000),
        ("1TB", 10**12),
        ("1GiB", 2**30),
        ("2KiB", 2048),
        ("1MiB", 2**20),
        ("1TiB", 2**40),
        ("17B", 17),
        ("17", 17),
        (4096, 4096),
        (np.int64(4096), 4096),
    ],
)
def test_sizes_are_bytes(memory, expected):
    assert parse_memory(memory) == expected
    set_config(memory=memory)
    assert memory_budget() == expected
    assert get_config().memory == memory


def test_percentages_refer_to_the_free_memory(monkeypatch):
    monkeypatch.setattr("mercer.utils.resources.free_memory", lambda: 1000)
    assert parse_memory("50%") == 500
    assert parse_memory("12.5 %") == 125
    set_config(memory="30%")
    assert memory_budget() == 300
    set_config(memory=None, threads=None)
    assert get_config().memory is None
    assert memory_budget() == 500  # None: half of the free memory


def test_free_memory_is_a_size():
    assert 2**20 < free_memory() < 2**50


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Write the files in which a system reports its memory."""
    monkeypatch.setattr("mercer.utils.resources._PROCESSES", tmp_path)
    monkeypatch.setattr("mercer.utils.resources._CONTROL_GROUP", tmp_path)

    def write(**files):
        for name, text in files.items():
            (tmp_path / name.replace("_", ".")).write_text(text + "\n")

    return write


def test_memory_of_a_system_without_reports(system):
    assert free_memory() == 4 * 2**30


def test_memory_of_a_control_group(system):
    """The smaller of machine and control group; inactive files of the group can be evicted."""
    system(meminfo="MemTotal: 9000 kB\nMemAvailable: 7000 kB")
    assert free_memory() == 7000 * 1024
    group = {"memory_current": "900", "memory_stat": "anon 300\ninactive_file 500"}
    system(memory_max="max", **group)
    assert free_memory() == 7000 * 1024
    system(memory_max="1000", **group)
    assert free_memory() == 600
    system(memory_max="1000", memory_current="1000", memory_stat="anon 1000")
    assert free_memory() == 0


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "GB",
        "-1GB",
        -1,
        0,
        "0",
        "0%",
        "2 apples",
        "2GBB",
        "1.2.3GB",
        ".",
        "nan",
        "inf",
        True,
        [1],
    ],
)
def test_invalid_sizes_raise_and_change_nothing(wrong):
    set_config(memory="5GB", threads=2)
    with raises(ValueError, f"memory={wrong!r}", "'2GB'", "'50%'"):
        set_config(memory=wrong)
    assert get_config().memory == "5GB"
    assert get_config().threads == 2


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2", True])
def test_invalid_numbers_of_threads_raise(wrong):
    with raises((TypeError, ValueError), f"threads={wrong!r}", 1, None):
        set_config(threads=wrong)
    assert get_config().threads is None


def test_thread_count_is_the_setting_or_the_number_of_cores(monkeypatch):
    set_config(threads=3)
    assert thread_count() == 3
    set_config(memory=None, threads=None)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count())
    assert thread_count() == len(cores)


def test_omitted_settings_stay_as_they_are():
    """Regression: set_config(threads=…) reset the memory budget."""
    set_config(memory="2GB", threads=2)
    set_config(threads=3)
    assert (get_config().memory, get_config().threads) == ("2GB", 3)
    set_config(memory=None)
    assert (get_config().memory, get_config().threads) == (None, 3)


# --- contexts -----------------------------------------------------------------


def test_contexts_restore_the_settings():
    set_config(memory="2GB", threads=2)
    with config_context(memory="1MB"):
        assert (get_config().memory, get_config().threads) == ("1MB", 2)
        with config_context(threads=1):
            assert (get_config().memory, get_config().threads) == ("1MB", 1)
        assert (get_config().memory, get_config().threads) == ("1MB", 2)
    assert (get_config().memory, get_config().threads) == ("2GB", 2)


def fail_within_a_context():
    with config_context(memory="1MB"):
        raise KeyError("stop")


def test_contexts_restore_the_settings_after_an_error():
    set_config(memory="2GB")
    with pytest.raises(KeyError):
        fail_within_a_context()
    assert get_config().memory == "2GB"
    with raises(ValueError, "threads=0"), config_context(threads=0):
        pass
    assert get_config() == mercer.utils.resources.Config("2GB", None)


def test_settings_cannot_be_changed_in_place():
    with pytest.raises(AttributeError):
        get_config().memory = "1MB"


# --- threads -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplacian(1.0)], ids=repr)
def test_matrix_free_products_do_not_depend_on_the_number_of_threads(kernel, dtype):
    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(900, 3)).astype(dtype), rng.normal(size=(900, 4))
    weights = rng.uniform(0.5, 2, size=900)
    for w in (None, weights):
        gram = BlockedGram(kernel, Points(X), w)
        products = []
        for threads in (1, 2, 3):
            with config_context(threads=threads):
                products.append(gram.product(V))
                assert_array_equal(gram.product(V), products[-1])  # reproducible
        root = np.ones(900) if w is None else np.sqrt(w)
        exact = root[:, None] * (kernel(X.astype(float)) @ (root[:, None] * V))
        # sums of 900 terms of size 1 in another order differ by at most 900 eps; in single
        # precision, each term has an error of about 1e-5
        size = np.abs(exact).max()
        rounding, error = (1e-13, 1e-12) if dtype == np.float64 else (1e-5, 1e-4)
        for product in products:
            assert_allclose(product, products[0], rtol=0, atol=rounding * size)
            assert_allclose(product, exact, rtol=0, atol=error * size)


@pytest.mark.parametrize("estimator", [KernelPCA, KernelECA])
def test_components_do_not_depend_on_the_number_of_threads(estimator):
    X = np.random.default_rng(0).normal(size=(700, 2))
    found = []
    for threads in (1, 2, 3):
        with config_context(threads=threads):
            model = estimator(3, kernel=Gaussian(1.0), solver=Lanczos(stored=False))
            found.append(model.fit_transform(X))
    for other in found[1:]:
        # products agree up to 1e-13, and eigenvalues differ by more than 1e-2 of the largest
        assert_allclose(other, found[0], rtol=0, atol=1e-9)


def test_tasks_are_split_among_the_threads():
    for threads in (1, 2, 3, 50):
        with config_context(threads=threads):
            parts = run_in_threads(list(range(10)), list)
        assert sorted(task for part in parts for task in part) == list(range(10))
        assert len(parts) == min(threads, 10)


@pytest.mark.parametrize("threads", [1, 3])
def test_each_task_runs_once_in_some_thread(threads):
    done = []
    with config_context(threads=threads):
        run_each_in_threads(list(range(20)), done.append)
        assert sorted(done) == list(range(20))
        with pytest.raises(KeyError):
            run_each_in_threads([{}, {}], lambda task: task[0])


@pytest.mark.parametrize("threads", [1, 3])
def test_results_come_in_the_order_of_tasks_and_few_are_ahead(threads):
    before = blas_threads()
    started, ahead = [], []

    def work(task):
        started.append(task)
        time.sleep(0.002 * (task % 3))
        return task

    with config_context(threads=threads):
        for done, result in enumerate(results_in_order(range(20), work)):
            assert result == done
            ahead.append(len(started) - done)
        with pytest.raises(KeyError):
            list(results_in_order([{}, {}], lambda task: task[0]))
    assert max(ahead) <= threads + 1
    assert blas_threads() == before


def test_worker_threads_do_not_start_further_threads():
    with config_context(threads=3):
        assert set(results_in_order(range(6), lambda _: thread_count())) == {1}
        assert run_in_threads(range(3), lambda _: thread_count()) == [1, 1, 1]
        assert thread_count() == 3


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_do_not_depend_on_the_number_of_threads(weighted):
    X = np.random.default_rng(0).normal(size=(9000, 3))
    weights = np.random.default_rng(1).uniform(0.5, 2, 9000) if weighted else None
    landmarks = Points(X[:50])
    factor = np.linalg.cholesky(Gaussian(0.1)(X[:50], X[:50]))
    features = LandmarkFeatures(Gaussian(0.1), landmarks, factor)
    found = []
    for threads in (1, 3):
        with config_context(threads=threads), single_threaded_blas():
            found.append(features.raw_moments(Points(X), weights))
    assert found[0].total == found[1].total
    assert_array_equal(found[0].mean, found[1].mean)
    assert_array_equal(found[0].scatter, found[1].scatter)


def test_errors_in_a_thread_reach_the_caller():
    def fail(tasks):
        raise KeyError(tasks[0])

    for threads in (1, 3):
        with config_context(threads=threads), pytest.raises(KeyError):
            run_in_threads([1, 2, 3], fail)


def blas_threads():
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


def test_blas_limit_is_lifted_by_the_last_caller():
    before = blas_threads()
    inside, leave = threading.Event(), threading.Event()

    def other():
        with single_threaded_blas():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with single_threaded_blas():
        thread.start()
        assert inside.wait(10)
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {1}  # the other thread is still inside
    leave.set()
    thread.join()
    assert blas_threads() == before


def test_omp_num_threads_limits_the_thread_count(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = thread_count()
    for text, wanted in [("1", 1), ("0", cores), ("9999", cores), ("4,2", cores), ("", cores)]:
        monkeypatch.setenv("OMP_NUM_THREADS", text)
        assert thread_count() == wanted
    with config_context(threads=3):
        assert thread_count() == 3
