"""The floating-point errors of the caller; ``test_public_names`` runs everything with "raise"."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer import KernelPCA, ParzenDensity
from mercer.kernels import Gaussian, Kernel, Polynomial


def test_large_samples_with_threads():
    """Worker threads start with NumPy's default state, so threads do not change it either."""
    X = np.random.default_rng(0).normal(size=(1200, 3))
    with mercer.config_context(threads=2), np.errstate(all="raise"):
        found = ParzenDensity(kernel=Gaussian(0.03)).fit(X).score_samples(X[::-1])
    expected = ParzenDensity(kernel=Gaussian(0.03)).fit(X).score_samples(X[::-1])
    assert_allclose(found, expected, rtol=1e-12)


def test_other_errors_reach_the_caller_and_the_state_is_restored():
    """Only underflow is ignored; the state of the caller is the same after the call."""

    class Overflowing(Kernel):
        def matrix(self, X, Y):
            self.state = np.geterr()
            return np.exp(1000.0 * np.ones((len(X), len(Y))))

    kernel = Overflowing()
    with np.errstate(all="raise"):
        with pytest.raises(FloatingPointError):
            kernel(np.eye(3))
        with pytest.raises(FloatingPointError):
            KernelPCA(1, kernel=kernel).fit(np.eye(3))
        assert set(np.geterr().values()) == {"raise"}
    assert kernel.state == {**dict.fromkeys(kernel.state, "raise"), "under": "ignore"}


def test_threads_with_different_states_do_not_change_each_other():
    X, states = np.eye(4), []

    def work(state):
        with np.errstate(all=state):
            for _ in range(20):
                Polynomial(2)(1e-170 * X)
                states.append((state, np.geterr()["under"]))

    threads = [threading.Thread(target=work, args=(state,)) for state in ("raise", "warn")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(states) == 40
    assert all(expected == found for expected, found in states)
