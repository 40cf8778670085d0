"""``mercer entropy``: the Renyi entropy of a table and its terms."""

from __future__ import annotations

import json as json_
from typing import TYPE_CHECKING, Any

from mercer.cli.console import Messages, describe_table
from mercer.cli.engine import Source, Task, fit_pipeline
from mercer.cli.options import Components, Data, Fitting, Flag, Reading, Running
from mercer.utils.formatting import format_percent

if TYPE_CHECKING:
    from mercer.tables.table import SelectedTable

__all__ = ["entropy"]


def entropy(
    data: Data,
    /,
    *,
    components: Components | None = None,
    json: Flag = False,
    quiet: Flag = False,
    verbose: Flag = False,
    reading: Reading = Reading(),
    fitting: Fitting = Fitting(),
    running: Running = Running(),
) -> int:
    """Print the Renyi entropy and the information potential of a table, with its terms.

    The information potential V is the mean of the kernel over all pairs of rows; each eigenvector
    contributes one term. The entropy is -log V. For numeric tables the kernel is normalized as a
    density; for mixed tables it is not.

    For example:

    - `mercer entropy wine`
    - `mercer entropy measurements.csv --label species --components 5 --json`

    Parameters
    ----------
    data
        A CSV, TSV, Parquet, NPY or NPZ file; - for standard input; or an embedded data set such as
        wine.
    components
        Number of terms; or a fraction below 1: the fewest terms with this fraction of V. Default:
        10, or all if there are fewer.
    json
        Print JSON with all digits and all terms.
    quiet
        Print errors only.
    verbose
        Print the progress of long computations, and the traceback of an error.
    """
    messages = Messages(quiet)
    with messages.showing_warnings() as warned:
        table, model = _fit(data, components, verbose, reading, fitting, running)
    results = {**_results(table, model), "warnings": warned}
    if json:
        print(json_.dumps(results, indent=2, ensure_ascii=False))
    else:
        messages.print_all(describe_table(table))
        _print(results)
    return 0


def _fit(
    data: str,
    components: int | float | None,
    verbose: bool,
    reading: Reading,
    fitting: Fitting,
    running: Running,
) -> tuple[SelectedTable, Any]:
    """Fit kernel ECA; return the rows and columns it was fitted to, and the pipeline."""
    from mercer import KernelECA
    from mercer.errors import RankError
    from mercer.tables import prepare

    task, source = Task(), Source(data, reading, running)
    with source.session(verbose):
        table = source.select(source.read(), task)
        preparation = prepare(table, bandwidth=fitting.bandwidth, scale=fitting.scale)
        eca = KernelECA(
            min(10, table.n) if components is None else components,
            kernel=preparation.kernel,
            solver=fitting.solver,
            verbose=verbose,
        )
        try:
            return table, fit_pipeline(preparation.pipeline(eca), table, task)
        except RankError as error:
            if components is not None:
                raise
            eca.set_params(n_components=error.rank)
            return table, fit_pipeline(preparation.pipeline(eca), table, task)


def _results(table: SelectedTable, model: Any) -> dict[str, Any]:
    import numpy as np

    eca = model["model"]
    bandwidth = getattr(eca.kernel_, "bandwidth", None)
    results: dict[str, Any] = {
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
            {"eigenvalue": float(value), "term": float(term), "share": float(ratio)}
            for value, term, ratio in zip(
                eca.eigenvalues_, eca.entropy_terms_, eca.entropy_ratio_, strict=True
            )
        ],
        "proof": eca.spectrum_.proof,
    }
    if results["scaled"]:  # H(x) = H(z) + log(prod(scale)) for z = (x - mean) / scale
        shift = float(np.log(model["scale"].scale_).sum())
        results["renyi_entropy_in_own_units"] = results["renyi_entropy"] + shift
    return results


def _print(results: dict[str, Any]) -> None:
    scaled = results["scaled"]
    print(f"Renyi entropy          {results['renyi_entropy']:.6g} nats", end="")
    print(" (standardized columns)" if scaled else "")
    if scaled:
        print(f"  in original units    {results['renyi_entropy_in_own_units']:.6g} nats")
    print(f"information potential  {results['information_potential']:.6g}")
    if results["bandwidth"] is not None:
        print(f"bandwidth σ            {results['bandwidth']:.6g}")
    print("\n   i   eigenvalue         term           of V  cumulative")
    cumulative = 0.0
    printed, others = results["terms"][:20], results["terms"][20:]
    for index, term in enumerate(printed, start=1):
        cumulative += term["share"]
        print(
            f"{index:4d} {term['eigenvalue']:12.6g} {term['term']:12.6g} "
            f"{format_percent(term['share']):>14} {format_percent(cumulative):>11}"
        )
    if others:
        total = format_percent(cumulative + sum(term["share"] for term in others))
        print(f"     {len(others)} more: {total} in total (--json prints all)")
