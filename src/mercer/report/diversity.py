"""The HTML page of ``mercer diversity``."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from mercer.diversity import Diversity, SampleComparison
from mercer.kernels import Kernel
from mercer.plots import DiversityDisplay
from mercer.report.methods import format_versions
from mercer.report.section import Figure, HtmlTable, render, svg
from mercer.utils.formatting import format_count, format_number, format_percent, shorten
from mercer.utils.types import Array

__all__ = ["diversity_page"]

_IMAGE_TYPES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".webp": "webp"}


def diversity_page(
    name: str,
    result: Diversity,
    captions: list[str] | None = None,
    comparison: SampleComparison | None = None,
    reference: str = "",
    reference_captions: list[str] | None = None,
    folder: Path | None = None,
    reference_folder: Path | None = None,
) -> str:
    """Return the page as HTML; it needs no other file.

    Captions are texts or paths of images, relative to the folders. The comparison has the reference
    as X and the data as Y.
    """
    scores = HtmlTable(
        f"Effective numbers, with {100 * result.confidence:g} % confidence intervals",
        result._summary().head,
        result._summary().rows,
    )
    panels = 2 if result.modes else 1
    figure = Figure(
        svg(
            "scores",
            "Scores of subsamples and of all rows, over the number of rows, and eigenvalues or "
            "shares of the information potential of the modes.",
            (6.6, 2.6 * panels),
            lambda drawn: DiversityDisplay.from_result(
                result, axes=drawn.subplots(panels, 1, squeeze=False)[:, 0]
            ),
        ),
        "Scores over the number of rows: a curve that still rises at the right has not converged."
        + (" Bars: the modes, by eigenvalue or by share of V." if result.modes else ""),
        "wide",
    )
    modes = [
        {
            "title": f"Mode {i}: {format_percent(mode.eigenvalue)} of the sum of eigenvalues",
            "facts": f"{format_percent(mode.size)} of the rows; "
            f"{format_percent(mode.share)} of V; stability {mode.stability:.2f}",
            "rows": _items(mode.representatives, captions, folder),
        }
        for i, mode in enumerate(result.modes, start=1)
    ]
    return str(
        render(
            "diversity.html",
            name=name,
            short_name=shorten(name, 80),
            size=f"{format_count(result.n_rows, 'row')}, {_kernel_name(result.kernel)}",
            scores=scores,
            figure_=figure,
            modes=modes,
            has_captions=captions is not None or reference_captions is not None,
            common_mean=_common_mean(result),
            comparison=None
            if comparison is None
            else _comparison(
                comparison, reference, (captions, folder), (reference_captions, reference_folder)
            ),
            versions=format_versions(),
        )
    )


def _kernel_name(kernel: Kernel) -> str:
    """Return the name of a kernel and its bandwidth with few digits."""
    bandwidth = getattr(kernel, "bandwidth", None)
    if not isinstance(bandwidth, float | int):
        return repr(kernel)
    return f"{type(kernel).__name__} kernel, bandwidth {format_number(float(bandwidth))}"


def _common_mean(result: Diversity) -> str:
    """Return a remark if one mode has almost all of the information potential."""
    if not result.modes or result.modes[0].share < 0.99:
        return ""
    return (
        f"Mode 1 has {format_percent(result.modes[0].share)} of V: it is the mean that all rows "
        "have in common. Subtract the mean from the embeddings, or use a Gaussian kernel with a "
        "smaller bandwidth, to see the groups in the first modes too."
    )


def _comparison(
    comparison: SampleComparison,
    reference: str,
    data_rows: tuple[list[str] | None, Path | None],
    reference_rows: tuple[list[str] | None, Path | None],
) -> dict[str, Any]:
    """Return the tests, the most novel rows and the modes; rows come as captions and folder."""
    tests = HtmlTable(
        f"Tests of equal distributions, {comparison.n_permutations} permutations",
        ("statistic", "value", "p-value"),
        [
            ("MMD", format_number(comparison.mmd), f"{comparison.p_value:.3g}"),
            (
                "Cauchy-Schwarz divergence",
                format_number(comparison.cauchy_schwarz),
                f"{comparison.cauchy_schwarz_p_value:.3g}",
            ),
        ],
        text_columns=(0,),
    )
    groups, absent = [], []
    for title, modes, rows, source in (
        ("novel mode", comparison.novel_modes, data_rows, ""),
        ("missing mode", comparison.missing_modes, reference_rows, f"; rows of {reference}"),
    ):
        significant = [mode for mode in modes if mode.significant]
        if not significant:
            absent.append(title)
        groups += [
            {
                "title": f"{title.capitalize()} {i}",
                "facts": f"eigenvalue {format_number(mode.eigenvalue)}{source}",
                "rows": _items(mode.representatives, *rows),
            }
            for i, mode in enumerate(significant, start=1)
        ]
    top = (-comparison.novelty).argsort(kind="stable")[:8]
    infinite = ""
    if comparison.cauchy_schwarz == float("inf"):
        infinite = (
            "The Cauchy-Schwarz divergence is infinite because the mean kernel value between the "
            "samples is not positive."
        )
    return {
        "reference": shorten(reference, 80),
        "tests": tests,
        "groups": groups,
        "absent": f"There is no significant {' and no significant '.join(absent)}."
        if absent
        else "",
        "notes": [
            note for note in (comparison.limitations, comparison.tests_note, infinite) if note
        ],
        "novel_rows": _items(top, *data_rows),
    }


def _items(rows: Array, captions: list[str] | None, folder: Path | None) -> list[dict[str, Any]]:
    items = []
    for row in rows:
        text = "" if captions is None else captions[row]
        image = _image(text, folder) if text else None
        items.append({"row": int(row), "text": shorten(text, 160), "image": image})
    return items


def _image(text: str, folder: Path | None) -> str | None:
    """Return an image file of at most 300 kB as a data URL; None if the text is not its path."""
    kind = _IMAGE_TYPES.get(Path(text[-300:]).suffix.lower())
    if kind is None or "\n" in text or len(text) > 1000:
        return None
    path = Path(text) if folder is None else folder / text
    try:
        if not path.is_file() or path.stat().st_size > 300_000:
            return None
        content = base64.b64encode(path.read_bytes()).decode()
    except OSError:
        return None
    return f"data:image/{kind};base64,{content}"
