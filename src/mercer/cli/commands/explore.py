"""``mercer explore``: the interactive explorer in the browser."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from mercer.cli.console import UsageError
from mercer.cli.options import Data, Reading

__all__ = ["explore"]


def explore(
    data: Data = "rings",
    /,
    *,
    port: Annotated[int, Parameter(validator=Number(gte=0, lte=65535))] = 0,
    host: str = "127.0.0.1",
    browser: bool = True,
    reading: Reading = Reading(),
) -> int:
    """Open a web page to explore a table with different kernels, bandwidths and components.

    The page is served on this machine only, until Ctrl+C. Its address contains a token, without
    which other users cannot open it. No data leave the machine; temporary files are removed at the
    end.

    For example:

    - `mercer explore`
    - `mercer explore measurements.csv --label species --encoding latin-1`
    - `mercer explore wine --port 8000 --no-browser`

    Parameters
    ----------
    data
        A CSV, TSV, Parquet or NPY file, or an embedded data set: wine, iris, digits,
        breast_cancer, diabetes, rings, ring-and-blob, machines.
    port
        Port to listen on; 0 for any free port.
    host
        Address to listen on. With 0.0.0.0, other machines that know the token can connect.
    browser
        Open the page in the browser.
    """
    if data == "-":
        raise UsageError("explore cannot read standard input. Name a file.")
    if reading.include:
        raise UsageError(
            f"--include {reading.include[0]} cannot be used with explore, which leaves out "
            "identifiers. Use --categorical for codes."
        )
    from mercer.explorer import explore as serve

    serve(
        data,
        label=reading.label,
        ignore=reading.ignore,
        categorical=reading.categorical,
        missing=reading.missing,
        encoding=reading.encoding,
        port=port,
        host=host,
        open_browser=browser,
    )
    return 0
