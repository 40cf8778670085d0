"""The HTML page of ``mercer diversity``."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from mercer.diversity import Diversity, SampleComparison
from mercer.formatting import format_count, format_number, format_percent, shorten
from mercer.maths.types import Array
from mercer.plots.diversity import DiversityDisplay
from mercer.report.sections.computation import format_versions
from mercer.report.sections.html import Figure, HtmlTable, render
from mercer.report.svg import palette_variables, svg

__all__ = ["diversity_page"]

_IMAGE_TYPES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".webp": "webp"}
_LARGEST_IMAGE = 300_000  # bytes; larger files are named, not shown
_MAX_TEXT = 160


def diversity_page(
    name: str,
    result: Diversity,
    captions: list[str] | None = None,
    comparison: SampleComparison | None = None,
    reference: str = "",
    reference_captions: list[str] | None = None,
    folder: Path | None = None,
) -> str:
    """Return the page as HTML; it needs no other file.

    Parameters
    ----------
    name : str
        Of the data.
    result : Diversity
    captions, reference_captions : list of str or None
        Text or image path of each row of the data, and of the reference.
    comparison : SampleComparison or None
        With the reference as X and the data as Y.
    reference : str
        Name of the reference.
    folder : Path or None
        Folder of relative image paths.
    """
    light, dark = palette_variables()
    scores = HtmlTable(
        f"Effective numbers, with {result.confidence:.0%} confidence intervals",
        result._head,
        result._rows(),
    )
    figure = Figure(
        svg(
            "scores",
            "Top: scores of subsamples and of all rows, over the number of rows. Bottom: share of "
            "the information potential of each mode.",
            (5.8, 5.4),
            lambda drawn: DiversityDisplay.from_result(result, axes=drawn.subplots(2, 1)),
        ),
        "Scores over the number of rows; a curve that still rises at the right has not converged.",
    )
    modes = [
        {
            "title": f"Mode {i}: {format_percent(mode.share)} of V",
            "facts": f"{format_percent(mode.size)} of the rows; eigenvalue "
            f"{format_number(mode.eigenvalue)}; stability {format_number(mode.stability, 2)}",
            "rows": _items(mode.representatives, captions, folder),
        }
        for i, mode in enumerate(result.modes, start=1)
    ]
    return str(
        render(
            "diversity.html",
            name=name,
            short_name=shorten(name, 80),
            size=f"{format_count(result.n_rows, 'row')}, {result.kernel!r}",
            scores=scores,
            figure_=figure,
            modes=modes,
            comparison=_comparison(comparison, captions, reference_captions, reference, folder),
            palette={"light": light, "dark": dark},
            versions=format_versions(),
        )
    )


def _comparison(
    comparison: SampleComparison | None,
    captions: list[str] | None,
    reference_captions: list[str] | None,
    reference: str,
    folder: Path | None,
) -> dict[str, Any] | None:
    if comparison is None:
        return None
    tests = HtmlTable(
        f"Comparison with {reference}",
        ("statistic", "value", "p-value"),
        [
            ("MMD", format_number(comparison.mmd), format_number(comparison.p_value)),
            (
                "Cauchy-Schwarz divergence",
                format_number(comparison.cauchy_schwarz),
                format_number(comparison.cauchy_schwarz_p_value),
            ),
        ],
    )
    groups = []
    for title, modes, texts in (
        ("Novel mode", comparison.novel_modes, captions),
        ("Missing mode", comparison.missing_modes, reference_captions),
    ):
        for i, mode in enumerate((one for one in modes if one.significant), start=1):
            groups.append(
                {
                    "title": f"{title} {i}",
                    "facts": f"eigenvalue {format_number(mode.eigenvalue)}",
                    "rows": _items(mode.representatives, texts, folder),
                }
            )
    top = (-comparison.novelty).argsort(kind="stable")[:8]
    return {
        "tests": tests,
        "groups": groups,
        "limitations": comparison.limitations,
        "novel_rows": _items(top, captions, folder),
    }


def _items(rows: Array, captions: list[str] | None, folder: Path | None) -> list[dict[str, Any]]:
    items = []
    for row in rows:
        text = "" if captions is None else captions[row]
        image = _image(text, folder) if text else None
        items.append({"row": int(row), "text": shorten(text, _MAX_TEXT), "image": image})
    return items


def _image(text: str, folder: Path | None) -> str | None:
    """Return a small image file as a data URL; None if the text is not the path of one."""
    kind = _IMAGE_TYPES.get(Path(text[-300:]).suffix.lower())
    if kind is None or "\n" in text or len(text) > 1000:
        return None
    path = Path(text) if folder is None else folder / text
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_IMAGE:
            return None
        content = base64.b64encode(path.read_bytes()).decode()
    except OSError:
        return None
    return f"data:image/{kind};base64,{content}"
