"""Figures as SVG that takes its colours from the page: one drawing for light and dark paper."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape
from typing import Any

from mercer.plots.style import DARK_PALETTE, PALETTE

__all__ = ["root_colours", "svg"]

# A colour no figure would choose by itself; where matplotlib wrote it, the page's ink goes.
_INK = "#010203"
_THEME: dict[Any, Any] = {
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 11,
    "svg.fonttype": "path",  # the page looks the same whatever fonts the reader has
    "svg.hashsalt": "mercer",
    "savefig.transparent": True,
}
_MARK = re.compile(r'(<use xlink:href="#[^"]+" x="[^"]+" y="[^"]+") style="([^"]*)"/>')


def root_colours() -> tuple[str, str]:
    """CSS variables of the palette, for light and for dark paper."""
    light, dark = (
        " ".join(f"--c{i}: {colour};" for i, colour in enumerate(palette))
        for palette in (PALETTE, DARK_PALETTE)
    )
    return light, dark


def svg(name: str, alt: str, size: tuple[float, float], draw: Callable[[Any], Any]) -> str:
    """Draw on a new figure and return an ``<svg>`` element with ids of its own.

    Parameters
    ----------
    name : str
        Unlike that of any other figure on the page.
    alt : str
        What the figure shows, for those who do not see it.
    size : pair of float
        Width and height in inches.
    draw : callable
        Gets the matplotlib Figure.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "A report needs matplotlib, which is not installed: pip install mercer[plot]",
            name=error.name,
        ) from error
    text = io.StringIO()
    with mpl.rc_context(_THEME):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(text, format="svg", metadata=nothing)
    return _at_home(text.getvalue(), name, alt)


def _at_home(text: str, name: str, alt: str) -> str:
    """Make a stand-alone SVG document a part of the page."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->\s*", "", text)  # matplotlib repeats every string as a comment
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text)  # HTML knows what an <svg> is
    text = _with_shared_styles(text)
    # ids of several figures share the page
    text = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{name}-", text)
    text = text.replace(_INK, "var(--ink)")
    for i, colour in enumerate(PALETTE):
        text = text.replace(colour, f"var(--c{i})")
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(alt)}" ', 1)


def _with_shared_styles(text: str) -> str:
    """Say the style of many marks once: half of the size of a scatter plot is repetition."""
    lines: list[str] = []
    style: str | None = None
    for line in text.splitlines():
        found = _MARK.search(line)
        mine = found.group(2) if found else None
        if mine != style and style is not None:
            lines.append("</g>")
        if mine != style and mine is not None:
            lines.append(f'<g style="{mine}">')
        style = mine
        lines.append(f"{found.group(1)}/>" if found else line)
    return "\n".join(lines)
