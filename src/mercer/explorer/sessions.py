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

__all__ = ["Limits", "Session", "Sessions", "Upload"]


@dataclass(frozen=True)
class Limits:
    """Limits of the explorer.

    Attributes
    ----------
    upload : int
        Bytes of one uploaded file.
    expanded : int
        Bytes of one uploaded file after decompression.
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
    expanded: int = 1_000_000_000
    all_uploads: int = 2_000_000_000
    concurrent_uploads: int = 4
    uploads: int = 5
    rows: int = 2_000_000
    columns: int = 2000
    sessions: int = 200
    idle: float = 4 * 3600.0
    head: int = 65_536
    body_timeout: float = 120.0


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
    >>> upload = sessions.store(session, "../etc/my table.csv", b"a,b")
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
        """Return the session of a cookie, or a new session."""
        oldest = time.monotonic() - self.limits.idle
        self._remove([one for one in self._sessions.values() if one.last_used < oldest])
        session = self._sessions.get(key or "") or Session(secrets.token_urlsafe(24))
        self._touch(session)
        return session

    def store(self, session: Session, name: str, content: bytes) -> Upload:
        """Store an uploaded file.

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
        key = f"upload-{secrets.token_hex(8)}"
        path = self.folder / key
        try:
            path.write_bytes(content)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise ValueError(f"The upload cannot be stored: {error.strerror}.") from error
        self._touch(session)  # it may have been removed during the upload
        upload = Upload(key, _base_name(name), path, len(content))
        session.uploads[key] = upload
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
