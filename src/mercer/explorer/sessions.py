"""Sessions and their uploaded files.

A session sees its own uploads only. Uploads are stored in one temporary folder under generated
names, and the folder is removed when the explorer exits. A file name or path sent by a client is
never opened.
"""

from __future__ import annotations

import secrets
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

__all__ = ["Limits", "Session", "Sessions", "Upload", "check_shape"]


@dataclass(frozen=True)
class Limits:
    """Limits of the explorer.

    Attributes
    ----------
    upload : int
        Bytes of one uploaded file.
    memory : int
        Bytes of memory to read one uploaded file, and bytes of its table in memory.
    read_timeout : float
        Seconds to read one uploaded file.
    all_uploads : int
        Bytes of the stored files of all sessions.
    concurrent_uploads : int
        Uploads that are received or read at the same time.
    uploads : int
        Files per session. The oldest file is removed when there are more.
    rows, columns : int
        Size of a table.
    sessions : int
        Number of sessions. The session that was idle for longest is removed when there are more.
    idle : float
        Seconds after which an idle session is removed.
    head : int
        Bytes of the request line and the headers, with 32 bytes more for each header.
    body_timeout : float
        Seconds to receive a request body.
    """

    upload: int = 100_000_000
    memory: int = 1_000_000_000
    read_timeout: float = 120.0
    all_uploads: int = 2_000_000_000
    concurrent_uploads: int = 4
    uploads: int = 5
    rows: int = 2_000_000
    columns: int = 2000
    sessions: int = 200
    idle: float = 4 * 3600.0
    head: int = 65_536
    body_timeout: float = 120.0


def check_shape(frame: Any, name: str, limits: Limits) -> None:
    """Raise ValueError if a table has too many rows or columns."""
    n, d = frame.shape
    if n > limits.rows or d > limits.columns:
        raise ValueError(
            f"{name} has {n:,} rows and {d:,} columns. The explorer accepts at most "
            f"{limits.rows:,} rows and {limits.columns:,} columns. Use a smaller table, or the "
            "library."
        )


@dataclass(frozen=True)
class Upload:
    """An uploaded file."""

    key: str
    name: str
    path: Path
    size: int


@dataclass
class Session:
    """One browser; its tabs share a cookie."""

    key: str
    uploads: dict[str, Upload] = field(default_factory=dict)
    last_used: float = field(default_factory=time.monotonic)


class Sessions:
    """All sessions and the folder with their files.

    Parameters
    ----------
    limits : Limits

    Examples
    --------
    >>> sessions = Sessions(Limits())
    >>> session = sessions.find(None)
    >>> sessions.find(session.key) is session, sessions.find("unknown key") is session
    (True, False)
    >>> path = sessions.write(b"a,b")
    >>> sessions.store(session, "../etc/my table.csv", path).name
    'my table.csv'
    >>> sessions.close(); path.exists()
    False
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._temporary = tempfile.TemporaryDirectory(prefix="mercer-explore-")
        self.folder = Path(self._temporary.name)
        self._sessions: dict[str, Session] = {}

    def find(self, key: str | None) -> Session:
        """Return the session of a cookie, or a new session."""
        oldest = time.monotonic() - self.limits.idle
        self._remove([one for one in self._sessions.values() if one.last_used < oldest])
        session = self._sessions.get(key or "") or Session(secrets.token_urlsafe(24))
        self._touch(session)
        return session

    def has(self, key: str | None) -> bool:
        """Return whether a cookie belongs to a session."""
        return key in self._sessions

    def write(self, content: bytes) -> Path:
        """Write the content of an upload to a new file of the folder.

        Raises
        ------
        ValueError
            If the limit of all uploads is exceeded or the file cannot be written.
        """
        stored = sum(u.size for s in self._sessions.values() for u in s.uploads.values())
        if stored + len(content) > self.limits.all_uploads:
            raise ValueError(
                f"The uploads of all sessions take {stored / 1e6:,.0f} MB of the limit of "
                f"{self.limits.all_uploads / 1e6:,.0f} MB. Try again later."
            )
        path = self.folder / f"upload-{secrets.token_hex(8)}"
        try:
            path.write_bytes(content)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise ValueError(f"The upload cannot be stored: {error.strerror}.") from error
        return path

    def store(self, session: Session, name: str, path: Path) -> Upload:
        """Add a file of the folder to a session."""
        self._touch(session)  # it may have been removed during the upload
        upload = Upload(path.name, _base_name(name), path, path.stat().st_size)
        session.uploads[upload.key] = upload
        while len(session.uploads) > self.limits.uploads:
            self.drop(session, next(iter(session.uploads)))
        return upload

    def drop(self, session: Session, key: str) -> None:
        """Remove an upload and its file."""
        session.uploads.pop(key).path.unlink(missing_ok=True)

    def close(self) -> None:
        """Remove all sessions and files."""
        self._sessions.clear()
        self._temporary.cleanup()

    def _touch(self, session: Session) -> None:
        """Mark a session as used; remove others if there are too many."""
        session.last_used = time.monotonic()
        self._sessions[session.key] = session
        excess = len(self._sessions) - self.limits.sessions
        if excess > 0:
            # Sessions without uploads go first: scripts send requests without a cookie.
            others = [other for other in self._sessions.values() if other is not session]
            others.sort(key=lambda other: (bool(other.uploads), other.last_used))
            self._remove(others[:excess])

    def _remove(self, sessions: list[Session]) -> None:
        for session in sessions:
            for key in list(session.uploads):
                self.drop(session, key)
            del self._sessions[session.key]


def _base_name(name: str) -> str:
    """Return the last part of a POSIX or Windows path, without control characters."""
    last = PurePosixPath(PureWindowsPath(name).name).name
    return "".join(c for c in last if c.isprintable())[:80] or "table"
