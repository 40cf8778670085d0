"""Compute the views and exports; the only connection between web and mathematics."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mercer.errors import capture_warnings
from mercer.explorer.dataset import Dataset, is_scaled
from mercer.explorer.export_code import python_code
from mercer.explorer.models import Cache, Models
from mercer.explorer.state import State
from mercer.explorer.uploads import Limits, Upload, Uploads, check_shape, read_upload
from mercer.explorer.views import VIEWS, rounded, summary
from mercer.persistence import save
from mercer.tables import EMBEDDED, Preparation, Table, as_table, read_rows
from mercer.tables.columns import find_column_types
from mercer.tables.readers import read_frame
from mercer.tables.text_files import to_csv
from mercer.utils.formatting import shorten

__all__ = ["DataNotFoundError", "Service"]


class DataNotFoundError(LookupError):
    """There is no data set of this name."""


class Service:
    """Views and exports. The only state are the uploaded files and a cache.

    ``given`` is the file named when the explorer was started, and ``encoding`` its encoding.
    """

    def __init__(self, limits: Limits, given: Path | None = None, encoding: str = "utf-8") -> None:
        self.limits, self.given, self.encoding = limits, given, encoding
        self.uploads = Uploads()
        self._tables = Cache(400_000_000)
        self._models = Cache(60_000_000)  # the last hundreds of slider steps

    # --- responses ----------------------------------------------------------------------------

    def views(self, state: State, names: Sequence[str]) -> dict[str, Any]:
        """Return the summary and the named views."""
        with capture_warnings() as messages:
            models = self._fit(state)
            views = {name: VIEWS[name](models) for name in names}
            facts = summary(models)
        facts["notes"] += [text for text in messages if text not in facts["notes"]]
        facts["all_columns"] = self._columns(state)
        return {"summary": facts, "views": views, "query": state.query()}

    def rows(self, state: State, rows: Sequence[int]) -> dict[str, Any]:
        """Return the cells of at most 500 rows as they were read; long texts are cut."""
        frame = self._frame(state.data)
        valid = [row for row in rows if 0 <= row < len(frame)][:500]
        cells = frame.iloc[valid].astype(object).where(frame.iloc[valid].notna(), None)
        return {
            "columns": [str(name) for name in frame.columns],
            "rows": [
                [row, *map(_cell, line)]
                for row, line in zip(valid, cells.to_numpy().tolist(), strict=True)
            ],
        }

    def code(self, state: State) -> str:
        """Return the Python code of a view."""
        encoding = self.encoding if state.data == "given" else "utf-8"
        source = self.source(state.data)
        return python_code(self._fit(state), source, encoding)

    def scores(self, state: State) -> str:
        """Return CSV with the index, class, cluster and scores of each analyzed row."""
        import pandas as pd

        models = self._fit(state)
        data, clustering = models.data, models.clustering
        scores = models.components.scores(data.data)
        labels = np.zeros(data.n, dtype=int)
        if clustering is not None:
            labels = clustering.labels_
            if data.is_large:  # fitted to the shown rows, or to their scores
                labels = clustering.predict(data.data if state.method == "spectral" else scores)
        frame = pd.DataFrame({"row": data.table.rows[data.rows]})
        if data.labels is not None:
            frame[str(data.table.label)] = data.labels
        frame["cluster"] = labels
        for column, rank in zip(scores.T, models.components.ranks, strict=True):
            frame[f"component_{'' if rank is None else rank}"] = column
        return to_csv(frame)

    def model(self, state: State) -> bytes:
        """Return a model file that takes raw rows.

        The model is the clustering or, if the clustering was fitted to the scores, the components.
        The first steps of the pipeline are fitted to the whole table, the last step to the
        analyzed rows.
        """
        models = self._fit(state)
        data, clustering = models.data, models.clustering
        has_clustering = clustering is not None and clustering.kernel != "linear"
        estimator = clustering if has_clustering else models.estimator
        preparation = Preparation(data.table, models.kernel, data.scale and data.is_numeric)
        pipeline = preparation.pipeline(estimator)
        rows = data.table.frame
        for _, step in pipeline.steps[:-1]:
            rows = step.fit_transform(rows)
        with tempfile.TemporaryDirectory(dir=self.uploads.folder) as folder:
            path = Path(folder, "view.mercer")
            save(pipeline, path)
            return path.read_bytes()

    def upload(self, name: str, content: bytes) -> dict[str, Any]:
        """Store a file, read its table and return a description of it.

        Files that are not tables, or are too large, raise ValueError or MemoryError, and are not
        stored.
        """
        upload = self.uploads.add(name, content)
        try:
            frame, notes = read_upload(upload.path, name, self.limits)
            as_table(frame, name=name)
        except BaseException:
            self.uploads.remove(upload)
            raise
        self._tables.get((upload.key, "frame", None), lambda: _with_size(frame))
        columns = [str(column) for column in frame.columns]
        return {
            "data": upload.key,
            "name": upload.name,
            "rows": len(frame),
            "columns": columns,
            "notes": notes,
        }

    def list_uploads(self) -> list[Upload]:
        """Return the stored files, the oldest first."""
        return list(self.uploads.files.values())

    def close(self) -> None:
        """Remove all files."""
        self.uploads.close()

    def source(self, data: str) -> str:
        """Return the name of a data set as a user would write it in Python."""
        if data == "given" and self.given is not None:
            return str(self.given)
        upload = self.uploads.files.get(data)
        return data if upload is None else upload.name

    # --- data ---------------------------------------------------------------------------------

    def _fit(self, state: State) -> Models:
        return Models(self._dataset(state), state, self._models)

    def _dataset(self, state: State) -> Dataset:
        self._path(state.data)  # removed files may still be in the cache
        scale = is_scaled(state)
        columns = (state.label, state.ignore, state.categorical)
        options = (*columns, state.missing, scale, state.kernel == "gaussian")

        def compute() -> tuple[Dataset, int]:
            table = self._table(state)
            data = Dataset.from_table(f"{state.data} {options}", table, scale, state.kernel)
            return data, data.nbytes

        return self._tables.get((state.data, "data", options), compute)

    def _table(self, state: State) -> Table:
        frame = self._frame(state.data, state.label or None, state.categorical)
        label, ignore = state.label or None, list(state.ignore)
        if state.data in EMBEDDED and "class" in frame:
            if state.label is None:
                label = "class"
            elif label is None and "class" not in ignore:
                ignore.append("class")  # never analyzed, even if it does not set the colors
        return as_table(
            frame,
            name=self.source(state.data).rpartition("/")[2],
            label=label,
            ignore=ignore,
            categorical=[name for name in state.categorical if name not in ignore],
            missing=state.missing,  # type: ignore[arg-type] # one of the choices
        )

    def _frame(
        self,
        data: str,
        label: str | None = None,
        categorical: Sequence[str] = (),
    ) -> Any:
        """Return the data frame; the cells of labels and categories in text files stay strings."""
        path = self._path(data)

        def compute() -> tuple[Any, int]:
            if path is None:
                return _with_size(read_rows(data).frame)
            name = self.source(data)
            if data == "given":
                frame, _ = read_frame(
                    path, encoding=self.encoding, label=label, categorical=categorical
                )
                check_shape(frame, name, self.limits)
            else:
                frame, _ = read_upload(path, name, self.limits, label, categorical)
            return _with_size(frame)

        key = (data, "frame", label, *sorted(categorical))
        return self._tables.get((data, "frame", None) if path is None else key, compute)

    def _path(self, data: str) -> Path | None:
        """Return the file of a data set; None for embedded data sets."""
        if data in EMBEDDED:
            return None
        if data == "given" and self.given is not None:
            return self.given
        upload = self.uploads.files.get(data)
        if upload is not None:
            return upload.path
        raise DataNotFoundError(
            f"There is no data set {data!r}. Uploads are removed when the explorer exits: "
            "upload the file again, or choose an embedded data set."
        )

    def _columns(self, state: State) -> list[list[str]]:
        """Return the names and kinds of all columns that were read."""
        frame = self._frame(state.data)

        def compute() -> tuple[list[list[str]], int]:
            types = find_column_types(frame.iloc[:2000])
            return [[name, kind] for name, kind in types.items()], 1000

        return self._tables.get((state.data, "columns"), compute)


def _with_size(frame: Any) -> tuple[Any, int]:
    return frame, int(frame.memory_usage(deep=True).sum())


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float | np.floating):
        return rounded(np.array([value]))[0]
    text = str(value)
    return shorten(text, 1000)
