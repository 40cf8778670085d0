"""The page: an analysis as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from mercer.report import words
from mercer.report.analysis import Analysis, Component, numbers
from mercer.report.figures import eca_figure, pca_figure, root_colours, spectrum_figure
from mercer.report.words import number, percent

__all__ = ["page"]

_NAMES_LISTED = 15


def page(analysis: Analysis) -> str:
    """Return the whole page."""
    name = escape(analysis.table.name)
    sections = [
        _findings(analysis),
        _warnings(analysis),
        _section("What the components show", _embeddings(analysis)),
        _section("Which components carry the entropy", _components(analysis)),
        _section("What the data are", _data(analysis)),
        _section("What was chosen, and why", _choices(analysis)),
        _section("How it was computed", _computation(analysis)),
    ]
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name} · mercer report</title>
<style>
{_style()}</style>
</head>
<body>
<main>
{"".join(sections)}</main>
{_footer(analysis)}
</body>
</html>
"""


def _style() -> str:
    light, dark = root_colours()
    css = files("mercer.report").joinpath("style.css").read_text(encoding="utf-8")
    return Template(css).substitute(light=light, dark=dark)


# --- sections --------------------------------------------------------------------------------


def _findings(analysis: Analysis) -> str:
    table, eca = analysis.table, analysis.eca
    n = table.n
    said = " ".join(words.findings(analysis))
    facts = [
        (
            "Information potential V",
            number(eca.information_potential_),
            f"mean kernel value of all pairs of rows; from {number(1 / n, 2)} "
            "(no two alike) to 1 (all alike)",
        ),
        (
            "Renyi entropy",
            f"{number(eca.renyi_entropy_)} nats",
            "−log of the mean density; larger: more spread out",
        ),
        (
            "Entropy kept",
            percent(analysis.share_kept),
            f"of V, by {eca.n_components_} components",
        ),
        ("Bandwidth σ", number(analysis.sigma), "of the Gaussian kernel"),
    ]
    cards = "".join(
        f"<div><dt>{escape(what)}</dt><dd>{escape(value)}<small>{escape(note)}</small></dd></div>"
        for what, value, note in facts
    )
    return f"""<h1>Kernel entropy report: {escape(table.name)}</h1>
<p class="soft">{n:,} rows × {len(table.columns)} columns</p>
<p class="lead">{escape(said)}</p>
<dl class="facts">{cards}</dl>
"""


def _data(analysis: Analysis) -> str:
    table = analysis.table
    rows = f"{table.n:,}"
    if table.rows_omitted:
        rows += (
            f" of {table.rows_read:,}; {table.rows_omitted:,} left out because a value was missing"
        )
    items = [("Rows", rows), ("Columns", f"{len(table.columns)}: {_some(table.columns)}")]
    reasons: dict[str, list[str]] = {}
    for omission in table.omissions:
        reasons.setdefault(omission.reason, []).append(omission.column)
    left_out = [f"{_some(columns)} ({reason})" for reason, columns in reasons.items()]
    items.append(("Columns left out", "; ".join(left_out) or "none"))
    items.append(("Label", table.label or "none: points are not coloured"))
    return _list(items)


def _choices(analysis: Analysis) -> str:
    eca = analysis.eca
    items = [
        ("Scaling", "Standardised" if analysis.scaled else "None", words.why_scaling(analysis)),
        ("Kernel", "Gaussian", words.why_kernel(analysis)),
        ("Bandwidth", f"σ = {number(analysis.sigma)}", words.why_bandwidth(analysis)),
        ("Solver", _capital(eca.spectrum_.method.split(",")[0]), words.why_solver(analysis)),
        ("Components", str(eca.n_components_), words.why_components(analysis)),
    ]
    rows = "".join(
        f"<dt>{what}</dt><dd><strong>{escape(value)}.</strong> {escape(why)}</dd>"
        for what, value, why in items
    )
    return f'<dl class="list">{rows}</dl>'


def _components(analysis: Analysis) -> str:
    found = "" if analysis.is_complete else " Only pairs that the search found are shown."
    caption = (
        "Above, the eigenvalues λ of the kernel matrix K; below, the share ψ / V that each pair "
        "adds to the information potential. Filled and numbered: the components kept by kernel "
        f"ECA, in the order of their entropy.{found}"
    )
    return (
        "<p>Every eigenpair of the kernel matrix adds a term ψ to the information potential V. "
        "Kernel ECA keeps the largest terms, which need not belong to the largest eigenvalues.</p>"
        + _figure(spectrum_figure(analysis), caption, "wide")
        + _component_table(analysis)
    )


def _component_table(analysis: Analysis) -> str:
    heads = (
        "No.",
        "Rank of\u00a0λ",
        "Eigen\u00advalue\u00a0λ",
        "Entropy term\u00a0ψ",
        "Share ψ\u00a0/\u00a0V",
        "Kept",
    )
    rows = "".join(_component_row(component) for component in analysis.components())
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    return _scroll(
        "Components by entropy",
        f"<table><caption>Components by entropy, largest first</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>",
    )


def _component_row(component: Component) -> str:
    kind, mark = (' class="kept"', "yes") if component.kept else ("", "no")
    cells = (
        "unknown" if component.rank is None else str(component.rank),
        number(component.eigenvalue),
        number(component.entropy_term),
        percent(component.share),
        mark,
    )
    inside = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr{kind}><th scope="row">{component.order}</th>{inside}</tr>'


def _embeddings(analysis: Analysis) -> str:
    k = analysis.eca.n_components_
    more = f" (of {k} kept)" if k > 2 else ""
    eca = (
        f"The two components with the most entropy{more}. The kernel is not centred: groups "
        "differ by their direction from the origin, where the thin lines cross."
        f"{' Rows near the origin lie along the other components.' if k > 2 else ''}"
    )
    pca = "The two components with the most variance, after centring: the origin is the mean."
    if analysis.table.label is not None:
        pca += f" In both pictures colours show “{analysis.table.label}”."
    return (
        f'<div class="pair">{_figure(eca_figure(analysis), eca)}'
        f"{_figure(pca_figure(analysis), pca)}</div>"
    )


def _computation(analysis: Analysis) -> str:
    fits = [("Kernel ECA", analysis.eca.spectrum_), ("Kernel PCA", analysis.pca.spectrum_)]
    items = [(name, _how(spectrum)) for name, spectrum in fits]
    seconds = "; ".join(f"{step} {number(value, 2)} s" for step, value in analysis.seconds.items())
    raised = f"{len(analysis.raised)}, shown at the top" if analysis.raised else "none raised"
    return _list([*items, ("Time", seconds), ("Warnings", raised)])


def _how(spectrum: Any) -> str:
    proof = "Certified" if spectrum.certified else "Not certified"
    exact = (
        "exact to rounding"
        if spectrum.error_bound == 0
        else f"eigenvalues exact to {number(spectrum.error_bound)}"
    )
    return f"{_capital(spectrum.method)}; {exact}. {proof}: {spectrum.certificate}."


def _warnings(analysis: Analysis) -> str:
    """Return nothing where there is nothing to warn of: the computation's section says that."""
    if not analysis.raised:
        return ""
    boxes = "".join(
        f'<div class="warning"><strong>{escape(one.category)}</strong> ({escape(one.step)}): '
        f"{escape(one.message)}</div>"
        for one in analysis.raised
    )
    return _section("Read this first: warnings of the fits", boxes)


def _footer(analysis: Analysis) -> str:
    versions = ", ".join(f"{k} {v}" for k, v in numbers(analysis)["versions"].items())
    return (
        f"<footer><p>Made with {escape(versions)}. All numbers of this page are in "
        "<code>report.json</code> beside it.</p></footer>"
    )


# --- pieces ----------------------------------------------------------------------------------


def _section(title: str, body: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{body}\n</section>\n"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _list(items: Iterable[tuple[str, str]]) -> str:
    inside = "".join(f"<dt>{escape(what)}</dt><dd>{escape(text)}</dd>" for what, text in items)
    return f'<dl class="list">{inside}</dl>'


def _figure(svg: str, caption: str, kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f"<figure{attribute}>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def _scroll(name: str, inside: str) -> str:
    """Wrap what may be wider than a phone; a keyboard can reach and scroll it."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">{inside}</div>'


def _some(names: Iterable[str]) -> str:
    """List the first names, and count the others."""
    every = list(names)
    if len(every) <= _NAMES_LISTED:
        return ", ".join(every)
    return f"{', '.join(every[:_NAMES_LISTED])} and {len(every) - _NAMES_LISTED} more"
