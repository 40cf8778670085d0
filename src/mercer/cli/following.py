"""Follow a growing text file and print the alarms of its new rows, in constant memory."""

from __future__ import annotations

import io
import time as clock
from pathlib import Path
from typing import Any, BinaryIO

from mercer.cli.console import Messages, UsageError

__all__ = ["follow_file"]

_FIRST_LINES = 20  # of the file, from which its format is recognized


def follow_file(
    monitor: Any,
    path: Path,
    ignore: tuple[str, ...],
    *,
    interval: float,
    idle: float | None,
    messages: Messages,
) -> int:
    """Print the first row of each episode of alarms, and its end, until the file stays unchanged.

    The file is read every ``interval`` seconds, complete lines only, and until there are no new
    ones for ``idle`` seconds.
    """
    if path.suffix.lower() not in (".csv", ".tsv", ".txt"):
        raise UsageError(f"--follow reads CSV and TSV files, not {path}.")
    alarms = _Alarms(monitor, ignore, messages)
    changed = clock.monotonic()
    messages.print(f"following {path}")
    with path.open("rb") as file:
        while True:
            lines = _complete_lines(file)
            if lines:
                alarms.update(lines)
                changed = clock.monotonic()
            elif idle is not None and clock.monotonic() - changed > idle:
                break
            else:
                _check_size(file, path)
                clock.sleep(interval)
    print(f"{alarms.n_alarms} of {alarms.n_rows} rows with an alarm", flush=True)
    return 0


def _complete_lines(file: BinaryIO) -> bytes:
    """Return complete lines from the current position; b"" if there are none."""
    begin = file.tell()
    most = 2**22  # bytes read at once
    content = file.read(most)
    end = content.rfind(b"\n") + 1
    if end == 0 and len(content) == most:
        raise ValueError(f"A line is longer than {most} bytes. Check the format of the file.")
    file.seek(begin + end)
    return content[:end]


def _check_size(file: BinaryIO, path: Path) -> None:
    if path.stat().st_size < file.tell():
        raise ValueError(f"{path} became shorter. Start again to read the new file.")


class _Alarms:
    """Parse lines, monitor them and print alarms.

    Each batch is parsed together with the first lines of the file, so that header, separator and
    decimal commas are recognized in the same way every time.
    """

    def __init__(self, monitor: Any, ignore: tuple[str, ...], messages: Messages) -> None:
        self._monitor = monitor
        self._stream = monitor.stream()
        self._ignore = list(ignore)
        self._messages = messages
        self._notes: set[str] = set()
        self._first = b""  # lines of the file
        self._n_first = 0  # rows among them that were monitored
        self._recent: Any = None  # rows for the lags of contributions
        self._in_alarm = False
        self.n_rows = self.n_alarms = 0

    def _parse(self, lines: bytes) -> Any:
        """Return the new rows of complete lines; None if there are none yet."""
        from mercer.tables.readers import read_frame

        content = self._first + lines
        known = content.splitlines(keepends=True)
        if sum(bool(line.strip()) for line in known[: _FIRST_LINES + 1]) < 2:
            self._first = content  # perhaps a header only
            return None
        rows, notes = read_frame(io.BytesIO(content))
        for note in notes:
            if note not in self._notes:
                self._messages.print(f"  note: {note}")
        self._notes.update(notes)
        new = rows.iloc[self._n_first :].reset_index(drop=True)
        if len(known) <= _FIRST_LINES:
            self._first, self._n_first = content, len(rows)
        elif self._first.count(b"\n") < _FIRST_LINES:
            self._first = b"".join(known[:_FIRST_LINES])
            self._n_first = len(read_frame(io.BytesIO(self._first))[0])
        return new

    def update(self, lines: bytes) -> None:
        """Monitor the rows of complete lines."""
        import pandas as pd

        rows = self._parse(lines)
        if rows is None or not len(rows):
            return
        rows = rows.drop(columns=self._ignore, errors="ignore")
        frame = self._stream.update(rows)
        recent = rows if self._recent is None else pd.concat([self._recent, rows])
        for i, (when, alarm) in enumerate(zip(frame.index, frame["alarm"], strict=True)):
            label = when if self._monitor.time is not None else self.n_rows + i
            if alarm and not self._in_alarm:
                self._print_alarm(label, recent.iloc[: len(recent) - len(rows) + i + 1], frame, i)
            elif self._in_alarm and not alarm:
                print(f"{label}  end of the alarm", flush=True)
            self._in_alarm = bool(alarm)
        self.n_rows += len(rows)
        self.n_alarms += int(frame["alarm"].sum())
        self._recent = recent.iloc[-(self._monitor.n_lags_ + 1) :]

    def _print_alarm(self, label: Any, recent: Any, frame: Any, i: int) -> None:
        last = recent.iloc[-(self._monitor.n_lags_ + 1) :]
        found = self._monitor.contributions(last).iloc[-1].sort_values(ascending=False)
        leading = ", ".join(str(name) for name in found.index[:3])
        value = frame[self._monitor.chart].iloc[i]
        print(f"{label}  alarm  {self._monitor.chart} {value:.3g}  {leading}", flush=True)
