"""Numbers and choices in words."""

from __future__ import annotations

from collections.abc import Iterable
from math import floor
from typing import Any

from mercer.report.analysis import DENSE_ROWS, SHARE, Analysis

__all__ = [
    "findings",
    "number",
    "percent",
    "sequence",
    "why_bandwidth",
    "why_components",
    "why_kernel",
    "why_scaling",
    "why_solver",
]

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_RULES = {
    "silverman": "Silverman's rule, from the spread of the columns and the number of rows",
    "scott": "Scott's rule, from the spread of the columns and the number of rows",
    "median-distance": "the median distance between rows",
    "distance-fraction": "15 % of the median distance between rows",
}


def number(value: float, digits: int = 4) -> str:
    """A number as people write it: 0.07306, 1,235, 2.70 × 10⁻⁵."""
    if value == 0:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    if -3 <= exponent < 6:
        return f"{value:,.{max(digits - 1 - exponent, 0)}f}".replace("-", "−")
    mantissa, _, power = f"{value:.{digits - 2}e}".partition("e")
    return f"{mantissa.replace('-', '−')} × 10{str(int(power)).translate(_SUPERSCRIPTS)}"


def percent(share: float) -> str:
    """A share as a percentage; what falls short of the whole never reads 100 %."""
    value = 100 * share
    if value <= 0:
        return "0 %"
    if value > 100 - 1e-7:  # all of it, to rounding
        return "100 %"
    if value >= 99.95:
        return f"{floor(value * 100) / 100:.2f} %"
    return f"{value:#.3g} %" if value >= 1e-3 else "under 0.001 %"


def sequence(items: Iterable[Any]) -> str:
    """Join as in a sentence: "1, 2 and 9"."""
    *first, last = map(str, items)
    return f"{', '.join(first)} and {last}" if first else last


def findings(analysis: Analysis) -> list[str]:
    """The report in a few sentences."""
    eca, table = analysis.eca, analysis.table
    k, ranks = eca.n_components_, eca.component_ranks_
    said = [
        f"At bandwidth σ = {number(analysis.sigma)}, {k} components out of {table.n:,} hold "
        f"{percent(analysis.share_kept)} of the information potential."
    ]
    leading = analysis.share_of_leading
    if ranks is not None and sorted(ranks) != list(range(1, k + 1)):
        instead = "" if leading is None else f", with {percent(leading)} of the potential"
        said.append(
            f"They belong to the eigenvalues ranked {sequence(ranks)}. Kernel PCA without "
            f"centring, which takes the largest eigenvalues, would have kept ranks "
            f"{sequence(range(1, k + 1))}{instead}."
        )
    elif ranks is not None:
        said.append(
            f"They belong to the {k} largest eigenvalues: here entropy and size choose alike."
        )
    if any(one.category == "IdentifiabilityWarning" for one in analysis.raised):
        said.append("But the data do not determine these components: see the warnings.")
    elif eca.entropy_ratio_[0] > 0.95:
        said.append(
            f"One component alone holds {percent(eca.entropy_ratio_[0])}: at this bandwidth the "
            "kernel sees a single cloud of rows. A smaller bandwidth looks for finer groups."
        )
    else:
        said.append(
            "Well separated groups of rows add about one component each, so several components "
            "with sizeable shares hint at several groups. This is a rule of thumb, not a count."
        )
    return said


def why_scaling(analysis: Analysis) -> str:
    """Explain whether columns were standardised."""
    if analysis.scaled:
        return "Each column has mean 0 and standard deviation 1, so that units do not decide."
    return "Columns are as they came, so those with large numbers dominate the distances."


def why_kernel(analysis: Analysis) -> str:
    """Explain the kernel."""
    return (
        "It compares two rows x and y by exp(−‖x − y‖² / 2σ²), and is a density window: the "
        "entropy below is that of a smoothed density of the data."
    )


def why_bandwidth(analysis: Analysis) -> str:
    """Explain where σ came from."""
    rule = analysis.bandwidth
    if not isinstance(rule, str):
        return "Given by you."
    if rule == "auto":
        d = len(analysis.table.columns)
        if d <= 3:
            return f"Chosen by {_RULES['silverman']} (the default for up to 3 columns)."
        return (
            f"{_RULES['median-distance'].capitalize()}, divided by √2 (the default for more than "
            f"3 columns; here {d})."
        )
    return f"Chosen by the rule you named: {_RULES.get(rule, rule)}."


def why_solver(analysis: Analysis) -> str:
    """Explain how eigenpairs are found."""
    if analysis.table.n <= DENSE_ROWS:
        return (
            f"Up to {DENSE_ROWS:,} rows every eigenpair is computed, so nothing can be overlooked."
        )
    return (
        f"Above {DENSE_ROWS:,} rows only the eigenpairs that are needed are searched for; the "
        "certificate below says whether one could have been overlooked."
    )


def why_components(analysis: Analysis) -> str:
    """Explain the number of components."""
    share = f"{SHARE:.0%}".replace("%", " %")
    return {
        "asked": "Given by you.",
        "share": f"The fewest that hold {share} of the information potential.",
        "picture": f"One would hold {share} of the information potential; a picture needs two.",
        "most": f"The most this page shows; together they hold less than {share}.",
    }[analysis.because]
