"""Formatting of numbers, counts and lists of names, for all user interfaces.

The command line, the report, the explorer and notebooks use this module, so that fractions and
lists of column names are formatted consistently.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import floor, inf, isfinite
from textwrap import wrap
from typing import Any, NamedTuple

__all__ = [
    "Markup",
    "Result",
    "Summary",
    "bar",
    "format_count",
    "format_names",
    "format_number",
    "format_order",
    "format_percent",
    "join_words",
    "shorten",
    "table",
]

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def format_number(value: float, digits: int = 4) -> str:
    """Return a number with this many significant digits: 0.07306, 1,235, 2.70 × 10⁻⁵.

    >>> format_number(1234.5), format_number(2.7e-5), format_number(-0.5)
    ('1,234', '2.70 × 10⁻⁵', '−0.5000')
    """
    if value == 0:
        return "0"
    if not isfinite(value):
        return {inf: "∞", -inf: "−∞"}.get(value, "nan")
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    if -3 <= exponent < 6:
        return f"{value:,.{max(digits - 1 - exponent, 0)}f}".replace("-", "−")
    mantissa, _, power = f"{value:.{digits - 2}e}".partition("e")
    return f"{mantissa.replace('-', '−')} × 10{str(int(power)).translate(_SUPERSCRIPTS)}"


def format_order(order: float) -> str:
    """Return the order of an entropy.

    >>> format_order(2.0), format_order(inf)
    ('2', '∞')
    """
    return "∞" if order == inf else f"{order:g}"


def format_percent(fraction: float) -> str:
    """Return a fraction as a percentage; smaller fractions are never rounded up to 100 %.

    >>> format_percent(0.1234), format_percent(0.99999), format_percent(1.0)
    ('12.3 %', '99.99 %', '100 %')
    """
    value = 100 * fraction
    if value <= 0:
        return "0 %"
    if value > 100 - 1e-7:
        return "100 %"
    if value >= 99.95:
        return f"{floor(value * 100) / 100:.2f} %"
    return f"{value:#.3g} %" if value >= 1e-3 else "under 0.001 %"


def format_count(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> format_count(1, "row"), format_count(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def format_names(names: Sequence[str], most: int = 15) -> str:
    """Return the first names, shortened, and the number of the others.

    >>> format_names(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    shown = ", ".join(shorten(str(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def join_words(items: Iterable[Any]) -> str:
    """Join items with commas and "and".

    >>> join_words([1, 2, 9])
    '1, 2 and 9'
    """
    *first, last = map(str, items)
    return f"{', '.join(first)} and {last}" if first else last


def shorten(text: str, longest: int = 60) -> str:
    """Return the text, cut with an ellipsis if it is longer than this many characters.

    >>> shorten("mercer", 4)
    'mer…'
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


# --- results --------------------------------------------------------------------------------------


class Summary(NamedTuple):
    """A table that summarizes a result; cells of the first column are headers of rows."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


class Result:
    """A result whose text fits on a screen of 100 × 40 characters, with a form in HTML.

    A subclass defines ``_summary``, with the most important rows first, or has a short text of its
    own, which HTML repeats.
    """

    _most_rows = 25

    def _summary(self) -> Summary | None:
        return None

    def __repr__(self) -> str:
        summary = self._summary()
        assert summary is not None
        shown, omitted = self._shown(summary)
        rows = [[_plain(cell) for cell in row] for row in [summary.head, *shown]]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        notes = [line for text in (omitted, summary.note) if text for line in wrap(text, 100)]
        return "\n".join([shorten(summary.caption, 100), *lines, *notes])

    def _repr_html_(self) -> str:
        summary = self._summary()
        if summary is None:
            return f"<pre>{escape(str(self))}</pre>"
        shown, omitted = self._shown(summary)
        note = " ".join(filter(None, [omitted, summary.note]))
        return table(summary.caption, summary.head, shown, note)

    def _shown(self, summary: Summary) -> tuple[Sequence[Sequence[str]], str]:
        omitted = len(summary.rows) - self._most_rows
        text = f"… and {format_count(omitted, 'more row')}" if omitted > 0 else ""
        return summary.rows[: self._most_rows], text


def _plain(cell: str) -> str:
    return cell.text if isinstance(cell, Markup) else shorten(cell, 40)


# --- tables in notebooks --------------------------------------------------------------------------


_CELL = "padding:0.15em 0.8em;text-align:left;border-bottom:1px solid rgba(127,127,127,0.35)"


class Markup(str):
    """A string of HTML, which is not escaped; ``text`` is its form without HTML."""

    text = ""


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    """Return an HTML table; cells are escaped unless they are :class:`Markup`.

    The first cell of a row is its header; ``note`` is a text below the table.
    """
    line = "".join(_cell("th", text, scope="col") for text in head)
    body = "".join(f"<tr>{_row(cells)}</tr>" for cells in rows)
    return (
        '<div style="overflow-x:auto"><table style="border-collapse:collapse">'
        f'<caption style="text-align:left;font-weight:bold">{escape(caption)}</caption>'
        f"<thead><tr>{line}</tr></thead><tbody>{body}</tbody></table>"
        + (f"<div>{escape(note)}</div>" if note else "")
        + "</div>"
    )


def bar(fraction: float) -> Markup:
    """Return a bar with the percentage of a fraction.

    >>> bar(0.25).endswith("25 %")
    True
    """
    inside = f"width:{100 * min(max(fraction, 0.0), 1.0):.1f}%"
    track = "display:inline-block;width:6em;height:0.7em;margin-right:0.5em"
    fill = "display:block;height:100%;background:currentColor;opacity:0.55"
    text = f"{100 * fraction:.3g} %"
    made = Markup(
        f'<span style="{track}" aria-hidden="true"><span style="{fill};{inside}"></span></span>'
        f"{text}"
    )
    made.text = text
    return made


def _row(cells: Sequence[str]) -> str:
    return _cell("th", cells[0], scope="row") + "".join(_cell("td", cell) for cell in cells[1:])


def _cell(tag: str, text: str, scope: str = "") -> str:
    attribute = f' scope="{scope}"' if scope else ""
    inside = text if isinstance(text, Markup) else escape(text)
    return f'<{tag}{attribute} style="{_CELL}">{inside}</{tag}>'
