"""Who has uploaded what. A session sees its own uploads only; idle ones are forgotten.

Uploads are files in one temporary folder, under names made here; the folder goes when the explorer
ends. No name or path from a client is ever opened.
"""

from __future__ import annotations

import secrets
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath

__all__ = ["Limits", "Session", "Sessions", "Upload"]


@dataclass(frozen=True)
class Limits:
    """What the explorer accepts.

    Attributes
    ----------
    upload : int
        Bytes of one file.
    expanded : int
        Bytes that a file may become when it is read.
    all_uploads : int
        Bytes of all files of all sessions.
    uploads : int
        Files per session; the oldest goes when there are more.
    rows, columns : int
        Of a table.
    sessions : int
        At a time; the idlest goes when there are more.
    idle : float
        Seconds after which a session is forgotten.
    """

    upload: int = 100_000_000
    expanded: int = 1_000_000_000
    all_uploads: int = 2_000_000_000
    uploads: int = 5
    rows: int = 2_000_000
    columns: int = 2000
    sessions: int = 200
    idle: float = 4 * 3600.0


@dataclass(frozen=True)
class Upload:
    """A file that a session has uploaded."""

    key: str
    name: str
    path: Path
    size: int


@dataclass
class Session:
    """One browser (its tabs share a cookie)."""

    key: str
    uploads: dict[str, Upload] = field(default_factory=dict)
    seen: float = field(default_factory=time.monotonic)


class Sessions:
    """All sessions, and the folder of their files.

    Parameters
    ----------
    limits : Limits

    Examples
    --------
    >>> sessions = Sessions(Limits())
    >>> session = sessions.find(None)
    >>> sessions.find(session.key) is session, sessions.find("somebody else") is session
    (True, False)
    >>> upload = sessions.keep(session, "../etc/my table.csv", b"a,b")
    >>> upload.name, upload.path.parent == sessions.folder
    ('my table.csv', True)
    >>> sessions.close(); upload.path.exists()
    False
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._temporary = tempfile.TemporaryDirectory(prefix="mercer-explore-")
        self.folder = Path(self._temporary.name)
        self._sessions: dict[str, Session] = {}

    def find(self, key: str | None) -> Session:
        """Return the session of a cookie; a new one where there is none."""
        now = time.monotonic()
        self._forget_idle(now)
        session = self._sessions.get(key or "")
        if session is None:
            session = Session(secrets.token_urlsafe(24))
            self._sessions[session.key] = session
        session.seen = now
        return session

    def keep(self, session: Session, name: str, content: bytes) -> Upload:
        """Keep an uploaded file."""
        held = sum(u.size for s in self._sessions.values() for u in s.uploads.values())
        if held + len(content) > self.limits.all_uploads:
            raise ValueError(
                f"The explorer holds {held / 1e6:,.0f} MB of uploads; its limit is "
                f"{self.limits.all_uploads / 1e6:,.0f} MB. Try again later."
            )
        key = f"upload-{secrets.token_hex(8)}"
        path = self.folder / key
        path.write_bytes(content)
        upload = Upload(key, _plain_name(name), path, len(content))
        session.uploads[key] = upload
        while len(session.uploads) > self.limits.uploads:
            self.drop(session, next(iter(session.uploads)))
        return upload

    def drop(self, session: Session, key: str) -> None:
        """Remove an upload and its file."""
        session.uploads.pop(key).path.unlink(missing_ok=True)

    def close(self) -> None:
        """Remove everything."""
        self._sessions.clear()
        self._temporary.cleanup()

    def _forget_idle(self, now: float) -> None:
        by_age = sorted(self._sessions.values(), key=lambda session: session.seen)
        too_many = len(by_age) - self.limits.sessions
        for place, session in enumerate(by_age):
            if place <= too_many or now - session.seen > self.limits.idle:
                for key in list(session.uploads):
                    self.drop(session, key)
                del self._sessions[session.key]


def _plain_name(name: str) -> str:
    """The last part of a path, whatever system it is from, without control characters."""
    last = PurePosixPath(PureWindowsPath(name).name).name
    return "".join(c for c in last if c.isprintable())[:80] or "table"
