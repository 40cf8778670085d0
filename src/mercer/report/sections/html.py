"""Pieces of HTML that all sections are made of; whatever comes from the data is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Section", "facts", "figure", "grid", "listing", "note", "paragraph", "table"]


@dataclass(frozen=True)
class Section:
    """A part of the page with a place in the table of contents."""

    name: str
    title: str
    body: str

    def html(self) -> str:
        """The section with its heading."""
        return (
            f'<section id="{self.name}" aria-labelledby="{self.name}-title">\n'
            f'<h2 id="{self.name}-title">{escape(self.title)}</h2>\n{self.body}\n</section>\n'
        )


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text."""
    return f"<p{_class(kind)}>{escape(text)}</p>\n"


def note(text: str) -> str:
    """A warning, set off from the text."""
    return f'<div class="warning">{escape(text)}</div>\n'


def figure(drawing: str, caption: str, kind: str = "") -> str:
    """A drawing with a caption."""
    words = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure{_class(kind)}>{drawing}{words}</figure>\n"


def grid(items: Iterable[str], kind: str) -> str:
    """Items side by side, as many as fit."""
    return f'<div class="{kind}">{"".join(items)}</div>\n'


def listing(items: Iterable[tuple[str, str]]) -> str:
    """Terms and what they are."""
    inside = "".join(f"<dt>{escape(what)}</dt><dd>{escape(text)}</dd>" for what, text in items)
    return f'<dl class="list">{inside}</dl>\n'


def facts(items: Iterable[tuple[str, str, str]]) -> str:
    """Cards with a name, a large value and an explanation."""
    cards = "".join(
        f"<div><dt>{escape(what)}</dt><dd>{escape(value)}<small>{escape(why)}</small></dd></div>"
        for what, value, why in items
    )
    return f'<dl class="facts">{cards}</dl>\n'


def table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    texts: Iterable[int] = (),
    marked: Iterable[int] = (),
) -> str:
    """A table whose first cells name their rows; a keyboard can reach and scroll it.

    Parameters
    ----------
    caption : str
    heads : sequence of str
    rows : iterable of sequences of str
    texts : iterable of int
        Columns that hold words, which stand on the left.
    marked : iterable of int
        Rows to stress.
    """
    left, bold = set(texts), set(marked)
    head = "".join(
        f'<th scope="col"{_class("text" if j in left else "")}>{escape(h)}</th>'
        for j, h in enumerate(heads)
    )
    lines = []
    for i, cells in enumerate(rows):
        inside = "".join(_cell(cell, j, j in left) for j, cell in enumerate(cells))
        lines.append(f"<tr{_class('kept' if i in bold else '')}>{inside}</tr>")
    name = escape(caption, quote=True)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">'
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>\n"
    )


def _cell(text: str, j: int, is_text: bool) -> str:
    kind = _class("text" if is_text else "")
    if j == 0:
        return f'<th scope="row"{kind}>{escape(text)}</th>'
    return f"<td{kind}>{escape(text)}</td>"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
