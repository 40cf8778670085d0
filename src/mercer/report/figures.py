"""Figures as SVG that takes its colours from the page: one drawing for light and dark paper."""

from __future__ import annotations

import io
import re
from html import escape
from typing import Any

from mercer.plots import EmbeddingDisplay, SpectrumDisplay
from mercer.plots.style import DARK_PALETTE, PALETTE
from mercer.report.analysis import Analysis
from mercer.report.words import percent, sequence

__all__ = ["eca_figure", "pca_figure", "root_colours", "spectrum_figure"]

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
# Keeps a page of many rows to a few hundred kilobytes.
_MAX_POINTS = 4000


def root_colours() -> tuple[str, str]:
    """CSS variables of the palette, for light and for dark paper."""
    light, dark = (
        " ".join(f"--c{i}: {colour};" for i, colour in enumerate(palette))
        for palette in (PALETTE, DARK_PALETTE)
    )
    return light, dark


def spectrum_figure(analysis: Analysis) -> str:
    """Eigenvalues above, entropy terms below."""
    eca = analysis.eca
    shares = sequence([percent(share) for share in eca.entropy_ratio_])
    ranks = eca.component_ranks_
    which = "" if ranks is None else f" They have eigenvalue ranks {sequence(ranks)}."
    alt = (
        "Two charts with a common axis of eigenpairs, largest eigenvalue first. Above: eigenvalues "
        "of the kernel matrix. Below: the share of the information potential that each pair holds. "
        f"Marked are the {eca.n_components_} components kept, which hold {shares}.{which}"
    )
    return _svg(
        "spectrum",
        alt,
        (5.4, 4.8),
        lambda figure: SpectrumDisplay.from_estimator(
            eca, axes=figure.subplots(2, 1, sharex=True, gridspec_kw={"hspace": 0.08})
        ),
    )


def eca_figure(analysis: Analysis) -> str:
    """First two components of kernel ECA."""
    return _embedding("eca", "Kernel ECA", analysis.eca, analysis)


def pca_figure(analysis: Analysis) -> str:
    """First two components of kernel PCA."""
    return _embedding("pca", "Kernel PCA", analysis.pca, analysis)


def _embedding(name: str, title: str, estimator: Any, analysis: Analysis) -> str:
    table = analysis.table
    coloured = "" if table.labels is None else f", coloured by {table.label}"
    alt = f"Scatter plot of {table.n} rows on the first two components of {title}{coloured}."
    return _svg(
        name,
        alt,
        (4.8, 4.8),
        lambda figure: EmbeddingDisplay.from_estimator(
            estimator,
            labels=table.labels,
            ax=figure.subplots(),
            title=title,
            max_points=_MAX_POINTS,
        ),
    )


def _svg(name: str, alt: str, size: tuple[float, float], draw: Any) -> str:
    """Draw on a new figure and return an ``<svg>`` element with ids of its own."""
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


def _at_home(svg: str, name: str, alt: str) -> str:
    """Make a stand-alone SVG document a part of the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg)  # HTML knows what an <svg> is
    # ids of several figures share the page
    svg = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = svg.replace(_INK, "var(--ink)")
    for i, colour in enumerate(PALETTE):
        svg = svg.replace(colour, f"var(--c{i})")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(alt)}" ', 1)
