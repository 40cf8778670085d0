"""Steps of an analysis: timed, with what they warned of, and with progress on standard error."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from mercer.progress import ProgressBar

__all__ = ["Raised", "Steps"]

T = TypeVar("T")


@dataclass(frozen=True)
class Raised:
    """A warning, and the step that raised it."""

    step: str
    category: str
    message: str


class Steps:
    """Runs steps one by one, and remembers how long they took and what they warned of.

    Parameters
    ----------
    total : int
        How many there will be, for the bar.
    verbose : bool
        Show the bar from the start, and anywhere; otherwise on a terminal, when it takes long.
    """

    def __init__(self, total: int, verbose: bool = False) -> None:
        self.seconds: dict[str, float] = {}
        self.raised: list[Raised] = []
        self._bar = ProgressBar(total, "steps", always=verbose)

    def run(self, step: str, work: Callable[[], T]) -> T:
        """Do the work of a step."""
        self._bar.what = f"steps: {step}"
        self._bar.step(len(self.seconds))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start = time.perf_counter()
            result = work()
            self.seconds[step] = time.perf_counter() - start
        known = {one.message for one in self.raised}
        for warning in caught:
            text = str(warning.message)
            if text not in known:
                self.raised.append(Raised(step, warning.category.__name__, text))
                known.add(text)
        return result

    def close(self) -> None:
        """End the line of the bar."""
        self._bar.what = "steps"
        self._bar.step(self._bar.total)
        self._bar.close()
