"""Steps of an analysis with their times and warnings; methods and versions of software."""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, TypeVar

import mercer
from mercer.report.section import HtmlTable, Section
from mercer.utils.formatting import format_number
from mercer.utils.resources import ProgressBar

__all__ = [
    "Computation",
    "Raised",
    "Steps",
    "computation",
    "describe_spectrum",
    "format_versions",
]

T = TypeVar("T")

_PACKAGES = ("numpy", "scipy", "scikit-learn", "matplotlib", "pandas")


@dataclass(frozen=True)
class Raised:
    """A warning and the step that raised it."""

    step: str
    category: str
    message: str


class Steps:
    """Run steps one by one, record their times and warnings, and show a progress bar.

    Without ``verbose`` the bar is only shown on a terminal, if the work takes long.
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


@dataclass(frozen=True)
class Computation(Section):
    """Methods and their accuracy, times by step and versions."""

    name = "computation"
    title = "Methods and computing time"

    methods: tuple[tuple[str, str], ...]
    seconds: dict[str, float]
    n_warnings: int

    def to_json(self) -> dict[str, Any]:
        """Return times and versions."""
        return {"seconds": self.seconds, "versions": _versions()}

    def context(self) -> dict[str, Any]:
        """Return the methods and the table of times."""
        warned = f"{self.n_warnings}, shown at the top" if self.n_warnings else "none"
        times = [[step, f"{seconds:.2f}"] for step, seconds in self.seconds.items()]
        times.append(["total", f"{sum(self.seconds.values()):.2f}"])
        return {
            "items": [*self.methods, ("Warnings", warned)],
            "times": HtmlTable("Time by step", ["Step", "Seconds"], times, [0]),
        }


def describe_spectrum(spectrum: Any) -> str:
    """Return the method, the accuracy and the certificate of a spectrum."""
    certified = "Certified" if spectrum.certified else "Not certified"
    accuracy = (
        "exact up to rounding error"
        if spectrum.error_bound == 0
        else f"eigenvalues exact to {format_number(spectrum.error_bound)} (the largest is "
        f"{format_number(float(spectrum.eigenvalues.max()))})"
    )
    method = spectrum.method[0].upper() + spectrum.method[1:]
    return f"{method}; {accuracy}. {certified}: {spectrum.certificate}."


def computation(estimator: Any) -> dict[str, Any]:
    """Return the method and accuracy of a spectral estimator, for report.json."""
    spectrum = estimator.spectrum_
    return {
        "method": spectrum.method,
        "certified": bool(spectrum.certified),
        "certificate": spectrum.certificate,
        "error_bound": float(spectrum.error_bound),
        "products": int(spectrum.products),
    }


def _versions() -> dict[str, str]:
    """Return the versions of mercer, Python and the packages used."""
    own = {"mercer": mercer.__version__, "python": platform.python_version()}
    return own | {package: version(package) for package in _PACKAGES}


def format_versions() -> str:
    """Return the names and versions of the software."""
    return ", ".join(f"{name} {number}" for name, number in _versions().items())
