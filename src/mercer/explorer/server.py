"""Routes, and who may use them.

The explorer listens on loopback. Any page in the user's browser can send requests there too, so a
request is refused when its Host is not this machine (a rebound name), its Origin is another page,
or the browser says that it comes from another site. Elsewhere than on loopback a token is asked
for.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from mercer import __version__
from mercer.errors import MercerError
from mercer.explorer.bodies import Bodies
from mercer.explorer.engine import Engine, NotThereError
from mercer.explorer.gate import Gate, SupersededError, TooBusyError
from mercer.explorer.listening import listening
from mercer.explorer.sessions import Limits, Session, Sessions
from mercer.explorer.state import KERNELS, MOST_COMPONENTS, State, parse_state
from mercer.explorer.views import VIEWS
from mercer.plots.style import DARK_PALETTE, PALETTE
from mercer.tables import EMBEDDED

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["is_loopback", "make_app"]

STATIC = Path(__file__).parent / "static"
_HEADERS = {
    # pictures are handed out as data and blobs; plotly sets styles of its elements
    "content-security-policy": "default-src 'self'; img-src 'self' data: blob:; "
    "style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; object-src 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_SAFE = ("GET", "HEAD")
_LONGEST_QUERY = 50_000
_PER_HEADER = 32  # bytes that a header takes beside its own, as HTTP/2 counts them
_LARGEST_BODY = 1_000_000  # of anything but an upload


def make_app(
    *,
    limits: Limits | None = None,
    given: Path | None = None,
    given_options: Mapping[str, Any] = MappingProxyType({}),
    token: str | None = None,
    cookie: str = "mercer-explorer",
    workers: int = 2,
) -> Starlette:
    """Make the explorer's application.

    Parameters
    ----------
    limits : Limits or None
    given : Path or None
        A file that every session may look at.
    given_options : mapping
        How it is read: ``encoding`` and ``missing`` of :func:`mercer.tables.read_table`.
    token : str or None
        Asked for when it is not None: in the address once, in a cookie from then on. Without one
        only a loopback Host is answered.
    cookie : str
        Name of the session's cookie.
    workers : int
        Computations at a time.
    """
    limits = limits or Limits()
    sessions, gate = Sessions(limits), Gate(workers)
    engine = Engine(limits, given, sessions.folder, given_options)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            gate.close()
            sessions.close()

    desk = _Desk(limits, sessions, engine, gate)
    routes = [
        Route("/", _page),
        Route("/api/start", desk.start),
        Route("/api/views", desk.views),
        Route("/api/rows", desk.rows, methods=["POST"]),
        Route("/api/upload", desk.upload, methods=["POST"]),
        Route("/api/code.py", desk.code),
        Route("/api/scores.csv", desk.scores),
        Route("/api/model", desk.model),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={HTTPException: _tell, Exception: _tell_mistake},
    )
    app.add_middleware(_Guard, sessions=sessions, token=token, cookie=cookie, head=limits.head)
    app.state.sessions = sessions
    return app


async def _page(request: Request) -> Response:
    return FileResponse(STATIC / "index.html")


class _Desk:
    """What the routes answer with."""

    def __init__(self, limits: Limits, sessions: Sessions, engine: Engine, gate: Gate) -> None:
        self.limits, self.sessions, self.engine, self.gate = limits, sessions, engine, gate
        self.bodies = Bodies(limits)

    async def start(self, request: Request) -> Response:
        session = _session(request)
        given = self.engine.given
        return JSONResponse(
            {
                "version": __version__,
                "embedded": sorted(EMBEDDED),
                "given": None if given is None else given.name,
                "uploads": [[u.key, u.name] for u in session.uploads.values()],
                "kernels": KERNELS,
                "most_components": MOST_COMPONENTS,
                "upload_limit": self.limits.upload,
                "palette": {"light": PALETTE, "dark": DARK_PALETTE},
            }
        )

    async def views(self, request: Request) -> Response:
        names = [name for name in request.query_params.get("show", "").split(",") if name]
        unknown = sorted(set(names) - set(VIEWS))
        if unknown or not names:
            raise HTTPException(400, f"show={unknown!r}: there are {', '.join(VIEWS)}.")
        kind = "path" if "path" in names else "views"
        work = partial(self.engine.views, _session(request), _state(request), names)
        return JSONResponse(await self._compute(request, kind, work))

    async def rows(self, request: Request) -> Response:
        async with self.bodies.read(request, _LARGEST_BODY) as content:
            body = _json(content)
        rows = body.get("rows") if isinstance(body, dict) else None
        if not isinstance(rows, list) or not all(type(row) is int for row in rows):
            raise HTTPException(400, 'rows: expected is {"rows": [row numbers]}.')
        work = partial(self.engine.rows, _session(request), _state(request), rows)
        return JSONResponse(await self._compute(request, "rows", work))

    async def upload(self, request: Request) -> Response:
        name = request.query_params.get("name", "table")
        session = _session(request)
        async with self.bodies.read(request, self.limits.upload) as content:
            work = partial(self.engine.read, content, name[:80])
            frame, found = await self._compute(request, "upload", work)
            try:
                upload = self.sessions.keep(session, name, content)
            except ValueError as full:
                raise HTTPException(507, str(full)) from full
        self.engine.remember(upload.key, frame)
        return JSONResponse({"data": upload.key, "name": upload.name, **found})

    async def code(self, request: Request) -> Response:
        work = partial(self.engine.code, _session(request), _state(request))
        return _file(await self._compute(request, "code", work), "view.py", "text/x-python")

    async def scores(self, request: Request) -> Response:
        work = partial(self.engine.scores, _session(request), _state(request))
        return _file(await self._compute(request, "scores", work), "scores.csv", "text/csv")

    async def model(self, request: Request) -> Response:
        work = partial(self.engine.model, _session(request), _state(request))
        content = await self._compute(request, "model", work)
        return _file(content, "view.mercer", "application/octet-stream")

    async def _compute(self, request: Request, kind: str, work: Callable[[], Any]) -> Any:
        tab = request.headers.get("x-mercer-tab", "")[:64]

        def quietly() -> Any:  # what is warned of is said on the page, not in the log
            with listening():
                return work()

        try:
            turn = self.gate.run(f"{_session(request).key} {tab} {kind}", quietly)
            return await _while_there(request, turn)
        except asyncio.CancelledError:  # only the end of the explorer cancels
            raise HTTPException(503, "The explorer is ending.") from None
        except SupersededError:
            raise HTTPException(409, "A newer request took this one's place.") from None
        except TooBusyError:
            raise HTTPException(503, "Many people are computing; try again in a moment.") from None
        except NotThereError as error:
            raise HTTPException(404, str(error)) from error
        except (ValueError, TypeError, MercerError, ModuleNotFoundError) as error:
            raise HTTPException(422, str(error)) from error
        except MemoryError as error:
            raise HTTPException(413, f"Not enough memory: {error}") from error


# --- requests --------------------------------------------------------------------------------


def _session(request: Request) -> Session:
    session: Session = request.scope["mercer.session"]
    return session


def _state(request: Request) -> State:
    if len(request.url.query) > _LONGEST_QUERY:
        raise HTTPException(414, f"The address is longer than {_LONGEST_QUERY:,} characters.")
    try:
        return parse_state(request.query_params.multi_items())
    except ValueError as error:
        raise HTTPException(400, str(error)) from error


async def _while_there(request: Request, work: Coroutine[Any, Any, Any]) -> Any:
    """Wait for work, unless the client goes away: then it need not begin any more."""
    task, gone = asyncio.create_task(work), asyncio.create_task(_gone(request))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise HTTPException(400, "The client has gone.")  # which nobody will read
        return task.result()
    finally:
        task.cancel()
        gone.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):  # the latter where it is nested without end
        raise HTTPException(400, "The request is not JSON.") from None


def _file(content: str | bytes, name: str, kind: str) -> Response:
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return Response(content, headers=headers, media_type=kind)


async def _tell(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)


async def _tell_mistake(request: Request, error: Exception) -> Response:
    """Our mistake: the log has the traceback, the client only its kind."""
    return JSONResponse(
        {"error": f"A mistake of the explorer ({type(error).__name__}); its log has the details."},
        status_code=500,
    )


# --- who may ask -----------------------------------------------------------------------------


def is_loopback(host: str) -> bool:
    """Whether a host name is this machine for sure.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("example.org")
    (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class _Guard:
    """Middleware: refuses foreign requests, knows sessions by their cookie, sets headers."""

    def __init__(
        self, app: ASGIApp, sessions: Sessions, token: str | None, cookie: str, head: int
    ) -> None:
        self.app, self.sessions, self.token, self.cookie = app, sessions, token, cookie
        self.head = head

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        refused = self._refusal(request)
        if refused is not None:
            response = JSONResponse({"error": refused[1]}, refused[0], headers=_HEADERS)
            await response(scope, receive, send)
            return
        known = request.cookies.get(self.cookie)
        session = self.sessions.find(known)
        scope["mercer.session"] = session

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [(k.encode(), v.encode()) for k, v in _HEADERS.items()]
                if session.key != known:
                    headers.append(self._cookie(self.cookie, session.key))
                if self.token is not None and self.token == request.query_params.get("token"):
                    headers.append(self._cookie(f"{self.cookie}-token", self.token))
                message["headers"] = [*message["headers"], *headers]
            await send(message)

        await self.app(scope, receive, with_headers)

    @staticmethod
    def _cookie(name: str, value: str) -> tuple[bytes, bytes]:
        return b"set-cookie", f"{name}={value}; Path=/; HttpOnly; SameSite=Strict".encode()

    def _refusal(self, request: Request) -> tuple[int, str] | None:
        """Status and reason, where a request is refused."""
        raw = request.headers.raw
        size = len(request.url.query) + sum(len(k) + len(v) + _PER_HEADER for k, v in raw)
        if size > self.head:
            return 431, f"The request's head is larger than {self.head:,} bytes."
        if {b"content-length", b"transfer-encoding"} <= {name for name, _ in raw}:
            return 400, "Content-Length and Transfer-Encoding contradict each other."
        if "\0" in request.scope["path"]:
            return 400, "The address holds a zero byte."  # no file is called that
        host = request.headers.get("host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if self.token is None and not is_loopback(name):
            return 421, f"Host {name[:80]!r} is not this machine."
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            return 403, f"Requests from {origin[:80]!r} are refused."
        site = request.headers.get("sec-fetch-site", "none")
        opens_page = request.url.path == "/" and request.method in _SAFE
        if site not in ("same-origin", "none") and not opens_page:
            return 403, "Requests from other sites are refused."
        if self.token is not None and not self._has_token(request):
            return 401, "Open the address with its token, as it was printed at the start."
        return None

    def _has_token(self, request: Request) -> bool:
        assert self.token is not None
        shown = request.query_params.get("token") or request.cookies.get(f"{self.cookie}-token", "")
        return secrets.compare_digest(shown.encode(), self.token.encode())
