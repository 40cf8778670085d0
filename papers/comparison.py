"""Rows that compare a printed value with ours, and the verdict, which is computed.

A paper prints a number, a set or a word. :func:`accepted_range` turns it into the range of results
that agree with it: half a unit of the last printed digit, and for values that depend on a random
sample the 99 % interval of the difference of two results, the paper's and ours, at their numbers
of repetitions. No row has a range of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import floor, hypot, inf, isfinite, log10, nextafter
from statistics import fmean, stdev
from typing import Any, Literal, TypeAlias

__all__ = [
    "IDENTITY_TOLERANCE",
    "VERDICTS",
    "AcceptedRange",
    "Correction",
    "Picture",
    "Row",
    "Table",
    "Verdict",
    "accepted_range",
    "count_searched",
    "count_verdicts",
    "show",
]

Verdict = Literal["agrees", "corrects the paper", "does not reproduce", "identity", "not printed"]
VERDICTS: tuple[Verdict, ...] = (
    "agrees",
    "corrects the paper",
    "does not reproduce",
    "identity",
    "not printed",
)
#: A printed value: numbers as text with their digits, or a set, a tuple, a word or a statement.
Printed: TypeAlias = str | bool | frozenset[int] | tuple[int, ...]
#: Standard errors: one for all printed numbers, or one for each.
Errors: TypeAlias = float | Sequence[float] | None

#: Two sides of an identity agree up to this difference.
IDENTITY_TOLERANCE = 1e-10
_QUANTILE = 2.5758293  # of the standard normal distribution: 99 % are within ± this
_NUMBER = r"[-−]?(?:\d+\.?\d*|\.\d+)"
_NUMBERS = re.compile(rf"{_NUMBER}(?: {_NUMBER})*")
_LIMITED = re.compile(rf"([<≤≥>≈]) ({_NUMBER})")
_FROM_TO = re.compile(rf"({_NUMBER}) to ({_NUMBER})")


@dataclass(frozen=True)
class AcceptedRange:
    """The results that agree with a printed value.

    Attributes
    ----------
    limits : tuple of (low, high)
        Both included, one pair for each printed number; () if only `value` agrees.
    value : object
        The printed set, tuple, word or statement, if it is not a number.
    """

    limits: tuple[tuple[float, float], ...] = ()
    value: Printed = ""

    def holds(self, result: Any) -> bool:
        """Return whether a result agrees; NaN never does."""
        if not self.limits:
            return bool(result == self.value)
        numbers = tuple(result) if isinstance(result, Iterable) else (result,)
        return len(numbers) == len(self.limits) and all(
            low <= number <= high for number, (low, high) in zip(numbers, self.limits, strict=True)
        )

    def describe(self, unit: str = "") -> str:
        """Return the range as text."""
        if not self.limits:
            return show(self.value)
        return ", ".join(_between(low, high) for low, high in self.limits) + unit


def accepted_range(
    printed: Printed,
    sampling_error: Errors = None,
    our_error: Errors = None,
) -> AcceptedRange:
    """Return the results that agree with a printed value.

    With the standard errors s of the printed value and t of ours, the difference of two results of
    one experiment is within ``±2.58 sqrt(s² + t²)`` in 99 % of the cases; half a unit of the last
    printed digit is added.

    Parameters
    ----------
    printed : str, bool, frozenset or tuple
        Numbers separated by spaces ("10.7", ".5206 .0889") accept what rounds to them: half a unit
        of their last digit; an integer in a list has as many decimals as the others. "≈ 20" accepts
        half a unit of the last digit that is not zero, "20 to 25" the numbers between, "< 10" and
        "≥ 3" those on one side. Anything else accepts only itself.
    sampling_error : float or sequence of float, optional
        Standard deviation of the printed value over samples of the paper's size, one for all
        numbers or one for each. Of a mean, the standard error.
    our_error : float or sequence of float, optional
        The same for our value, over samples of our size.

    Returns
    -------
    AcceptedRange

    Examples
    --------
    >>> accepted_range("10.7").describe(" %")
    '10.65 to 10.75 %'
    >>> accepted_range("2.6", sampling_error=0.2).holds(3.1)
    True
    >>> accepted_range(frozenset({1, 4})).holds({4, 1})
    True
    """
    limits = _limits(printed) if isinstance(printed, str) else []
    if not limits:
        return AcceptedRange((), printed)
    errors = zip(_each(sampling_error, len(limits)), _each(our_error, len(limits)), strict=True)
    widths = [_QUANTILE * hypot(*pair) for pair in errors]
    return AcceptedRange(
        tuple((low - w, high + w) for (low, high), w in zip(limits, widths, strict=True))
    )


def _each(error: Errors, count: int) -> list[float]:
    """Return one error for each of the printed numbers."""
    if error is None or isinstance(error, int | float):
        return [float(error or 0)] * count
    errors = list(error)
    if len(errors) != count:
        raise ValueError(f"{len(errors)} errors for {count} printed numbers; pass one for each.")
    return errors


def _limits(printed: str) -> list[tuple[float, float]]:
    """Return the limits of each number; [] if the text is not a list of numbers."""
    if _NUMBERS.fullmatch(printed):
        numbers = printed.split()
        digits = max(map(_decimals, numbers))
        # an integer among decimals is exact: papers drop zeros at the end
        return [_rounding(n if "." in n else f"{n}.{'0' * digits}") for n in numbers]
    if match := _FROM_TO.fullmatch(printed):
        return [(_rounding(match[1])[0], _rounding(match[2])[1])]
    if match := _LIMITED.fullmatch(printed):
        sign, number = match[1], _as_number(match[2])
        one_sided = {
            "<": (-inf, nextafter(number, -inf)),
            "≤": (-inf, number),
            "≥": (number, inf),
            ">": (nextafter(number, inf), inf),
        }
        return [one_sided.get(sign) or _rounding(_without_zeros(match[2]))]
    return []


def _rounding(text: str) -> tuple[float, float]:
    """Return the numbers that round to a printed one."""
    number, half = _as_number(text), 0.5 * 10.0 ** -_decimals(text)
    slack = 1e-9 * half  # 0.01875, which is a little less in binary, rounds to 0.0188
    low, high = number - half - slack, number + half + slack
    return round(low, 12), round(high, 12)


def _as_number(text: str) -> float:
    return float(re.sub("e.*", "", text.replace("−", "-"))) * 10.0 ** _exponent(text)


def _exponent(text: str) -> int:
    return int(text.partition("e")[2] or 0)


def _decimals(text: str) -> int:
    mantissa = text.partition("e")[0]
    return len(mantissa.partition(".")[2]) - _exponent(text)


def _without_zeros(text: str) -> str:
    """Write 20 as 2e1: its zero is not a printed digit."""
    digits = text.rstrip("0")
    return text if "." in text else f"{digits}e{len(text) - len(digits)}"


def _between(low: float, high: float) -> str:
    if low == -inf:
        return f"≤ {high:.6g}"
    if high == inf:
        return f"≥ {low:.6g}"
    decimals = max(0, 1 - floor(log10(high - low)))
    return f"{low:.{decimals}f} to {high:.{decimals}f}"


@dataclass(frozen=True)
class Correction:
    """The correct value where the paper's is wrong, confirmed by an independent second route.

    Attributes
    ----------
    value : str, bool, frozenset or tuple
        Written like a printed value.
    second_route : str
        The test that computes it in another way, ``"tests/papers/test_….py::test_…"``.
    """

    value: Printed
    second_route: str


@dataclass(frozen=True)
class Row:
    """One result and the value that it is compared with.

    Attributes
    ----------
    item : str
        What was measured; for a statement (`printed` is True) the criterion.
    printed : str, bool, frozenset or tuple
        The published value, see :func:`accepted_range`; "" if there is none.
    ours : number, tuple of numbers, set, str or bool
        The value computed here.
    unit : str
        Appended to numbers, with a leading space if needed.
    spread : float or None
        Standard deviation of `ours` over repetitions.
    sampling_error : float, sequence of float or None
        Standard deviation of the printed value over samples of the paper's size.
    our_error : float, sequence of float or None
        Standard deviation of `ours` over samples of our size; of a mean, its standard error.
    within_rounding : sequence of values like `ours`
        Results at other parameters that round to the printed ones: a σ printed as 1.11 was between
        1.105 and 1.115. The row agrees if one of them does.
    readings : int
        Number of readings of the text that were tried, if the agreement was searched for: another
        generator, subset, convention or start. 1 if the text leaves no choice, or none was used.
    correction : Correction or None
        The correct value, if the printed one is wrong.
    identity : bool
        Whether `ours` is the difference of two sides of an identity.
    recomputed : bool
        Whether `printed` is not from the paper, but from an independent recomputation of it.
    reason : str
        Why the value may not reproduce, as far as known; shown if it does not.
    remark : str
        Explanation that a reader needs to understand the numbers.
    """

    item: str
    printed: Printed
    ours: Any
    unit: str = ""
    spread: float | None = None
    sampling_error: Errors = None
    our_error: Errors = None
    within_rounding: Sequence[Any] = ()
    readings: int = 1
    correction: Correction | None = None
    identity: bool = False
    recomputed: bool = False
    reason: str = ""
    remark: str = ""

    @classmethod
    def of_mean(
        cls, item: str, printed: str, values: Any, unit: str = "", *, of: int = 1, **settings: Any
    ) -> Row:
        """Return a row for the mean of values over samples; the printed one is a mean of ``of``.

        >>> Row.of_mean("error", "3.5", [3.0, 4.0, 5.0], " %").accepted.describe(" %")
        '0.5 to 6.5 %'
        """
        spread = stdev(map(float, values))
        return cls(
            item,
            printed,
            fmean(values),
            unit,
            spread,
            sampling_error=spread / of**0.5,
            our_error=spread / len(values) ** 0.5,
            **settings,
        )

    @property
    def accepted(self) -> AcceptedRange | None:
        """The results that agree with the printed value; None without one."""
        if self.identity:
            return AcceptedRange(((-IDENTITY_TOLERANCE, IDENTITY_TOLERANCE),))
        if self.printed == "":
            return None
        return accepted_range(self.printed, self.sampling_error, self.our_error)

    @property
    def verdict(self) -> Verdict:
        """The kind of result, from the printed value, the correction and ours."""
        accepted = self.accepted
        if accepted is None:
            return "not printed"
        if any(map(accepted.holds, (self.ours, *self.within_rounding))):
            return "identity" if self.identity else "agrees"
        if self.correction and self._is_correct():
            return "corrects the paper"
        return "does not reproduce"

    def _is_correct(self) -> bool:
        assert self.correction is not None
        correct = accepted_range(self.correction.value, self.sampling_error, self.our_error)
        return correct.holds(self.ours)

    @property
    def paper(self) -> str:
        """The printed value as text."""
        return f"{show(self.printed)} (recomputed)" if self.recomputed else show(self.printed)

    @property
    def shown(self) -> str:
        """`ours` with its spread and unit, as text, with one digit more than printed."""
        digits = _digits(self.printed)
        if digits and isinstance(self.ours, tuple) and len(digits) == len(self.ours):
            parts = [f"{x:.{max(d, 0) + 1}f}" for x, d in zip(self.ours, digits, strict=True)]
            return " ".join(parts) + self.unit
        if digits and isinstance(self.ours, float) and isfinite(self.ours):
            number = f"{self.ours:.{max(digits[0], 0) + 1}f}"
            spread = "" if self.spread is None else f" ± {show(self.spread)}"
            return f"{number}{spread}{self.unit}"
        if self.spread is None:
            return show(self.ours, self.unit)
        return f"{show(self.ours)} ± {show(self.spread, self.unit)}"

    @property
    def range(self) -> str:
        """The accepted range as text; "" without one."""
        if self.accepted is None:
            return ""
        if self.identity:
            return f"≤ {IDENTITY_TOLERANCE:g}"
        is_exact = self.sampling_error is None and self.our_error is None
        if isinstance(self.ours, int) and is_exact:
            return show(self.printed, self.unit)
        if len(self.accepted.limits) > 1 and is_exact:
            return "the printed digits"
        return self.accepted.describe(self.unit)

    @property
    def comment(self) -> str:
        """Reason, second route of a correction, remark, rounded parameters, number of readings."""
        parts = [self.remark]
        if self.within_rounding:
            values = [replace(self, ours=ours).shown for ours in self.within_rounding]
            distinct = ", ".join(dict.fromkeys(values))
            parts.append(f"At other parameters that round to the printed ones: {distinct}.")
        if self.readings > 1:
            parts.append(f"Readings tried: {self.readings}.")
        if self.verdict == "does not reproduce":
            parts.insert(0, f"Reason: {self.reason or 'unknown'}.")
        elif self.correction and self.verdict == "corrects the paper":
            correct, route = show(self.correction.value), self.correction.second_route
            parts.insert(0, f"Correct: {correct}, confirmed by {route.rpartition('::')[2]}.")
        return " ".join(filter(None, parts))


@dataclass(frozen=True)
class Table:
    """Rows with a title.

    Attributes
    ----------
    rows : tuple of Row
    note : str
        Conditions that hold for all rows.
    layout : str
        The same numbers in the layout of the paper, as text; "" if rows are enough.
    title : str
        Set by the run.
    """

    rows: tuple[Row, ...]
    note: str = ""
    layout: str = ""
    title: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure of the paper, redrawn.

    Attributes
    ----------
    name : str
        File name without extension.
    caption : str
        The paper's caption, and the differences here.
    figure : matplotlib Figure
    """

    name: str
    caption: str
    figure: Any


def count_verdicts(tables: Iterable[Table], *, recomputed: bool = False) -> dict[Verdict, int]:
    """Count the rows of the paper per verdict, or those of an independent recomputation."""
    counts: dict[Verdict, int] = dict.fromkeys(VERDICTS, 0)
    for table in tables:
        for row in table.rows:
            if row.recomputed == recomputed:
                counts[row.verdict] += 1
    return counts


def count_searched(tables: Iterable[Table]) -> int:
    """Count the rows of the paper that agree in one of several readings that were tried."""
    rows = [row for table in tables for row in table.rows]
    return sum(row.readings > 1 and row.verdict == "agrees" and not row.recomputed for row in rows)


def _digits(printed: Printed) -> list[int]:
    """Return the decimals of each printed number."""
    if not isinstance(printed, str) or not _limits(printed):
        return []
    return [_decimals(number) for number in re.findall(_NUMBER, printed)]


def show(value: Any, unit: str = "") -> str:
    """Format numbers with a few digits, statements as yes or no, sets as in mathematics."""
    if isinstance(value, str):
        return f"{value}{unit}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, frozenset | set):
        return "{" + ", ".join(map(show, sorted(value))) + "}"
    if isinstance(value, tuple | list):
        return ", ".join(map(show, value))
    if isinstance(value, float):
        return f"{value:.1f}{unit}" if 1 <= abs(value) < 1e4 else f"{value:.2g}{unit}"
    return f"{value}{unit}"
