"""``mercer explore``: the page on which one plays with the kernel."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

__all__ = ["explore"]


def explore(
    data: str = "rings",
    /,
    *,
    port: Annotated[int, Parameter(validator=Number(gte=0, lte=65535))] = 0,
    host: str = "127.0.0.1",
    browser: bool = True,
) -> int:
    """Open a page where bandwidth, kernel and components can be changed and seen at once.

    The page is served to this machine only, until Ctrl+C. Nothing leaves the machine, and nothing
    is written outside of a temporary folder that is removed at the end.

    For example:

    - `mercer explore`
    - `mercer explore measurements.csv`
    - `mercer explore wine --port 8000 --no-browser`

    Parameters
    ----------
    data
        A CSV, TSV, Parquet or NPY file, or an embedded set: wine, iris, digits, breast_cancer,
        diabetes, rings, ring-and-blob, machines.
    port
        Where to listen; 0 for a free port.
    host
        Address to listen on. Elsewhere than on this machine the page asks for a token, which is
        part of the address that is printed.
    browser
        Open the page in the browser.
    """
    from mercer.explorer import explore as serve

    serve(data, port=port, host=host, open_browser=browser)
    return 0
