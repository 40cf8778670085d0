"""Numbers in words."""

from __future__ import annotations

from collections.abc import Iterable
from math import floor
from typing import Any

__all__ = ["counted", "number", "percent", "sequence", "shortened", "some"]

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_NAMES_LISTED = 15
_LONGEST = 60


def number(value: float, digits: int = 4) -> str:
    """A number as people write it: 0.07306, 1,235, 2.70 × 10⁻⁵."""
    if value == 0:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    if -3 <= exponent < 6:
        return f"{value:,.{max(digits - 1 - exponent, 0)}f}".replace("-", "−")
    mantissa, _, power = f"{value:.{digits - 2}e}".partition("e")
    return f"{mantissa.replace('-', '−')} × 10{str(int(power)).translate(_SUPERSCRIPTS)}"


def percent(share: float) -> str:
    """A share as a percentage; what falls short of the whole never reads 100 %."""
    value = 100 * share
    if value <= 0:
        return "0 %"
    if value > 100 - 1e-7:  # all of it, to rounding
        return "100 %"
    if value >= 99.95:
        return f"{floor(value * 100) / 100:.2f} %"
    return f"{value:#.3g} %" if value >= 1e-3 else "under 0.001 %"


def sequence(items: Iterable[Any]) -> str:
    """Join as in a sentence: "1, 2 and 9"."""
    *first, last = map(str, items)
    return f"{', '.join(first)} and {last}" if first else last


def counted(count: int, what: str) -> str:
    """A count with its noun: "1 row", "2 rows"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def some(names: Iterable[str]) -> str:
    """List the first names, and count the others."""
    every = [shortened(name) for name in names]
    if len(every) <= _NAMES_LISTED:
        return ", ".join(every)
    return f"{', '.join(every[:_NAMES_LISTED])} and {len(every) - _NAMES_LISTED:,} more"


def shortened(text: str, longest: int = _LONGEST) -> str:
    """A text that may be long, cut where it would break the page."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
