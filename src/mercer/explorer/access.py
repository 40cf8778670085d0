"""Access control: which requests are answered, and security headers.

Every request needs the token of the explorer, because all users of a machine can connect to its
loopback interface. The address that is opened first has it in its query. The page stores it for
its origin and sends it as a header. It is never a cookie: a browser sends cookies to all ports of a
host, so the server of another user would receive it. The cookie that is set opens the page and its
static files only, which contain no data.

Any page in the user's browser can send requests as well. A request is rejected if its Host is not
this machine (DNS rebinding), if its Origin is another site, or if the browser reports that it comes
from another site.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Collection
from ipaddress import ip_address
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["MAX_HEAD", "SECURITY_HEADERS", "AccessControl", "is_loopback"]

MAX_HEAD = 65_536  # bytes of the query and the headers

SECURITY_HEADERS = {
    # Exported figures are data and blob addresses; plotly.js sets inline styles.
    "content-security-policy": "default-src 'self'; img-src 'self' data: blob:; "
    "style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; object-src 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_SAFE_METHODS = ("GET", "HEAD")
_HOST = re.compile(r"(\[[^\[\]]*\]|[^\[\]:]*)(:[0-9]*)?")  # name or [IPv6 address], port


def is_loopback(host: str) -> bool:
    """Return whether a host name is certainly this machine.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("example.org")
    (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class AccessControl:
    """ASGI middleware that rejects foreign requests and sets headers.

    The token is required in the query or as a bearer token in the header Authorization. ``hosts``
    are accepted host names other than loopback and the address the client connected to; ``cookie``
    is the name of the cookie that opens the page.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: Collection[str], cookie: str) -> None:
        self.app, self.token, self.cookie = app, token, cookie
        self.hosts = {host.lower() for host in hosts}
        self._page_key = secrets.token_urlsafe(24)  # value of the cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or reject one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        rejection = self._rejection(request)
        if rejection is not None:
            status, message = rejection
            await _error(status, message)(scope, receive, send)
            return
        has_cookie = self._has_cookie(request)
        is_started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal is_started
            if message["type"] == "http.response.start":
                is_started = True
                headers = [(k.encode(), v.encode()) for k, v in SECURITY_HEADERS.items()]
                if not has_cookie:
                    cookie = f"{self.cookie}={self._page_key}; Path=/; HttpOnly; SameSite=Strict"
                    headers.append((b"set-cookie", cookie.encode()))
                message["headers"] = [*message["headers"], *headers]
            await send(message)

        try:
            await self.app(scope, receive, send_with_headers)
        except asyncio.CancelledError:  # only the shutdown of the server cancels
            if is_started:
                raise
            await _error(503, "The explorer is shutting down.")(scope, receive, send)

    def _rejection(self, request: Request) -> tuple[int, str] | None:
        """Return status and message if the request is rejected."""
        if not self._is_authorized(request):
            return 401, "Token required. Open the address that was printed at the start."
        return _malformed(request) or self._foreign(request)

    def _foreign(self, request: Request) -> tuple[int, str] | None:
        """Return status and message for requests that do not come from the page."""
        host = request.headers.get("host", "")
        if not self._is_own_host(request, host):
            return (
                421,
                f"Host {host[:80]!r} is not this machine. Open the printed address.",
            )
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            return 403, f"Requests from {origin[:80]!r} are not allowed."
        site = request.headers.get("sec-fetch-site", "none")
        opens_page = request.scope["path"] == "/" and request.method in _SAFE_METHODS
        if site not in ("same-origin", "none") and not opens_page:
            return 403, "Requests from other sites are not allowed."
        return None

    def _is_authorized(self, request: Request) -> bool:
        """Return whether the request has the token, or the cookie for a file of the page."""
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        sent = request.query_params.get("token") or (bearer if scheme.lower() == "bearer" else "")
        if sent:
            return secrets.compare_digest(sent.encode(), self.token.encode())
        path = request.scope["path"]
        is_page = path == "/" or path.startswith("/static/")
        return is_page and self._has_cookie(request)

    def _has_cookie(self, request: Request) -> bool:
        return request.cookies.get(self.cookie) == self._page_key

    def _is_own_host(self, request: Request, host: str) -> bool:
        matched = _HOST.fullmatch(host)
        name = matched.group(1).strip("[]").lower() if matched else ""
        connected = (request.scope.get("server") or ("",))[0]
        return is_loopback(name) or name in {*self.hosts, connected}


def _error(status: int, message: str) -> JSONResponse:
    headers = SECURITY_HEADERS | ({"www-authenticate": "Bearer"} if status == 401 else {})
    return JSONResponse({"error": message}, status, headers=headers)


def _malformed(request: Request) -> tuple[int, str] | None:
    """Return status and message for requests that no client of the page sends."""
    raw = request.headers.raw
    size = len(request.scope["query_string"]) + sum(len(k) + len(v) for k, v in raw)
    if size > MAX_HEAD:
        return 431, f"The headers are larger than {MAX_HEAD:,} bytes."
    if {b"content-length", b"transfer-encoding"} <= {name for name, _ in raw}:
        return 400, "The request has both Content-Length and Transfer-Encoding. Send only one."
    if "\0" in request.scope["path"]:
        return 400, "The path contains a null byte."
    return None
