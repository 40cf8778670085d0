"""The label column: agreement with the clusters, and prediction from the other columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.model_selection import StratifiedKFold, cross_val_score

from mercer import KernelLDA
from mercer.cluster.diagnostics import clustering_error
from mercer.data.subsampling import random_rows
from mercer.tables import Preparation, Table
from mercer.utils.types import Array

__all__ = ["Agreement", "LabelFindings", "Prediction", "class_labels", "study_labels"]

_MAX_CLASSES = 50
_MAX_NUMERIC_CLASSES = 20  # more distinct numbers than this count as a measurement
_MAX_ROWS = 2000
_FOLDS = 5


@dataclass(frozen=True)
class Agreement:
    """Agreement between clusters and classes."""

    adjusted_rand_index: float
    normalized_mutual_information: float
    error: float
    rows: int
    table: tuple[tuple[int, ...], ...]
    classes: tuple[str, ...]
    clusters: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Prediction:
    """Cross-validated kernel LDA."""

    accuracies: tuple[float, ...]
    majority: float
    folds: int
    rows: int
    single_row_classes: tuple[str, ...]
    functions: Array
    classes: Array
    rank: int

    @property
    def accuracy(self) -> float:
        """Mean accuracy over the folds."""
        return float(np.mean(self.accuracies))


@dataclass(frozen=True)
class LabelFindings:
    """Results for a label column; only ``reason`` if the labels are not classes."""

    name: str
    classes: dict[str, int]
    unlabeled: int
    reason: str | None
    agreement: Agreement | None
    prediction: Prediction | None


def class_labels(table: Table) -> tuple[Array | None, str | None]:
    """Return the classes as text, or the reason why the labels are not classes."""
    labels = table.labels
    assert labels is not None
    different = np.unique(labels)
    if labels.dtype.kind in "iuf" and len(different) > _MAX_NUMERIC_CLASSES:
        return None, (
            f"it has {len(different):,} different numbers (at most {_MAX_NUMERIC_CLASSES} are "
            "treated as classes)"
        )
    names = np.array([_name(label) for label in different])[np.searchsorted(different, labels)]
    known = np.unique(names[table.has_label])
    most = min(_MAX_CLASSES, max(table.n // 2, 2))
    if len(known) > most:
        return None, (
            f"it has {len(known):,} different labels (at most {most} are treated as classes)"
        )
    if len(known) < 2:
        return None, "all rows have the same label"
    return names, None


def study_labels(model: Preparation, numbers: Array) -> LabelFindings:
    """Compare labels with clusters, and predict them by cross-validated kernel LDA.

    Parameters
    ----------
    model : Preparation
        Its table has a label column.
    numbers : int array of shape (n,)
        Cluster numbers.
    """
    table = model.table
    name = str(table.label)
    names, reason = class_labels(table)
    if names is None:
        return LabelFindings(name, {}, 0, reason, None, None)
    known = np.flatnonzero(table.has_label)
    counts = {str(c): int((names == c).sum()) for c in np.unique(names[known])}
    lda = KernelLDA(kernel=model.kernel, regularization="cv")
    return LabelFindings(
        name=name,
        classes=counts,
        unlabeled=table.n - len(known),
        reason=None,
        agreement=_agreement(names[known], numbers[known]),
        prediction=_prediction(model, names, known, lda),
    )


def _name(label: Any) -> str:
    is_whole = isinstance(label, float | np.floating) and float(label).is_integer()
    return str(int(label)) if is_whole else str(label)


def _agreement(names: Array, numbers: Array) -> Agreement:
    classes, rows = np.unique(names, return_inverse=True)
    clusters, columns = np.unique(numbers, return_inverse=True)
    table = np.zeros((len(classes), len(clusters)), dtype=int)
    np.add.at(table, (rows, columns), 1)
    return Agreement(
        adjusted_rand_index=float(adjusted_rand_score(names, numbers)),
        normalized_mutual_information=float(normalized_mutual_info_score(names, numbers)),
        error=float(clustering_error(names, numbers)),
        rows=len(names),
        table=tuple(tuple(map(int, line)) for line in table),
        classes=tuple(map(str, classes)),
        clusters=tuple(map(int, clusters)),
    )


def _prediction(model: Preparation, names: Array, known: Array, lda: Any) -> Prediction | None:
    """Cross-validate kernel LDA; None if fewer than two classes have at least two rows."""
    rows = known[random_rows(len(known), _MAX_ROWS)]
    classes, counts = np.unique(names[rows], return_counts=True)
    rare = classes[counts < 2]
    rows = rows[~np.isin(names[rows], rare)]
    classes, counts = np.unique(names[rows], return_counts=True)
    if len(classes) < 2:
        return None
    y, frame = names[rows], model.table.frame.iloc[rows]
    folds = StratifiedKFold(min(_FOLDS, int(counts.min())), shuffle=True, random_state=0)
    pipeline = model.pipeline(lda)
    accuracies = cross_val_score(clone(pipeline), frame, y, cv=folds, error_score="raise")
    fitted = pipeline.fit(frame, y)
    return Prediction(
        accuracies=tuple(map(float, accuracies)),
        majority=float(counts.max() / counts.sum()),
        folds=folds.get_n_splits(),
        rows=len(rows),
        single_row_classes=tuple(map(str, rare)),
        functions=np.asarray(fitted.transform(frame)),
        classes=y,
        rank=int(fitted[-1].rank_),
    )
