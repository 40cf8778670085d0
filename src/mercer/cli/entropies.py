"""``mercer entropy``: the entropy of a table, and what carries it."""

from __future__ import annotations

import json as json_
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from mercer.cli.options import Components, Data, Fitting, Reading, Running, Verbose
from mercer.cli.telling import Teller, percent, table_lines
from mercer.cli.working import Task, engine_of

if TYPE_CHECKING:
    from mercer.tables.table import SelectedTable

__all__ = ["entropy"]

_TERMS = 10  # unless asked for more
_SHOWN = 20


def entropy(
    data: Data,
    /,
    *,
    components: Components | None = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    quiet: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    verbose: Verbose = False,
    reading: Reading = Reading(),
    fitting: Fitting = Fitting(),
    running: Running = Running(),
) -> int:
    """Print the Renyi entropy of a table, its information potential, and the terms of that.

    The information potential V is the mean of the kernel over all pairs of rows; each eigenvector
    contributes a term. The entropy is -log V of the normalised window where all columns are
    numbers, and of the kernel as it is otherwise.

    For example:

    - `mercer entropy wine`
    - `mercer entropy measurements.csv --label species --components 5 --json`

    Parameters
    ----------
    data
        A CSV, TSV, Parquet, NPY or NPZ file; - for standard input; or an embedded set such as wine.
    components
        How many terms; or, as a number below 1, as many as hold this share of V. Left out: 10, or
        all if there are fewer.
    json
        Print JSON, with all digits and all terms.
    quiet
        Say nothing on standard error but errors.
    verbose
        Tell the progress of long work, and show the traceback of an error.
    """
    from mercer import KernelECA
    from mercer.errors import RankError
    from mercer.tables import modelling

    tell, task, engine = Teller(quiet), Task(), engine_of(data, reading, running)
    with tell.telling_warnings() as warned, engine.running(verbose):
        engine.read()
        table = engine.table(task)
        chosen = modelling(table, bandwidth=fitting.bandwidth, scale=fitting.scale)
        eca = KernelECA(
            min(_TERMS, table.n) if components is None else components,
            kernel=chosen.kernel,
            solver=fitting.solver,
            verbose=verbose,
        )
        try:
            model = engine.fitted(chosen.pipeline(eca), table, task)
        except RankError as few:
            if components is not None:
                raise
            fewer = chosen.pipeline(eca.set_params(n_components=few.rank))
            model = engine.fitted(fewer, table, task)
    facts = {**_facts(table, model), "warnings": warned}
    if json:
        print(json_.dumps(facts, indent=2, ensure_ascii=False))
    else:
        tell.all(table_lines(table))
        _print(facts)
    return 0


def _facts(table: SelectedTable, model: Any) -> dict[str, Any]:
    import numpy as np

    eca = model["model"]
    bandwidth = getattr(eca.kernel_, "bandwidth", None)
    facts: dict[str, Any] = {
        "data": table.name,
        "rows": table.n,
        "rows_left_out": table.rows_omitted,
        "columns": list(table.columns),
        "columns_left_out": {one.column: one.reason for one in table.omissions},
        "notes": list(table.notes),
        "scaled": "scale" in model.named_steps,
        "kernel": repr(eca.kernel_),
        "bandwidth": None if bandwidth is None else float(bandwidth),
        "information_potential": float(eca.information_potential_),
        "renyi_entropy": float(eca.renyi_entropy_),
        "terms": [
            {"eigenvalue": float(value), "term": float(term), "share": float(share)}
            for value, term, share in zip(
                eca.eigenvalues_, eca.entropy_terms_, eca.entropy_ratio_, strict=True
            )
        ],
        "certified": bool(eca.certified_),
    }
    if facts["scaled"]:  # H of z = (x - mean) / scale
        shift = float(np.log(model["scale"].scale_).sum())
        facts["renyi_entropy_in_own_units"] = facts["renyi_entropy"] + shift
    return facts


def _print(facts: dict[str, Any]) -> None:
    scaled = facts["scaled"]
    print(f"Renyi entropy          {facts['renyi_entropy']:.6g} nats", end="")
    print(" (of standardised columns)" if scaled else "")
    if scaled:
        print(f"  in the columns' units  {facts['renyi_entropy_in_own_units']:.6g} nats")
    print(f"information potential  {facts['information_potential']:.6g}")
    if facts["bandwidth"] is not None:
        print(f"bandwidth σ            {facts['bandwidth']:.6g}")
    print("\n   i   eigenvalue         term    share   together")
    together = 0.0
    for place, one in enumerate(facts["terms"], start=1):
        together += one["share"]
        if place <= _SHOWN:
            print(
                f"{place:4d} {one['eigenvalue']:12.6g} {one['term']:12.6g} "
                f"{percent(one['share']):>8} {percent(together):>10}"
            )
    more = len(facts["terms"]) - _SHOWN
    if more > 0:
        print(f"     {more} more terms: {percent(together)} together (--json has all)")
