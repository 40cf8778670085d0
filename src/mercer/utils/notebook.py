"""HTML tables for the display of objects in notebooks, without scripts or style sheets.

The tables use the colors of the page, so they are readable on light and dark backgrounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["Markup", "bar", "table"]

_CELL = "padding:0.15em 0.8em;text-align:left;border-bottom:1px solid rgba(127,127,127,0.35)"


class Markup(str):
    """A string of HTML, which is not escaped."""


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    """Return an HTML table; cells are escaped unless they are :class:`Markup`.

    Parameters
    ----------
    caption : str
    head : sequence of str
    rows : iterable of sequences of str
        The first cell is the header of the row.
    note : str
        Text below the table.

    Examples
    --------
    >>> "<td" in table("Ages", ["name", "age"], [["Ann", "7"]])
    True
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
    return Markup(
        f'<span style="{track}" aria-hidden="true"><span style="{fill};{inside}"></span></span>'
        f"{100 * fraction:.3g} %"
    )


def _row(cells: Sequence[str]) -> str:
    return _cell("th", cells[0], scope="row") + "".join(_cell("td", cell) for cell in cells[1:])


def _cell(tag: str, text: str, scope: str = "") -> str:
    attribute = f' scope="{scope}"' if scope else ""
    inside = text if isinstance(text, Markup) else escape(text)
    return f'<{tag}{attribute} style="{_CELL}">{inside}</{tag}>'
