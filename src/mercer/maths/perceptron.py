"""A network with one hidden layer and one output: forward, and gradients backward.

Dictionary: X inputs (n × d), ``H = tanh(X A + a)`` hidden units, ``z = H b + c`` the output before
any last step. Parameters travel as one vector, as optimisers want them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.maths.types import Array

__all__ = ["Perceptron", "standardize", "standardize_backward"]


@dataclass(frozen=True)
class Perceptron:
    """The sizes of a d - h - 1 network.

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
        """Gradient with respect to the parameters, from that with respect to the outputs."""
        _, _, b, _ = self._parts(theta)
        inner = np.outer(slope, b) * (1 - H**2)
        return np.r_[(X.T @ inner).ravel(), inner.sum(axis=0), H.T @ slope, slope.sum()]

    def _parts(self, theta: Array) -> tuple[Array, Array, Array, float]:
        d, h = self.inputs, self.hidden
        A = theta[: d * h].reshape(d, h)
        return A, theta[d * h : (d + 1) * h], theta[(d + 1) * h : -1], float(theta[-1])


def standardize(z: Array, shares: Array) -> tuple[Array, float, float]:
    """Mean 0 and variance 1 under the shares; with the mean and the deviation."""
    mean = float(shares @ z)
    deviation = float(np.sqrt(shares @ (z - mean) ** 2))
    return (z - mean) / max(deviation, np.finfo(float).tiny), mean, deviation


def standardize_backward(y: Array, shares: Array, deviation: float, slope: Array) -> Array:
    """Gradient with respect to z, from that with respect to ``y = (z - mean) / deviation``."""
    spread = slope - shares * slope.sum() - shares * y * (slope @ y)
    return np.asarray(spread / max(deviation, np.finfo(float).tiny))
