"""``mercer discriminate``: functions that tell classes apart, and predictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from mercer.cli.options import Data, Fitting, Output, Reading, Running
from mercer.cli.telling import percent
from mercer.cli.working import Task, perform

if TYPE_CHECKING:
    from mercer.kernels import Kernel
    from mercer.maths.types import Array

__all__ = ["discriminate"]


@dataclass(frozen=True)
class Discriminating(Task):
    """Columns discriminant1, …, predicted, and p_CLASS for every class."""

    command: ClassVar[str] = "discriminate"
    learns_classes: ClassVar[bool] = True

    def estimator(self, kernel: Kernel, solver: str, verbose: bool) -> Any:
        """Kernel LDA; its regularisation is chosen by rows left out."""
        from mercer import KernelLDA

        return KernelLDA(kernel=kernel, regularization="cv", solver=solver)

    def targets(self, labels: Any, name: str | None) -> Any:
        """Classes as text, so that they compare whatever file they come from."""
        return _classes(labels, name)

    def columns(self, model: Any, seen: Any) -> dict[str, Any]:
        """Discriminant functions, the likeliest class, and probabilities."""
        from mercer.chunks import passes_for

        found = model["model"]
        values, probabilities = found.transform(seen), found.predict_proba(seen)
        return {
            **{f"discriminant{j + 1}": values[:, j] for j in range(values.shape[1])},
            "predicted": passes_for(probabilities).map(
                partial(_likeliest, found.classes_), probabilities
            ),
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

    def judge(self, labels: Any, name: str, columns: Any) -> tuple[int, int]:
        """Where both the class and a prediction are known."""
        import numpy as np
        import pandas as pd

        predicted = np.asarray(columns["predicted"], dtype=object)
        known = pd.notna(labels) & pd.notna(predicted)
        right = predicted[known] == _classes(labels[known], name)
        return int(known.sum()), int(right.sum())


def _likeliest(classes: Array, probabilities: Array) -> Array:
    return classes[probabilities.argmax(axis=1)].astype(object)


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
    running: Running = Running(),
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
    return perform(Discriminating(), data, reading, fitting, output, running)
