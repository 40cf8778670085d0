"""From a table to what an estimator takes: a kernel, and a model that new rows can be given to.

A table of numbers is compared by a Gaussian kernel on standardised columns; any other by
:func:`mercer.kernels.table_kernel`, one factor per column. Models are scikit-learn pipelines whose
first step knows the columns, so raw rows, as they come from a file, go in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from mercer.kernels import Gaussian, Kernel, table_kernel
from mercer.tables.kinds import ColumnKind, as_kind
from mercer.tables.table import Selection, Table

__all__ = ["WIDTH_FACTORS", "Modelling", "TypedColumns", "modelling"]

#: What the widths of a table's kernel are multiplied by in a sweep; 1 is usually too wide to see
#: groups, since the kernel shares one unit of difference among all columns.
WIDTH_FACTORS = tuple(np.geomspace(0.35, 1.4, 9).tolist())


class TypedColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Choose columns of a data frame by name, and bring their cells into form.

    Parameters
    ----------
    kinds : dict of str to str
        "number", "date", "category" or "text" for each column to use; others are left.

    Examples
    --------
    >>> import pandas as pd
    >>> columns = TypedColumns({"size": "number"}).fit(None)
    >>> columns.transform(pd.DataFrame({"colour": ["red"], "size": ["1.5"]}))
       size
    0   1.5
    """

    def __init__(self, kinds: dict[str, ColumnKind]) -> None:
        self.kinds = kinds

    def fit(self, X: Any, y: Any = None) -> Self:
        """Nothing is learnt."""
        self.columns_ = list(self.kinds)
        return self

    def transform(self, X: Any) -> Any:
        """Return a data frame of the columns."""
        import pandas as pd

        check_is_fitted(self)
        if not hasattr(X, "columns"):
            raise TypeError(
                f"Columns are found by name: pass a data frame, not {type(X).__name__}."
            )
        absent = [name for name in self.columns_ if name not in X.columns]
        if absent:
            raise ValueError(
                f"The table has no column {', '.join(map(repr, absent[:5]))}"
                f"{' …' if len(absent) > 5 else ''}, which the model was fitted with."
            )
        return pd.DataFrame({name: as_kind(X[name], kind) for name, kind in self.kinds.items()})


@dataclass(frozen=True, eq=False)
class Modelling:
    """How a table is modelled.

    Parameters
    ----------
    table : Table
    kernel : Kernel
        For the columns as the estimator sees them.
    scaled : bool
        Whether columns are standardised before the estimator sees them.

    Examples
    --------
    >>> from mercer.tables import modelling, read_table
    >>> found = modelling(read_table("iris"))
    >>> found.kernel, found.scaled
    (Gaussian(bandwidth='auto'), True)
    """

    table: Any  # a Table; in chunks another Selection
    kernel: Kernel
    scaled: bool

    def pipeline(self, estimator: Any) -> Pipeline:
        """Put what raw rows need in front of an estimator: steps "columns", ("scale",) "model"."""
        scale = [("scale", StandardScaler())] if self.scaled else []
        columns = TypedColumns(self.table.kinds)
        return Pipeline([("columns", columns), *scale, ("model", estimator)])

    @property
    def data(self) -> Any:
        """What the estimator sees of a table in memory: an array of numbers, or a data frame."""
        assert isinstance(self.table, Table)
        if self.scaled:
            return StandardScaler().fit_transform(self.table.X)
        return self.table.X if self.table.is_numeric else self.table.frame


def modelling(
    table: Selection, *, bandwidth: float | str = "auto", scale: bool = True
) -> Modelling:
    """Choose a kernel for a table.

    Parameters
    ----------
    table : Table
    bandwidth : float or str
        Of the Gaussian kernel: a number (in standard deviations where columns are scaled) or a
        rule's name. For a table that is not all numbers a factor: 1 or "auto" is the width that
        :func:`mercer.kernels.table_kernel` chooses for each column.
    scale : bool
        Standardise columns of numbers, so that units do not decide.

    Examples
    --------
    >>> from mercer.tables import modelling, read_table
    >>> modelling(read_table("wine"), bandwidth=2.0).kernel
    Gaussian(bandwidth=2.0)
    """
    if table.is_numeric:
        return Modelling(table, Gaussian(bandwidth), scale)
    assert isinstance(table, Table), "tables in chunks are numeric"
    kernel = table_kernel(table.frame)
    if isinstance(bandwidth, str):
        if bandwidth != "auto":
            raise ValueError(
                f"bandwidth={bandwidth!r} is a rule for numbers, and {table.name} has other "
                "columns, or missing cells; give a factor (1 is the table's own width), or 'auto'."
            )
        return Modelling(table, kernel, False)
    return Modelling(table, kernel.widened(bandwidth), False)
