"""Figures as SVG with CSS colors, so that one drawing serves light and dark mode."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape
from typing import Any

from mercer.plots.style import DARK_PALETTE, PALETTE

__all__ = ["palette_variables", "svg"]

# Placeholder that is not in the palette; it is replaced by the text color of the page.
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
    "svg.fonttype": "path",  # the figure does not depend on installed fonts
    "svg.hashsalt": "mercer",
    "savefig.transparent": True,
}
_MARK = re.compile(r'(<use xlink:href="#[^"]+" x="[^"]+" y="[^"]+") style="([^"]*)"/>')


def palette_variables() -> tuple[str, str]:
    """Return the CSS variables of the palette, for light and for dark mode."""
    light, dark = (
        " ".join(f"--c{i}: {color};" for i, color in enumerate(palette))
        for palette in (PALETTE, DARK_PALETTE)
    )
    return light, dark


def svg(name: str, alt: str, size: tuple[float, float], draw: Callable[[Any], Any]) -> str:
    """Draw on a new figure and return it as an ``<svg>`` element.

    Parameters
    ----------
    name : str
        Prefix of all ids in the element; unique on the page.
    alt : str
        Alternative text.
    size : pair of float
        Width and height in inches.
    draw : callable
        Receives the matplotlib Figure.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "A report needs matplotlib, which is not installed: pip install mercer[cli]",
            name=error.name,
        ) from error
    text = io.StringIO()
    with mpl.rc_context(_THEME):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        no_metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(text, format="svg", metadata=no_metadata)
    return _embedded(text.getvalue(), name, alt)


def _embedded(text: str, name: str, alt: str) -> str:
    """Turn a stand-alone SVG document into an element of an HTML page."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->\s*", "", text)  # matplotlib repeats every string as a comment
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text)  # not needed in HTML
    text = _with_shared_styles(text)
    # ids must be unique on the page
    text = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{name}-", text)
    text = text.replace(_INK, "var(--ink)")
    for i, color in enumerate(PALETTE):
        text = text.replace(color, f"var(--c{i})")
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(alt)}" ', 1)


def _with_shared_styles(text: str) -> str:
    """Group consecutive marks of equal style, which halves the size of a scatter plot."""
    lines: list[str] = []
    style: str | None = None
    for line in text.splitlines():
        found = _MARK.search(line)
        own = found.group(2) if found else None
        if own != style and style is not None:
            lines.append("</g>")
        if own != style and own is not None:
            lines.append(f'<g style="{own}">')
        style = own
        lines.append(f"{found.group(1)}/>" if found else line)
    return "\n".join(lines)
