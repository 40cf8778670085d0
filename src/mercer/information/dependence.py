r"""Dependence between the columns of a table, from the features of :class:`mercer.kernels.Table`.

Every column is a block of features. With their covariance S and the ridge α, the least squares
prediction of block j from the blocks of a set g is :math:`S_{jg} (S_{gg} + \alpha I)^{-1} \phi_g`.
Its error follows from S alone, and from :math:`Q = (S + \alpha I)^{-1}` if g has all other columns:
with :math:`A = Q_{jj}^{-1} Q_{j\cdot}` the residual is :math:`A \phi`, and its covariance

.. math:: A S A^\top = Q_{jj}^{-1} - \alpha Q_{jj}^{-1} (Q^2)_{jj} Q_{jj}^{-1}.

To leave out column i too, replace Q by the inverse for the remaining columns,
:math:`Q - Q_{\cdot i} Q_{ii}^{-1} Q_{i \cdot}`. Errors of training rows are too small; generalized
cross-validation divides them by :math:`(1 - (1 + f) / n)^2` with the degrees of freedom
:math:`f = \mathrm{tr}\, S_{gg} (S_{gg} + \alpha I)^{-1}` of the prediction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from mercer.bandwidth import fit_kernel
from mercer.data.points import require_memory, select_rows, validate_points, validate_weights
from mercer.kernels.cells import as_array, codes_of, column_of
from mercer.kernels.tables import Table
from mercer.utils.formatting import Result, Summary, bar, shorten
from mercer.utils.frames import as_numbers, is_frame
from mercer.utils.types import Array
from mercer.utils.weights import Moments, multiplicities

__all__ = ["ColumnDependence", "column_dependence"]

_RIDGE = 0.001  # relative to the mean variance of a feature; 0.0001 to 0.1 give nearly the same
_CHUNK = 20_000  # rows whose features are in memory
_NEARLY_ALL = 0.9  # of the variation, before cells are compared one by one


@dataclass(frozen=True, eq=False, repr=False)
class ColumnDependence(Result):
    """How well the columns of a table predict each other; result of :func:`column_dependence`.

    All numbers are fractions of variation between 0 and 1: the mean squared error of a prediction
    relative to that of the mean, subtracted from 1.

    Attributes
    ----------
    columns : tuple
        Names, or positions in an array.
    predicted : array of shape (d,)
        Fraction of the variation of each column that all others predict together.
    total : array of shape (d, d)
        ``total[i, j]`` is the fraction of the variation of column j that column i predicts alone.
    direct : array of shape (d, d)
        ``direct[i, j]`` is the fraction of what the other columns leave unexplained of column j
        that column i explains.
    equivalent : tuple of pairs
        Columns that repeat each other: each value of one corresponds to one value of the other.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.information import column_dependence
    >>> frame = pd.DataFrame({"size": [1, 2, 3, 4] * 9, "code": list("pqrs") * 9})
    >>> found = column_dependence(frame)
    >>> found.equivalent, found.groups()
    ((('size', 'code'),), [['size', 'code']])
    """

    columns: tuple[Any, ...]
    predicted: Array
    total: Array
    direct: Array
    equivalent: tuple[tuple[Any, Any], ...]

    @property
    def strength(self) -> Array:
        """Total dependence of each pair: the larger of both directions, with 1 on the diagonal."""
        return np.asarray(np.maximum(self.total, self.total.T))

    @property
    def order(self) -> Array:
        """Positions of the columns in an order that has dependent columns next to each other."""
        from scipy.cluster.hierarchy import leaves_list, optimal_leaf_ordering

        if len(self.columns) < 3:
            return np.arange(len(self.columns))
        tree, distances = self._tree()
        if len(self.columns) <= 300:  # the cost grows with the square
            tree = optimal_leaf_ordering(tree, distances)
        return np.asarray(leaves_list(tree))

    def groups(self, strength: float = 0.5) -> list[list[Any]]:
        """Return groups of columns whose average strength is at least this; largest first."""
        from scipy.cluster.hierarchy import fcluster

        if len(self.columns) < 2:
            return []
        numbers = fcluster(self._tree()[0], 1 - strength, criterion="distance")
        found: dict[int, list[Any]] = {}
        for name, number in zip(self.columns, numbers.tolist(), strict=True):
            found.setdefault(number, []).append(name)
        return sorted((names for names in found.values() if len(names) > 1), key=len, reverse=True)

    def _tree(self) -> tuple[Array, Array]:
        from scipy.cluster.hierarchy import linkage

        upper = np.triu_indices(len(self.columns), 1)
        distances = np.asarray(1 - self.strength[upper])
        return np.asarray(linkage(distances, "average")), distances

    def predictors(self, column: Any) -> list[tuple[Any, float]]:
        """Return the other columns with the fraction that they predict alone, largest first."""
        j = self.columns.index(column)
        order = np.argsort(-self.total[:, j], kind="stable")
        return [(self.columns[i], float(self.total[i, j])) for i in order if i != j]

    def to_frame(self) -> Any:
        """Return one row per ordered pair: *predictor*, *column*, *total*, *direct*."""
        import pandas as pd

        i, j = np.nonzero(~np.eye(len(self.columns), dtype=bool))
        names = np.empty(len(self.columns), dtype=object)
        names[:] = self.columns
        return pd.DataFrame(
            {
                "predictor": names[i],
                "column": names[j],
                "total": self.total[i, j],
                "direct": self.direct[i, j],
            }
        )

    def _summary(self) -> Summary:
        rows = []
        for j in np.argsort(-self.predicted, kind="stable"):
            best = self.predictors(self.columns[j])[:1]
            listed = "".join(f"{shorten(str(name), 30)} {100 * one:.0f} %" for name, one in best)
            rows.append([shorten(str(self.columns[j]), 30), bar(float(self.predicted[j])), listed])
        heads = ["column", "predicted by the others", "best single predictor"]
        return Summary("Dependence between columns", heads, rows)


def column_dependence(
    X: Any, *, sample_weight: Any = None, include: Iterable[Any] = ()
) -> ColumnDependence:
    r"""Measure how well the columns of a table predict each other, alone and together.

    A column is predicted by ridge regression on the features of the other columns (see
    :class:`mercer.kernels.Table`): smooth functions of numbers and dates, indicators of categories,
    similarities of texts. The prediction is a sum of one function per column. The variation of a
    number is that of its value, standardized and with a logarithm beyond 3 robust standard
    deviations; the variation of a category is that of its indicators, :math:`\sum_c p_c (1 - p_c)`,
    so that for one category the fraction is Goodman and Kruskal's τ; the variation of a text is
    that of its features. Missing values are a category; those of numbers count as the mean.

    Fractions are corrected for the number of features by generalized cross-validation, and
    cut off at 0.

    Parameters
    ----------
    X : data frame or array of shape (n, d)
    sample_weight : array-like of shape (n,) or None
        Multiplicities: a weight equals copies of the row.
    include : iterable
        Columns to use even if they look like identifiers, as in
        :func:`~mercer.kernels.table_kernel`.

    Returns
    -------
    ColumnDependence

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from mercer.information import column_dependence
    >>> rng = np.random.default_rng(0)
    >>> width, height = rng.uniform(1, 2, size=(2, 500))
    >>> frame = pd.DataFrame({"width": width, "height": height, "area": width * height})
    >>> found = column_dependence(frame)
    >>> found.predicted.round(1)
    array([1., 1., 1.])
    >>> found.total.round(1)
    array([[1. , 0. , 0.5],
           [0. , 1. , 0.4],
           [0.5, 0.4, 1. ]])
    """
    require_memory(X, "column_dependence")
    X = validate_points(X, Table()).data
    X = X if is_frame(X) else as_array(as_numbers(X))
    weights = validate_weights(sample_weight, len(X))
    weights = np.ones(len(X)) if weights is None else weights
    X, counts = select_rows(X, np.flatnonzero(weights)), multiplicities(weights[weights > 0])
    kernel = fit_kernel(Table(include=tuple(include)), X, counts)
    assert isinstance(kernel, Table)
    features = kernel.columns or ()
    covariance = _covariance(kernel, X, counts)
    cells = np.concatenate([column.cell_weights for column in features])
    blocks = [at for _, at in kernel.blocks]
    found = _fractions(covariance, cells, blocks, float(counts.sum()))
    names = tuple(name for name, _ in kernel.blocks)
    return ColumnDependence(names, *found, _equivalent(X, names, found[1]))


def _covariance(kernel: Table, X: Any, counts: Array) -> Array:
    """Return the covariance of the features, from chunks of rows."""
    rows = np.arange(len(X))
    chunks = [rows[start : start + _CHUNK] for start in range(0, len(X), _CHUNK)]
    parts = (Moments.of(kernel.features(select_rows(X, one)), counts[one]) for one in chunks)
    moments = reduce(add, parts)
    return np.asarray(moments.scatter / moments.total)


def _fractions(S: Array, cells: Array, blocks: list[slice], n: float) -> tuple[Array, Array, Array]:
    """Return the fractions predicted by all others, alone, and directly.

    ``cells`` are the weights of the squared features in the variation of their column.
    """
    ridge = max(_RIDGE * float(np.trace(S)) / len(S), np.finfo(float).tiny)
    Q = np.linalg.inv(S + ridge * np.eye(len(S)))
    S_, Q_, square = (_Blocks(matrix, blocks) for matrix in (S, Q, Q @ Q))
    alone = np.linalg.inv(S_.diagonal + ridge * np.eye(S_.width))
    own = _inverses(Q_.diagonal, S_.sizes)
    freedom_alone = np.einsum("ijk,ikj->i", alone, S_.diagonal)
    # of the predictions from all columns but i
    traces = np.trace(Q) - np.einsum("ijk,ikj->i", own, square.diagonal)
    freedom = len(S) - S_.sizes - ridge * traces
    d = len(blocks)
    predicted, total, direct = np.zeros(d), np.eye(d), np.eye(d)
    for j, at in enumerate(blocks):
        w, k = cells[at], at.stop - at.start
        variation = float(w @ np.diag(S)[at]) / (1 - 1 / n) ** 2
        if not variation > 0:
            continue
        B = alone @ S_.column(j)
        error = w @ np.diag(S)[at] - np.einsum("iab,iab,b->i", B, 2 * S_.column(j), w)
        error += np.einsum("iab,iac,icb,b->i", B, S_.diagonal, B, w)
        total[:, j] = 1 - _corrected(error, freedom_alone, n) / variation
        full = _residual(Q[at, at][None], square.matrix[at, at][None], ridge, w)
        full = _corrected(full, freedom[[j]], n)[0]
        predicted[j] = 1 - full / variation
        D = own @ Q_.column(j)
        Dt = D.transpose(0, 2, 1)
        precision = Q[at, at] - Q_.column(j).transpose(0, 2, 1) @ D
        mixed = Dt @ square.column(j)
        squared = square.matrix[at, at] - mixed - mixed.transpose(0, 2, 1)
        squared = squared + Dt @ square.diagonal @ D
        precision[j], squared[j] = np.eye(k), np.eye(k)  # a column is not left out of itself
        without = _residual(precision, squared, ridge, w)
        left = traces - np.einsum("iab,iba->i", np.linalg.inv(precision), squared)
        freedom_without = len(S) - S_.sizes - k - ridge * left
        direct[:, j] = 1 - full / np.maximum(_corrected(without, freedom_without, n), 1e-300)
        total[j, j] = direct[j, j] = 1.0
    return tuple(np.clip(found, 0.0, 1.0) for found in (predicted, total, direct))  # type: ignore[return-value]


def _residual(precision: Array, square: Array, ridge: float, w: Array) -> Array:
    """Return the weighted mean squares of residuals, from stacked blocks of Q and Q²."""
    inverse = np.linalg.inv(precision)
    covariance = inverse - ridge * inverse @ square @ inverse
    return np.asarray(np.einsum("iaa,a->i", covariance, w))


def _corrected(error: Array, freedom: Array, n: float) -> Array:
    """Apply generalized cross-validation; the ridge keeps f below n - 1."""
    return np.asarray(np.maximum(error, 0) / np.maximum(1 - (1 + freedom) / n, 1e-12) ** 2)


class _Blocks:
    """Blocks of a symmetric matrix, padded with zeros to a common width."""

    def __init__(self, matrix: Array, blocks: list[slice]) -> None:
        self.matrix, self.blocks = matrix, blocks
        self.sizes = np.array([at.stop - at.start for at in blocks])
        self.width = int(self.sizes.max())
        starts = np.array([at.start for at in blocks])
        offsets = np.arange(self.width)
        self.inside = offsets < self.sizes[:, None]
        self.index = np.where(self.inside, starts[:, None] + offsets, 0)
        pairs = self.inside[:, :, None] & self.inside[:, None, :]
        self.diagonal = matrix[self.index[:, :, None], self.index[:, None, :]] * pairs

    def column(self, j: int) -> Array:
        """Return the blocks (i, j) for all i, of shape (d, width, size of j)."""
        return np.asarray(self.matrix[self.index][:, :, self.blocks[j]] * self.inside[:, :, None])


def _inverses(diagonal: Array, sizes: Array) -> Array:
    """Return inverses of padded blocks, padded with zeros."""
    outside = np.arange(diagonal.shape[1]) >= sizes[:, None]
    padding = np.eye(diagonal.shape[1]) * outside[:, None, :]
    return np.asarray(np.linalg.inv(diagonal + padding) - padding)


def _equivalent(X: Any, names: tuple[Any, ...], total: Array) -> tuple[tuple[Any, Any], ...]:
    """Return pairs of columns with a one-to-one relation between their repeated values."""
    found = []
    codes: dict[int, tuple[Array, int]] = {}
    for i, j in zip(*np.nonzero(np.triu(np.maximum(total, total.T) > _NEARLY_ALL, 1)), strict=True):
        for one in (i, j):
            if one not in codes:
                codes[one] = _codes(X, names[one])
        (a, n_a), (b, n_b) = codes[i], codes[j]
        # values that are not repeated correspond by chance
        if n_a == n_b <= len(a) / 2 and len(np.unique(a * n_b + b)) == n_a:
            found.append((names[i], names[j]))
    return tuple(found)


def _codes(X: Any, name: Any) -> tuple[Array, int]:
    """Return a code per cell, with one for missing values, and the number of codes."""
    cells, missing = column_of(X, name) if is_frame(X) else (X[:, name], np.isnan(X[:, name]))
    codes = np.zeros(len(cells), dtype=np.int64)
    try:
        present, count = codes_of(cells[~missing])
    except TypeError:  # sets
        present, count = np.arange((~missing).sum()), int((~missing).sum())
    codes[~missing] = present + 1
    if missing.any():
        return codes, count + 1
    return codes - 1, count
