"""Which columns belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.information import ColumnDependence
from mercer.plots import DependenceDisplay
from mercer.report.section import Figure, HtmlTable, Section, format_fraction, svg
from mercer.utils.formatting import format_names, join_words, shorten

__all__ = ["Dependence"]

_STRONG = 0.5  # fraction of the variation from which a column counts as predictable
_WEAK = 0.1


@dataclass(frozen=True, eq=False)
class Dependence(Section):
    """How well columns predict each other: :func:`mercer.information.column_dependence`."""

    name = "dependence"
    title = "Which columns belong together"

    found: ColumnDependence

    @property
    def repetitions(self) -> list[list[str]]:
        """Sets of columns that repeat each other."""
        sets: list[list[str]] = []
        for first, second in self.found.equivalent:
            for one in sets:
                if first in one or second in one:
                    one += [name for name in (first, second) if name not in one]
                    break
            else:
                sets.append([first, second])
        return sets

    @property
    def answer(self) -> str:
        """Return repeated columns, groups of columns, and the column that is predicted best."""
        found, parts = self.found, []
        if self.repetitions:
            pairs = join_words(" = ".join(shorten(c, 30) for c in one) for one in self.repetitions)
            parts.append(f"Columns that repeat each other: {pairs}")
        repeated = [set(one) for one in self.repetitions]
        groups = [one for one in found.groups(_STRONG) if not any(set(one) <= r for r in repeated)]
        if groups:
            listed = "; ".join(join_words(shorten(c, 30) for c in one[:6]) for one in groups[:3])
            parts.append(f"{'Columns' if not parts else 'columns'} that belong together: {listed}")
        if parts:
            return f"{'; '.join(parts)}."
        best = int(np.argmax(found.predicted))
        name, fraction = shorten(found.columns[best], 30), float(found.predicted[best])
        if fraction < _WEAK:
            most = f"to more than {format_fraction(fraction)}" if fraction > 0 else "at all"
            return f"The columns are nearly independent: none is predicted by the others {most}."
        return (
            "No two columns depend strongly on each other; the others together predict "
            f"{name} best, {format_fraction(fraction)} of its variation."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the fractions."""
        found = self.found
        return {
            "columns": found.columns,
            "predicted": dict(zip(found.columns, found.predicted.tolist(), strict=True)),
            "repetitions": self.repetitions,
            "groups": found.groups(_STRONG),
        }

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Return one line per ordered pair of columns."""
        return {"dependence": self.found.to_frame().to_dict("records")}

    def context(self) -> dict[str, Any]:
        """Return the heat map and the table of columns."""
        found = self.found
        rows = []
        order = np.argsort(-found.predicted, kind="stable")
        for j in order[:40]:
            best = [
                f"{shorten(str(name), 30)} {format_fraction(fraction)}"
                for name, fraction in found.predictors(found.columns[j])[:3]
                if fraction >= _WEAK
            ]
            name = shorten(found.columns[j], 40)
            rows.append([name, format_fraction(found.predicted[j]), ", ".join(best) or "none"])
        heads = ["Column", "By all others together", "By one other column alone"]
        caption = "Fraction of the variation of each column that other columns predict"
        return {
            "map": self._figure(),
            "columns": HtmlTable(caption, heads, rows, [0, 2]),
            "more": len(found.columns) > len(rows),
        }

    def _figure(self) -> Figure:
        columns = min(len(self.found.columns), 30)
        side = max(3.0, 1.9 + 0.3 * columns)
        names = format_names([str(c) for c in self.found.columns], 8)
        return Figure(
            svg(
                "dependence",
                f"Heat map of the dependence between {names}. The table has the numbers.",
                (side, side),
                lambda figure: DependenceDisplay.from_result(self.found, ax=figure.subplots()),
            ),
            "Percentage of the variation of a column that another column predicts alone (of each "
            "pair the larger direction). Dependent columns are next to each other.",
            "mid",
        )
