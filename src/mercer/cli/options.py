"""Options that several commands share: how their values are read, and what they mean."""

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
    "Output",
    "Reading",
    "Solver",
    "Verbose",
    "read_bandwidth",
]

#: What ``--out`` may end in.
SUFFIXES = (".csv", ".tsv", ".parquet", ".npy")


def read_bandwidth(kind: Any, tokens: Any) -> float | str:
    """Read a positive number or a rule's name."""
    text: str = tokens[0].value
    try:
        value = float(text)
    except ValueError:
        from mercer.bandwidth import RULES

        if text in RULES:
            return text
        raise ValueError(f"give a number above 0, or one of {', '.join(RULES)}") from None
    if not 0 < value < float("inf"):
        raise ValueError("a bandwidth must be a finite number above 0")
    return value


def _read_components(kind: Any, tokens: Any) -> int | float:
    """Read a number of components, or a share between 0 and 1."""
    text: str = tokens[0].value
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if 0 < value < 1:
        return value
    if value >= 1 and value.is_integer():
        return int(value)
    raise ValueError("give a whole number of at least 1, or a share such as 0.9")


def _is_no_option(kind: Any, value: str) -> None:
    if value.startswith("-") and value != "-":
        raise ValueError(f"There is no option {value}; a file of that name is ./{value}")


def _is_known_format(kind: Any, path: Path) -> None:
    is_special = path.exists() and not path.is_file() and not path.is_dir()  # a pipe, a terminal
    if str(path) != "-" and path.suffix.lower() not in SUFFIXES and not is_special:
        raise ValueError(f"a file's name must end in {', '.join(SUFFIXES)}; or give -")


Data = Annotated[str, Parameter(allow_leading_hyphen=True, validator=_is_no_option)]
Bandwidth = Annotated[float | str, Parameter(converter=read_bandwidth, n_tokens=1)]
Components = Annotated[int | float, Parameter(converter=_read_components, n_tokens=1)]
Verbose = Annotated[bool, Parameter(negative="", show_default=False)]
Solver = Literal["auto", "dense", "lanczos", "fourier", "nystrom"]

_Flag = Parameter(negative="", show_default=False)
_Names = Annotated[
    tuple[str, ...], Parameter(negative="", show_default=False, allow_leading_hyphen=True)
]


@Parameter(name="*", group=Group("The table", sort_key=1))
@dataclass(frozen=True)
class Reading:
    """How a table is read.

    Parameters
    ----------
    label
        Column with classes. It is not analysed (`discriminate` learns it).
    ignore
        Column to leave out; may be given several times.
    categorical
        Column whose numbers or texts are names of categories; may be given several times.
    missing
        Rows to learn from: complete ones only (drop), or all (keep), where a gap is compared by
        what the column usually holds. auto drops from tables of numbers, unless that would lose a
        fifth of the rows, and keeps in others.
    encoding
        Of text files, such as latin-1.
    """

    label: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    ignore: _Names = ()
    categorical: _Names = ()
    missing: Literal["auto", "drop", "keep"] = "auto"
    encoding: str = "utf-8"


@Parameter(name="*", group=Group("The kernel", sort_key=2))
@dataclass(frozen=True)
class Fitting:
    """How rows are compared.

    Parameters
    ----------
    scale
        Standardise columns of numbers first, so that units do not decide.
    bandwidth
        σ of the Gaussian kernel (in standard deviations if columns are scaled), or a rule: auto,
        silverman, scott, median-distance, distance-fraction, leave-one-out. For a table with
        other columns than numbers a factor for the widths of all columns: 1 changes nothing.
    solver
        How eigenvectors are found; auto chooses by the size of the table.
    """

    scale: bool = True
    bandwidth: Bandwidth = "auto"
    solver: Solver = "auto"


@Parameter(name="*", group=Group("Output", sort_key=3))
@dataclass(frozen=True)
class Output:
    """Where results go.

    Parameters
    ----------
    out
        File for the columns, ending in .csv, .tsv, .parquet or .npy; - is standard output, as CSV.
    keep
        Write the table's own columns too, as they are, before the new ones.
    model
        Save the fitted model to this file.
    apply
        Use the model in this file, as --model saved it, instead of fitting one.
    quiet
        Say nothing on standard error but errors.
    verbose
        Tell the progress of long work, and show the traceback of an error.
    """

    out: Annotated[Path, Parameter(allow_leading_hyphen=True, validator=_is_known_format)] = Path(
        "-"
    )
    keep: Annotated[bool, _Flag] = False
    model: Path | None = None
    apply: Path | None = None
    quiet: Annotated[bool, _Flag] = False
    verbose: Annotated[bool, _Flag] = False
