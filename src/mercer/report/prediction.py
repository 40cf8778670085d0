"""With a label column: how well the other columns predict it, and which ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import StratifiedKFold, cross_val_score

from mercer import KernelLDA
from mercer.data.subsampling import random_rows
from mercer.information import column_dependence
from mercer.report.groups import Groups
from mercer.report.section import HtmlTable, Section, format_fraction
from mercer.tables import Preparation, Table
from mercer.utils.formatting import (
    format_count,
    format_names,
    join_words,
    shorten,
)
from mercer.utils.types import Array

__all__ = ["Prediction", "Predictor", "class_labels", "predict_label"]

_ROWS = 2000  # of the cross-validation
_CLEAR = 0.02  # fraction of the variation from which a column is named


@dataclass(frozen=True)
class Predictor:
    """What a column says about the label: fractions of the label's variation.

    ``alone``: that the column predicts; ``added``: of what the other columns leave unexplained.
    """

    column: str
    alone: float
    added: float


@dataclass(frozen=True)
class Accuracy:
    """Cross-validated accuracy of kernel LDA, and that of the most frequent class."""

    by_fold: tuple[float, ...]
    most_frequent: float
    rows: int
    rare_classes: tuple[str, ...]

    @property
    def mean(self) -> float:
        """Mean over the folds."""
        return float(np.mean(self.by_fold))


@dataclass(frozen=True, eq=False)
class Prediction(Section):
    """Prediction of a label.

    ``classes`` is empty if the label is a number; ``explained`` is the fraction of its variation
    that all columns predict together. ``accuracy`` is None for numbers, and if fewer than two
    classes have two rows. ``agreement`` is the adjusted Rand index of classes and groups, and
    ``by_group`` the number of rows by class and group. ``repeated_by``: columns whose values
    correspond one to one to those of the label.
    """

    name = "prediction"

    column: str
    reason: str | None
    classes: dict[str, int]
    explained: float
    predictors: tuple[Predictor, ...]
    accuracy: Accuracy | None
    agreement: float | None
    by_group: Array | None
    repeated_by: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Heading with the name of the column."""
        return f"How well “{shorten(self.column)}” can be predicted"

    @property
    def answer(self) -> str:
        """Return how well the label is predicted, and the best predictors."""
        name = f"“{shorten(self.column)}”"
        if self.reason is not None:
            return f"The label {name} is not predicted: {self.reason}."
        text = f"The other columns predict {format_fraction(self.explained)} of the variation of"
        text = f"{text} {name}"
        if self.accuracy is not None:
            one = self.accuracy
            text = (
                f"{name} is predicted correctly for {format_fraction(one.mean)} of new rows "
                f"(always the most frequent class: {format_fraction(one.most_frequent)})"
            )
        if self.repeated_by:
            names = join_words(shorten(column, 30) for column in self.repeated_by)
            return f"{text}, but {names} only repeats it: leave it out to learn about the others."
        best = [shorten(one.column, 30) for one in self.predictors[:3] if one.alone >= _CLEAR]
        if best:
            text += f"; the best single {'predictors are' if len(best) > 1 else 'predictor is'} "
            text += join_words(best)
        return f"{text}."

    def to_json(self) -> dict[str, Any]:
        """Return accuracy and predictors."""
        return {
            "label": self.column,
            "reason": self.reason,
            "classes": self.classes,
            "explained": self.explained,
            "accuracy": None if self.accuracy is None else self.accuracy.mean,
            "cross_validation": self.accuracy,
            "predictors": self.predictors,
            "repeated_by": self.repeated_by,
            "agreement_with_groups": self.agreement,
        }

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Return one line per predictor."""
        return {"predictors": [one.__dict__ for one in self.predictors]}

    def context(self) -> dict[str, Any]:
        """Return the predictors and the table of classes by group."""
        rows = [
            [shorten(one.column, 40), format_fraction(one.alone), format_fraction(one.added)]
            for one in self.predictors[:20]
        ]
        caption = (
            "Fraction of the variation of the label that a column predicts, alone and in addition "
            "to the others (of what they leave unexplained)"
        )
        heads = ["Column", "Alone", "In addition to the others"]
        return {
            "details": self._details(),
            "predictors": HtmlTable(caption, heads, rows, [0]) if rows else None,
            "groups": None if self.by_group is None else self._groups(self.by_group),
        }

    def _details(self) -> str:
        one = self.accuracy
        if self.reason is not None or not self.classes:
            return ""
        if one is None:
            return "Fewer than two classes have at least two rows, so accuracy is unknown."
        folds = join_words(format_fraction(value) for value in one.by_fold)
        text = (
            f"Accuracy by {len(one.by_fold)}-fold cross-validation on {one.rows:,} rows: {folds}. "
        )
        if one.rare_classes:
            text += f"Without classes of a single row: {format_names(one.rare_classes)}. "
        return f"{text}All columns together predict {format_fraction(self.explained)} of the " + (
            "variation of the classes."
        )

    def _groups(self, counts: Array) -> HtmlTable:
        names = list(self.classes)
        largest = sorted(np.argsort(-counts.sum(axis=1), kind="stable")[:12].tolist())
        rows = [[shorten(names[i], 40), *(f"{count:,}" for count in counts[i])] for i in largest]
        heads = ["Class", *(f"Group {j + 1}" for j in range(counts.shape[1]))]
        agree = float(self.agreement or 0)
        how = (
            "agree closely" if agree >= 0.8 else "agree partly" if agree >= 0.3 else "hardly agree"
        )
        hidden = len(names) - len(rows)
        more = f"; {format_count(hidden, 'smaller class').replace('classs', 'classes')} not shown"
        return HtmlTable(
            f"Rows by class and group: they {how} (adjusted Rand index {agree:.2f}; 1 is "
            f"equality, 0 chance){more if hidden else ''}",
            heads,
            rows,
            [0],
        )


def class_labels(table: Table) -> tuple[Array | None, str | None]:
    """Return the classes as text; or None for numbers; or the reason why there is no prediction."""
    labels = table.labels
    assert labels is not None
    different = np.unique(labels)
    if labels.dtype.kind in "iuf" and len(different) > 20:
        return None, None
    names = np.array([_name(label) for label in different])[np.searchsorted(different, labels)]
    known = np.unique(names[table.has_label])
    most = min(50, max(table.n // 2, 2))
    if len(known) > most:
        reason = f"it has {len(known):,} different labels (at most {most} are treated as classes)"
        return None, reason
    return (names, None) if len(known) > 1 else (None, "all rows have the same label")


def _name(label: Any) -> str:
    is_whole = isinstance(label, float | np.floating) and float(label).is_integer()
    return str(int(label)) if is_whole else str(label)


def predict_label(model: Preparation, groups: Groups) -> Prediction:
    """Predict the label of a table by cross-validated kernel LDA, and measure dependence on it."""
    table = model.table
    column = str(table.label)
    names, reason = class_labels(table)
    if reason is not None:
        return Prediction(column, reason, {}, 0.0, (), None, None, None)
    known = np.flatnonzero(table.has_label)
    values = (table.labels if names is None else names)[known]
    code = column
    while code in table.columns:
        code = f"{code} (label)"
    frame = table.frame.iloc[known].assign(**{code: values})
    found = column_dependence(frame, include=frame.columns)
    place = found.columns.index(code)
    predictors = tuple(
        Predictor(name, alone, float(found.direct[found.columns.index(name), place]))
        for name, alone in found.predictors(code)
    )
    explained = float(found.predicted[place])
    repeated = tuple(
        str(pair[0] if pair[1] == code else pair[1]) for pair in found.equivalent if code in pair
    )
    if names is None:
        return Prediction(column, None, {}, explained, predictors, None, None, None, repeated)
    classes, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    numbers = groups.numbers[known]
    by_group = np.zeros((len(classes), len(groups.each)), dtype=int)
    inside = numbers > 0  # not isolated
    np.add.at(by_group, (codes[inside], numbers[inside] - 1), 1)
    return Prediction(
        column=column,
        reason=None,
        classes=dict(zip(map(str, classes), counts.tolist(), strict=True)),
        explained=explained,
        predictors=predictors,
        accuracy=_accuracy(model, names, known),
        agreement=float(adjusted_rand_score(codes, numbers)),
        by_group=by_group if len(groups.each) > 1 else None,
        repeated_by=repeated,
    )


def _accuracy(model: Preparation, names: Array, known: Array) -> Accuracy | None:
    """Cross-validate kernel LDA; None if fewer than two classes have at least two rows."""
    rows = known[random_rows(len(known), _ROWS)]
    classes, counts = np.unique(names[rows], return_counts=True)
    rare = classes[counts < 2]
    rows = rows[~np.isin(names[rows], rare)]
    classes, counts = np.unique(names[rows], return_counts=True)
    if len(classes) < 2:
        return None
    y, frame = names[rows], model.table.frame.iloc[rows]
    folds = StratifiedKFold(min(5, int(counts.min())), shuffle=True, random_state=0)
    pipeline = clone(model.pipeline(KernelLDA(kernel=model.kernel, regularization="cv")))
    found = cross_val_score(pipeline, frame, y, cv=folds, error_score="raise")
    most = float(counts.max() / counts.sum())
    return Accuracy(tuple(map(float, found)), most, len(rows), tuple(map(str, rare)))
