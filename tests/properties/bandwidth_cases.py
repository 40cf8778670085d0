"""All bandwidth rules as functions of samples with any number of columns."""

import numpy as np

from mercer.bandwidth.rules import DENSITY_RULES, RULES

ONE_COLUMN = ("sheather-jones", "improved-sheather-jones")


def of_widest_column(rule):
    """Apply a rule for one column to the column with the largest range."""

    def apply(X, sample_weight=None):
        X = np.asarray(X, dtype=float)
        with np.errstate(over="ignore"):
            widest = int(np.argmax(X.max(axis=0) - X.min(axis=0)))
        return rule(X[:, [widest]], sample_weight)

    return apply


#: Rules by name. The likelihood search stops at 1e-4 in log bandwidth, others at 1e-6.
ALL_RULES = {
    **RULES,
    **{
        name: of_widest_column(rule) if name in ONE_COLUMN else rule
        for name, rule in DENSITY_RULES.items()
    },
}
TOLERANCES = dict.fromkeys(ALL_RULES, 1e-10) | {
    "leave-one-out": 1e-3,
    "least-squares-cv": 1e-5,
    "biased-cv": 1e-5,
    "smoothed-cv": 1e-5,
    "sheather-jones": 1e-8,
    "improved-sheather-jones": 1e-8,
}
