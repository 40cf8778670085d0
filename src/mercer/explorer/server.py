"""The web application: routes, computations and error responses."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Collection
from concurrent.futures import Future
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from mercer import __version__
from mercer.errors import MercerError, capture_warnings
from mercer.explorer.access import AccessControl
from mercer.explorer.service import DataNotFoundError, Service
from mercer.explorer.state import KERNELS, MAX_COMPONENTS, State, parse_state
from mercer.explorer.uploads import Limits
from mercer.explorer.views import VIEWS
from mercer.plots.style import DARK_PALETTE, PALETTE
from mercer.tables import EMBEDDED
from mercer.utils.resources import single_thread, single_threaded_blas

__all__ = ["STATIC", "make_app"]

STATIC = Path(__file__).parent / "static"
_BODY_TIMEOUT = 120.0  # seconds to receive a request body
_FOR_USERS = (MercerError, ValueError, OSError, ImportError)  # their messages are about the input


def make_app(
    token: str,
    *,
    limits: Limits | None = None,
    given: Path | None = None,
    encoding: str = "utf-8",
    hosts: Collection[str] = (),
    cookie: str = "mercer-explorer",
) -> Starlette:
    """Return the ASGI application of the explorer.

    ``given`` is the file named when the explorer was started, and ``encoding`` its encoding. For
    the other parameters see :class:`mercer.explorer.access.AccessControl`.
    """
    service = Service(limits or Limits(), given, encoding)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            service.close()

    handlers = _Handlers(service)
    routes = [
        Route("/", _page),
        Route("/api/start", handlers.start),
        Route("/api/views", handlers.views),
        Route("/api/rows", handlers.rows, methods=["POST"]),
        Route("/api/upload", handlers.upload, methods=["POST"]),
        Route("/api/code.py", handlers.code),
        Route("/api/scores.csv", handlers.scores),
        Route("/api/model", handlers.model),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={HTTPException: _http_error, Exception: _internal_error},
    )
    app.add_middleware(AccessControl, token=token, hosts=hosts, cookie=cookie)
    app.state.service = service
    return app


async def _page(request: Request) -> Response:
    return FileResponse(STATIC / "index.html")


class _Handlers:
    """Request handlers of the API."""

    def __init__(self, service: Service) -> None:
        self.service = service
        # One computation at a time; the page sends its newest request when the last is answered.
        # The sweep and the reading of a file are slow, so they do not delay the views.
        self._views, self._sweep, self._upload = asyncio.Lock(), asyncio.Lock(), asyncio.Lock()

    async def start(self, request: Request) -> Response:
        service = self.service
        return JSONResponse(
            {
                "version": __version__,
                "embedded": sorted(EMBEDDED),
                "given": None if service.given is None else service.given.name,
                "uploads": [[upload.key, upload.name] for upload in service.list_uploads()],
                "kernels": KERNELS,
                "max_components": MAX_COMPONENTS,
                "upload_limit": service.limits.upload,
                "palette": {"light": PALETTE, "dark": DARK_PALETTE},
            }
        )

    async def views(self, request: Request) -> Response:
        names = [name for name in request.query_params.get("show", "").split(",") if name]
        unknown = sorted(set(names) - set(VIEWS))
        if unknown or not names:
            raise HTTPException(400, f"show={unknown!r} must name some of {', '.join(VIEWS)}.")
        lock = self._sweep if "path" in names else self._views
        work = partial(self.service.views, _state(request), names)
        return JSONResponse(await _compute(lock, request, work))

    async def rows(self, request: Request) -> Response:
        body = _parse_json(await _read_body(request, 1_000_000))
        rows = body.get("rows") if isinstance(body, dict) else None
        if not isinstance(rows, list) or not all(type(row) is int for row in rows):
            raise HTTPException(400, 'The body must be {"rows": [indices]}.')
        work = partial(self.service.rows, _state(request), rows)
        return JSONResponse(await _compute(self._views, request, work))

    async def upload(self, request: Request) -> Response:
        name = request.query_params.get("name", "table")[:80]
        content = await _read_body(request, self.service.limits.upload)
        work = partial(self.service.upload, name, content)
        return JSONResponse(await _compute(self._upload, request, work))

    async def code(self, request: Request) -> Response:
        work = partial(self.service.code, _state(request))
        code = await _compute(self._views, request, work)
        return _file(code, "view.py", "text/x-python")

    async def scores(self, request: Request) -> Response:
        work = partial(self.service.scores, _state(request))
        return _file(await _compute(self._views, request, work), "scores.csv", "text/csv")

    async def model(self, request: Request) -> Response:
        work = partial(self.service.model, _state(request))
        content = await _compute(self._views, request, work)
        return _file(content, "view.mercer", "application/octet-stream")


# --- computations ----------------------------------------------------------------------------


async def _run_in_thread(work: Callable[[], Any]) -> Any:
    """Run work in a daemon thread: neither the event loop nor the interpreter waits for its end.

    The work runs on one core; the other computations and the browser need the others.
    """
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            with single_thread(), single_threaded_blas():
                future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="mercer-explorer", daemon=True).start()
    return await asyncio.wrap_future(future)


async def _compute(lock: asyncio.Lock, request: Request, work: Callable[[], Any]) -> Any:
    """Run work and translate exceptions into HTTP errors."""

    def without_warnings() -> Any:  # warnings are shown on the page, not in the log
        with capture_warnings():
            return work()

    try:
        async with lock:
            if await request.is_disconnected():
                raise HTTPException(400, "The client disconnected.")
            return await _run_in_thread(without_warnings)
    except DataNotFoundError as error:
        raise HTTPException(404, str(error)) from error
    except MemoryError as error:
        raise HTTPException(413, f"Not enough memory: {error}") from error
    except _FOR_USERS as error:
        raise HTTPException(422, str(error)) from error


# --- requests and responses ------------------------------------------------------------------


def _state(request: Request) -> State:
    if len(request.url.query) > 50_000:
        raise HTTPException(414, "The query is longer than 50,000 characters.")
    try:
        return parse_state(request.query_params.multi_items())
    except ValueError as error:
        raise HTTPException(400, str(error)) from error


async def _read_body(request: Request, max_bytes: int) -> bytes:
    """Return the body of a request; reading stops at the size limit and at one deadline."""
    too_large = HTTPException(
        413, f"The request is larger than the limit of {max_bytes / 1e6:g} MB."
    )
    declared = request.headers.get("content-length", "0")
    # A number with more digits than the limit is larger; int() rejects thousands of digits.
    if declared.isdecimal() and int(declared[: len(str(max_bytes)) + 1]) > max_bytes:
        raise too_large
    content = bytearray()
    try:
        async with asyncio.timeout(_BODY_TIMEOUT):
            async for part in request.stream():
                if len(content) + len(part) > max_bytes:
                    raise too_large
                content += part
    except TimeoutError:
        raise HTTPException(
            408,
            f"The request body was not received within {_BODY_TIMEOUT:g} s. Send it again.",
            headers={"connection": "close"},
        ) from None
    except ClientDisconnect:
        raise HTTPException(400, "The client disconnected during the upload.") from None
    return bytes(content)


def _parse_json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):  # RecursionError: deep nesting
        raise HTTPException(400, "The body is not JSON.") from None


def _file(content: str | bytes, name: str, media_type: str) -> Response:
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return Response(content, headers=headers, media_type=media_type)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)


async def _internal_error(request: Request, error: Exception) -> Response:
    """Report the type of the error only; the server log has the traceback."""
    message = f"Internal error ({type(error).__name__}). See the server log."
    return JSONResponse({"error": message}, status_code=500)
