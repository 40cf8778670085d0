"""From a session and a state to what the page shows: the only door between web and mathematics."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from mercer.explorer.cache import Cache
from mercer.explorer.code import python_code
from mercer.explorer.dataset import Dataset, is_scaled
from mercer.explorer.fits import Fits
from mercer.explorer.listening import listening
from mercer.explorer.sessions import Limits, Session
from mercer.explorer.state import State
from mercer.explorer.views import VIEWS, rounded, summary
from mercer.explorer.weighing import refuse_bomb
from mercer.persistence import save
from mercer.tables import EMBEDDED, Modelling, Table, as_table
from mercer.tables.kinds import kind_of
from mercer.tables.reading import read_frame

__all__ = ["Engine", "NotThereError"]

_ROOM_FOR_DATA = 400_000_000  # bytes
_ROOM_FOR_FITS = 60_000_000  # enough to slide back over the last hundreds of steps
_MOST_ROWS = 500


class NotThereError(LookupError):
    """The session has no such data."""


class Engine:
    """Computes views; holds nothing but what it may forget.

    Parameters
    ----------
    limits : Limits
    given : Path or None
        The file named when the explorer was started: every session may look at it.
    folder : Path or None
        For files that live for a moment; None for the system's.
    given_options : mapping
        How the given file is read: ``encoding`` and ``missing`` of
        :func:`mercer.tables.read_table`.
    """

    def __init__(
        self,
        limits: Limits,
        given: Path | None = None,
        folder: Path | None = None,
        given_options: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.given_options = given_options
        self.limits, self.given, self.folder = limits, given, folder
        self._tables = Cache(_ROOM_FOR_DATA)
        self._fitted = Cache(_ROOM_FOR_FITS)

    # --- answers ------------------------------------------------------------------------------

    def views(self, session: Session, state: State, names: Sequence[str]) -> dict[str, Any]:
        """Numbers of the named views, and the summary."""
        with listening() as heard:
            fits = self._fits(session, state)
            shown = {name: VIEWS[name](fits) for name in names}
            said = summary(fits)
        said["notes"] += [text for text in heard if text not in said["notes"]]
        said["all_columns"] = self._columns(session, state)
        return {"summary": said, "views": shown, "query": state.query()}

    def rows(self, session: Session, state: State, rows: Sequence[int]) -> dict[str, Any]:
        """Cells of some rows, as they were read."""
        frame = self._frame(session, state.data)
        chosen = [row for row in rows if 0 <= row < len(frame)][:_MOST_ROWS]
        cells = frame.iloc[chosen].astype(object).where(frame.iloc[chosen].notna(), None)
        return {
            "columns": [str(name) for name in frame.columns],
            "rows": [
                [row, *map(_cell, line)]
                for row, line in zip(chosen, cells.to_numpy().tolist(), strict=True)
            ],
        }

    def code(self, session: Session, state: State) -> str:
        """The Python code of this view."""
        source = self.source(session, state.data)
        return python_code(self._fits(session, state), source, self._options(state.data))

    def scores(self, session: Session, state: State) -> str:
        """CSV with one line per analysed row: its number, class, cluster and scores."""
        import pandas as pd

        fits = self._fits(session, state)
        data, clustering = fits.data, fits.clustering
        scores = fits.selection.scores(data.data)
        labels = np.zeros(data.n, dtype=int)
        if clustering is not None:
            labels = clustering.predict(scores) if data.is_large else clustering.labels_
        frame = pd.DataFrame({"row": data.table.rows[data.rows]})
        if data.labels is not None:
            frame[str(data.table.label)] = data.labels
        frame["cluster"] = labels
        for column, place in zip(scores.T, fits.selection.places, strict=True):
            frame[f"component_{'' if place is None else place}"] = column
        return str(frame.to_csv(index=False))

    def model(self, session: Session, state: State) -> bytes:
        """A model file that takes raw rows: the clustering, or the components where those differ.

        The pipeline's first steps are fitted to the whole table, its last one to what was analysed.
        """
        fits = self._fits(session, state)
        data, clustering = fits.data, fits.clustering
        is_plain = clustering is not None and clustering.kernel != "linear"
        estimator = clustering if is_plain else fits.estimator
        how = Modelling(data.table, fits.kernel, data.scale and data.is_numeric)
        pipeline = how.pipeline(estimator)
        rows = data.table.frame
        for _, step in pipeline.steps[:-1]:
            rows = step.fit_transform(rows)
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            path = Path(folder, "view.mercer")
            save(pipeline, path)
            return path.read_bytes()

    def read(self, content: bytes, name: str) -> tuple[Any, dict[str, Any]]:
        """Read what was uploaded, and tell of it; raise ValueError, in words, if it is no table."""
        refuse_bomb(content, name, self.limits.expanded)
        stream = io.BytesIO(content)
        stream.name = name
        frame, notes = read_frame(stream)
        self._refuse_too_large(frame, name)
        as_table(frame, name=name)
        columns = [str(name) for name in frame.columns]
        return frame, {"rows": len(frame), "columns": columns, "notes": notes}

    def remember(self, data: str, frame: Any) -> None:
        """Keep a table that was read, so that its first view need not read it again."""
        self._tables.get((data, "frame"), lambda: _weighed(frame))

    def source(self, session: Session, data: str) -> str:
        """What a user would write for this data set in Python."""
        if data == "given" and self.given is not None:
            return str(self.given)
        upload = session.uploads.get(data)
        return data if upload is None else upload.name

    def _options(self, data: str) -> Mapping[str, Any]:
        """Return the options with which a data set is read."""
        return self.given_options if data == "given" else {}

    # --- data ---------------------------------------------------------------------------------

    def _fits(self, session: Session, state: State) -> Fits:
        return Fits(self._dataset(session, state), state, self._fitted)

    def _dataset(self, session: Session, state: State) -> Dataset:
        self._path(session, state.data)  # a session must not reach another's data by a cache's key
        scale = is_scaled(state)
        what = (state.label, state.ignore, state.categorical, scale, state.kernel == "gaussian")

        def make() -> tuple[Dataset, int]:
            table = self._table(session, state)
            data = Dataset.of(f"{state.data} {what}", table, scale, state.kernel)
            return data, data.nbytes

        return self._tables.get((state.data, "data", what), make)

    def _table(self, session: Session, state: State) -> Table:
        label = state.label or None
        if (
            state.data in EMBEDDED
            and state.label is None
            and "class" in self._frame(session, state.data)
        ):
            label = "class"
        frame = self._frame(session, state.data)
        ignore, hidden = list(state.ignore), label is None and state.data in EMBEDDED
        if hidden and "class" in frame and "class" not in ignore:
            ignore.append("class")  # without colours too, classes are not analysed
        return as_table(
            frame,
            name=self.source(session, state.data).rpartition("/")[2],
            label=label,
            ignore=ignore,
            categorical=[name for name in state.categorical if name not in ignore],
            missing=self._options(state.data).get("missing", "auto"),
        )

    def _frame(self, session: Session, data: str) -> Any:
        path = self._path(session, data)

        def make() -> tuple[Any, int]:
            if path is None:
                frame = _embedded_frame(data)
            else:
                encoding = self._options(data).get("encoding", "utf-8")
                frame, _ = read_frame(path, encoding=encoding)
                self._refuse_too_large(frame, self.source(session, data))
            return _weighed(frame)

        return self._tables.get((data, "frame"), make)

    def _path(self, session: Session, data: str) -> Path | None:
        """Where the data are: None for embedded sets."""
        if data in EMBEDDED:
            return None
        if data == "given" and self.given is not None:
            return self.given
        if data in session.uploads:
            return session.uploads[data].path
        raise NotThereError(
            f"There is no data set {data!r} in this session: uploads are forgotten when the "
            "explorer ends. Upload the file again, or choose an embedded set."
        )

    def _columns(self, session: Session, state: State) -> list[list[str]]:
        """All columns of the table as it was read, with their kinds."""
        frame = self._frame(session, state.data)

        def make() -> tuple[list[list[str]], int]:
            some = frame.iloc[:2000]
            return [[str(name), kind_of(some[name])] for name in frame.columns], 1000

        return self._tables.get((state.data, "columns"), make)

    def _refuse_too_large(self, frame: Any, name: str) -> None:
        n, d = frame.shape
        if n > self.limits.rows or d > self.limits.columns:
            raise ValueError(
                f"{name} has {n:,} rows and {d:,} columns; the explorer takes at most "
                f"{self.limits.rows:,} and {self.limits.columns:,}. Use a part of it here, and the "
                "library for all."
            )


def _weighed(frame: Any) -> tuple[Any, int]:
    return frame, int(frame.memory_usage(deep=True).sum())


def _embedded_frame(name: str) -> Any:
    import pandas as pd

    from mercer.tables.embedded import embedded_parts

    columns, classes = embedded_parts(name)
    frame = pd.DataFrame(columns)
    if classes is not None:
        frame["class"] = classes
    return frame


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | np.floating):
        return rounded(np.array([value]))[0] if np.isfinite(value) else None
    return str(value)
