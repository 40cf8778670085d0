"""Sections, tables and figures for the Jinja templates; autoescape is on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

__all__ = ["Figure", "HtmlTable", "Section", "render"]


@dataclass(frozen=True)
class Section:
    """A section of the page, rendered from ``templates/sections/NAME.html``.

    Attributes
    ----------
    name : str
        Of the template, and the id in the page.
    title : str
    context : dict
        Variables of the template.
    """

    name: str
    title: str
    context: dict[str, Any] = field(default_factory=dict)

    @property
    def body(self) -> Markup:
        """The content below the heading."""
        return render(f"sections/{self.name}.html", **self.context)


@dataclass(frozen=True)
class HtmlTable:
    """A table whose first cells name their rows.

    Attributes
    ----------
    caption : str
    heads : sequence of str
    rows : sequence of sequences of str
    text_columns : collection of int
        Columns that are aligned to the left.
    marked_rows : collection of int
        Rows in bold type.
    """

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: Collection[int] = ()
    marked_rows: Collection[int] = ()


@dataclass(frozen=True)
class Figure:
    """An SVG element with a caption.

    Attributes
    ----------
    svg : str
        From :func:`mercer.report.svg.svg`.
    caption : str
    size : str
        CSS class: "wide", "mid", or "" for the width of the container.
    """

    svg: str
    caption: str
    size: str = ""


def render(template: str, **context: Any) -> Markup:
    """Render a template of ``mercer/report/templates`` to HTML."""
    text = _environment().get_template(template).render(**context)
    from markupsafe import Markup  # a dependency of Jinja2

    return Markup(text)


@cache
def _environment() -> Environment:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "A report needs Jinja2, which is not installed: pip install mercer[cli]",
            name=error.name,
        ) from error
    return Environment(
        loader=PackageLoader("mercer.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
