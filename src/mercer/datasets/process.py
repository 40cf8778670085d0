"""A simulated plant for process monitoring: a stirred tank reactor with two controllers."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.utils.types import Array
from mercer.utils.validation import check_choice, check_integer

__all__ = ["PROCESS_COLUMNS", "PROCESS_FAULTS", "make_process", "simulate_reactors"]

#: Columns of the plant, with units in the user guide.
PROCESS_COLUMNS = (
    "feed_flow",
    "feed_temperature",
    "coolant_inlet_temperature",
    "coolant_outlet_temperature",
    "coolant_flow",
    "coolant_valve",
    "reactor_temperature",
    "reactor_level",
    "outlet_flow",
    "product_concentration",
)
#: Fault -> column in which an engineer sees it first.
PROCESS_FAULTS = {
    "feed-composition": "product_concentration",
    "coolant-temperature": "coolant_inlet_temperature",
    "fouling": "coolant_outlet_temperature",
    "catalyst-decay": "product_concentration",
    "sensor-bias": "reactor_temperature",
    "analyzer-drift": "product_concentration",
    "valve-sticking": "coolant_flow",
    "leak": "outlet_flow",
}

State = tuple[Array, Array, Array, Array]

_STEPS = 5  # integration steps per row
# disturbances: feed flow, feed concentration, feed temperature, coolant inlet temperature
_MEANS = np.array([100.0, 1.0, 350.0, 280.0])
_DEVIATIONS = np.array([1.5, 0.012, 0.8, 0.6])
_MEMORY = np.array([0.9, 0.97, 0.95, 0.98])  # autocorrelation per minute
_NOISE = np.array([0.5, 0.15, 0.15, 0.15, 0.05, 0.3, 0.1, 0.3, 0.5, 0.003])


def make_process(
    n_samples: int = 1000,
    *,
    fault: str | None = None,
    fault_start: int | None = None,
    start: str = "2026-01-01",
    random_state: int | None = None,
) -> Any:
    """Simulate a stirred tank reactor under closed-loop control, one row per minute.

    An exothermic first-order reaction is cooled by a jacket. One controller moves the coolant
    valve to hold the reactor temperature, another one moves the outlet flow to hold the level.
    Flow, concentration and temperature of the feed and the temperature of the coolant vary slowly,
    so rows are autocorrelated, and the concentration of the feed is not measured.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    fault : str or None
        "feed-composition" (a step), "coolant-temperature" (a step), "fouling" (heat transfer
        decreases), "catalyst-decay", "sensor-bias" (of the reactor temperature, inside the control
        loop), "analyzer-drift", "valve-sticking" or "leak". None for normal operation.
    fault_start : int or None
        Row at which the fault begins; None for a fifth of the rows.
    start : str
        Time of the first row.
    random_state : int or None
        Seed.

    Returns
    -------
    pandas DataFrame of shape (n_samples, 10)
        With a DatetimeIndex of one row per minute.

    References
    ----------
    Seborg, Edgar, Mellichamp, "Process Dynamics and Control", Wiley 2004: the reactor.

    Examples
    --------
    >>> from mercer.datasets import make_process
    >>> frame = make_process(500, fault="fouling", random_state=0)
    >>> frame.shape
    (500, 10)
    """
    import pandas as pd

    n = check_integer(n_samples, "n_samples", low=2)
    if fault is not None:
        check_choice(fault, "fault", tuple(PROCESS_FAULTS))
    begin = n // 5 if fault_start is None else check_integer(fault_start, "fault_start", low=0)
    rows = simulate_reactors(n, 1, np.random.default_rng(random_state), fault, begin)[0]
    index = pd.date_range(start, periods=n, freq="min", name="time")
    return pd.DataFrame(rows, index=index, columns=list(PROCESS_COLUMNS))


def simulate_reactors(
    n: int, n_runs: int, rng: np.random.Generator, fault: str | None = None, begin: int = 0
) -> Array:
    """Return independent runs of n minutes, with a fault from row ``begin``: (n_runs, n, 10)."""
    warm_up = 200
    memory = _MEMORY[:, None]
    shocks = rng.normal(size=(warm_up + n, 4, n_runs))
    noise = rng.normal(size=(n, len(PROCESS_COLUMNS), n_runs)) * _NOISE[:, None]
    deviation = rng.normal(size=(4, n_runs))
    state: State = tuple(np.full(n_runs, x) for x in (0.5, 350.0, 300.0, 100.0))  # type: ignore[assignment]
    position = np.full(n_runs, 50.0)  # of the coolant valve, %
    flow = np.full(n_runs, 6.0)  # of the coolant
    integral = np.zeros(n_runs), np.zeros(n_runs)
    rows = np.empty((n, len(PROCESS_COLUMNS), n_runs))
    for t in range(-warm_up, n):
        age = max(0, t - begin + 1) if fault is not None else 0
        deviation = memory * deviation + np.sqrt(1 - memory**2) * shocks[t + warm_up]
        feed = _MEANS[:, None] + _DEVIATIONS[:, None] * deviation
        feed[1] += 0.05 * (fault == "feed-composition" and age > 0)
        feed[3] += 3.0 * (fault == "coolant-temperature" and age > 0)
        transfer = 1e4 * (1 - min(0.3, 1.5e-4 * age) * (fault == "fouling"))
        rate = 7.2e10 * (1 - min(0.4, 1.5e-4 * age) * (fault == "catalyst-decay"))
        leak = 4.0 * (fault == "leak" and age > 0)
        bias = 1.0 * (fault == "sensor-bias" and age > 0)
        stuck = fault == "valve-sticking" and age > 0
        outlet = np.zeros(n_runs)
        for _ in range(_STEPS):
            position, outlet, integral = _control(state, bias, integral)
            wanted = 0.12 * position  # coolant flow for this valve position
            # a sticking valve moves only if the difference is large enough
            moves = np.abs(wanted - flow) > 0.6 if stuck else np.ones(n_runs, dtype=bool)
            flow = np.where(moves, flow + 0.5 * (wanted - flow), flow)
            state = _step(state, feed, flow, outlet + leak, transfer, rate)
        if t >= 0:
            concentration, temperature, coolant, level = state
            drift = min(0.03, 5e-5 * age) * (fault == "analyzer-drift")
            measured = (
                feed[0],
                feed[2],
                feed[3],
                coolant,
                flow,
                position,
                temperature + bias,
                level,
                outlet,
                concentration + drift,
            )
            rows[t] = np.array(measured) + noise[t]
    return np.moveaxis(rows, 2, 0)


def _control(
    state: State, bias: float, integral: tuple[Array, Array]
) -> tuple[Array, Array, tuple[Array, Array]]:
    """Return the valve position, the outlet flow and the integrals of two PI controllers."""
    heat, level = state[1] + (bias - 350.0), state[3] - 100.0  # set points in K and L
    integral = integral[0] + heat / _STEPS, integral[1] + level / _STEPS
    position = np.clip(50 + 6.0 * heat + 1.0 * integral[0], 0, 100)
    outlet = np.clip(100 + 2.0 * level + 0.1 * integral[1], 0, 200)
    return position, outlet, integral


def _step(
    state: State, feed: Array, flow: Array, outlet: Array, transfer: float, rate: float
) -> State:
    """Return concentration, temperature, coolant temperature and level one Euler step later."""
    concentration, temperature, coolant, level = state
    inflow, feed_concentration, feed_temperature, inlet = feed
    h = 1 / _STEPS
    heat_of_reaction = 1e4  # J/mol
    capacity, coolant_capacity = 239.0, 4184.0  # J/(L K)
    jacket = 5.0  # L
    reaction = rate * np.exp(-8750.0 / temperature) * concentration
    exchange = transfer * (temperature - coolant)
    dilution = inflow / level
    heating = (heat_of_reaction * reaction - exchange / level) / capacity
    cooling = flow / jacket * (inlet - coolant) + exchange / (coolant_capacity * jacket)
    return (
        concentration + h * (dilution * (feed_concentration - concentration) - reaction),
        temperature + h * (dilution * (feed_temperature - temperature) + heating),
        coolant + h * cooling,
        level + h * (inflow - outlet),
    )
