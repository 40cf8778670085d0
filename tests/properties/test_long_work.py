"""Interrupted fits, progress messages and logs of the plan."""

import logging

import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info

from mercer import KernelECA, KernelPCA
from mercer.information import renyi_entropy
from mercer.kernels import Gaussian, Kernel
from mercer.solvers import Fourier, Lanczos


class Interrupted(Kernel):
    """A Gaussian that is interrupted at the second tile."""

    calls = 0

    def tiles(self, X, Y=None):
        inner = Gaussian(1.0).tiles(X, Y)

        def tile(rows, columns, out):
            Interrupted.calls += 1
            if Interrupted.calls > 1:
                raise KeyboardInterrupt
            return inner(rows, columns, out)

        return tile


def blas_threads():
    return [library["num_threads"] for library in threadpool_info()]


@pytest.mark.parametrize("solver", ["dense", "lanczos", Lanczos(stored=False)], ids=repr)
@pytest.mark.parametrize("estimator", [KernelECA(2), KernelPCA(2)], ids=repr)
def test_interrupted_fits_leave_the_estimator_unfitted(rng, solver, estimator):
    X = rng.normal(size=(1000, 3))
    before = blas_threads()
    Interrupted.calls = 0
    estimator = clone(estimator).set_params(kernel=Interrupted(), solver=solver)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X)
    with pytest.raises(NotFittedError):
        estimator.transform(X)
    assert blas_threads() == before
    assert estimator.set_params(kernel=Gaussian(1.0)).fit(X).transform(X).shape == (1000, 2)


def test_interrupted_refits_restore_the_earlier_fit(rng):
    X = rng.normal(size=(1000, 3))
    estimator = KernelECA(2, kernel=Gaussian(1.0)).fit(X)
    scores = estimator.transform(X[:5])
    Interrupted.calls = 0
    with pytest.raises(KeyboardInterrupt):
        estimator.set_params(kernel=Interrupted()).fit(X)
    assert_allclose(estimator.transform(X[:5]), scores, atol=0)


@pytest.mark.parametrize(
    ("estimator", "method"),
    [(KernelECA(2), "entropy Lanczos: "), (KernelPCA(2), "block Krylov: ")],
    ids=repr,
)
def test_verbose_prints_progress_to_standard_error(rng, capsys, estimator, method):
    X = rng.normal(size=(700, 2))
    estimator.set_params(solver="lanczos", verbose=True).fit(X)
    printed = capsys.readouterr()
    assert method in printed.err
    assert printed.out == ""
    estimator.set_params(verbose=False).fit(X)
    assert capsys.readouterr().err == ""


def test_plan_is_logged(rng, caplog):
    X = rng.normal(size=(5000, 2))
    with caplog.at_level(logging.INFO, logger="mercer"):
        eca = KernelECA(2, kernel=Gaussian(0.5)).fit(X)
    assert repr(Fourier()) in caplog.text
    assert "Fourier" in eca.spectrum_.method
    assert 0 < eca.spectrum_.error_bound < 1e-4
    assert_allclose(eca.renyi_entropy_, renyi_entropy(X, Gaussian(0.5)), rtol=1e-8)
