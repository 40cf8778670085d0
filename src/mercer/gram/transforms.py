"""Nonuniform FFTs by finufft if it is installed, otherwise by :mod:`mercer.gram.nonuniform_fft`.

The environment variable ``MERCER_FINUFFT=0`` selects the latter in any case. It is read by every
transform, and processes of a Dask cluster inherit it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from mercer.gram.nonuniform_fft import real_series, trigonometric_sums
from mercer.utils.resources import run_in_threads, thread_count
from mercer.utils.types import Array

__all__ = ["fourier_series", "fourier_sums", "uses_finufft"]


def uses_finufft() -> bool:
    """Return whether transforms use finufft."""
    return os.environ.get("MERCER_FINUFFT") != "0" and _finufft() is not None


@cache
def _finufft() -> Any:
    """Return the module; None if it is not installed or cannot load its library."""
    try:
        import finufft
    except (ImportError, OSError):
        return None
    return finufft


def fourier_sums(
    angles: Sequence[Array], weights: Array, modes: tuple[int, ...], tolerance: float
) -> Array:
    """Return ``t_m = Σ_j w_j exp(-i m x_j)`` in FFT order (type 1).

    Parameters
    ----------
    angles : sequence of d arrays of shape (n,)
    weights : real array of shape (n,)
    modes : tuple of d odd int
    tolerance : float
        Of the sums, relative to Σ|w_j|.
    """
    if uses_finufft():
        plan = _plan(1, modes, 1, -1, tolerance)
        plan.setpts(*angles)
        return np.asarray(plan.execute(weights.astype(np.complex128)))
    # each thread has a grid of its own, which pays off if there are more points than frequencies
    many = len(weights) > np.prod(modes)
    run = partial(run_in_threads, parallel=bool(many))
    return trigonometric_sums(angles, weights, modes, tolerance, run, thread_count())


def fourier_series(
    coefficients: Array, angles: Sequence[Array], tolerance: float, out: Array
) -> None:
    """Write ``Σ_m b_m exp(i m x)`` of k real functions at n points to an array (type 2).

    Parameters
    ----------
    coefficients : complex array of shape (k, N_1, …, N_d)
        In FFT order.
    angles : sequence of d arrays of shape (n,)
    tolerance : float
        Of the values, relative to Σ|b_m|.
    out : array of shape (n, k)
    """
    if not uses_finufft():
        real_series(coefficients, angles, tolerance, run_in_threads, thread_count(), out)
        return
    # the sums are real, so two functions share one complex transform
    k = len(coefficients)
    pairs = coefficients[0::2].copy()
    pairs[: k // 2] += 1j * coefficients[1::2]
    plan = _plan(2, coefficients.shape[1:], len(pairs), 1, tolerance)
    plan.setpts(*angles)
    values = plan.execute(pairs).reshape(len(pairs), -1)
    out[:, 0::2] = values.real.T
    out[:, 1::2] = values[: k // 2].imag.T


def _plan(kind: int, modes: tuple[int, ...], count: int, sign: int, tolerance: float) -> Any:
    return _finufft().Plan(
        kind,
        modes,
        n_trans=count,
        eps=tolerance,
        isign=sign,
        modeord=1,
        nthreads=thread_count(),
    )
