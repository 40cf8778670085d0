"""Options that several commands share, and the parsing of their values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

__all__ = [
    "SUFFIXES",
    "Bandwidth",
    "Components",
    "Data",
    "Fitting",
    "Flag",
    "Output",
    "Reading",
    "Running",
    "Solver",
    "parse_bandwidth",
    "parse_components",
    "parse_integer",
]

#: File name endings allowed for ``--out``.
SUFFIXES = (".csv", ".tsv", ".parquet", ".npy")


def parse_bandwidth(kind: Any, tokens: Any) -> float | str:
    """Parse a positive number or the name of a bandwidth rule."""
    text: str = tokens[0].value
    try:
        value = float(text)
    except ValueError:
        from mercer.bandwidth.rules import RULES

        if text in RULES:
            return text
        raise ValueError(f"{text!r} is not a number or one of {', '.join(RULES)}") from None
    if not 0 < value < float("inf"):
        raise ValueError(f"{text} is not a finite number > 0")
    return value


def parse_integer(text: str) -> int | None:
    """Parse an integer of at least 1; None if the text is anything else."""
    try:
        value = int(text)
    except ValueError:
        return None
    return value if value >= 1 else None


def parse_components(kind: Any, tokens: Any) -> int | float:
    """Parse a number of components, or a fraction between 0 and 1."""
    text: str = tokens[0].value
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if 0 < value < 1:
        return value
    if value >= 1 and value.is_integer():
        return int(value)
    raise ValueError(f"{text!r} is not an integer >= 1 or a fraction between 0 and 1, such as 0.9")


def _reject_option(kind: Any, value: str | None) -> None:
    if value is not None and value.startswith("-") and value != "-":
        raise ValueError(f"Unknown option {value}. To read a file of that name, write ./{value}")


Data = Annotated[str, Parameter(allow_leading_hyphen=True, validator=_reject_option)]
Bandwidth = Annotated[float | str, Parameter(converter=parse_bandwidth, n_tokens=1)]
Components = Annotated[int | float, Parameter(converter=parse_components, n_tokens=1)]
Flag = Annotated[bool, Parameter(negative="", show_default=False)]
Solver = Literal["auto", "dense", "lanczos", "fourier", "nystrom"]

_Names = Annotated[
    tuple[str, ...], Parameter(negative="", show_default=False, allow_leading_hyphen=True)
]


@Parameter(name="*", group=Group("Input", sort_key=1))
@dataclass(frozen=True)
class Reading:
    """How the table is read.

    Parameters
    ----------
    label
        Column of class labels. It is not used as a feature; `discriminate` learns to predict it.
        Labels of text files are used as written (01 and 1 differ); only empty cells are missing.
    ignore
        Column to ignore. Can be given several times.
    include
        Column to analyze even if it looks like an identifier. Can be given several times.
    categorical
        Column to treat as categorical, such as numeric codes, which are used as written. Can be
        given several times.
    missing
        drop fits to complete rows only. keep fits to all rows: missing values are represented by
        the column's mean embedding. auto drops incomplete rows of numeric tables unless they are
        more than a fifth, and keeps them in mixed tables.
    encoding
        Encoding of text files, such as latin-1.
    """

    label: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    ignore: _Names = ()
    include: _Names = ()
    categorical: _Names = ()
    missing: Literal["auto", "drop", "keep"] = "auto"
    encoding: str = "utf-8"


@Parameter(name="*", group=Group("Kernel", sort_key=2))
@dataclass(frozen=True)
class Fitting:
    """The kernel and the eigensolver.

    Parameters
    ----------
    scale
        Standardize numeric columns to mean 0 and variance 1.
    bandwidth
        Bandwidth σ of the Gaussian kernel (in standard deviations if columns are standardized), or
        a rule: auto, silverman, scott, median-distance, distance-fraction, spectroscopy,
        leave-one-out. For mixed tables: multiplier of all bandwidths (1 leaves them unchanged).
    solver
        Eigensolver. auto chooses by the size of the table.
    """

    scale: bool = True
    bandwidth: Bandwidth = "auto"
    solver: Solver = "auto"


@Parameter(name="*", group=Group("Output", sort_key=3))
@dataclass(frozen=True)
class Output:
    """Where results are written.

    Parameters
    ----------
    out
        Output file: .csv, .tsv, .parquet or .npy. - writes CSV to standard output. With
        --engine dask: a folder for Parquet files (required).
    keep
        Also write the columns of the input, unchanged, before the new ones.
    overwrite
        With --engine dask: replace a folder of Parquet files that mercer did not write.
    model
        Save the fitted model to this file.
    apply
        Apply the model in this file (saved with --model) instead of fitting one.
    quiet
        Print errors only.
    verbose
        Print the progress of long computations, and the traceback of an error.
    """

    out: Annotated[Path, Parameter(allow_leading_hyphen=True)] = Path("-")
    keep: Flag = False
    overwrite: Flag = False
    model: Path | None = None
    apply: Path | None = None
    quiet: Flag = False
    verbose: Flag = False


@Parameter(name="*", group=Group("Computation", sort_key=4))
@dataclass(frozen=True)
class Running:
    """Where the computation runs.

    Parameters
    ----------
    engine
        memory loads the whole table. dask processes a folder of Parquet or CSV files in chunks;
        all columns must be numeric.
    scheduler
        Address of a running Dask scheduler, such as tcp://10.0.0.1:8786. Default: threads of this
        process.
    """

    engine: Literal["memory", "dask"] = "memory"
    scheduler: str | None = None
