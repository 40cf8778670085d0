"""The label column: whether it agrees with the clusters, and whether it can be predicted."""

from __future__ import annotations

from mercer.formatting import format_names, format_percent, join_words, shorten
from mercer.report.analysis import Analysis
from mercer.report.figures import discriminant_figure
from mercer.report.labels import Agreement, LabelFindings, Prediction
from mercer.report.sections.html import Section, facts, figure, paragraph, table

__all__ = ["labels_section", "verdict"]

_CLASSES = 12


def verdict(labels: LabelFindings) -> str:
    """The label column in a sentence."""
    name = f"“{shorten(labels.name)}”"
    if labels.agreement is None:
        return f"The label {name} is not a column of classes: {labels.reason}."
    rand = labels.agreement.adjusted_rand_index
    how = "closely" if rand >= 0.8 else "partly" if rand >= 0.3 else "hardly"
    said = f"Clusters {how} agree with {name} (adjusted Rand index {rand:.2f})."
    if labels.prediction is not None:
        p = labels.prediction
        said += (
            f" Kernel LDA predicts {name} for {format_percent(p.accuracy)} of left-out rows, where "
            f"always naming the largest class is right for {format_percent(p.majority)}."
        )
    return said


def labels_section(analysis: Analysis) -> Section | None:
    """None without a label column."""
    labels = analysis.labels
    if labels is None:
        return None
    title = f"Clusters and prediction beside “{shorten(labels.name)}”"
    if labels.agreement is None:
        return Section("labels", title, paragraph(verdict(labels)))
    body = ""
    if labels.unlabelled:
        body += paragraph(f"{labels.unlabelled:,} rows without a label are left aside here.")
    body += _agreement(labels.agreement)
    body += _prediction(labels.prediction, labels.name)
    return Section("labels", title, body)


def _agreement(agreement: Agreement) -> str:
    cards = facts(
        [
            (
                "Adjusted Rand index",
                f"{agreement.adjusted_rand_index:.3f}",
                "1: the same division; 0: as by chance",
            ),
            (
                "Normalised mutual information",
                f"{agreement.normalized_mutual_information:.3f}",
                "1: each tells the other; 0: nothing in common",
            ),
            ("Error", format_percent(agreement.error), "of rows, after the best matching"),
        ]
    )
    by_size = sorted(range(len(agreement.classes)), key=lambda i: -sum(agreement.table[i]))
    shown = sorted(by_size[:_CLASSES])
    rows = [
        [shorten(agreement.classes[i], 40), *(f"{count:,}" for count in agreement.table[i])]
        for i in shown
    ]
    heads = ["Class", *("None" if c < 0 else f"Cluster {c}" for c in agreement.clusters)]
    more = len(agreement.classes) - len(shown)
    caption = "Rows by class and cluster" + (f" ({more} smaller classes not shown)" if more else "")
    return (
        "<h3>Agreement with the clusters</h3>\n"
        + paragraph("The clusters were found without looking at the labels.")
        + cards
        + table(caption, heads, rows, texts=[0])
    )


def _prediction(prediction: Prediction | None, name: str) -> str:
    heading = "<h3>Prediction by kernel LDA</h3>\n"
    if prediction is None:
        return heading + paragraph("No two classes have two rows each: nothing to predict.")
    p = prediction
    left_out = (
        f" Classes with a single row were left aside: {format_names(p.left_out)}."
        if p.left_out
        else ""
    )
    spread = join_words([format_percent(a) for a in p.accuracies])
    words = (
        f"Kernel LDA was fitted {p.folds} times, each time without one of {p.folds} parts of "
        f"{p.rows:,} rows (classes in proportion), and predicted that part. It was right for "
        f"{format_percent(p.accuracy)} of them ({spread} by part). Naming the largest class always is "
        f"right for {format_percent(p.majority)}. The kernel and its widths were chosen without looking "
        f"at labels; the regularisation by left-out rows within each fit.{left_out}"
    )
    caption = (
        f"The rows on the discriminant functions of a fit to all of them ({p.rank} coordinates): "
        "classes look further apart here than they are for new rows; trust the accuracy above."
    )
    return (
        heading + paragraph(words) + figure(discriminant_figure(p, shorten(name)), caption, "mid")
    )
