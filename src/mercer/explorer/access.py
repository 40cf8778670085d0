"""Access control: which requests are answered, sessions and security headers.

The explorer listens on the loopback interface, but any page in the user's browser can send requests
there. A request is rejected if its Host is not this machine (DNS rebinding), if its Origin is
another site, or if the browser reports that it comes from another site. If the explorer listens on
another interface, a token is required.
"""

from __future__ import annotations

import secrets
from ipaddress import ip_address
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse

from mercer.explorer.sessions import Sessions

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["SECURITY_HEADERS", "AccessControl", "is_loopback"]

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
_HEADER_OVERHEAD = 32  # bytes per header, as in HTTP/2


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
    """ASGI middleware that rejects foreign requests, finds the session and sets headers.

    Parameters
    ----------
    app : ASGI application
    sessions : Sessions
    token : str or None
        Required if it is not None: in the query once, then in a cookie. Without a token only
        requests with a loopback Host are answered.
    cookie : str
        Name of the session cookie.
    max_head : int
        Bytes of the query and the headers.
    """

    def __init__(
        self, app: ASGIApp, sessions: Sessions, token: str | None, cookie: str, max_head: int
    ) -> None:
        self.app, self.sessions, self.token, self.cookie = app, sessions, token, cookie
        self.max_head = max_head

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or reject one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        rejection = self._rejection(request)
        if rejection is not None:
            status, message = rejection
            response = JSONResponse({"error": message}, status, headers=SECURITY_HEADERS)
            await response(scope, receive, send)
            return
        sent_key = request.cookies.get(self.cookie)
        session = self.sessions.find(sent_key)
        scope["mercer.session"] = session

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [(k.encode(), v.encode()) for k, v in SECURITY_HEADERS.items()]
                if session.key != sent_key:
                    headers.append(_set_cookie(self.cookie, session.key))
                if self.token is not None and self.token == request.query_params.get("token"):
                    headers.append(_set_cookie(f"{self.cookie}-token", self.token))
                message["headers"] = [*message["headers"], *headers]
            await send(message)

        await self.app(scope, receive, send_with_headers)

    def _rejection(self, request: Request) -> tuple[int, str] | None:
        """Return status and message if the request is rejected."""
        raw = request.headers.raw
        size = len(request.url.query) + sum(len(k) + len(v) + _HEADER_OVERHEAD for k, v in raw)
        if size > self.max_head:
            return 431, f"The headers are larger than {self.max_head:,} bytes."
        if {b"content-length", b"transfer-encoding"} <= {name for name, _ in raw}:
            return 400, "The request has both Content-Length and Transfer-Encoding. Send only one."
        if "\0" in request.scope["path"]:
            return 400, "The path contains a null byte."
        host = request.headers.get("host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if self.token is None and not is_loopback(name):
            return 421, f"Host {name[:80]!r} is not this machine."
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            return 403, f"Requests from {origin[:80]!r} are not allowed."
        site = request.headers.get("sec-fetch-site", "none")
        opens_page = request.url.path == "/" and request.method in _SAFE_METHODS
        if site not in ("same-origin", "none") and not opens_page:
            return 403, "Requests from other sites are not allowed."
        if self.token is not None and not self._has_token(request):
            return 401, "Token required. Open the address that was printed at the start."
        return None

    def _has_token(self, request: Request) -> bool:
        assert self.token is not None
        sent = request.query_params.get("token") or request.cookies.get(f"{self.cookie}-token", "")
        return secrets.compare_digest(sent.encode(), self.token.encode())


def _set_cookie(name: str, value: str) -> tuple[bytes, bytes]:
    return b"set-cookie", f"{name}={value}; Path=/; HttpOnly; SameSite=Strict".encode()
