"""Shared tools of the tests of model files."""

import numpy as np

import mercer
from mercer.kernels import Gaussian, Kernel
from tests.expectations import raises

X = np.random.default_rng(0).normal(size=(20, 2))


class Halved(Kernel):
    """A kernel that mercer does not list."""

    def __init__(self, factor=0.5, function=None):
        self.factor = factor
        self.function = function

    def matrix(self, X, Y):
        return self.factor * Gaussian(1.0)(X, Y)


def load_bytes(data, path, **options):
    path.write_bytes(data)
    return mercer.load(path, **options)


def assert_rejected(data, path, *values):
    """Loading raises ValueError, which names the path and the values."""
    path.write_bytes(data)
    with raises(ValueError, path, *values):
        mercer.load(path)


def of_class(name, state=None):
    """Node of an object in a manifest."""
    return {"object": [name, state or {}]}
