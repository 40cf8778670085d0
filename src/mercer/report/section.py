"""Sections of a report: their interface, and the tables and figures of pages.

Jinja2 and matplotlib are imported when something is rendered.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mercer.plots.style import DARK_PALETTE, PALETTE
from mercer.utils.formatting import format_number, shorten
from mercer.utils.types import Array

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

__all__ = [
    "MAX_POINTS",
    "Figure",
    "HtmlTable",
    "Section",
    "format_fraction",
    "format_value",
    "plain",
    "render",
    "svg",
]

#: Points of a scatter plot; limits the size of the page to a few hundred kilobytes.
MAX_POINTS = 3000
# Placeholders that are not in the palette, for the text color and the background of the page.
_INK = "#010203"
_PAPER = "#ffffff"
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


class Section:
    """A part of a report: results that are shown on the page, in report.json and in tables.

    Subclasses are dataclasses of results. ``name`` is the id in the page and the name of the macro
    in ``templates/sections.html`` that renders the section.
    """

    name: ClassVar[str]

    @property
    def title(self) -> str:
        """Heading on the page."""
        raise NotImplementedError

    @property
    def answer(self) -> str:
        """The result in a sentence, which opens the section and is listed at the top."""
        raise NotImplementedError

    def context(self) -> dict[str, Any]:
        """Return the arguments of the macro."""
        raise NotImplementedError

    @property
    def body(self) -> Markup:
        """The content below the heading."""
        macros = _environment().get_template("sections.html").module
        body: Markup = getattr(macros, self.name)(**self.context())
        return body

    def to_json(self) -> dict[str, Any]:
        """Return the entry of report.json; dataclasses and arrays are converted by :func:`plain`.

        The answer is added to it.
        """
        return {}

    def row_columns(self) -> dict[str, Array]:
        """Return columns of the table of rows."""
        return {}

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Return further tables, as lists of lines, by their names."""
        return {}


@dataclass(frozen=True)
class HtmlTable:
    """A table whose first cells name their rows.

    ``text_columns`` are aligned to the left; ``marked_rows`` are in bold type.
    """

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: Collection[int] = ()
    marked_rows: Collection[int] = ()


@dataclass(frozen=True)
class Figure:
    """An SVG element from :func:`svg` with a caption.

    ``size`` is a CSS class: "wide", "mid", or "" for the width of the container.
    """

    svg: str
    caption: str
    size: str = ""


def format_value(value: Any, digits: int = 4) -> str:
    """Format a cell, or a median or expectation of cells, for readers.

    >>> format_value(31.80), format_value(1985.0), format_value("Dream"), format_value(None)
    ('31.8', '1985', '“Dream”', '(missing)')
    """
    if value is None or value != value:
        return "(missing)"
    if isinstance(value, bool) or not isinstance(value, int | float):
        if hasattr(value, "isoformat"):
            return str(value.isoformat(" ", "minutes")).replace(" 00:00", "")
        return f"“{shorten(str(value), 40)}”"
    if float(value).is_integer() and abs(value) < 1e6:
        text = f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.0f}"
        return text.replace("-", "−")
    text = format_number(value, digits)
    if abs(value) < 9999.5:
        text = text.replace(",", "")
    return text.rstrip("0").rstrip(".") if "." in text and "×" not in text else text


def format_fraction(fraction: float) -> str:
    """Return a fraction as a whole percentage.

    >>> format_fraction(0.314), format_fraction(0.004), format_fraction(0.9999), format_fraction(0)
    ('31 %', 'under 1 %', '100 %', '0 %')
    """
    if 0 < fraction < 0.005:
        return "under 1 %"
    return f"{100 * fraction:.0f} %" if not 0.995 <= fraction < 0.999 else "over 99 %"


def plain(value: Any) -> Any:
    """Convert dataclasses, arrays and tuples to dicts, lists, numbers, strings and None.

    NaN and infinity become None, because JSON has no such numbers.
    """
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


# --- pages -----------------------------------------------------------------------------------


def render(template: str, **context: Any) -> Markup:
    """Render a template of ``mercer/report/templates`` to HTML; values are escaped."""
    light, dark = (
        " ".join(f"--c{i}: {color};" for i, color in enumerate(palette))
        for palette in (PALETTE, DARK_PALETTE)
    )
    template_ = _environment().get_template(template)
    text = template_.render(**context, palette={"light": light, "dark": dark})
    from markupsafe import Markup  # a dependency of Jinja2

    return Markup(text)


@cache
def _environment() -> Environment:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ModuleNotFoundError as error:
        raise _missing("Jinja2", error) from error
    return Environment(
        loader=PackageLoader("mercer.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _missing(package: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    return ModuleNotFoundError(
        f"A report needs {package}, which is not installed: pip install mercer[cli]",
        name=error.name,
    )


# --- figures with CSS colors, so that one drawing serves light and dark mode -------------------


def svg(name: str, alt: str, size: tuple[float, float], draw: Callable[[Any], Any]) -> str:
    """Draw on a new figure of a size in inches, and return it as an ``<svg>`` element.

    ``name`` is the prefix of all ids in the element, and unique on the page. ``draw`` receives the
    matplotlib Figure.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise _missing("matplotlib", error) from error
    file = io.StringIO()
    with mpl.rc_context(_THEME):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        no_metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=no_metadata)
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->\s*", "", text)  # matplotlib repeats every string as a comment
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text)  # not needed in HTML
    text = _with_shared_styles(text)
    # ids must be unique on the page
    text = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{name}-", text)
    text = text.replace(_INK, "var(--ink)").replace(_PAPER, "var(--paper)")
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
