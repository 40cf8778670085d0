"""Multilayer perceptron with one hidden layer and one output: forward and backward pass.

Notation: X inputs (n × d), ``H = tanh(X A + a)`` hidden units, ``z = H b + c`` output. The
parameters are concatenated in one vector, as required by optimizers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.utils.types import Array

__all__ = ["Perceptron", "standardize", "standardize_backward"]


@dataclass(frozen=True)
class Perceptron:
    """Layer sizes of a d-h-1 network.

    Parameters
    ----------
    inputs, hidden : int
        d and h.
    """

    inputs: int
    hidden: int

    @property
    def size(self) -> int:
        """Number of parameters."""
        return (self.inputs + 2) * self.hidden + 1

    def forward(self, theta: Array, X: Array) -> tuple[Array, Array]:
        """Return the output z of shape (n,), and the hidden units, which :meth:`backward` needs."""
        A, a, b, c = self._parts(theta)
        H = np.tanh(X @ A + a)
        return H @ b + c, H

    def backward(self, theta: Array, X: Array, H: Array, slope: Array) -> Array:
        """Return the gradient with respect to the parameters, given that for the outputs."""
        _, _, b, _ = self._parts(theta)
        inner = np.outer(slope, b) * (1 - H**2)
        return np.r_[(X.T @ inner).ravel(), inner.sum(axis=0), H.T @ slope, slope.sum()]

    def _parts(self, theta: Array) -> tuple[Array, Array, Array, float]:
        d, h = self.inputs, self.hidden
        A = theta[: d * h].reshape(d, h)
        return A, theta[d * h : (d + 1) * h], theta[(d + 1) * h : -1], float(theta[-1])


def standardize(z: Array, weights: Array) -> tuple[Array, float, float]:
    """Return z scaled to mean 0 and variance 1, its mean and its standard deviation.

    The weights are normalized (sum 1).
    """
    mean = float(weights @ z)
    deviation = float(np.sqrt(weights @ (z - mean) ** 2))
    return (z - mean) / max(deviation, np.finfo(float).tiny), mean, deviation


def standardize_backward(y: Array, weights: Array, deviation: float, slope: Array) -> Array:
    """Return the gradient with respect to z, given that for ``y = (z - mean) / deviation``."""
    projected = slope - weights * slope.sum() - weights * y * (slope @ y)
    return np.asarray(projected / max(deviation, np.finfo(float).tiny))
