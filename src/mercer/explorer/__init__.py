"""The explorer: a page on which one plays with the kernel and sees what the spectrum says."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mercer.explorer.sessions import Limits

__all__ = ["explore"]


def explore(
    data: str | Path | None = None,
    *,
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
    query, given = _start(data)
    listener = _listen(host, port)
    with listener:
        port = listener.getsockname()[1]
        token = None if is_loopback(host) else secrets.token_urlsafe(24)
        limits = limits or Limits()
        app = make_app(limits=limits, given=given, token=token, cookie=f"mercer-explorer-{port}")
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


def _start(data: str | Path | None) -> tuple[dict[str, str], Path | None]:
    """The first address' query, and the file that it is about."""
    from mercer.tables import EMBEDDED, read_table

    if data is None:
        return {}, None
    if str(data) in EMBEDDED:
        return {"data": str(data)}, None
    read_table(data)  # a bad file is told now, and not in the browser
    return {"data": "given"}, Path(data)


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


def _address(host: str, port: int, query: dict[str, str]) -> str:
    from urllib.parse import urlencode

    name = f"[{host}]" if ":" in host else host
    if host in ("0.0.0.0", "::"):
        name = socket.gethostname()
    return f"http://{name}:{port}/{'?' + urlencode(query) if query else ''}"
