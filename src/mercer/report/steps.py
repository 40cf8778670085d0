"""Steps of an analysis, with their times, their warnings and a progress bar."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from mercer.utils.progress import ProgressBar

__all__ = ["Raised", "Steps"]

T = TypeVar("T")


@dataclass(frozen=True)
class Raised:
    """A warning and the step that raised it."""

    step: str
    category: str
    message: str


class Steps:
    """Run steps one by one, and record their times and warnings.

    Parameters
    ----------
    total : int
        Expected number of steps, for the progress bar.
    verbose : bool
        Always show the progress bar; otherwise only on a terminal, if the work takes long.
    """

    def __init__(self, total: int, verbose: bool = False) -> None:
        self.seconds: dict[str, float] = {}
        self.raised: list[Raised] = []
        self._bar = ProgressBar(total, "steps", always=verbose)

    def run(self, step: str, work: Callable[[], T]) -> T:
        """Run a step and return its result; equal warnings are recorded once."""
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
        """End the line of the progress bar."""
        self._bar.what = "steps"
        self._bar.step(self._bar.total)
        self._bar.close()
