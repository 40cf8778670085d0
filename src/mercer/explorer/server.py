"""The web application: routes and error responses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from opcode import opmap
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from mercer import __version__
from mercer.errors import MercerError
from mercer.explorer.access import AccessControl
from mercer.explorer.capture_warnings import capture_warnings
from mercer.explorer.request_body import read_body
from mercer.explorer.service import DataNotFoundError, Service
from mercer.explorer.sessions import Limits, Session, Sessions
from mercer.explorer.state import KERNELS, MAX_COMPONENTS, State, parse_state
from mercer.explorer.views import VIEWS
from mercer.explorer.work_queue import QueueFullError, SupersededError, WorkQueue
from mercer.plots.style import DARK_PALETTE, PALETTE
from mercer.tables import EMBEDDED

__all__ = ["STATIC", "make_app"]

STATIC = Path(__file__).parent / "static"
_MAX_QUERY = 50_000  # characters
_READERS = 2  # uploads that are read at the same time
_MAX_JSON = 1_000_000  # bytes of a request body other than an upload
_RAISE = opmap["RAISE_VARARGS"]


def make_app(
    token: str,
    *,
    limits: Limits | None = None,
    given: Path | None = None,
    encoding: str = "utf-8",
    hosts: Collection[str] = (),
    cookie: str = "mercer-explorer",
    workers: int = 2,
) -> Starlette:
    """Return the ASGI application of the explorer.

    Parameters
    ----------
    token : str
        Required in all requests; see :mod:`mercer.explorer.access`.
    limits : Limits or None
    given : Path or None
        File that every session may use.
    encoding : str
        Encoding of the given file.
    hosts : collection of str
        Accepted host names other than loopback and the address the client connected to.
    cookie : str
        Name of the session cookie.
    workers : int
        Number of computations that run at the same time.
    """
    limits = limits or Limits()
    sessions, queue = Sessions(limits), WorkQueue(workers)
    service = Service(limits, given, encoding, sessions.folder)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            queue.close()
            handlers.reading.close()
            sessions.close()

    handlers = _Handlers(limits, sessions, service, queue)
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
    app.add_middleware(
        AccessControl,
        sessions=sessions,
        token=token,
        hosts=hosts,
        cookie=cookie,
        max_head=limits.head,
    )
    app.state.sessions = sessions
    return app


async def _page(request: Request) -> Response:
    return FileResponse(STATIC / "index.html")


class _Handlers:
    """Request handlers of the API."""

    def __init__(
        self, limits: Limits, sessions: Sessions, service: Service, queue: WorkQueue
    ) -> None:
        self.limits, self.sessions, self.service, self.queue = limits, sessions, service, queue
        self.reading = WorkQueue(_READERS)  # slow files do not delay computations
        self._active_uploads = 0

    async def start(self, request: Request) -> Response:
        given = self.service.given
        return JSONResponse(
            {
                "version": __version__,
                "embedded": sorted(EMBEDDED),
                "given": None if given is None else given.name,
                "uploads": [[u.key, u.name] for u in _session(request).uploads.values()],
                "kernels": KERNELS,
                "max_components": MAX_COMPONENTS,
                "upload_limit": self.limits.upload,
                "palette": {"light": PALETTE, "dark": DARK_PALETTE},
            }
        )

    async def views(self, request: Request) -> Response:
        names = [name for name in request.query_params.get("show", "").split(",") if name]
        unknown = sorted(set(names) - set(VIEWS))
        if unknown or not names:
            raise HTTPException(400, f"show={unknown!r} must name some of {', '.join(VIEWS)}.")
        kind = "path" if "path" in names else "views"
        work = partial(self.service.views, _session(request), _state(request), names)
        return JSONResponse(await self._compute(request, kind, work))

    async def rows(self, request: Request) -> Response:
        body = _parse_json(await read_body(request, _MAX_JSON, self.limits.body_timeout))
        rows = body.get("rows") if isinstance(body, dict) else None
        if not isinstance(rows, list) or not all(type(row) is int for row in rows):
            raise HTTPException(400, 'The body must be {"rows": [indices]}.')
        work = partial(self.service.rows, _session(request), _state(request), rows)
        return JSONResponse(await self._compute(request, "rows", work))

    async def upload(self, request: Request) -> Response:
        if self._active_uploads >= self.limits.concurrent_uploads:
            raise HTTPException(
                503,
                f"{self._active_uploads} uploads are in progress, which is the limit. "
                "Try again in a moment.",
            )
        self._active_uploads += 1  # the content of an upload is held in memory
        try:
            return await self._upload(request)
        finally:
            self._active_uploads -= 1

    async def _upload(self, request: Request) -> Response:
        name = request.query_params.get("name", "table")
        content = await read_body(request, self.limits.upload, self.limits.body_timeout)
        try:
            path = self.sessions.write(content)
        except ValueError as error:
            raise HTTPException(507, str(error)) from error
        try:
            work = partial(self.service.read_upload, path, name[:80])
            frame, description = await self._compute(request, "upload", work, self.reading)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        upload = self.sessions.store(_session(request), name, path)
        self.service.cache_frame(upload.key, frame)
        return JSONResponse({"data": upload.key, "name": upload.name, **description})

    async def code(self, request: Request) -> Response:
        work = partial(self.service.code, _session(request), _state(request))
        return _file(await self._compute(request, "code", work), "view.py", "text/x-python")

    async def scores(self, request: Request) -> Response:
        work = partial(self.service.scores, _session(request), _state(request))
        return _file(await self._compute(request, "scores", work), "scores.csv", "text/csv")

    async def model(self, request: Request) -> Response:
        work = partial(self.service.model, _session(request), _state(request))
        content = await self._compute(request, "model", work)
        return _file(content, "view.mercer", "application/octet-stream")

    async def _compute(
        self,
        request: Request,
        kind: str,
        work: Callable[[], Any],
        queue: WorkQueue | None = None,
    ) -> Any:
        """Run work in a queue and translate exceptions into HTTP errors."""
        tab = request.headers.get("x-mercer-tab", "")[:64]

        def without_warnings() -> Any:  # warnings are shown on the page, not in the log
            with capture_warnings():
                return work()

        try:
            queue = queue or self.queue
            result = queue.run(f"{_session(request).key} {tab} {kind}", without_warnings)
            return await _until_disconnected(request, result)
        except asyncio.CancelledError:  # only the shutdown of the server cancels
            raise HTTPException(503, "The explorer is shutting down.") from None
        except SupersededError:
            raise HTTPException(409, "A newer request replaced this one.") from None
        except QueueFullError:
            raise HTTPException(503, "The server is busy. Try again in a moment.") from None
        except DataNotFoundError as error:
            raise HTTPException(404, str(error)) from error
        except (MercerError, ModuleNotFoundError) as error:
            raise HTTPException(422, str(error)) from error
        except (ValueError, TypeError) as error:
            if not _is_for_users(error):
                raise
            raise HTTPException(422, str(error)) from error
        except MemoryError as error:
            raise HTTPException(413, f"Not enough memory: {error}") from error


# --- requests and responses ------------------------------------------------------------------


def _session(request: Request) -> Session:
    session: Session = request.scope["mercer.session"]
    return session


def _state(request: Request) -> State:
    if len(request.url.query) > _MAX_QUERY:
        raise HTTPException(414, f"The query is longer than {_MAX_QUERY:,} characters.")
    try:
        return parse_state(request.query_params.multi_items())
    except ValueError as error:
        raise HTTPException(400, str(error)) from error


async def _until_disconnected(request: Request, work: Coroutine[Any, Any, Any]) -> Any:
    """Wait for work; cancel it if the client disconnects before it has started."""
    task = asyncio.create_task(work)
    disconnected = asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait((task, disconnected), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise HTTPException(400, "The client disconnected.")
        return task.result()
    finally:
        task.cancel()
        disconnected.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _parse_json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):  # RecursionError: deep nesting
        raise HTTPException(400, "The body is not JSON.") from None


def _file(content: str | bytes, name: str, media_type: str) -> Response:
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return Response(content, headers=headers, media_type=media_type)


def _is_for_users(error: Exception) -> bool:
    """Return whether a raise statement of mercer or scikit-learn raised this error.

    Their messages are about the input. Errors of array operations are bugs of the library.
    """
    place = error.__traceback__
    assert place is not None, "the error was raised"
    while place.tb_next is not None:
        place = place.tb_next
    frame = place.tb_frame
    package = str(frame.f_globals.get("__name__")).partition(".")[0]
    # tb_lasti and not f_lasti: the frame has run its "with" and "finally" blocks since
    instruction = frame.f_code.co_code[place.tb_lasti]
    return package in ("mercer", "sklearn") and instruction == _RAISE


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)


async def _internal_error(request: Request, error: Exception) -> Response:
    """Report the type of the error only; the server log has the traceback."""
    message = f"Internal error ({type(error).__name__}). See the server log."
    return JSONResponse({"error": message}, status_code=500)
