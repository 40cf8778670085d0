"""``mercer discriminate``: functions that tell classes apart, and predictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from mercer.cli.failing import UsageError
from mercer.cli.options import Data, Fitting, Output, Reading
from mercer.cli.telling import percent
from mercer.cli.working import Task, chosen_table, perform

if TYPE_CHECKING:
    from mercer.kernels import Kernel
    from mercer.tables import Rows, Table

__all__ = ["discriminate"]


@dataclass(frozen=True)
class Discriminating(Task):
    """Columns discriminant1, …, predicted, and p_CLASS for every class."""

    command: ClassVar[str] = "discriminate"

    def table(self, rows: Rows, reading: Reading) -> Table:
        """Rows that have a class."""
        if rows.label is None:
            raise UsageError("discriminate learns classes: name their column with --label.")
        if rows.label not in rows.frame:
            return chosen_table(rows, reading)  # says so
        labelled = rows.frame[rows.frame[rows.label].notna()]
        return chosen_table(replace(rows, frame=labelled), reading)

    def estimator(self, kernel: Kernel, solver: str, verbose: bool) -> Any:
        """Kernel LDA; its regularisation is chosen by rows left out."""
        from mercer import KernelLDA

        return KernelLDA(kernel=kernel, regularization="cv", solver=solver)

    def targets(self, table: Table) -> Any:
        """Classes as text, so that they compare whatever file they come from."""
        return _classes(table.labels, table.label)

    def columns(self, model: Any, frame: Any) -> dict[str, Any]:
        """Discriminant functions, the likeliest class, and probabilities."""
        seen = model[:-1].transform(frame)
        found = model["model"]
        values, probabilities = found.transform(seen), found.predict_proba(seen)
        return {
            **{f"discriminant{j + 1}": values[:, j] for j in range(values.shape[1])},
            "predicted": found.classes_[probabilities.argmax(axis=1)].astype(object),
            **{f"p_{name}": probabilities[:, j] for j, name in enumerate(found.classes_)},
        }

    def words(self, model: Any) -> Iterator[str]:
        """How well classes of rows left out are predicted."""
        import numpy as np

        found = model["model"]
        at = int(np.argmin(np.abs(found.cv_results_["regularization"] - found.regularization_)))
        accuracy = 1 - float(found.cv_results_["error"][at])
        yield (
            f"  {len(found.classes_)} classes; {percent(accuracy)} of left-out rows are predicted "
            f"right (the largest class alone: {percent(float(found.priors_.max()))})"
        )
        yield "  (the predictions written are of rows that the model has seen)"

    def words_on_new(self, rows: Rows, columns: Any) -> Iterator[str]:
        """How many of the new rows are predicted right, where their classes are known."""
        if rows.label is None or rows.label not in rows.frame:
            return
        known = (rows.frame[rows.label].notna() & columns["predicted"].notna()).to_numpy()
        if known.any():
            truth = _classes(rows.frame[rows.label][known].to_numpy(), rows.label)
            right = float((columns["predicted"][known].to_numpy() == truth).mean())
            yield f"  {percent(right)} of {int(known.sum()):,} rows are predicted right"


def _classes(labels: Any, name: str | None) -> Any:
    import numpy as np

    if labels.dtype.kind == "f":
        fractions = labels[labels != np.floor(labels)]
        if len(fractions):
            raise ValueError(
                f"Column {name!r} holds numbers such as {fractions[0]:.6g}, not classes; "
                "name another column with --label."
            )
        labels = labels.astype(np.int64)  # 3, not 3.0: gaps make integers floats
    return labels.astype(str)


def discriminate(
    data: Data,
    /,
    *,
    reading: Reading = Reading(),
    fitting: Fitting = Fitting(),
    output: Output = Output(),
) -> int:
    """Learn to tell classes apart by kernel discriminant analysis.

    Writes columns *discriminant1*, … (one less than classes), *predicted*, and *p_CLASS*, the
    probability of every class. Rows without a class are not learnt from, but predicted. How many
    rows are predicted right when they are left out is said on standard error.

    For example:

    - `mercer discriminate measurements.csv --label species --keep --out predicted.csv`
    - `mercer discriminate wine --model wine.mercer --out wine-classes.csv` and later
      `mercer discriminate new.csv --apply wine.mercer`

    Parameters
    ----------
    data
        A CSV, TSV, Parquet, NPY or NPZ file; - for standard input; or an embedded set such as wine.
    """
    return perform(Discriminating(), data, reading, fitting, output)
