"""Copy tables and figures of full runs to the paper pages.

    ./run reproduce girolami-2002 --out runs/girolami-2002     (and so on, for each paper)
    python docs/papers/from_run.py runs

writes ``docs/papers/tables/PAPER.md`` with all rows of the run, ``counts.md`` and
``comparison.md``, and copies selected figures, with fewer colors, to
``docs/images/papers/PAPER-*.png``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
WIDEST = 1500  # pixels
COLORS = 256
FIGURES = {
    "girolami-2002": ["fig02", "fig04", "fig06", "fig07"],
    "jenssen-2010": ["fig04", "fig07", "fig13"],
    "liang-2014": ["fig3_4", "fig4_3", "fig4_6"],
    "macready-2003": ["fig1", "fig2a", "fig2b"],
    "paiva-2006": ["fig01"],
}
PAPERS = {
    "girolami-2002": ("Girolami 2002", "densities as series of kernel eigenfunctions"),
    "macready-2003": ("Macready 2003", "Gaussian mixtures in feature space"),
    "paiva-2006": ("Paiva et al. 2006", "entropy and projections"),
    "jenssen-2010": ("Jenssen 2010", "kernel entropy component analysis"),
    "liang-2014": ("Liang 2014", "population spectra of kernel PCA and LDA"),
}


def cell(text: str) -> str:
    """Escape text for a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ").replace("*", "\\*").replace("_", "\\_")


def rows(table: dict[str, Any]) -> list[str]:
    """Return the rows of a table as Markdown, with comments below the item."""
    lines = ["| | paper | here | accepted range | verdict |", "|---|---|---|---|---|"]
    for row in table["rows"]:
        item = cell(row["item"]) + (f"<br>*{cell(row['comment'])}*" if row["comment"] else "")
        verdict = "" if row["verdict"] == "not printed" else row["verdict"]
        parts = [item, *(cell(row[key]) for key in ("paper", "here", "accepted_range")), verdict]
        lines.append("| " + " | ".join(parts) + " |")
    return lines


def page(run: dict[str, Any], paper: str) -> str:
    """Return all tables of a run as Markdown."""
    lines = [f"Output of `./run reproduce {paper}`: {run['summary']}", ""]
    for table in run["tables"]:
        lines += [f"**{table['title']}**", ""]
        if table["layout"]:
            lines += ["```text", table["layout"].rstrip(), "```", ""]
        if table["rows"]:
            lines += [*rows(table), ""]
        if table["note"]:
            lines += [cell(table["note"]), ""]
    return "\n".join(lines)


def counts() -> str:
    """Return the number of rows per verdict as Markdown, from the pages of all papers."""
    kinds = ("agree", "correct the print", "do not reproduce", "identities")
    lines = [f"| paper | {' | '.join(kinds)} |", "|---" * (1 + len(kinds)) + "|"]
    for paper, (name, subject) in PAPERS.items():
        first = (HERE / "tables" / f"{paper}.md").read_text(encoding="utf-8").partition("\n")[0]
        found = re.search(r"(\d+) agree, (\d+) correct .*?, (\d+) do not .*?, (\d+) ident", first)
        assert found, paper
        lines.append(f"| [{name}]({paper}.md), {subject} | {' | '.join(found.groups())} |")
    return "\n".join([*lines, ""])


#: Columns of the comparison, without labels and with the bandwidth chosen with the labels.
UNLABELED = ("k-means", "NJW", "KPCA angular", "KPCA C-means", "KECA", "KECA, own rule")
LABELED = ("NJW", "KPCA angular", "KPCA C-means", "KECA")


def comparison(run: dict[str, Any]) -> str:
    """Return the comparison of methods of Jenssen's run as two Markdown tables."""
    errors: dict[str, list[float]] = {}
    for table in run["tables"]:
        title, _, name = table["title"].partition("Comparison of methods: ")
        if title or not name:
            continue
        for line in table["layout"].splitlines()[1:]:
            scaling, *values = line.split()
            errors[f"{name}, {scaling}"] = [float(value) for value in values]
    count = len(UNLABELED)
    return "\n".join(
        [
            "Without labels: kernel methods at the median distance, kernel ECA also by the rule of "
            "`EntropyClustering`.",
            "",
            *errors_table(UNLABELED, {name: row[:count] for name, row in errors.items()}),
            "",
            "The best of 33 bandwidths from 10 to 200 % of the median distance, **chosen with the "
            "labels**:",
            "",
            *errors_table(LABELED, {name: row[count:] for name, row in errors.items()}),
            "",
            "NJW: Ng, Jordan and Weiss. KPCA: kernel PCA with angular or Euclidean $k$-means. "
            "KECA: kernel ECA. Bold: the lowest error. Isolated points count as errors: on the "
            "ring and the blob KPCA angular leaves the whole ring isolated, because its two "
            "components are zero there.",
            "",
        ]
    )


def errors_table(columns: Sequence[str], errors: dict[str, list[float]]) -> list[str]:
    """Return errors as Markdown, the lowest of each line in bold."""
    lines = [f"| errors, % | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"]
    for name, row in errors.items():
        cells = [f"**{error}**" if error == min(row) else f"{error}" for error in row]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def shrink(source: Path, target: Path) -> None:
    """Copy a figure with fewer pixels and colors, for a web page."""
    from PIL import Image

    picture = Image.open(source).convert("RGB")
    if picture.width > WIDEST:
        size = (WIDEST, round(picture.height * WIDEST / picture.width))
        picture = picture.resize(size, Image.Resampling.LANCZOS)
    few = picture.quantize(
        COLORS, method=Image.Quantize.MAXCOVERAGE, kmeans=10, dither=Image.Dither.NONE
    )
    few.save(target, optimize=True)


def main(runs: Path) -> None:
    """Update the pages of all papers that were run."""
    for paper, names in FIGURES.items():
        if not (runs / paper).is_dir():
            continue
        run = json.loads((runs / paper / "tables.json").read_text(encoding="utf-8"))
        if run["quick"] or run["skipped"]:
            raise SystemExit(f"{paper} is not a full run")
        (HERE / "tables" / f"{paper}.md").write_text(page(run, paper), encoding="utf-8")
        if paper == "jenssen-2010":
            (HERE / "tables" / "comparison.md").write_text(comparison(run), encoding="utf-8")
        for name in names:
            target = HERE.parent / "images" / "papers" / f"{paper}-{name.replace('_', '-')}.png"
            shrink(runs / paper / f"{name}.png", target)
            print(f"{target.name}: {target.stat().st_size // 1000} kB")
    (HERE / "tables" / "counts.md").write_text(counts(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
