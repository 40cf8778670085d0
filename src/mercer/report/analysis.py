"""The analysis behind a report: the sections, computed step by step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mercer.data.subsampling import random_rows
from mercer.errors import ColumnWarning, suppress_warnings
from mercer.information import column_dependence
from mercer.report.changes import Changes, find_changes
from mercer.report.contents import MAX_COLUMNS, Contents, describe_contents
from mercer.report.dependence import Dependence
from mercer.report.distributions import Distributions, estimate_distributions
from mercer.report.groups import Groups, find_groups
from mercer.report.methods import Methods, Steps, fit_eca
from mercer.report.prediction import Prediction, predict_label
from mercer.report.section import Section, plain
from mercer.report.unusual import Unusual, find_unusual
from mercer.tables import Table, prepare
from mercer.utils.resources import peak_memory
from mercer.utils.validation import check_integer

__all__ = ["Analysis", "analyze", "numbers"]

#: Rows of larger tables are sampled, except for their contents and the scores of rows.
SAMPLE_ROWS = 100_000


@dataclass(frozen=True, eq=False)
class Analysis:
    """Results of :func:`analyze`: everything that a report shows.

    Sections that do not apply are None: ``dependence`` of a single column, ``unusual`` rows of a
    table of texts, ``prediction`` without a label, ``changes`` without dates. ``sampled`` has the
    indices of the rows that were analyzed: all, except in large tables.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.report import analyze
    >>> from mercer.tables import as_table
    >>> table = as_table(pd.DataFrame({"size": [1.0, 1.1, 1.2, 5.0, 5.1, 5.3]}))
    >>> analysis = analyze(table, n_clusters=2)
    >>> [group.size for group in analysis.groups.each]
    [3, 3]
    """

    contents: Contents
    groups: Groups
    dependence: Dependence | None
    unusual: Unusual | None
    distributions: Distributions
    prediction: Prediction | None
    changes: Changes | None
    methods: Methods
    sampled: Any

    @property
    def table(self) -> Table:
        """The analyzed table."""
        return self.contents.table

    @property
    def sections(self) -> list[Section]:
        """The sections in the order of the page."""
        sections = (
            self.contents,
            self.groups,
            self.dependence,
            self.unusual,
            self.distributions if self.distributions.drawn else None,
            self.prediction,
            self.changes,
            self.methods,
        )
        return [section for section in sections if section is not None]


def analyze(
    table: Table,
    *,
    n_clusters: int | None = None,
    scale: bool = True,
    verbose: bool = False,
) -> Analysis:
    """Analyze a table with all estimators; parameters are those of :func:`write_report`.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.report import analyze
    >>> from mercer.tables import as_table
    >>> table = as_table(pd.DataFrame({"size": [1.0, 1.1, 1.2, 5.0, 5.1, 5.3]}))
    >>> analyze(table).contents.answer
    'The table has 6 rows and 1 column of numbers, with no missing values.'
    """
    if n_clusters is not None:
        check_integer(n_clusters, "n_clusters", high=table.n)
    sampled = random_rows(table.n, SAMPLE_ROWS)
    sample = table if len(sampled) == table.n else _rows_of(table, sampled)
    steps = Steps(8, verbose)
    with suppress_warnings(ColumnWarning):  # about long tails, which the page lists
        model = steps.run("preparation", lambda: prepare(sample, scale=scale))
    found = None
    if len(table.columns) > 1:
        columns = list(table.columns[:MAX_COLUMNS])
        found = steps.run(
            "dependence of columns",
            lambda: column_dependence(sample.frame[columns], include=columns),
        )
    groups = steps.run("groups", lambda: find_groups(model, n_clusters, found))
    contents = steps.run(
        "contents",
        lambda: describe_contents(table, () if found is None else found.equivalent, sample.n),
    )
    unusual = steps.run("unusual rows", lambda: find_unusual(_with_few_columns(table)))
    distributions = steps.run("distributions", lambda: estimate_distributions(sample, groups))
    prediction = None
    if table.labels is not None:
        prediction = steps.run("prediction of the label", lambda: predict_label(model, groups))
    changes = steps.run("changes over time", lambda: find_changes(sample))
    eca = steps.run("kernel ECA", lambda: fit_eca(model))
    steps.close()
    return Analysis(
        contents=contents,
        groups=groups,
        dependence=None if found is None else Dependence(found),
        unusual=unusual,
        distributions=distributions,
        prediction=prediction,
        changes=changes,
        methods=Methods(
            model=model,
            clustering=groups.estimator,
            has_scores=unusual is not None,
            eca=eca,
            seconds=steps.seconds,
            raised=tuple(steps.raised),
            peak=peak_memory(),
        ),
        sampled=sampled,
    )


def _with_few_columns(table: Table) -> Table:
    """Return a table with the first columns only."""
    types = dict(list(table.column_types.items())[:MAX_COLUMNS])
    return replace(table, frame=table.frame[list(types)], column_types=types)


def _rows_of(table: Table, rows: Any) -> Table:
    """Return some rows of a table."""
    return replace(
        table,
        frame=table.frame.iloc[rows].reset_index(drop=True),
        labels=None if table.labels is None else table.labels[rows],
        has_label=None if table.has_label is None else table.has_label[rows],
        rows=table.rows[rows],
    )


def numbers(analysis: Analysis) -> dict[str, Any]:
    """Return all numbers of the report, except those of single rows (see the table of rows).

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.report import analyze, numbers
    >>> from mercer.tables import as_table
    >>> table = as_table(pd.DataFrame({"size": [1.0, 1.1, 1.2, 5.0, 5.1, 5.3]}))
    >>> numbers(analyze(table))["contents"]["rows"]
    6
    """
    return {
        section.name: {"answer": section.answer, **plain(section.to_json())}
        for section in analysis.sections
    }
