"""Memory limits, threads and memory leaks."""

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
from mercer.utils.resources import free_memory
from tests.expectations import names_values
from tests.properties.estimator_cases import CASES, fit, results, targets
from tests.properties.limited_memory import ACCEPTED, REJECTED

pytestmark = pytest.mark.slow
linux = pytest.mark.skipif(sys.platform != "linux", reason="limits address space, reads /proc")


# --- memory limits ---------------------------------------------------------------


@pytest.fixture(scope="module")
def outcomes():
    """Results of all requests in one process with 512 MB of free address space."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.properties.limited_memory", "512"],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(line) for line in done.stdout.splitlines())


@linux
@pytest.mark.parametrize("name", REJECTED)
def test_requests_beyond_the_memory_budget_are_rejected(outcomes, name):
    kind, _, message = outcomes[name].partition(": ")
    assert kind == "MemoryBudgetError"
    assert names_values(message, "GB", "0.2") == []


@linux
@pytest.mark.parametrize("name", ACCEPTED)
def test_requests_within_the_memory_budget_succeed(outcomes, name):
    assert outcomes[name] == "finished"


@linux
def test_free_memory_respects_the_address_space_limit(outcomes):
    assert 0 < outcomes["free memory"] <= 512 * 2**20 < free_memory()


# --- threads -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=repr)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_32_threads_give_the_same_results(case):
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = fit(case.make(1.0), X, targets(case, X))
    expected = results(model, X)
    blas = [library["num_threads"] for library in threadpool_info()]
    with config_context(threads=2), ThreadPoolExecutor(32) as pool:
        found = list(pool.map(lambda _: results(model, X), range(32)))
    for one in found:
        for name, value in one.items():
            assert_array_equal(value, expected[name], err_msg=name)
    assert [library["num_threads"] for library in threadpool_info()] == blas


# --- leaks ---------------------------------------------------------------------------------------


def resident():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


@linux
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_thousand_fits_leak_no_memory():
    """One leaked matrix of 100 rows per fit would take 80 MB."""
    X = np.random.default_rng(0).normal(size=(100, 2))
    rounds = -(-1000 // len(CASES))

    def fit_all():
        for case in CASES:
            results(fit(case.make(1.0), X, targets(case, X)), X[:5])

    for _ in range(3):  # fill caches and memory pools
        fit_all()
    before = resident()
    for _ in range(rounds):
        fit_all()
    assert resident() - before < 20e6
