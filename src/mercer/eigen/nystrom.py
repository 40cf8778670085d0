"""Low-rank approximation through landmarks, for any positive semi-definite kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mercer.gram import (
    NystromGram,
    Sample,
    choose_landmarks,
    landmark_bytes,
)
from mercer.utils.resources import check_memory, memory_budget
from mercer.utils.validation import check_integer

__all__ = ["Nystrom"]


@dataclass(frozen=True)
class Nystrom:
    """Low-rank approximation through landmarks chosen by randomly pivoted Cholesky.

    The approximation is poor if the spectrum decays slowly (small bandwidths).
    ``spectrum_.error_bound`` is the trace of the residual, which bounds the error of every
    eigenvalue.

    Parameters
    ----------
    n_landmarks : int
        Rank of the approximation.
    tolerance : float
        Stop early when the unexplained fraction of the trace falls below this.
    random_state : int or None
        Seed of the choice of landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelECA
    >>> from mercer.kernels import Gaussian
    >>> from mercer.eigen import Nystrom
    >>> X = np.random.default_rng(0).normal(size=(2000, 5))
    >>> eca = KernelECA(3, kernel=Gaussian(10.0), solver=Nystrom(200)).fit(X)
    >>> eca.spectrum_.error_bound < 0.01 * eca.spectrum_.trace
    True
    """

    n_landmarks: int = 500
    tolerance: float = 1e-10
    random_state: int | None = 0

    can_grow: ClassVar[bool] = True

    def gram(self, sample: Sample) -> NystromGram:
        """Choose the landmarks and build the operator."""
        check_integer(self.n_landmarks, "Nystrom.n_landmarks")
        if sample.matrix is not None:
            raise ValueError(
                "A precomputed kernel cannot be evaluated at landmarks. Use solver='lanczos'."
            )
        if not sample.kernel.is_psd:
            raise ValueError(
                f"{sample.kernel!r} is not positive semi-definite, which landmarks require. Use "
                "solver='lanczos' or 'dense'."
            )
        count = min(self.n_landmarks, sample.points.n)
        check_memory(
            landmark_bytes(sample.points.n, count, sample.points.dtype.itemsize),
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
