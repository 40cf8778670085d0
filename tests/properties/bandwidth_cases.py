"""All bandwidth rules as functions of samples with any number of columns."""

from functools import partial

import numpy as np

from mercer.bandwidth import bandwidth
from mercer.bandwidth.rules import RULES
from mercer.bandwidth.selectors import SELECTORS

ONE_COLUMN = ("sheather-jones", "improved-sheather-jones")


def of_widest_column(X, sample_weight=None, *, rule):
    """Apply a rule for one column to the column with the largest range."""
    X = np.asarray(X, dtype=float)
    with np.errstate(over="ignore"):
        widest = int(np.argmax(X.max(axis=0) - X.min(axis=0)))
    return bandwidth(X[:, [widest]], rule, sample_weight)


def of_all_columns(X, sample_weight=None, *, rule):
    return bandwidth(X, rule, sample_weight)


#: Rules by name. The likelihood search stops at 1e-4 in log bandwidth, others at 1e-6.
ALL_RULES = {
    name: partial(of_widest_column if name in ONE_COLUMN else of_all_columns, rule=name)
    for name in (*RULES, *SELECTORS)
}
TOLERANCES = dict.fromkeys(ALL_RULES, 1e-10) | {
    "leave-one-out": 1e-3,
    "least-squares-cv": 1e-5,
    "biased-cv": 1e-5,
    "smoothed-cv": 1e-5,
    "sheather-jones": 1e-8,
    "improved-sheather-jones": 1e-8,
}
