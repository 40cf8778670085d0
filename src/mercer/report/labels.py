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
from mercer.plots import EmbeddingDisplay
from mercer.plots.style import MARKERS, PALETTE
from mercer.report.section import MAX_POINTS, Figure, HtmlTable, Section, svg
from mercer.tables import Preparation, Table
from mercer.utils.formatting import format_count, format_names, format_percent, join_words, shorten
from mercer.utils.types import Array

__all__ = ["Agreement", "Labels", "Prediction", "class_labels", "study_labels"]


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
class Labels(Section):
    """Results for a label column; only ``reason`` if the labels are not classes."""

    name = "labels"

    column: str
    classes: dict[str, int]
    unlabeled: int
    reason: str | None
    agreement: Agreement | None
    prediction: Prediction | None

    @property
    def title(self) -> str:
        """Heading with the name of the column."""
        return f"Agreement with “{shorten(self.column)}”, and prediction"

    def verdict(self) -> str:
        """Summarize the results for a label column."""
        name = f"“{shorten(self.column)}”"
        if self.agreement is None:
            return f"The label column {name} does not contain classes: {self.reason}."
        rand = self.agreement.adjusted_rand_index
        degree = "closely" if rand >= 0.8 else "partly" if rand >= 0.3 else "hardly"
        text = f"Clusters {degree} agree with {name} (adjusted Rand index {rand:.2f})."
        if self.prediction is not None:
            p = self.prediction
            text += (
                f" Kernel LDA predicts {name} for {format_percent(p.accuracy)} of held-out rows; "
                f"always predicting the largest class is right for {format_percent(p.majority)}."
            )
        return text

    def to_json(self) -> dict[str, Any]:
        """Return agreement and prediction, without the rows of the figure."""
        p = self.prediction
        return {
            "labels": {
                "name": self.column,
                "classes": self.classes,
                "unlabelled": self.unlabeled,
                "reason": self.reason,
                "agreement": self.agreement,
                "prediction": None
                if p is None
                else {
                    "accuracy": p.accuracy,
                    "accuracies": p.accuracies,
                    "majority": p.majority,
                    "folds": p.folds,
                    "rows": p.rows,
                    "classes_left_out": p.single_row_classes,
                    "rank": p.rank,
                },
            }
        }

    def context(self) -> dict[str, Any]:
        """Return the agreement, the contingency table, and the prediction with its figure."""
        prediction = self.prediction
        if self.agreement is None:
            return {"verdict": self.verdict(), "agreement": None}
        return {
            "verdict": self.verdict(),
            "unlabeled": format_count(self.unlabeled, "row") if self.unlabeled else "",
            "agreement": _describe_agreement(self.agreement),
            "contingency": _contingency(self.agreement),
            "prediction": _describe_prediction(prediction),
            "scatter_plot": None
            if prediction is None
            else _scatter_plot(prediction, shorten(self.column)),
        }


def _describe_agreement(agreement: Agreement) -> list[tuple[str, str, str]]:
    return [
        (
            "Adjusted Rand index",
            f"{agreement.adjusted_rand_index:.3f}",
            "1: equal partitions; 0: chance level",
        ),
        (
            "Normalized mutual information",
            f"{agreement.normalized_mutual_information:.3f}",
            "1: each determines the other; 0: independent",
        ),
        (
            "Error",
            format_percent(agreement.error),
            "of rows, after the best matching of clusters and classes",
        ),
    ]


def _contingency(agreement: Agreement) -> HtmlTable:
    by_size = sorted(range(len(agreement.classes)), key=lambda i: -sum(agreement.table[i]))
    shown = sorted(by_size[:12])
    rows = [
        [shorten(agreement.classes[i], 40), *(f"{count:,}" for count in agreement.table[i])]
        for i in shown
    ]
    heads = ["Class", *(f"Cluster {c}" for c in agreement.clusters)]
    hidden = len(agreement.classes) - len(shown)
    more = f" ({hidden} smaller classes not shown)" if hidden else ""
    return HtmlTable(f"Rows by class and cluster{more}", heads, rows, [0])


def _describe_prediction(prediction: Prediction | None) -> str:
    if prediction is None:
        return "Fewer than two classes have at least two rows, so there is no prediction."
    p = prediction
    excluded = (
        f" Classes with a single row were excluded: {format_names(p.single_row_classes)}."
        if p.single_row_classes
        else ""
    )
    by_fold = join_words([format_percent(accuracy) for accuracy in p.accuracies])
    return (
        f"Stratified {p.folds}-fold cross-validation on {p.rows:,} rows: "
        f"{format_percent(p.accuracy)} of the held-out rows were predicted correctly ({by_fold} by "
        f"fold). Always predicting the largest class is right for {format_percent(p.majority)}. "
        "The kernel and its bandwidths were chosen without labels, the regularization by "
        f"cross-validation within each fit.{excluded}"
    )


def _scatter_plot(prediction: Prediction, name: str) -> Figure:
    caption = (
        "Discriminant functions of kernel LDA, fitted to all rows shown "
        f"({prediction.rank} coordinates). Classes look better separated here than for new rows; "
        "use the accuracy above to judge the prediction."
    )
    return Figure(_discriminant_figure(prediction, name), caption, "mid")


def _discriminant_figure(prediction: Prediction, label: str) -> str:
    """Rows on the first two discriminant functions; a strip plot if there is only one."""
    n, functions = prediction.functions.shape
    if functions > 1:
        alt = f"Scatter plot of {n:,} rows on two discriminant functions, colored by {label}."
        return svg(
            "discriminant",
            alt,
            (4.8, 4.8),
            lambda figure: EmbeddingDisplay(
                points=prediction.functions[:, :2],
                labels=prediction.classes,
                axis_labels=("discriminant function 1", "discriminant function 2"),
            ).plot(figure.subplots(), max_points=MAX_POINTS),
        )
    alt = f"Strip plot of the only discriminant function, with one line per class of {label}."

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        classes = np.unique(prediction.classes)
        jitter = np.asarray(np.random.default_rng(0).uniform(-0.3, 0.3, n))
        for i, name in enumerate(classes):
            members = prediction.classes == name
            ax.scatter(
                prediction.functions[members, 0],
                i + jitter[members],
                color=PALETTE[i % len(PALETTE)],
                marker=MARKERS[i % len(MARKERS)],
                s=14,
                alpha=0.7,
                linewidths=0,
            )
        ax.set_yticks(range(len(classes)), [shorten(str(c), 20) for c in classes])
        ax.set_xlabel("discriminant function")

    return svg("discriminant", alt, (4.8, 2.8), draw)


# --- results ---------------------------------------------------------------------------------


def class_labels(table: Table) -> tuple[Array | None, str | None]:
    """Return the classes as text, or the reason why the labels are not classes."""
    labels = table.labels
    assert labels is not None
    different = np.unique(labels)
    if labels.dtype.kind in "iuf" and len(different) > 20:
        return None, (
            f"it has {len(different):,} different numbers (at most 20 are treated as classes)"
        )
    names = np.array([_name(label) for label in different])[np.searchsorted(different, labels)]
    known = np.unique(names[table.has_label])
    most = min(50, max(table.n // 2, 2))
    if len(known) > most:
        return None, (
            f"it has {len(known):,} different labels (at most {most} are treated as classes)"
        )
    if len(known) < 2:
        return None, "all rows have the same label"
    return names, None


def study_labels(model: Preparation, numbers: Array) -> Labels:
    """Compare labels with clusters, and predict them by cross-validated kernel LDA."""
    table = model.table
    name = str(table.label)
    names, reason = class_labels(table)
    if names is None:
        return Labels(name, {}, 0, reason, None, None)
    known = np.flatnonzero(table.has_label)
    counts = {str(c): int((names == c).sum()) for c in np.unique(names[known])}
    lda = KernelLDA(kernel=model.kernel, regularization="cv")
    return Labels(
        column=name,
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
    """Cross-validate kernel LDA on at most 2000 rows.

    None if fewer than two classes have at least two rows.
    """
    rows = known[random_rows(len(known), 2000)]
    classes, counts = np.unique(names[rows], return_counts=True)
    rare = classes[counts < 2]
    rows = rows[~np.isin(names[rows], rare)]
    classes, counts = np.unique(names[rows], return_counts=True)
    if len(classes) < 2:
        return None
    y, frame = names[rows], model.table.frame.iloc[rows]
    folds = StratifiedKFold(min(5, int(counts.min())), shuffle=True, random_state=0)
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
