"""The explorer: a page on which one plays with the kernel and sees what the spectrum says."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from mercer.explorer.sessions import Limits

__all__ = ["explore"]


def explore(
    data: str | Path | None = None,
    *,
    label: str | None = None,
    ignore: Iterable[str] = (),
    categorical: Iterable[str] = (),
    missing: Literal["auto", "drop", "keep"] = "auto",
    encoding: str = "utf-8",
    port: int = 0,
    host: str = "127.0.0.1",
    open_browser: bool = True,
    limits: Limits | None = None,
    tell: Callable[[str], None] = print,
) -> None:
    """Serve the explorer until it is interrupted.

    Parameters
    ----------
    data : str, Path or None
        An embedded set or a file to start with; None for the rings.
    label, ignore, categorical, missing, encoding
        Options of :func:`mercer.tables.read_table`. The page can change the first three.
    port : int
        0 for a free one.
    host : str
        Where to listen. Elsewhere than on loopback a token is needed to get in; it is part of the
        address that is told.
    open_browser : bool
    limits : Limits or None
        What it accepts, and how long it waits for a client; None for the usual.
    tell : callable
        Receives the address.

    Examples
    --------
    >>> from mercer.explorer import explore
    >>> explore("wine")  # doctest: +SKIP
    """
    try:
        import uvicorn

        from mercer.explorer.patience import patient
        from mercer.explorer.server import is_loopback, make_app
        from mercer.explorer.sessions import Limits
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn", "pandas"):
            raise
        raise ModuleNotFoundError(
            f"The explorer needs {error.name}, which is not installed: pip install mercer[web]",
            name=error.name,
        ) from error
    columns = {"label": label, "ignore": tuple(ignore), "categorical": tuple(categorical)}
    given_options = {"missing": missing, "encoding": encoding}
    query, given = _start(data, columns, given_options)
    listener = _listen(host, port)
    with listener:
        port = listener.getsockname()[1]
        token = None if is_loopback(host) else secrets.token_urlsafe(24)
        limits = limits or Limits()
        app = make_app(
            limits=limits,
            given=given,
            given_options=given_options,
            token=token,
            cookie=f"mercer-explorer-{port}",
        )
        if token is not None:
            query["token"] = token
        address = _address(host, port, query)
        tell(f"The explorer is at {address} (stop it with Ctrl+C).")
        if open_browser:
            threading.Timer(0.5, webbrowser.open, [address]).start()
        config = uvicorn.Config(
            app, log_level="warning", timeout_graceful_shutdown=2, **patient(limits)
        )
        with suppress(KeyboardInterrupt):  # the usual end
            uvicorn.Server(config).run(sockets=[listener])


def _start(
    data: str | Path | None, columns: Mapping[str, Any], given_options: Mapping[str, Any]
) -> tuple[dict[str, Any], Path | None]:
    """Return the query of the first address, and the file that it shows."""
    from mercer.tables import EMBEDDED, read_table

    query = {name: value for name, value in columns.items() if value}
    if data is None and not query:
        return {}, None
    is_embedded = data is None or str(data) in EMBEDDED
    if query or not is_embedded:  # report invalid files and columns now, not in the browser
        read_table("rings" if data is None else data, **columns, **given_options)
    if is_embedded:
        return ({} if data is None else {"data": str(data)}) | query, None
    return {"data": "given"} | query, Path(str(data))


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise OSError(
            f"Cannot listen on {host}:{port} ({error.strerror}); leave the port out for a free one."
        ) from error
    return listener


def _address(host: str, port: int, query: dict[str, Any]) -> str:
    from urllib.parse import urlencode

    name = f"[{host}]" if ":" in host else host
    if host in ("0.0.0.0", "::"):
        name = socket.gethostname()
    return f"http://{name}:{port}/{'?' + urlencode(query, doseq=True) if query else ''}"
