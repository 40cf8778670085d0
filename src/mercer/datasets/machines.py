"""A mixed table with known clusters: log entries of machines in a workshop."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.utils.validation import check_integer, check_real

__all__ = ["make_machines"]

_STATES = ("milling", "drilling", "worn bearing")
# one row per state: mean temperature (°C), vibration (mm/s) and power (kW)
_MEANS = np.array([[52.0, 1.8, 7.5], [41.0, 2.6, 3.2], [68.0, 6.5, 8.1]])
_SPREADS = np.array([3.0, 0.35, 0.6])
_MATERIALS = (("steel", "steel", "brass"), ("brass", "aluminium", "steel"), ("steel", "brass"))
_NOTES = (
    ("finish cut, coolant on", "roughing pass, coolant on", "finish cut"),
    ("holes 6 mm, tapped", "holes 8 mm", "holes 6 mm"),
    ("noise from spindle, check", "spindle hot, check", "vibration alarm, spindle"),
)


def make_machines(
    n: int = 300,
    *,
    missing: float = 0.03,
    random_state: int | np.random.Generator | None = None,
) -> tuple[dict[str, NDArray[Any]], NDArray[np.str_]]:
    """Log entries of machines: numbers, categories, a text, dates, and some missing values.

    Half of the entries come from milling, a third from drilling, and the others from machines with
    a worn bearing, which have higher temperature and vibration.

    Parameters
    ----------
    n : int
        Number of entries, at least 1.
    missing : float in [0, 1)
        Fraction of missing values in ``temperature``, ``material`` and ``note``.
    random_state : int, Generator or None
        Seed or generator, as for :func:`numpy.random.default_rng`.

    Returns
    -------
    columns : dict of str to array
        ``temperature``, ``vibration``, ``power`` (numbers), ``coolant`` (booleans), ``material``,
        ``shift`` (categories), ``note`` (texts), ``date``; input for ``pandas.DataFrame``.
    state : array of str
        "milling", "drilling" or "worn bearing".

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.datasets import make_machines
    >>> columns, state = make_machines(4, missing=0.0, random_state=1)
    >>> pd.DataFrame(columns)[["temperature", "material", "note"]].assign(state=state)
       temperature   material                       note         state
    0         43.7  aluminium                 holes 8 mm      drilling
    1         69.7      brass  noise from spindle, check  worn bearing
    2         52.1      steel                 finish cut       milling
    3         67.5      brass         spindle hot, check  worn bearing
    """
    check_integer(n, "n")
    check_real(missing, "missing", low=0, below=1)
    rng = np.random.default_rng(random_state)
    state = rng.choice(3, size=n, p=[1 / 2, 1 / 3, 1 / 6])
    numbers = _MEANS[state] + _SPREADS * rng.standard_normal((n, 3))
    is_missing = rng.random((n, 3)) < missing
    numbers[is_missing[:, 0], 0] = np.nan
    columns: dict[str, NDArray[Any]] = {
        "temperature": numbers[:, 0].round(1),
        "vibration": np.abs(numbers[:, 1]).round(2),
        "power": np.abs(numbers[:, 2]).round(2),
        "coolant": rng.random(n) < np.array([0.9, 0.3, 0.7])[state],
        "material": _drawn(rng, _MATERIALS, state, is_missing[:, 1]),
        "shift": np.array(["early", "late", "night"], dtype=object)[rng.integers(3, size=n)],
        "note": _drawn(rng, _NOTES, state, is_missing[:, 2]),
        "date": np.datetime64("2026-01-05") + np.sort(rng.integers(0, 120, size=n)),
    }
    return columns, np.array(_STATES)[state]


def _drawn(
    rng: np.random.Generator,
    choices: tuple[tuple[str, ...], ...],
    state: NDArray[np.int64],
    is_missing: NDArray[np.bool_],
) -> NDArray[Any]:
    """Return one of the state's choices per entry, or None for missing values."""
    drawn = np.array([choices[s][rng.integers(len(choices[s]))] for s in state], dtype=object)
    drawn[is_missing] = None
    return drawn
