"""What all estimators and kernels share: keyword hints, atomic fits, and floating-point errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from difflib import get_close_matches
from functools import cached_property, wraps
from math import inf, sqrt
from numbers import Real
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np

__all__ = [
    "MercerBase",
    "Storable",
    "all_or_nothing",
    "explain_keyword",
]

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
    "nu": ("false_alarm_rate",),
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
        return _belongs_to_kernel(name, value)
    for other in _OTHER_NAMES.get(name, ()):
        if other in known:
            return f"It is named {other!r} here."
    close = get_close_matches(name, known, n=1)
    suggestion = f"Did you mean {close[0]!r}? " if close else ""
    return f"{suggestion}Parameters: {', '.join(known) or 'none'}."


def _belongs_to_kernel(name: str, value: Any) -> str:
    text = "Parameters of the kernel belong to the kernel: kernel=mercer.kernels."
    if name in ("degree", "coef0"):
        return f"{text}Polynomial(degree=3, constant=1.0, scale=…)."
    bandwidth = _from_gamma("Gaussian", value, ["bandwidth"]) if name == "gamma" else None
    return f"{text}Gaussian(bandwidth=…)." + ("" if bandwidth is None else f" {bandwidth}")


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


class Storable:
    """Marker of a class whose instances consist of their attributes, for model files.

    Dataclasses, estimators and kernels of mercer can be stored without it.
    """


class MercerBase:
    """Base class of estimators and kernels.

    Unknown keyword arguments of a constructor are explained. The signature of ``__init__`` decides;
    it is not changed, so ``clone`` and ``get_params`` see the parameters of the class only.

    Public methods and properties ignore underflow: kernel values of distant points underflow to 0,
    which is correct, and the caller's ``np.errstate(all="raise")`` must not make this an error.
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

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Make the public methods and properties of a class ignore underflow."""
        super().__init_subclass__(**kwargs)
        for name, member in list(vars(cls).items()):
            if name.startswith("_") and name != "__call__":
                continue
            if inspect.isfunction(member):
                setattr(cls, name, ignore_underflow(member))
            elif isinstance(member, property) and member.fget is not None:
                setattr(cls, name, member.getter(ignore_underflow(member.fget)))
            elif isinstance(member, cached_property):
                member.func = ignore_underflow(member.func)


#: Decorator of public functions for which underflow to 0 is not an error.
ignore_underflow = np.errstate(under="ignore")


Estimator = TypeVar("Estimator")
Params = ParamSpec("Params")
Result = TypeVar("Result")


def all_or_nothing(
    fit: Callable[Concatenate[Estimator, Params], Result],
) -> Callable[Concatenate[Estimator, Params], Result]:
    """Decorate a ``fit`` method so that it restores the estimator's attributes if it raises.

    Otherwise an exception (invalid data, a warning turned into an error, Ctrl-C) could leave
    attributes of the new sample next to those of the previous fit.
    """

    @wraps(fit)
    def guarded(self: Estimator, /, *args: Params.args, **kwargs: Params.kwargs) -> Any:
        before = vars(self).copy()
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before  # a single assignment, which an interrupt cannot split
            raise

    return guarded
