"""``mercer discriminate``: kernel discriminant functions and class predictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from mercer.cli.engine import Task, run_task
from mercer.cli.options import Data, Fitting, Output, Reading, Running
from mercer.utils.formatting import format_percent

if TYPE_CHECKING:
    from mercer.kernels import Kernel
    from mercer.utils.types import Array

__all__ = ["discriminate"]


@dataclass(frozen=True)
class DiscriminateTask(Task):
    """Columns discriminant1, …, predicted, and p_CLASS for every class."""

    command: ClassVar[str] = "discriminate"
    learns_classes: ClassVar[bool] = True

    def estimator(self, kernel: Kernel, solver: str, verbose: bool) -> Any:
        """Return kernel LDA; its regularization is chosen by leave-one-out errors."""
        from mercer import KernelLDA

        return KernelLDA(kernel=kernel, regularization="cv", solver=solver)

    def targets(self, labels: Any, name: str | None) -> Any:
        """Return classes as text, so that they can be compared between file formats."""
        return _classes(labels, name)

    def columns(self, model: Any, X: Any) -> dict[str, Any]:
        """Return discriminant functions, the most probable class, and probabilities."""
        from mercer.data.dask import passes_for

        fitted = model["model"]
        values, probabilities = fitted.transform(X), fitted.predict_proba(X)
        predict = partial(_most_probable, fitted.classes_)
        return {
            **{f"discriminant{j + 1}": values[:, j] for j in range(values.shape[1])},
            "predicted": passes_for(probabilities).map(predict, probabilities),
            **{f"p_{name}": probabilities[:, j] for j, name in enumerate(fitted.classes_)},
        }

    def summary(self, model: Any) -> Iterator[str]:
        """Yield the leave-one-out accuracy."""
        import numpy as np

        fitted = model["model"]
        tried = fitted.cv_results_["regularization"]
        best = int(np.argmin(np.abs(tried - fitted.regularization_)))
        accuracy = format_percent(1 - float(fitted.cv_results_["error"][best]))
        largest = format_percent(float(fitted.priors_.max()))
        yield (
            f"  {len(fitted.classes_)} classes; leave-one-out accuracy {accuracy} (always "
            f"predicting the largest class: {largest})"
        )
        yield "  The predictions written are for training rows and therefore optimistic."

    def count_correct(self, labels: Any, name: str, columns: Any) -> tuple[int, int]:
        """Compare the rows that have both a label and a prediction."""
        import numpy as np
        import pandas as pd

        predicted = np.asarray(columns["predicted"], dtype=object)
        known = pd.notna(labels) & pd.notna(predicted)
        correct = predicted[known] == _classes(labels[known], name)
        return int(known.sum()), int(correct.sum())


def _most_probable(classes: Array, probabilities: Array) -> Array:
    return classes[probabilities.argmax(axis=1)].astype(object)


def _classes(labels: Any, name: str | None) -> Any:
    import numpy as np

    if labels.dtype.kind == "f":
        fractions = labels[labels != np.floor(labels)]
        if len(fractions):
            raise ValueError(
                f"Column {name!r} has continuous values such as {fractions[0]:.6g}, not classes. "
                "Name another column with --label."
            )
        labels = labels.astype(np.int64)  # missing values have turned integers into floats
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
    """Predict classes by kernel discriminant analysis.

    Writes columns *discriminant1*, … (one fewer than classes), *predicted*, and *p_CLASS*, the
    probability of every class. Rows without a label are predicted but not fitted to. The
    leave-one-out accuracy is printed on standard error.

    For example:

    - `mercer discriminate measurements.csv --label species --keep --out predicted.csv`
    - `mercer discriminate wine --model wine.mercer --out wine-classes.csv` and later
      `mercer discriminate new.csv --apply wine.mercer`

    Parameters
    ----------
    data
        A CSV, TSV, Parquet, NPY or NPZ file; - for standard input; or an embedded data set such as
        wine.
    """
    return run_task(DiscriminateTask(), data, reading, fitting, output, running)
