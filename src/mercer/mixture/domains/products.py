r"""Products of columns of different types: the domain of a density of table rows.

The integral over a product is estimated by importance sampling from a mixture q of three proposals:
uniform in all columns (so that q is positive everywhere), columns drawn independently near the
values of training rows, and all columns near one training row, with three scales. Its density is
known, so :math:`\int f \approx \frac{1}{N} \sum_j f(x_j) / q(x_j)` without bias.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

import numpy as np
from scipy.special import logsumexp

from mercer.data.points import Points
from mercer.data.subsampling import evenly_spaced
from mercer.kernels.cells import column_of
from mercer.kernels.tables import are_texts
from mercer.mixture.domains.base import Domain, Nodes
from mercer.mixture.domains.column_domains import (
    N_SCALES,
    Categories,
    ColumnDomain,
    Counts,
    Interval,
)
from mercer.utils.pairwise import row_ranges
from mercer.utils.types import Array
from mercer.utils.validation import check_integer, check_real

__all__ = ["ProductDomain", "table_domain"]

_UNIFORM, _INDEPENDENT = 0.1, 0.3  # proportions of q; the rest is near one training row


class ProductDomain(Domain):
    """Rows of a table: a product of one domain per column.

    Densities refer to the product of the measures of the columns: a density in the columns with an
    :class:`Interval`, a probability in all others.

    Parameters
    ----------
    columns : mapping of names (or positions in an array) to ColumnDomain
        All columns of the table.
    n_nodes : int
        Number of draws for an integral.
    random_state : int
        Seed of the draws.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer import MercerMixture
    >>> from mercer.mixture.domains import Categories, Counts, Interval, ProductDomain
    >>> from mercer.kernels import table_kernel
    >>> frame = pd.DataFrame({"age": [31.0, 45.0, 27.0, 22.0], "visits": [0, 3, 1, 1]})
    >>> frame["smoker"] = [True, False, False, True]
    >>> domain = ProductDomain(
    ...     {"age": Interval(0, 100), "visits": Counts(9), "smoker": Categories([False, True])}
    ... )
    >>> mixture = MercerMixture(kernel=table_kernel(frame), domain=domain).fit(frame)
    >>> drawn, _ = mixture.sample(3, random_state=0)
    >>> list(drawn.columns), len(drawn)
    (['age', 'visits', 'smoker'], 3)
    """

    def __init__(
        self, columns: Mapping[Any, ColumnDomain], *, n_nodes: int = 2**14, random_state: int = 0
    ) -> None:
        self.columns = dict(columns)
        self.n_nodes = n_nodes
        self.random_state = random_state
        for name, column in self.columns.items():
            if not isinstance(column, ColumnDomain):
                raise TypeError(
                    f"Column {name!r} of ProductDomain is {column!r:.60}; pass an Interval, "
                    "Categories, Counts or Strings of mercer.domains."
                )

    # state of a fitted domain
    _template: Any
    _origins: list[Array]

    def fit(self, points: Points, weights: Array | None) -> ProductDomain:
        """Check that the domain contains the training rows, and select rows to draw near them."""
        check_integer(self.n_nodes, "n_nodes", low=2, high=10**7)
        if points.is_chunked or not (hasattr(points.data, "iloc") or _is_table(points.data)):
            raise TypeError(
                "ProductDomain is a space of table rows in memory: pass a pandas data frame or a "
                f"2-D array, not {type(points.data if not points.is_chunked else points).__name__}."
            )
        names = _names(points.data)
        if set(names) != set(self.columns):
            raise ValueError(
                f"ProductDomain has the columns {list(self.columns)!r:.200}, but the table has "
                f"{names!r:.200}. Pass one domain for each column of the table."
            )
        self._check_inside(points)
        counts = np.ones(points.n) if weights is None else weights
        rows, copies = evenly_spaced(counts, min(points.n, 256))
        chosen = np.repeat(rows, copies.astype(int))
        fitted = copy(self)
        fitted.columns = {name: self.columns[name] for name in names}
        cells = fitted._cells_of(points.data)
        fitted.columns = {name: column.fit(values) for name, column, values in cells}
        fitted._origins = [values[chosen] for _, _, values in cells]
        fitted._template = points.data[:1]
        return fitted

    def _check_inside(self, points: Points) -> None:
        """Raise ValueError if rows are outside."""
        inside = np.isfinite(self.log_base(points))
        for name, column, cells in self._cells_of(points.data):
            if not column.contains(cells).all():
                cell = cells[~column.contains(cells)][0]
                raise ValueError(
                    f"{int((~inside).sum())} of the {points.n} training rows are outside {self!r}: "
                    f"column {name!r} holds {cell!r:.60}. Enlarge its domain, or drop these rows "
                    "(missing values are not part of a domain)."
                )

    def nodes(self) -> Nodes:
        """Return draws from q, always with the same seed."""
        return self._draws(self.n_nodes, np.random.default_rng(self.random_state))

    def candidates(
        self, count: int, rng: np.random.Generator, evaluate: Callable[[Any], Array]
    ) -> tuple[Nodes, Array]:
        """Return new draws from q."""
        nodes = self._draws(max(20 * count, self.n_nodes), rng)
        return nodes, evaluate(nodes.points)

    def log_base(self, points: Points) -> Array:
        """Return 0 for rows of the domain and -inf for others."""
        inside = np.ones(points.n, dtype=bool)
        for _, column, cells in self._cells_of(points.data):
            inside &= column.contains(cells)
        return np.where(inside, 0.0, -np.inf)

    # --- proposals ------------------------------------------------------------------------------

    def _draws(self, count: int, rng: np.random.Generator) -> Nodes:
        n_origins = len(self._origins[0])
        near = 1 - _UNIFORM - _INDEPENDENT
        proportions = [_UNIFORM, _INDEPENDENT, *[near / N_SCALES] * N_SCALES]
        kind = rng.choice(len(proportions), size=count, p=proportions)
        common = rng.integers(n_origins, size=count)
        drawn = []
        for column, origins in zip(self.columns.values(), self._origins, strict=True):
            own = np.where(kind == 1, rng.integers(n_origins, size=count), common)
            cells = origins[own].astype(object)
            for scale in range(N_SCALES):
                rows = (kind == 2 + scale) | ((kind == 1) & (scale == 0))
                cells[rows] = column.move(origins[own[rows]], scale, rng)
            cells[kind == 0] = column.uniform(int((kind == 0).sum()), rng)
            drawn.append(cells)
        inside = np.logical_and.reduce(
            [column.contains(c) for column, c in zip(self.columns.values(), drawn, strict=True)]
        )
        # A draw outside the domain has weight 0, and is replaced by a row of the domain.
        for cells, origins in zip(drawn, self._origins, strict=True):
            cells[~inside] = origins[common[~inside]]
        logs = np.concatenate(
            [
                self._log_proposal([cells[rows] for cells in drawn])
                for rows in row_ranges(count, 4096)
            ]
        )
        log_weights = np.where(inside, -logs - np.log(count), -np.inf)
        return Nodes(_like(self._template, drawn), log_weights)

    def _log_proposal(self, drawn: list[Array]) -> Array:
        """Return log q at rows, given as one array of cells per column."""
        n_origins = len(self._origins[0])
        joint = np.zeros((N_SCALES, len(drawn[0]), n_origins))
        uniform, independent = np.zeros(len(drawn[0])), np.zeros(len(drawn[0]))
        for column, origins, cells in zip(self.columns.values(), self._origins, drawn, strict=True):
            uniform += column.log_uniform(cells)
            for scale in range(N_SCALES):
                moves = column.log_moves(cells, origins, scale)
                joint[scale] += moves
                if scale == 0:
                    independent += logsumexp(moves, axis=1) - np.log(n_origins)
        near = logsumexp(joint, axis=(0, 2)) - np.log(n_origins * N_SCALES)
        logs = np.array([uniform, independent, near])
        weights = np.array([_UNIFORM, _INDEPENDENT, 1 - _UNIFORM - _INDEPENDENT])
        return np.asarray(logsumexp(logs, axis=0, b=weights[:, None]))

    def _cells_of(self, data: Any) -> list[tuple[Any, ColumnDomain, Array]]:
        """Return name, domain and values of each column."""
        return [(name, column, column_of(data, name)[0]) for name, column in self.columns.items()]

    def __repr__(self) -> str:
        return f"ProductDomain(<{len(self.columns)} columns>)"


def table_domain(X: Any, widen: float = 0.1) -> ProductDomain:
    """Return a product domain that contains the rows of a data frame.

    ============================ ===============================================================
    column                       domain
    ============================ ===============================================================
    real numbers                 ``Interval`` from the smallest to the largest value, widened
    integers                     ``Counts`` likewise; not below 0 if no value is
    booleans, categories, labels ``Categories``: both truth values, all categories of the type, or
                                 all values
    ============================ ===============================================================

    The density depends on the domain, so pass all rows of the table, not only training rows, or
    write the domains from what is known about the columns.

    Parameters
    ----------
    X : pandas data frame
        Without missing values. For texts pass ``Strings`` in a :class:`ProductDomain`.
    widen : float
        Fraction of the range by which numeric columns are extended on both sides.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.mixture.domains import table_domain
    >>> frame = pd.DataFrame({"size": [0.0, 10.0], "count": [0, 20], "color": ["red", "blue"]})
    >>> table_domain(frame).columns
    {'size': Interval(-1, 11), 'count': Counts(22, low=0), 'color': Categories(<2 values>)}
    """
    check_real(widen, "widen", low=0)
    return ProductDomain({name: _column_domain(X, name, widen) for name in X.columns})


def _column_domain(X: Any, name: Any, widen: float) -> ColumnDomain:
    cells, missing = column_of(X, name)
    dtype = X[name].dtype
    if missing.any():
        raise ValueError(
            f"Column {name!r} has {int(missing.sum())} missing values, which are not part of a "
            "domain. Drop or impute these rows."
        )
    if hasattr(dtype, "categories"):
        return Categories(dtype.categories.tolist())
    if cells.dtype.kind == "b":
        return Categories([False, True])
    if cells.dtype.kind in "iuf":
        low, high = float(cells.min()), float(cells.max())
        margin = widen * (high - low) if high > low else 1.0
        if cells.dtype.kind == "f":
            return Interval(low - margin, high + margin)
        lowest = int(np.floor(low - margin))
        return Counts(int(np.ceil(high + margin)), max(lowest, 0) if low >= 0 else lowest)
    if are_texts(cells):
        raise ValueError(
            f"Column {name!r} holds texts. Pass ProductDomain(columns) with Strings(alphabet, "
            "max_length) for it, or drop it."
        )
    return Categories(sorted(set(cells.tolist()), key=str))


def _is_table(data: Any) -> bool:
    return isinstance(data, np.ndarray) and data.ndim == 2


def _names(data: Any) -> list[Any]:
    return list(data.columns) if hasattr(data, "columns") else list(range(data.shape[1]))


def _like(template: Any, drawn: list[Array]) -> Any:
    """Return cells as a table with the names and types of a template."""
    if not hasattr(template, "iloc"):
        return np.column_stack(drawn).astype(template.dtype)
    columns = dict(zip(template.columns, drawn, strict=True))
    return type(template)(columns).astype(template.dtypes.to_dict())
