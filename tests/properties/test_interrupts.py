"""Fits are atomic: an interrupted fit leaves the estimator unchanged."""

import copy
import random
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_info

import mercer
from mercer import KernelECA, KernelPCA, ParzenDensity
from mercer.kernels import Gaussian
from mercer.solvers import Lanczos, Nystrom
from tests.expectations import raises
from tests.properties.estimator_cases import CASES, fit, results, targets
from tests.timeouts import alarm

ROOT = str(Path(mercer.__file__).parent)
MOMENTS = 6  # random lines per estimator, and as many at the end, where results are stored

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@contextmanager
def at_every_line(event):
    """Call ``event()`` before each line of the library that this thread executes."""
    # the rollback itself cannot be interrupted safely
    rollback = {"guarded", "single_threaded_blas", "_take_control"}

    def enter(frame, what, argument):
        code = frame.f_code
        return line if code.co_filename.startswith(ROOT) and code.co_name not in rollback else None

    def line(frame, what, argument):
        if what == "line":
            event()
        return line

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)


def count_lines(action):
    seen = [0]

    def event():
        seen[0] += 1

    with at_every_line(event):
        action()
    return seen[0]


def interrupt_at(number, action):
    left = [number]

    def event():
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), at_every_line(event):
        action()


def data(seed=0, n=16, d=3):
    return np.random.default_rng(seed).normal(size=(n, d))


def moments(lines, name):
    return sorted(
        {random.Random(f"{name}{i}").randint(1, lines) for i in range(MOMENTS)}
        | set(range(max(1, lines - MOMENTS + 1), lines + 1))
    )


def identities(model):
    return {name: id(value) for name, value in vars(model).items()}


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_interrupted_fit_leaves_the_estimator_unchanged(case):
    X, new = data(), data(seed=1, n=14, d=2)  # other columns: a partial refit would be visible
    fresh, refitted = case.make(1.0), fit(case.make(1.0), X, targets(case, X))
    stored, before = identities(refitted), results(refitted, X)
    unfitted = identities(fresh)
    blas = [library["num_threads"] for library in threadpool_info()]
    y = targets(case, new)
    twin = case.make(1.0)
    lines = count_lines(lambda: fit(twin, new, y))
    for number in moments(lines, case.name):
        interrupt_at(number, lambda: fit(fresh, new, y))
        assert identities(fresh) == unfitted
        with pytest.raises(NotFittedError):
            check_is_fitted(fresh)
        interrupt_at(number, lambda: fit(refitted, new, y))
        assert identities(refitted) == stored
    for name, value in results(refitted, X).items():
        assert_array_equal(value, before[name], err_msg=name)
    assert [library["num_threads"] for library in threadpool_info()] == blas
    # the next fit is correct
    expected = results(twin, new)
    for name, value in results(fit(fresh, new, y), new).items():
        assert_allclose(value, expected[name], rtol=1e-9, atol=1e-9, err_msg=name)


def test_interrupted_partial_fit_leaves_the_estimator_unchanged():
    model = KernelECA(2, kernel=Gaussian(1.0), solver=Nystrom(8))
    model.partial_fit(data())
    stored, scores = identities(model), model.transform(data())
    twin = copy.deepcopy(model)
    lines = count_lines(lambda: twin.partial_fit(data(seed=1)))
    for number in moments(lines, "partial_fit"):
        interrupt_at(number, lambda: model.partial_fit(data(seed=1)))
        assert identities(model) == stored
    assert_array_equal(model.transform(data()), scores)
    other = KernelECA(2, kernel=Gaussian(1.0), solver=Nystrom(8)).partial_fit(data())
    assert_array_equal(
        model.partial_fit(data(seed=1)).transform(data()),
        other.partial_fit(data(seed=1)).transform(data()),
    )


def test_failed_fit_leaves_the_estimator_unchanged():
    model = KernelPCA(2, kernel=Gaussian(1.0)).fit(data())
    stored = identities(model)
    with raises(ValueError, "n_components", 2):
        model.fit(np.ones((1, 7)))
    assert identities(model) == stored
    assert model.transform(data()).shape == (16, 2)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timer")
@pytest.mark.parametrize(
    "model",
    [
        KernelECA(3, kernel=Gaussian(0.5), solver=Lanczos(stored=False)),
        KernelPCA(3, kernel=Gaussian(0.5), solver="dense"),
        KernelPCA(3, kernel=Gaussian(0.5), solver=Nystrom(200)),
        ParzenDensity(kernel=Gaussian(0.5), weights="learned"),
    ],
    ids=["lanczos", "dense", "nystrom", "learned"],
)
def test_interrupts_by_a_timer(model):
    """At random times, while threads are running."""
    if sys.gettrace() is not None:
        pytest.skip("an interrupt may leave a lock of the coverage tracer locked")
    X = data(n=1200, d=4)
    blas = [library["num_threads"] for library in threadpool_info()]
    clone(model).fit(X)  # import everything
    begin = time.perf_counter()
    clone(model).fit(X)
    took = time.perf_counter() - begin
    interrupted = 0
    for i in range(8):
        try:
            with alarm(took * random.Random(i).uniform(0.05, 0.7), KeyboardInterrupt):
                model.fit(X)
        except KeyboardInterrupt:
            interrupted += 1
            with pytest.raises(NotFittedError):
                check_is_fitted(model)
        model = clone(model)
    assert [library["num_threads"] for library in threadpool_info()] == blas
    assert interrupted > 0
    check_is_fitted(model.fit(X[:300]))
