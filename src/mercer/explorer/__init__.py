"""The explorer: a local web page to change the kernel and see its effect on the spectrum."""

from __future__ import annotations

import html
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mercer.explorer.uploads import Limits
    from mercer.tables import Missing

__all__ = ["explore"]


def explore(
    data: str | Path | None = None,
    *,
    label: str | None = None,
    ignore: Iterable[str] = (),
    categorical: Iterable[str] = (),
    missing: Missing = "auto",
    encoding: str = "utf-8",
    port: int = 0,
    host: str = "127.0.0.1",
    open_browser: bool = True,
    limits: Limits | None = None,
    log: Callable[[str], None] = print,
) -> None:
    """Serve the explorer until it is interrupted (Ctrl+C).

    Requests need a token, which is part of the printed address.

    Parameters
    ----------
    data : str, Path or None
        Name of an embedded data set, or a file; None for "rings".
    label : str or None
        Column with classes; None for the default of the data set.
    ignore : iterable of str
        Columns to ignore.
    categorical : iterable of str
        Numeric or text columns that hold categories.
    missing : {"auto", "drop", "keep"}
        Rows with missing values; see :func:`mercer.tables.read_table`.
    encoding : str
        Encoding of text files.
    port : int
        Port to listen on; 0 for a free one.
    host : str
        Address to listen on.
    open_browser : bool
    limits : Limits or None
        Limits of uploaded files; None for the defaults.
    log : callable
        Called with one line that contains the address with the token.

    Examples
    --------
    >>> from mercer.explorer import explore
    >>> explore("wine")  # doctest: +SKIP
    """
    try:
        import uvicorn

        from mercer.explorer.access import MAX_HEAD, is_loopback
        from mercer.explorer.server import make_app
        from mercer.explorer.uploads import Limits
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn", "pandas"):
            raise
        raise ModuleNotFoundError(
            f"The explorer needs {error.name}, which is not installed: pip install mercer[web]",
            name=error.name,
        ) from error
    query, given = _initial_query(
        data,
        encoding,
        label=label,
        ignore=list(ignore),
        categorical=list(categorical),
        missing=missing,
    )
    with _listen(host, port) as listener:
        port = listener.getsockname()[1]
        token = secrets.token_urlsafe(24)
        app = make_app(
            token,
            limits=limits or Limits(),
            given=given,
            encoding=encoding,
            hosts=() if is_loopback(host) else (host, socket.gethostname()),
            cookie=f"mercer-explorer-{port}",  # cookies are shared by all ports of a host
        )
        address = _address(host, port, [*query, ("token", token)])
        log(f"The explorer is at {address} (stop it with Ctrl+C).")
        if sys.stdout is not None:
            with suppress(OSError):
                sys.stdout.flush()  # in a pipe, the address would be buffered until the end
        if open_browser:
            page = _write_redirection(address, app.state.service.uploads.folder)
            threading.Timer(0.5, webbrowser.open, [page.as_uri()]).start()
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            h11_max_incomplete_event_size=MAX_HEAD,
            log_level="warning",
            access_log=False,  # the first address contains the token
            timeout_graceful_shutdown=2,
        )
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])


def _initial_query(
    data: str | Path | None,
    encoding: str,
    *,
    label: str | None,
    ignore: list[str],
    categorical: list[str],
    missing: Missing,
) -> tuple[list[tuple[str, str]], Path | None]:
    """Return the query of the first address and the file it refers to.

    A file or a column that does not exist raises here, before the browser opens.
    """
    from mercer.tables import EMBEDDED, read_table

    query: list[tuple[str, str]] = []
    given: Path | None = None
    if data is not None and str(data) in EMBEDDED:
        query.append(("data", str(data)))
    elif data is not None:
        query.append(("data", "given"))
        given = Path(data)
    read_table(
        "rings" if data is None else data,
        label=label,
        ignore=ignore,
        categorical=categorical,
        missing=missing,
        encoding=encoding,
    )
    if label is not None:
        query.append(("label", label))
    query += [("ignore", name) for name in ignore]
    query += [("categorical", name) for name in categorical]
    if missing != "auto":
        query.append(("missing", missing))
    return query, given


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()  # requests before the server has started wait instead of failing
    except OSError as error:
        listener.close()
        raise OSError(
            f"Cannot listen on {host}:{port} ({error.strerror}). Omit the port to use a free one."
        ) from error
    return listener


def _write_redirection(address: str, folder: Path) -> Path:
    """Write a page that opens an address.

    The address contains the token, and other users can read the arguments of the browser's process.
    They cannot read the folder.
    """
    page = folder / "open.html"
    refresh = f'<meta http-equiv="refresh" content="0; url={html.escape(address)}">'
    page.write_text(f"<!doctype html><title>mercer explorer</title>{refresh}", encoding="utf-8")
    return page


def _address(host: str, port: int, query: list[tuple[str, str]]) -> str:
    from urllib.parse import urlencode

    name = f"[{host}]" if ":" in host else host
    if host in ("0.0.0.0", "::"):
        name = socket.gethostname()
    return f"http://{name}:{port}/{'?' + urlencode(query) if query else ''}"
