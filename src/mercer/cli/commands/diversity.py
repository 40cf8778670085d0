"""``mercer diversity``: effective numbers, modes and novelty of embeddings."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from mercer.cli.console import Messages
from mercer.cli.options import Bandwidth, Data, Flag, Solver
from mercer.utils.formatting import format_percent

__all__ = ["diversity"]


def diversity(
    data: Data,
    /,
    *,
    against: str | None = None,
    kernel: Literal["cosine", "gaussian"] = "cosine",
    bandwidth: Bandwidth = "auto",
    orders: tuple[float, ...] = (1.0, 2.0, float("inf")),
    modes: Annotated[int, Parameter(validator=Number(gte=0))] = 10,
    mode_order: Literal["eigenvalue", "entropy"] = "eigenvalue",
    confidence: Annotated[float, Parameter(validator=Number(gt=0, lt=1))] = 0.95,
    solver: Solver = "auto",
    out: Path | None = None,
    json: Flag = False,
    quiet: Flag = False,
    verbose: Flag = False,
) -> int:
    """Measure the diversity of embeddings, and compare them with a reference.

    Prints effective numbers (Vendi scores) with numerical bounds and confidence intervals, and the
    modes with the rows that represent them. With a reference it also prints two tests and the most
    novel rows. A column of texts or image paths is shown on the page that --out writes.

    For example:

    - `mercer diversity embeddings.npy`
    - `mercer diversity generated.parquet --against training.parquet --out page.html`
    - `mercer diversity embeddings.npz --kernel gaussian --orders 1 --orders 2 --json`

    Parameters
    ----------
    data
        An NPY, NPZ, Parquet, CSV or TSV file with one vector per row: many numeric columns, or one
        column of lists.
    against
        File of reference embeddings. Novelty is that of data with respect to it.
    kernel
        cosine: inner product of unit vectors. gaussian: Gaussian kernel of the vectors.
    bandwidth
        Bandwidth σ of the Gaussian kernel, or a rule such as auto.
    orders
        Order of a score, at least 0; inf is the largest. Can be given several times.
    modes
        Number of modes.
    mode_order
        Rank modes by their eigenvalue or by their entropy term.
    confidence
        Of the intervals.
    solver
        auto chooses by the size of the data.
    out
        Write a page with the scores and the modes to this HTML file.
    json
        Print JSON with all digits.
    quiet
        Print errors only.
    verbose
        Print the traceback of an error.
    """
    from mercer.cli.files import check_file, write_file

    if out is not None:
        check_file(out)
    messages = Messages(quiet)
    with messages.showing_warnings() as warned:
        result, comparison, files = _measure(
            data, against, kernel, bandwidth, orders, modes, mode_order, confidence, solver
        )
    if json:
        results = {**_results(result, comparison), "data": data, "warnings": warned}
        print(json_.dumps(results, indent=2, ensure_ascii=False))
    else:
        _print(result, comparison, against)
    if out is not None:
        from mercer.report.diversity import diversity_page

        page = diversity_page(
            Path(data).name,
            result,
            files[0].captions,
            comparison,
            "" if against is None else Path(against).name,
            None if against is None else files[1].captions,
            Path(data).parent,
            None if against is None else Path(against).parent,
        )
        write_file(out, page.encode())
        messages.print(f"page: {out}")
    return 0


def _measure(
    data: str,
    against: str | None,
    kernel: str,
    bandwidth: float | str,
    orders: tuple[float, ...],
    modes: int,
    mode_order: Literal["eigenvalue", "entropy"],
    confidence: float,
    solver: str,
) -> tuple[Any, Any, list[Any]]:
    from mercer import compare_samples, measure_diversity
    from mercer.kernels import Cosine, Gaussian
    from mercer.tables.readers import read_embeddings

    chosen = Cosine() if kernel == "cosine" else Gaussian(bandwidth)
    files = [read_embeddings(path) for path in (data, against) if path is not None]
    result = measure_diversity(
        files[0].vectors,
        chosen,
        orders=orders,
        n_modes=modes,
        mode_order=mode_order,
        confidence=confidence,
        solver=solver,
    )
    comparison = None
    if against is not None:
        comparison = compare_samples(files[1].vectors, files[0].vectors, chosen, n_modes=modes)
    return result, comparison, files


def _results(result: Any, comparison: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "rows": result.n_rows,
        "kernel": repr(result.kernel),
        "confidence": result.confidence,
        "scores": [
            {name: _finite_or_text(value) for name, value in row.items()}
            for row in result.to_frame().to_dict("records")
        ],
        "modes": [
            {
                "eigenvalue": mode.eigenvalue,
                "entropy_term": mode.entropy_term,
                "share": mode.share,
                "size": mode.size,
                "stability": None if mode.stability != mode.stability else mode.stability,
                "representatives": mode.representatives.tolist(),
            }
            for mode in result.modes
        ],
    }
    if comparison is not None:
        found["comparison"] = {
            "mmd": comparison.mmd,
            "p_value": comparison.p_value,
            "cauchy_schwarz": _finite_or_text(comparison.cauchy_schwarz),
            "cauchy_schwarz_p_value": comparison.cauchy_schwarz_p_value,
            "test_bandwidths": None
            if comparison.test_bandwidths is None
            else comparison.test_bandwidths.tolist(),
            "novelty": comparison.novelty.tolist(),
            "novel_eigenvalues": [mode.eigenvalue for mode in comparison.novel_modes],
            "missing_eigenvalues": [mode.eigenvalue for mode in comparison.missing_modes],
        }
    return found


def _finite_or_text(value: float) -> float | str:
    """Return infinity as text, because JSON has no such number."""
    return str(value) if value == float("inf") else value


def _print(result: Any, comparison: Any, against: str | None) -> None:
    print(result)
    if result.modes:
        print("\nmode  eigenvalue       of V       rows  stability  typical rows")
    for i, mode in enumerate(result.modes, start=1):
        rows = ", ".join(map(str, mode.representatives[:5]))
        value, share, size = map(format_percent, (mode.eigenvalue, mode.share, mode.size))
        print(f"{i:4d} {value:>11} {share:>10} {size:>10} {mode.stability:10.2f}  {rows}")
    if comparison is not None:
        print(f"\ncompared with {against} (Y: {result.n_rows} rows of data)\n{comparison}")
