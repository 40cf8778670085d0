"""Limits of the machine: memory, threads, and many fits one after the other."""

import gc
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_info

from mercer import config_context
from mercer.resources import free_memory
from tests.properties.estimator_cases import CASES, answers, fit, targets
from tests.properties.memory_child import FINISHED, REFUSED

linux = pytest.mark.skipif(sys.platform != "linux", reason="limits address space, reads /proc")


# --- a hard limit on address space ---------------------------------------------------------------


@pytest.fixture(scope="module")
def outcomes():
    """What came of each request with 512 MB left: one process, in which nothing may die."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.properties.memory_child", "512"],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(line) for line in done.stdout.splitlines())


@linux
@pytest.mark.parametrize("request_", REFUSED, ids=lambda r: r.__name__)
def test_what_cannot_fit_is_refused_in_words(outcomes, request_):
    told = outcomes[request_.__name__]
    assert told.startswith("MemoryBudgetError: ")
    assert "GB" in told
    assert "budget is 0.2" in told
    assert any(word in told for word in ("Use ", "use "))


@linux
@pytest.mark.parametrize("request_", FINISHED, ids=lambda r: r.__name__)
def test_what_can_be_done_in_little_memory_is_done(outcomes, request_):
    assert outcomes[request_.__name__] == "finished"


@linux
def test_free_memory_knows_the_limit_of_the_process(outcomes):
    assert 0 < outcomes["free memory"] <= 512 * 2**20 < free_memory()


# --- threads -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=repr)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_32_threads_predict_alike(case):
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = fit(case.make(1.0), X, targets(case, X))
    alone = answers(model, X)
    blas = [library["num_threads"] for library in threadpool_info()]
    with config_context(threads=2), ThreadPoolExecutor(32) as pool:
        found = list(pool.map(lambda _: answers(model, X), range(64)))
    for one in found:
        for name, value in one.items():
            assert_array_equal(value, alone[name], err_msg=name)
    assert [library["num_threads"] for library in threadpool_info()] == blas


# --- leaks ---------------------------------------------------------------------------------------


def resident():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


@linux
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_thousand_fits_leak_nothing():
    """One matrix of 100 rows, lost in every fit, would make 80 MB."""
    X = np.random.default_rng(0).normal(size=(100, 2))
    rounds = -(-1000 // len(CASES))

    def every_estimator():
        for case in CASES:
            answers(fit(case.make(1.0), X, targets(case, X)), X[:5])

    for _ in range(3):  # caches and the allocator's pools fill up
        every_estimator()
    before = resident()
    for _ in range(rounds):
        every_estimator()
    assert resident() - before < 20e6
