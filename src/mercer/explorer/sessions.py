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
    arriving : int
        Bytes of all uploads that are on their way or being read, which memory holds.
    uploads : int
        Files per session; the oldest goes when there are more.
    rows, columns : int
        Of a table.
    sessions : int
        At a time; the idlest goes when there are more.
    idle : float
        Seconds after which a session is forgotten.
    head : int
        Bytes of a request without its body; each header counts 32 more than it has.
    patience : float
        Seconds that a client may take to send a request's head, to go on with its body, and to
        go on reading an answer.
    slowest : float
        Bytes per second that a body has to come with, but for ``patience`` seconds.
    connections : int
        At a time; the one that asks for nothing for longest goes when there are more.
    """

    upload: int = 100_000_000
    expanded: int = 1_000_000_000
    all_uploads: int = 2_000_000_000
    arriving: int = 400_000_000
    uploads: int = 5
    rows: int = 2_000_000
    columns: int = 2000
    sessions: int = 200
    idle: float = 4 * 3600.0
    head: int = 65_536
    patience: float = 20.0
    slowest: float = 10_000.0
    connections: int = 200  # well below the 256 files that some systems let a process open


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
        since = time.monotonic() - self.limits.idle
        self._forget([session for session in self._sessions.values() if session.seen < since])
        session = self._sessions.get(key or "") or Session(secrets.token_urlsafe(24))
        self._see(session)
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
        try:
            path.write_bytes(content)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise ValueError(f"The upload cannot be kept: {error.strerror}.") from error
        self._see(session)  # it may have been forgotten while the file arrived
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

    def _see(self, session: Session) -> None:
        """Take note that a session is in use; where there are too many, forget others."""
        session.seen = time.monotonic()
        self._sessions[session.key] = session
        too_many = len(self._sessions) - self.limits.sessions
        if too_many > 0:
            # those who hold nothing go first: requests without a cookie come from scripts
            others = [other for other in self._sessions.values() if other is not session]
            others.sort(key=lambda other: (bool(other.uploads), other.seen))
            self._forget(others[:too_many])

    def _forget(self, sessions: list[Session]) -> None:
        for session in sessions:
            for key in list(session.uploads):
                self.drop(session, key)
            del self._sessions[session.key]


def _plain_name(name: str) -> str:
    """The last part of a path, whatever system it is from, without control characters."""
    last = PurePosixPath(PureWindowsPath(name).name).name
    return "".join(c for c in last if c.isprintable())[:80] or "table"
