"""Landmarks: any positive semi-definite kernel, any data, with an error that is known exactly."""

from __future__ import annotations

from dataclasses import dataclass

from mercer.config import memory_budget
from mercer.errors import check_memory
from mercer.operators import (
    NystromGram,
    Sample,
    choose_landmarks,
    landmark_bytes,
)
from mercer.solvers.small_side import SmallSideSolver

__all__ = ["Nystrom"]


@dataclass(frozen=True)
class Nystrom(SmallSideSolver):
    """Low-rank approximation through landmarks chosen by randomly pivoted Cholesky.

    Weak where the spectrum decays slowly (small bandwidths): ``spectrum_.error_bound`` is the
    exact trace of what is missing, and bounds the error of every eigenvalue.

    Parameters
    ----------
    n_landmarks : int
        Rank of the approximation.
    tolerance : float
        Fewer landmarks are taken when the unexplained share of the trace falls below this.
    random_state : int or None
        Seed of the choice of landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelECA
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers import Nystrom
    >>> X = np.random.default_rng(0).normal(size=(2000, 5))
    >>> eca = KernelECA(3, kernel=Gaussian(10.0), solver=Nystrom(200)).fit(X)
    >>> eca.spectrum_.error_bound < 0.01 * eca.spectrum_.trace
    True
    """

    n_landmarks: int = 500
    tolerance: float = 1e-10
    random_state: int | None = 0

    def gram(self, sample: Sample) -> NystromGram:
        """Choose the landmarks."""
        if self.n_landmarks < 1:
            raise ValueError(f"Nystrom(n_landmarks={self.n_landmarks}) must be at least 1.")
        if sample.matrix is not None:
            raise ValueError(
                "A precomputed kernel cannot be evaluated at landmarks; it is in memory already, "
                "so use solver='lanczos'."
            )
        if not sample.kernel.is_psd:
            raise ValueError(
                f"{sample.kernel!r} is not positive semi-definite, which landmarks need; use "
                "solver='lanczos' or 'dense'."
            )
        count = min(self.n_landmarks, sample.points.n)
        check_memory(
            landmark_bytes(sample.points.n, count, sample.points.dtype.itemsize),
            memory_budget(),
            f"A choice of {count} landmarks among {sample.points.n} points",
            "Use fewer landmarks",
        )
        features = choose_landmarks(
            sample.kernel,
            sample.points,
            sample.weights,
            count,
            tolerance=self.tolerance,
            random_state=self.random_state,
            memory=memory_budget() // 4,
        )
        return NystromGram(features, sample.points, sample.weights)
