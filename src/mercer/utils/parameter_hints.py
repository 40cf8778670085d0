"""Hints for keyword arguments that other libraries use, such as ``gamma`` of scikit-learn."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from difflib import get_close_matches
from math import inf, sqrt
from numbers import Real
from typing import Any, Self

__all__ = ["KeywordHints", "explain_keyword"]

# Names in other libraries, with the names here; the first that a class has is suggested.
_OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "affinity": ("kernel",),
    "coef0": ("constant",),
    "contamination": ("false_alarm_rate",),
    "eigen_solver": ("solver",),
    "h": ("bandwidth",),
    "k": ("n_clusters", "n_components", "n_neighbors"),
    "length_scale": ("bandwidth",),
    "n_clusters": ("n_components",),
    "n_components": ("n_clusters",),
    "nu": ("contamination", "false_alarm_rate"),
    "sigma": ("bandwidth",),
    "width": ("bandwidth",),
}
_KERNEL_PARAMETERS = {
    *("bandwidth", "coef0", "degree", "gamma", "h", "kernel_params", "length_scale", "metric"),
    *("sigma", "width"),
}
_REMARKS = {
    "fit_inverse_transform": "inverse_transform works without it.",
    "n_jobs": "Set the number of threads by mercer.set_config(threads=…).",
    "n_landmarks": "Landmarks belong to the solver: solver=mercer.solvers.Nystrom(1000).",
}


def explain_keyword(cls: str, name: str, value: Any, known: Collection[str]) -> str:
    """Return a remedy for an unknown keyword argument of a class with these parameters."""
    if name in _REMARKS:
        return _REMARKS[name]
    if name == "gamma" and (found := _from_gamma(cls, value, known)) is not None:
        return found
    if name in _KERNEL_PARAMETERS and "kernel" in known:
        text = "Parameters of the kernel belong to the kernel: kernel=mercer.kernels."
        if name in ("degree", "coef0"):
            return f"{text}Polynomial(degree=3, constant=1.0, scale=…)."
        bandwidth = _from_gamma("Gaussian", value, ["bandwidth"]) if name == "gamma" else None
        return f"{text}Gaussian(bandwidth=…)." + ("" if bandwidth is None else f" {bandwidth}")
    for other in _OTHER_NAMES.get(name, ()):
        if other in known:
            return f"It is named {other!r} here."
    close = get_close_matches(name, known, n=1)
    suggestion = f"Did you mean {close[0]!r}? " if close else ""
    return f"{suggestion}Parameters: {', '.join(known) or 'none'}."


def _from_gamma(cls: str, gamma: Any, known: Collection[str]) -> str | None:
    """Return the translation of scikit-learn's gamma; None if the class has none."""
    if "scale" in known:
        return "It is named 'scale' here."
    formulas = {"Gaussian": "1 / sqrt(2 * gamma)", "Laplacian": "1 / gamma"}
    if cls not in formulas or "bandwidth" not in known:
        return None
    formula = f"bandwidth = {formulas[cls]}."
    if not isinstance(gamma, Real) or not 0 < float(gamma) < inf:
        return formula[0].upper() + formula[1:]
    value = 1 / sqrt(2 * float(gamma)) if cls == "Gaussian" else 1 / float(gamma)
    return f"gamma={gamma!r} is bandwidth={value:.6g}: {formula}"


class KeywordHints:
    """Base class whose subclasses explain unknown keyword arguments of their constructors.

    The signature of ``__init__`` decides; it is not changed, so ``clone`` and ``get_params`` see
    the parameters of the class only.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> Gaussian(gamma=0.5)
    Traceback (most recent call last):
    TypeError: Gaussian() got an unexpected keyword argument 'gamma'. gamma=0.5 is bandwidth=1:
    bandwidth = 1 / sqrt(2 * gamma).
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Create an object, after a check of the keywords."""
        known = inspect.signature(cls.__init__).parameters if kwargs else {}
        unknown = [name for name in kwargs if name not in known]
        if unknown and not any(p.kind is p.VAR_KEYWORD for p in known.values()):
            name = unknown[0]
            raise TypeError(
                f"{cls.__name__}() got an unexpected keyword argument {name!r}. "
                f"{explain_keyword(cls.__name__, name, kwargs[name], list(known)[1:])}"
            )
        return super().__new__(cls)
