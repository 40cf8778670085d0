"""Options that several commands share: how their values are read, and what they mean."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

__all__ = ["Bandwidth", "Verbose", "read_bandwidth"]


def read_bandwidth(kind: Any, tokens: Any) -> float | str:
    """Read a positive number or a rule's name."""
    text: str = tokens[0].value
    try:
        value = float(text)
    except ValueError:
        from mercer.bandwidth import RULES

        if text in RULES:
            return text
        raise ValueError(f"give a number above 0, or one of {', '.join(RULES)}") from None
    if not 0 < value < float("inf"):
        raise ValueError("a bandwidth must be a finite number above 0")
    return value


Bandwidth = Annotated[float | str, Parameter(converter=read_bandwidth, n_tokens=1)]
Verbose = Annotated[bool, Parameter(negative="", show_default=False)]
