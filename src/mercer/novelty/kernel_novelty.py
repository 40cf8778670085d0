"""Novelty detection with conformal p-values, for any data with a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from mercer.bandwidth import fit_kernel
from mercer.bandwidth.likelihood import most_likely_kernel
from mercer.data.dask import passes_for
from mercer.data.points import (
    Points,
    Sample,
    row_weights,
    rowwise,
    validate_points,
    validate_weights,
)
from mercer.decomposition.base import KernelEstimator, own_points
from mercer.decomposition.statistics import contributions_of_columns, typical_row
from mercer.errors import ApproximationWarning, warn
from mercer.kernels import Kernel, Precomputed, Table, as_kernel
from mercer.kernels.cells import as_array
from mercer.novelty.conditional import ConditionalDistance
from mercer.novelty.neighbors import central_rows, regular_rows
from mercer.novelty.statistics import FittedStatistic, automatic_kernel, fit_statistic
from mercer.novelty.table_rows import TableStatistic
from mercer.utils.estimators import all_or_nothing
from mercer.utils.frames import as_frame, as_numbers, is_frame, is_mixed_table
from mercer.utils.quantiles import Calibration
from mercer.utils.types import Array
from mercer.utils.validation import check_choice, check_integer, check_real
from mercer.utils.weights import multiplicities

__all__ = ["KernelNovelty"]

_STATISTICS = (
    "auto",
    "table",
    "neighbors",
    "conditional",
    "mahalanobis",
    "density",
    "mixture",
    "spe",
    "t2",
    "combined",
)
_OF_CELLS = ("table", "conditional")  # need the features of columns
_MANY_COLUMNS = 100  # from which "auto" is the Mahalanobis distance
_DECOMPOSED = ("mixture", "spe", "t2", "combined")  # need eigenvectors of the kernel matrix
_MAX_DECOMPOSED = 1000  # rows
_MAX_CALIBRATION_ROWS = 20_000


class KernelNovelty(OutlierMixin, KernelEstimator):  # type: ignore[misc]
    r"""Detect abnormal rows by a kernel statistic, with conformal p-values.

    A statistic measures how far a row is from the training rows. Its p-value is the fraction of
    training rows with a statistic at least as large, each computed from a fit without this row,
    with one added to numerator and denominator. Rows with ``p ≤ false_alarm_rate`` are abnormal:
    of new normal rows this is, up to sampling error, the fraction that is marked [1]_. For new
    rows with another distribution there are weighted p-values [2]_.

    Parameters
    ----------
    kernel : str or Kernel
        "auto" is, for data frames with labels, texts or missing values, a kernel per column: their
        sum (:class:`~mercer.kernels.Table`) for "table" and "conditional", their product
        (:func:`~mercer.kernels.table_kernel`) for other statistics. For numbers it is a Gaussian
        kernel with bandwidths proportional to the standard deviations of the columns. For
        embeddings without a preprocessing step, ``Gaussian()`` on unit vectors and "cosine" are
        alternatives. "precomputed" is not available.
    statistic : str
        What is measured; see the notes. "auto" is "table" for data frames with labels, texts or
        missing values (and with ``kernel="table"``). For numbers, in an array or a data frame, it
        is "neighbors" up to 100 columns and "mahalanobis" for more columns. For other data it is
        "neighbors".
    false_alarm_rate : float in (0, 1)
        Fraction of normal rows that ``predict`` marks as abnormal.
    calibration : {"auto", "split"}
        Where the p-values come from. "auto" uses all rows: statistics of training rows are
        leave-one-out values (from fits to nine tenths of the rows for "spe", "t2", "combined"
        and "mixture" with several components, by a formula for the others).
        "split" fits the statistic to half of the rows and calibrates on the other half. Its false
        alarm rate is exact in finite samples: between α - 1/(n_cal + 1) and α on average.
    robust : bool or "auto"
        Whether the statistic is fitted without the tenth of the rows that is farthest from its
        nearest neighbors, since training rows may contain anomalies. These rows take part in the
        calibration. "auto" is True, except for "table", "conditional", and "mahalanobis" with more
        than 100 columns. Use False if all training rows are normal: "neighbors" then also uses
        fewer neighbors, 5. For "table" and "conditional", True leaves out the rows that are most
        abnormal by the statistic itself.
    n_components : int, float in (0, 1) or None
        Components of "spe", "t2" and "combined": a number or a fraction of the variance, by default
        0.7. Number of Gaussian components of "mixture", by default 1.
    max_samples : int
        Largest number of rows to which the statistic is fitted, drawn at random (at most 1,000 for
        "mixture", "spe", "t2" and "combined"). Other rows (up to 20,000) take part in the
        calibration. "table" and "conditional" are fitted to these too; ``max_samples`` is the
        largest number of rows that "table" searches for neighbors.
    random_state : int or None
        Seed of random subsets of rows.

    Attributes
    ----------
    kernel_ : Kernel
        The fitted kernel.
    statistic_ : str
        The statistic in use.
    n_calibration_ : float
        Number (total weight) of calibration rows; with ``calibration_weight`` their effective
        number ``(Σw)² / Σw²``.
    offset_ : float
        ``decision_function(X) = score_samples(X) - offset_``.
    p_values_ : array of shape (n,) or None
        The p-values of the training rows (of positive weight), from their leave-one-out
        statistics: the fraction of the calibration rows with a statistic at least as large,
        themselves included. ``p_values(X)`` treats training rows as new rows that have copies
        among the training rows, which are less unusual. None for Dask collections, and with
        ``calibration_weight``.
    typical_row_ : array or Series
        Medians of numeric columns, most frequent values of other columns; used by ``explain``.
        None for data without columns, and for "table" and "conditional".

    Notes
    -----
    =============== ============================================================================
    "table"         for tables: "conditional", and the mean distance to the 10 nearest rows divided
                    by that of those rows; minus the logarithm of the smaller tail probability. Each
                    column counts on the scale of its own tail probabilities
    "neighbors"     squared distance to the k-th nearest training row in the metric of the
                    kernel; k is 2 % of the rows, at least 10, and 5 if ``robust=False``
    "conditional"   for every column of a table the squared Mahalanobis distance from what the other
                    columns predict, added up: rows whose cells do not fit together. For an array, a
                    table without names, and for data frames with any types of columns
    "mahalanobis"   Mahalanobis distance with the shrunk covariance of Ledoit and Wolf; vectors
                    only, the kernel is not used
    "density"       negative logarithm of the Parzen density; bandwidth "auto" by leave-one-out
                    likelihood
    "mixture"       regularized Mahalanobis distance in feature space (T² and SPE of all components
                    of kernel PCA); with several ``n_components`` the negative log density of a
                    :class:`MercerMixture`
    "spe"           squared prediction error: squared distance from the components of kernel PCA
    "t2"            Hotelling's T² within the components. With a bounded kernel it becomes small
                    again for rows that are far from all training rows: do not use it alone
    "combined"      SPE + T², each divided by its mean over training rows
    =============== ============================================================================

    References
    ----------
    .. [1] V. Vovk, A. Gammerman, G. Shafer, "Algorithmic Learning in a Random World", Springer,
       2005.
    .. [2] R. J. Tibshirani, R. F. Barber, E. J. Candès, A. Ramdas, "Conformal prediction under
       covariate shift", NeurIPS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelNovelty
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> detector = KernelNovelty(false_alarm_rate=0.01).fit(X)
    >>> detector.predict([[0.0, 0.0], [5.0, 0.0]])
    array([ 1, -1])
    >>> detector.p_values([[0.0, 0.0], [5.0, 0.0]]).round(3)
    array([0.866, 0.002])
    >>> int(detector.explain([[5.0, 0.0]]).argmax())
    0
    """

    offset_: float

    def __init__(
        self,
        kernel: str | Kernel = "auto",
        *,
        statistic: str = "auto",
        false_alarm_rate: float = 0.05,
        calibration: Literal["auto", "split"] = "auto",
        robust: bool | Literal["auto"] = "auto",
        n_components: int | float | None = None,
        max_samples: int = 2000,
        random_state: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.statistic = statistic
        self.false_alarm_rate = false_alarm_rate
        self.calibration = calibration
        self.robust = robust
        self.n_components = n_components
        self.max_samples = max_samples
        self.random_state = random_state

    # --- fitting --------------------------------------------------------------------------------

    @all_or_nothing
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, calibration_weight: Any = None
    ) -> Self:
        """Fit the statistic and calibrate it.

        Parameters
        ----------
        X : array-like of shape (n, d), Dask collection, frame, or data that the kernel compares
            Of a Dask collection, ``max_samples`` plus 20,000 rows, drawn at random, are used.
        y : ignored
        sample_weight : array-like of shape (n,) or None
            Multiplicity of each row.
        calibration_weight : array-like of shape (n,) or None
            For new rows with another distribution: its density at each row of X, divided by the
            density of the rows of X, up to a constant factor. ``p_values`` then needs the same
            ratio for new rows. The statistic itself does not use these weights.
        """
        check_real(self.false_alarm_rate, "false_alarm_rate", above=0, below=1)
        check_choice(self.statistic, "statistic", _STATISTICS)
        check_choice(self.calibration, "calibration", ("auto", "split"))
        check_integer(self.max_samples, "max_samples", low=2)
        rng = np.random.default_rng(self.random_state)
        rows = self._validated_rows(X, sample_weight, calibration_weight, rng)
        points, weights = rows.points, rows.weights
        self.statistic_ = self._statistic_for(points)
        fitting, others = self._divide(points.n, rng)
        part = None if weights is None else weights[fitting]
        sample = self._fitted_sample(points.take(fitting), part)
        self.kernel_ = sample.kernel
        self._statistic: Callable[[Points], Array]
        self._statistic, own = self._fit_statistic(sample)
        everywhere = np.ones(points.n) if weights is None else weights
        scores = [self._statistic(points.take(others))] if len(others) else []
        used = [others]
        enough = len(others) >= _MAX_DECOMPOSED  # without fits to parts of the rows
        if self.calibration == "auto" and not (own is None and enough):
            scores.append(self._cross_scores(sample) if own is None else own)
            used.append(fitting)
        calibrating = np.concatenate(used)
        counts = multiplicities(everywhere)[calibrating]
        ratios = None if rows.ratios is None else rows.ratios[calibrating]
        self._calibrate(np.concatenate(scores), counts, ratios)
        self.p_values_ = None
        if not (passes_for(X).is_chunked or self._is_weighted):
            left_out = np.full(points.n, np.nan)
            if own is not None:
                left_out[fitting] = own
            left_out[calibrating] = np.concatenate(scores)
            self.p_values_ = self._training_p_values(points, left_out, calibrating)
        of_cells = self.statistic_ in _OF_CELLS
        self.typical_row_ = None if of_cells else typical_row(points, everywhere)
        return self

    def _calibrate(self, scores: Array, counts: Array, ratios: Array | None) -> None:
        """Set calibration and threshold for scores with multiplicities and density ratios."""
        rate = self.false_alarm_rate
        self._is_weighted = ratios is not None
        self._calibration = unweighted = Calibration.of(scores, counts)
        if ratios is not None:
            products = counts * ratios
            size = products.sum() ** 2 / (products @ ratios)  # effective number of rows
            self._calibration = Calibration.of(scores, products)
            # a row of typical weight counts as one of ``size`` rows
            unweighted = Calibration.of(scores, products * (size / products.sum()))
        self.n_calibration_ = unweighted.total
        limit = unweighted.limit(rate)
        self.offset_ = -min(limit, np.finfo(float).max)
        if limit == np.inf:
            warn(
                f"false_alarm_rate={rate:g} needs at least {int(np.ceil(1 / rate)) - 1} "
                f"calibration rows; there are {self.n_calibration_:.4g}, so no row can be marked "
                "as abnormal. Increase false_alarm_rate or pass more rows.",
                ApproximationWarning,
            )

    def _training_p_values(self, points: Points, left_out: Array, calibrating: Array) -> Array:
        """Return the p-values of all rows.

        ``left_out``: statistic of each row from a fit without it; NaN for rows that the statistic
        was not fitted to, or that it has no formula for.
        """
        unknown = np.flatnonzero(np.isnan(left_out))
        if len(unknown):
            left_out[unknown] = self._statistic(points.take(unknown))
        found = self._calibration.p_values(left_out)
        # a calibration row is one of those with a statistic at least as large as its own
        found[calibrating] = self._calibration.p_values(left_out[calibrating], 0.0)
        return found

    def _validated_rows(
        self, X: Any, sample_weight: Any, calibration_weight: Any, rng: np.random.Generator
    ) -> _Rows:
        """Return rows with positive weight, in memory; chooses what is compared."""
        self._kernel_by_rule = isinstance(self.kernel, str) and self.kernel == "auto"
        compared: Any = "vectors"
        if not self._kernel_by_rule:
            kernel = as_kernel(self.kernel)
            if isinstance(kernel, Precomputed):
                raise ValueError(
                    "KernelNovelty needs a kernel that it can evaluate, not 'precomputed'. Write "
                    "the kernel as a subclass of mercer.kernels.Kernel."
                )
            compared = kernel
        if not passes_for(X).is_chunked:
            X = as_frame(X)
            if self._kernel_by_rule:
                is_table = self.statistic in _OF_CELLS or is_mixed_table(X)
                compared = "objects" if is_table else "vectors"
            if self.statistic in _OF_CELLS:
                X = _as_table(X)
        elif isinstance(compared, Table):  # chunks are arrays of numbers
            compared = "vectors"
        points = own_points(validate_points(X, compared, estimator=self), X)
        most = int(self.max_samples) + _MAX_CALIBRATION_ROWS
        return _Rows.of(points, sample_weight, calibration_weight, most, rng)

    def _divide(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return the indices of the rows for the statistic, and of other calibration rows."""
        most = n if self.calibration == "auto" else (n + 1) // 2
        size = min(most, int(self.max_samples))
        if self.statistic_ in _OF_CELLS:  # the cost is proportional to the number of rows
            size = min(most, int(self.max_samples) + _MAX_CALIBRATION_ROWS)
        if self.statistic_ in _DECOMPOSED:
            size = min(size, _MAX_DECOMPOSED)
        if size == n:
            return np.arange(n), np.arange(0)
        order = rng.permutation(n)
        return np.sort(order[:size]), np.sort(order[size : size + _MAX_CALIBRATION_ROWS])

    def _fitted_sample(self, points: Points, weights: Array | None) -> Sample:
        """Fit the kernel to rows that the statistic is fitted to."""
        if self._kernel_by_rule:
            kernel = automatic_kernel(self.statistic_, points, weights)
        else:
            auto = most_likely_kernel if self.statistic_ == "density" else None
            kernel = fit_kernel(as_kernel(self.kernel), points, weights, auto=auto)
        return Sample.of(kernel, points, weights)

    def _statistic_for(self, points: Points) -> str:
        if self.statistic == "mahalanobis" and (points.kind != "vectors" or points.is_sparse):
            raise ValueError(
                "statistic='mahalanobis' needs a dense array of numbers without missing values. "
                "Use statistic='mixture', its form for any kernel."
            )
        if self.statistic != "auto":
            return self.statistic
        is_table = self._kernel_by_rule and points.kind == "objects"
        if is_table or (not self._kernel_by_rule and isinstance(as_kernel(self.kernel), Table)):
            return "table"
        many = points.kind == "vectors" and (points.dimension or 0) > _MANY_COLUMNS
        return "mahalanobis" if many and self._kernel_by_rule else "neighbors"

    def _is_robust(self, sample: Sample) -> bool:
        if self.robust == "auto":
            many = (sample.points.dimension or 0) > _MANY_COLUMNS
            if self.statistic_ in _OF_CELLS:
                return False
            return not (many and self.statistic_ == "mahalanobis")
        if not isinstance(self.robust, bool | np.bool_):
            raise ValueError(f"robust={self.robust!r} must be True, False or 'auto'.")
        return bool(self.robust)

    def _fit_statistic(self, sample: Sample) -> FittedStatistic:
        regular = None
        if self._is_robust(sample):
            if self.statistic_ in _OF_CELLS:
                own = self._fit_to(sample, None)[1]
                assert own is not None
                regular = central_rows(own, sample.multiplicities)
            else:
                regular = regular_rows(sample)
        return self._fit_to(sample, regular)

    def _fit_to(self, sample: Sample, regular: Array | None) -> FittedStatistic:
        is_scaled = self._kernel_by_rule and sample.points.kind == "vectors"
        most = int(self.max_samples)
        return fit_statistic(self.statistic_, sample, regular, self.n_components, is_scaled, most)

    def _cross_scores(self, sample: Sample) -> Array:
        """Return the score of every row from a fit to other rows."""
        n = sample.points.n
        fold = np.random.default_rng(self.random_state).permutation(np.arange(n) % 10)
        found = np.empty(n)
        for k in range(min(10, n)):
            rest, held_out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            weights = None if sample.weights is None else sample.unit * sample.weights[rest]
            part = self._fitted_sample(sample.points.take(rest), weights)
            statistic, _ = self._fit_statistic(part)
            found[held_out] = statistic(sample.points.take(held_out))
        return found

    # --- scoring --------------------------------------------------------------------------------

    def _validate_new(self, X: Any) -> Points:
        check_is_fitted(self)
        return super()._validate_new(_as_table(X) if self.statistic_ in _OF_CELLS else X)

    @rowwise
    def score_samples(self, X: Any) -> Array:
        """Return the negative statistic of every row: low for abnormal rows.

        Parameters
        ----------
        X : array-like of shape (m, d), Dask collection, or data that the kernel compares

        Returns
        -------
        array of shape (m,)
        """
        return -np.asarray(self._statistic(self._validate_new(X)))

    @rowwise
    def decision_function(self, X: Any) -> Array:
        """Return ``score_samples(X) - offset_``: negative for abnormal rows, p ≤ false_alarm_rate.

        Not available for a model with ``calibration_weight``.
        """
        if self._is_weighted:
            raise ValueError(
                "The model was fitted with calibration_weight, so whether a row is abnormal "
                "depends on its weight: use p_values(X, weight=...) <= false_alarm_rate."
            )
        return self.score_samples(X) - self.offset_

    @rowwise
    def predict(self, X: Any) -> Array:
        """Return -1 for abnormal rows, with p ≤ false_alarm_rate, and 1 for the others."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def p_values(self, X: Any, weight: Any = None) -> Any:
        """Return the conformal p-value of every row: small for abnormal rows.

        It is ``(1 + Σ w_i [s_i ≥ s]) / (1 + Σ w_i)`` for the statistics s_i of the calibration
        rows, so it is at least ``1 / (1 + n_calibration_)``. In a model with
        ``calibration_weight``, 1 is replaced by the weight of the new row (Tibshirani et al.
        2019).

        Parameters
        ----------
        X : array-like of shape (m, d), Dask collection, or data that the kernel compares
        weight : array-like of shape (m,) or None
            Density ratio of each row, as ``calibration_weight`` of :meth:`fit`, with the same
            factor. Required if, and only if, the model has calibration weights.

        Returns
        -------
        array of shape (m,)
        """
        check_is_fitted(self)
        if self._is_weighted != (weight is not None):
            raise ValueError(
                "The model was fitted with calibration_weight: pass the weight of the new rows."
                if self._is_weighted
                else "weight needs a model that was fitted with calibration_weight."
            )
        scores = self.score_samples(X)
        passes = passes_for(scores)
        if weight is not None and passes.is_chunked:
            from mercer.data.dask.validation import validate_dask_column

            weight = validate_dask_column(weight, scores, "weight")
        elif weight is not None:
            weight = row_weights(weight, len(scores), "weight")
        return passes.map(partial(_p_values, self._calibration), scores, weight)

    def explain(self, X: Any) -> Any:
        """Return which columns make a row abnormal.

        For the statistics "table" and "conditional" these are cells: how far each is from what was
        expected, given the other cells of its row, and the expected value. If the cells of a row
        agree with each other (p > 0.05), but the row is far from all training rows, "table"
        compares them with those of the nearest rows. For other statistics, entry (i, j) is the
        statistic of row i minus its value with column j replaced by its typical value
        (``typical_row_``).

        Parameters
        ----------
        X : array-like of shape (m, d) or data frame

        Returns
        -------
        data frame with a row for each cell
            For "table" and "conditional", in the order of the rows of X, and of each row the cell
            with the largest contribution first: ``row`` (its label in the index of X, or its
            position), ``column``, ``observed``, ``expected``, ``contribution`` (the contributions
            of a row add up to its statistic), and for categories ``probability`` and
            ``expected_probability``, those of the observed and of the expected value given the
            other cells, or among the nearest rows (NaN for other columns). ``basis`` ("table" only)
            is what the cells are compared with: "other cells" or "nearest rows". Missing values are
            None.
        array of shape (m, d), or data frame if X is one
            For other statistics. The entries of a row need not sum to its statistic.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from mercer import KernelNovelty
        >>> rng = np.random.default_rng(0)
        >>> kind = rng.choice(["cat", "horse"], 300)
        >>> weight = np.where(kind == "cat", 4.0, 500.0) * rng.uniform(0.8, 1.2, 300)
        >>> frame = pd.DataFrame({"kind": kind, "weight": weight.round(1)})
        >>> model = KernelNovelty().fit(frame)
        >>> found = model.explain(pd.DataFrame({"kind": ["cat"], "weight": [480.0]}))
        >>> found[["column", "observed", "expected", "probability"]].round(1)
           column observed  expected  probability
        0  weight    480.0  5.15...          NaN
        1    kind      cat     horse          0.0
        """
        points = self._validate_new(X)
        points.require_dense("explain")
        if isinstance(self._statistic, ConditionalDistance | TableStatistic):
            X = as_frame(X)
            labels = X.index.to_numpy() if is_frame(X) else np.arange(points.n)
            return self._statistic.explain(points, labels)
        if self.typical_row_ is None:
            raise ValueError("explain needs data with columns: an array or a data frame.")
        result = contributions_of_columns(self._statistic, points, self.typical_row_)
        if is_frame(as_frame(X)):
            import pandas as pd

            frame = as_frame(X)
            names = getattr(self, "feature_names_in_", frame.columns)
            return pd.DataFrame(result, columns=names, index=frame.index)
        return result

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "offset_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = False
        return tags


def _as_table(X: Any) -> Any:
    """Return a data frame, an array, or a Dask collection."""
    X = as_frame(X)
    return X if is_frame(X) or passes_for(X).is_chunked else as_array(as_numbers(X))


def _p_values(calibration: Calibration, scores: Array, weight: Array | None) -> Array:
    return calibration.p_values(-scores, 1.0 if weight is None else weight)


@dataclass(frozen=True)
class _Rows:
    """Rows with positive weight, in memory.
    The ratios are the density of new rows divided by that of these rows, up to a factor.
    """

    points: Points
    weights: Array | None
    ratios: Array | None

    @classmethod
    def of(
        cls,
        points: Any,
        sample_weight: Any,
        calibration_weight: Any,
        most: int,
        rng: np.random.Generator,
    ) -> Self:
        """Validate the weights of points; of a Dask collection at most ``most`` rows are drawn."""
        weights, ratios = validate_weights(sample_weight, points), calibration_weight
        if points.is_chunked:
            points, weights, ratios = _drawn(points, weights, ratios, most, rng)
        if ratios is not None:
            ratios = row_weights(ratios, points.n, "calibration_weight")
        if weights is not None and (weights == 0).any():
            used = np.flatnonzero(weights)
            points, weights = points.take(used), weights[used]
            ratios = None if ratios is None else ratios[used]
        if ratios is not None and not ratios.any():
            raise ValueError("calibration_weight is zero for all rows; some must be positive.")
        if points.n < 2:
            raise ValueError(
                "KernelNovelty needs at least 2 rows with positive weight; got "
                f"n_samples={points.n}."
            )
        return cls(points, weights, ratios)


def _drawn(
    points: Any, weights: Any, ratios: Any, most: int, rng: np.random.Generator
) -> tuple[Points, Array | None, Array | None]:
    """Return random rows of chunked points with their weights, in memory."""
    points = points.with_weights(weights)
    _ = points.survey  # this pass validates the rows
    n = points.n
    rows = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    columns = (
        points.weights,
        None if ratios is None else points.align(ratios, "calibration_weight"),
    )
    drawn = [None if c is None else points.passes.take(c, rows) for c in columns]
    return points.take(rows), drawn[0], drawn[1]
