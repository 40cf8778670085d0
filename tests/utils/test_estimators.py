"""The base class of estimators and kernels: floating-point errors of the caller."""

import inspect
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer import JointMixtureDensity, ParzenDensity, StackedDensity
from mercer.kernels import Gaussian
from mercer.utils.estimators import MercerBase

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

X = np.random.default_rng(0).normal(size=(60, 2))
FAR = np.array([[0.0, 0.0], [30.0, -30.0], [1000.0, 1000.0]])


@cache
def parzen():
    return ParzenDensity(kernel=Gaussian(0.05)).fit(X)


@cache
def stacked():
    return StackedDensity().fit(X)


@cache
def joint():
    y = np.where(np.arange(len(X)) < 30, 0.01 * X[:, 1], 30 + X[:, 1])
    return JointMixtureDensity(2).fit(X[:, :1], y)


def test_all_estimators_and_kernels_have_the_base_class():
    public = [getattr(mercer, name) for name in mercer.__all__]
    estimators = [cls for cls in public if inspect.isclass(cls) and hasattr(cls, "fit")]
    kernels = [getattr(mercer.kernels, name) for name in mercer.kernels.__all__]
    assert len(estimators) > 15
    for cls in [*estimators, *(kernel for kernel in kernels if inspect.isclass(kernel))]:
        assert issubclass(cls, MercerBase), cls


def test_estimators_have_at_most_four_classes_of_this_package():
    public = [getattr(mercer, name) for name in mercer.__all__]
    for cls in public:
        if inspect.isclass(cls) and hasattr(cls, "fit"):
            own = [base.__name__ for base in cls.__mro__ if base.__module__.startswith("mercer.")]
            assert len(own) <= 4, own


CALLS = {
    "modes": lambda: parzen().modes(),
    "mean": lambda: ParzenDensity(kernel=Gaussian(0.05), support=(-90, 90)).fit(X).mean(),
    "conditional": lambda: parzen().conditional({0: 1000.0}).pdf(FAR[:, 1:]),
    "stacked density": lambda: stacked().score_samples(FAR),
    "joint density": lambda: joint().pdf(FAR[:, :1]),
    "joint prediction": lambda: joint().predict(FAR[:, :1]),
}


@pytest.mark.parametrize("name", CALLS)
def test_underflow_is_no_error_if_the_caller_raises_floating_point_errors(name):
    expected = CALLS[name]()
    with np.errstate(all="raise"):
        found = CALLS[name]()
    if name == "modes":
        expected, found = expected[0], found[0]
    assert_allclose(found, expected, rtol=1e-9)
