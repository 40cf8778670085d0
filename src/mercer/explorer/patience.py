"""How long the explorer waits for a client, and for how many of them.

uvicorn answers requests as they come; it waits without end for one that comes byte by byte, and for
a client that does not read its answer. Here each connection looks at itself now and then: where it
has been waiting for the same thing of its client for too long, it closes.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from mercer.explorer.sessions import Limits

if TYPE_CHECKING:
    import asyncio

    from starlette.types import Receive, Scope, Send

__all__ = ["patient"]

_LOOKS = 4  # at a connection, while its client may be waited for
_LAST_WORDS = 1.0  # seconds for answers that are under way when the explorer ends
_KEEP_ALIVE = 5.0  # seconds between requests
_UNSENT = (h11.IDLE, h11.SEND_RESPONSE)  # states in which an answer can still begin


def patient(limits: Limits) -> dict[str, Any]:
    """Return the settings of uvicorn that hold clients to the limits.

    Examples
    --------
    >>> settings = patient(Limits(connections=10))
    >>> settings["http"].limits.connections
    10
    """

    class Limited(_Patient):
        pass

    Limited.limits = limits
    return {
        "http": Limited,
        "ws": "none",
        "h11_max_incomplete_event_size": limits.head,
        "timeout_keep_alive": min(_KEEP_ALIVE, limits.patience),
    }


class _Patient(H11Protocol):
    """A connection that does not wait for ever."""

    limits: Limits

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._answered = self._resumed = self._looks = 0
        self._has_ended = False
        self._awaited, self._since = self._awaits(), self.loop.time()
        self._timer = self.loop.call_later(self.limits.patience / _LOOKS, self._look)
        if len(self.connections) > self.limits.connections:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    # --- waiting ------------------------------------------------------------------------------

    def _awaits(self) -> tuple[str | int, ...] | None:
        """What the client has to do next, and how far it is; None where it is our turn.

        Bodies are awaited by those who read them.
        """
        unread = self.transport.get_write_buffer_size()
        if unread:
            return "read", unread, self._resumed
        if self.cycle is None or self.cycle.response_complete:
            return "ask", self._answered
        return None

    def _look(self) -> None:
        awaited = self._awaits()
        if awaited is None or awaited != self._awaited:
            self._awaited, self._since, self._looks = awaited, self.loop.time(), 0
        else:  # looks are counted, and not seconds: the loop itself may have been held up
            self._looks += 1
            if self._looks >= _LOOKS:
                self._give_up()
        self._timer = self.loop.call_later(self.limits.patience / _LOOKS, self._look)

    def _give_up(self) -> None:
        has_begun = bool(self.conn.trailing_data[0])
        if self._asks_nothing() and has_begun and self._can_answer():
            self._say(408, f"The request took longer than {self.limits.patience:g} s to arrive.")
        else:
            self.transport.abort()

    def resume_writing(self) -> None:
        """Take note that the client reads."""
        self._resumed += 1
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Take note that the next thing to wait for is another request, if any can come."""
        self._answered += 1
        super().on_response_complete()  # which begins with a request that is there already
        if self._has_ended and self.cycle.response_complete:
            self.transport.close()

    # --- room ---------------------------------------------------------------------------------

    def _make_room(self) -> None:
        """Close the connection that has been asking for nothing for longest, or refuse this one."""
        silent = [
            other
            for other in self.connections
            if isinstance(other, _Patient) and other is not self and other._asks_nothing()
        ]
        if silent:
            oldest = min(silent, key=lambda other: other._since)
            self.connections.discard(oldest)  # at once: it is lost a moment later
            oldest.transport.abort()
        else:
            self.app = _refuse

    def _asks_nothing(self) -> bool:
        awaited = self._awaits()
        return awaited is not None and awaited[0] == "ask"

    # --- ends ---------------------------------------------------------------------------------

    def eof_received(self) -> bool:  # type: ignore[override]
        """Let a client that has asked, and will ask no more, have its answer."""
        is_answering = self.cycle is not None and not self.cycle.response_complete
        self._has_ended = is_answering and not self.cycle.more_body
        return self._has_ended

    def shutdown(self) -> None:
        """End: at once where the client still asks, soon where it is being answered."""
        if self._asks_nothing() or self.cycle.more_body:
            self.transport.abort()
            return
        self.cycle.keep_alive = False
        if self.cycle.response_complete:
            self.transport.close()  # when it has been read
        self.loop.call_later(_LAST_WORDS, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP; where an answer is under way, there is no room for another."""
        if self._can_answer():
            self._say(400, msg)
        else:
            self.transport.abort()
        if self.cycle is not None:  # whoever is answering may stop
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def _can_answer(self) -> bool:
        return self.conn.our_state in _UNSENT and not self.transport.is_closing()

    def _say(self, status: int, words: str) -> None:
        body, headers = _words(words)
        reason = HTTPStatus(status).phrase.encode()
        events = (
            h11.Response(status_code=status, headers=headers, reason=reason),
            h11.Data(data=body),
            h11.EndOfMessage(),
        )
        self.transport.write(b"".join(self.conn.send(event) or b"" for event in events))
        self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: a request to speak another protocol may be answered in this one."""


def _words(words: str) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    body = json.dumps({"error": words}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    return body, headers


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a connection for which there is no room."""
    body, headers = _words("The explorer has too many connections; try again in a moment.")
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})
