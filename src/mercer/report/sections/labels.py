"""The label column: agreement with the clusters, and prediction by kernel LDA."""

from __future__ import annotations

from typing import Any

from mercer.report.analysis import Analysis
from mercer.report.figures import discriminant_figure
from mercer.report.labels import Agreement, LabelFindings, Prediction
from mercer.report.sections.html import Figure, HtmlTable, Section
from mercer.utils.formatting import format_count, format_names, format_percent, join_words, shorten

__all__ = ["labels_section", "verdict"]

_CLASSES = 12
_CLOSE, _PARTIAL = 0.8, 0.3  # adjusted Rand indices


def verdict(labels: LabelFindings) -> str:
    """Summarize the results for a label column."""
    name = f"“{shorten(labels.name)}”"
    if labels.agreement is None:
        return f"The label column {name} does not contain classes: {labels.reason}."
    rand = labels.agreement.adjusted_rand_index
    degree = "closely" if rand >= _CLOSE else "partly" if rand >= _PARTIAL else "hardly"
    text = f"Clusters {degree} agree with {name} (adjusted Rand index {rand:.2f})."
    if labels.prediction is not None:
        p = labels.prediction
        text += (
            f" Kernel LDA predicts {name} for {format_percent(p.accuracy)} of held-out rows; "
            f"always predicting the largest class is right for {format_percent(p.majority)}."
        )
    return text


def labels_section(analysis: Analysis) -> Section | None:
    """Agreement and prediction; None without a label column."""
    labels = analysis.labels
    if labels is None:
        return None
    name, prediction = shorten(labels.name), labels.prediction
    context: dict[str, Any] = {"verdict": verdict(labels), "agreement": None}
    if labels.agreement is not None:
        context |= {
            "unlabeled": format_count(labels.unlabeled, "row") if labels.unlabeled else "",
            "agreement": _agreement(labels.agreement),
            "contingency": _contingency(labels.agreement),
            "prediction": _prediction(prediction),
            "scatter_plot": None if prediction is None else _scatter_plot(prediction, name),
        }
    return Section("labels", f"Agreement with “{name}”, and prediction", context)


def _agreement(agreement: Agreement) -> list[tuple[str, str, str]]:
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
    shown = sorted(by_size[:_CLASSES])
    rows = [
        [shorten(agreement.classes[i], 40), *(f"{count:,}" for count in agreement.table[i])]
        for i in shown
    ]
    heads = ["Class", *(f"Cluster {c}" for c in agreement.clusters)]
    hidden = len(agreement.classes) - len(shown)
    more = f" ({hidden} smaller classes not shown)" if hidden else ""
    return HtmlTable(f"Rows by class and cluster{more}", heads, rows, [0])


def _prediction(prediction: Prediction | None) -> str:
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
    return Figure(discriminant_figure(prediction, name), caption, "mid")
