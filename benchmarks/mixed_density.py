"""Densities of mixed tables: held-out log-likelihood, compared with other libraries; fit times.

All models give a density with respect to Lebesgue measure in numeric columns and counting measure
in label columns, so that their values are comparable:

- MercerMixture is normalized over a product of intervals and categories (``table_domain``).
- GaussianMixture on one-hot columns is a density of real vectors. It is converted in the way that
  loses nothing: p(numbers) is its marginal, and p(labels | numbers) its conditional density at the
  one-hot vectors, divided by the sum over all combinations of labels.
- KDEMultivariate uses the Aitchison-Aitken kernel for all labels, which adds up to 1 over the
  levels (the kernel for ordered levels does not).

Every model has two parameters, chosen on the same quarter of the training rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from sklearn.mixture import GaussianMixture

from benchmarks.measure import table
from benchmarks.mixed_tables import SETS, five_thousand, hundred_thousand
from mercer import MercerMixture
from mercer.domains import table_domain
from mercer.kernels import table_kernel

_FEW_VALUES = 12  # a numeric column with fewer values is a column of labels
_MAX_ROWS = 1000
_BLOCK = 20_000
_SPLITS = 3


def complete_table(name: str) -> pd.DataFrame:
    """Return rows without missing values: numbers as floats, everything else as categories."""
    frame, classes = SETS[name]()
    frame = frame.assign(**{"class": classes}).dropna()
    texts = [c for c in frame if not _is_number(frame[c]) and frame[c].nunique() > 30]
    frame = frame.drop(columns=[*texts, *frame.columns.intersection(["logpopul"])])  # of popul
    if len(frame) > _MAX_ROWS:
        frame = frame.sample(_MAX_ROWS, random_state=0)
    for column in frame:
        if _is_number(frame[column]) and frame[column].nunique() > _FEW_VALUES:
            frame[column] = frame[column].astype(float)
        elif not getattr(frame[column].dtype, "ordered", False):
            is_number = _is_number(frame[column])
            levels = sorted(frame[column].unique().tolist())
            frame[column] = pd.Categorical(frame[column], categories=levels, ordered=is_number)
    return frame.reset_index(drop=True)


def _is_number(cells: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(cells.dtype) and cells.dtype != bool


def _numbers(frame: pd.DataFrame) -> list[str]:
    return [c for c in frame if frame[c].dtype == float]


def _labels(frame: pd.DataFrame) -> list[str]:
    return [c for c in frame if frame[c].dtype != float]


class OneHotGaussians:
    """GaussianMixture on standardized numbers and one-hot labels, as a density of the table."""

    def __init__(self, n_components: int, reg_covar: float) -> None:
        self.model = GaussianMixture(n_components, reg_covar=reg_covar, random_state=0)

    def fit(self, frame: pd.DataFrame) -> OneHotGaussians:
        self.mean, self.scale = frame[_numbers(frame)].mean(), frame[_numbers(frame)].std()
        self.levels = [frame[c].cat.categories.tolist() for c in _labels(frame)]
        sizes = [len(levels) for levels in self.levels]
        self.combinations = np.indices(sizes, dtype=np.int8).reshape(len(sizes), -1).T
        self.model.fit(np.hstack([self._scaled(frame), self._one_hot(self._codes(frame))]))
        return self

    def score_samples(self, frame: pd.DataFrame) -> np.ndarray:
        numbers, codes = self._scaled(frame), self._codes(frame)
        d = numbers.shape[1]
        marginal = logsumexp(self._log_gaussians(numbers) + np.log(self.model.weights_), axis=1)
        both = np.hstack([numbers, self._one_hot(codes)])
        logs = marginal + self.model.score_samples(both) - self._log_totals(numbers)
        return logs - np.log(self.scale.to_numpy()).sum() if d else logs

    def _log_totals(self, numbers: np.ndarray) -> np.ndarray:
        """Return log-sums of the density over all combinations of labels, for given numbers."""
        d, model = numbers.shape[1], self.model
        if d == 0 and len(numbers) > 1:
            return np.repeat(self._log_totals(numbers[:1]), len(numbers))
        totals = np.full(len(numbers), -np.inf)
        for first in range(0, len(self.combinations), _BLOCK):
            corners = self._one_hot(self.combinations[first : first + _BLOCK])
            for weight, mean, root in zip(
                model.weights_, model.means_, model.precisions_cholesky_, strict=True
            ):
                a, b = numbers @ root[:d] - mean @ root, corners @ root[d:]
                squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) + 2 * a @ b.T
                scale = np.log(root.diagonal()).sum() - 0.5 * len(root) * np.log(2 * np.pi)
                logs = logsumexp(-0.5 * squares, axis=1) + scale + np.log(weight)
                totals = np.logaddexp(totals, logs)
        return totals

    def _log_gaussians(self, numbers: np.ndarray) -> np.ndarray:
        """Return the marginal log-densities of the components in the numeric columns."""
        d = numbers.shape[1]
        if d == 0:
            return np.zeros((len(numbers), len(self.model.weights_)))
        logs = []
        for mean, covariance in zip(self.model.means_, self.model.covariances_, strict=True):
            factor = np.linalg.cholesky(covariance[:d, :d])
            whitened = np.linalg.solve(factor, (numbers - mean[:d]).T)
            scale = np.log(factor.diagonal()).sum() + 0.5 * d * np.log(2 * np.pi)
            logs.append(-0.5 * (whitened**2).sum(axis=0) - scale)
        return np.array(logs).T

    def _scaled(self, frame: pd.DataFrame) -> np.ndarray:
        return ((frame[_numbers(frame)] - self.mean) / self.scale).to_numpy()

    def _codes(self, frame: pd.DataFrame) -> np.ndarray:
        return np.column_stack([frame[c].cat.codes for c in _labels(frame)])

    def _one_hot(self, codes: np.ndarray) -> np.ndarray:
        parts = [np.eye(len(levels))[codes[:, j]] for j, levels in enumerate(self.levels)]
        return np.hstack(parts)


class ProductKDE:
    """statsmodels' KDEMultivariate with its reference bandwidths times two factors."""

    def __init__(self, numbers: float, labels: float) -> None:
        self.factors = {"c": numbers, "u": labels}

    def fit(self, frame: pd.DataFrame) -> ProductKDE:
        from statsmodels.nonparametric.kernel_density import KDEMultivariate

        # A column that is constant in the training rows cannot have a kernel. Its value counts as
        # certain, which is optimistic.
        self.columns = [c for c in frame if frame[c].nunique() > 1]
        kinds = ["c" if frame[c].dtype == float else "u" for c in self.columns]
        self.density = KDEMultivariate(self._coded(frame), "".join(kinds), bw="normal_reference")
        limits = [
            np.inf if kind == "c" else 1 - 1 / frame[c].nunique()
            for c, kind in zip(self.columns, kinds, strict=True)
        ]
        factors = np.array([self.factors[kind] for kind in kinds])
        self.density.bw = np.minimum(self.density.bw * factors, limits)
        return self

    def score_samples(self, frame: pd.DataFrame) -> np.ndarray:
        return np.log(self.density.pdf(self._coded(frame)) + 1e-300)

    def _coded(self, frame: pd.DataFrame) -> np.ndarray:
        codes = [frame[c] if frame[c].dtype == float else frame[c].cat.codes for c in self.columns]
        return np.column_stack(codes).astype(float)


def _mercer_models(frame: pd.DataFrame) -> Callable[[pd.DataFrame], list[object]]:
    domain = table_domain(frame)

    def models(train: pd.DataFrame) -> list[object]:
        kernel = table_kernel(train)
        return [
            MercerMixture(kernel=kernel.scale_bandwidths(f), alpha=a * len(train), domain=domain)
            for f, a in product((0.35, 0.5, 0.7, 1.0), (0.02, 0.075, 0.3))
        ]

    return models


def _methods(frame: pd.DataFrame) -> dict[str, Callable[[pd.DataFrame], list[object]]]:
    return {
        "MercerMixture(table_kernel)": _mercer_models(frame),
        "one-hot, GaussianMixture": lambda _: [
            OneHotGaussians(m, r) for m, r in product((1, 2, 4), (1e-3, 1e-2, 1e-1))
        ],
        "KDEMultivariate": lambda _: [
            ProductKDE(c, u) for c, u in product((0.5, 0.75, 1.0), (0.1, 0.3, 1.0))
        ],
    }


def likelihood() -> str:
    rows = []
    for name in SETS:
        frame = complete_table(name)
        found: dict[str, list[float]] = {}
        spent: dict[str, float] = {}
        for seed in range(_SPLITS):
            order = np.random.default_rng(seed).permutation(len(frame))
            n_test, n_valid = len(frame) // 5, len(frame) // 5
            test = frame.iloc[order[:n_test]]
            valid = frame.iloc[order[n_test : n_test + n_valid]]
            train = frame.iloc[order[n_test + n_valid :]]
            both = frame.iloc[order[n_test:]]
            for method, models in _methods(frame).items():
                begin = time.process_time()
                scores = [m.fit(train).score_samples(valid).mean() for m in models(train)]
                best = models(both)[int(np.argmax(scores))]
                found.setdefault(method, []).append(best.fit(both).score_samples(test).mean())
                spent[method] = spent.get(method, 0.0) + time.process_time() - begin
        columns = f"{len(_numbers(frame))} numeric, {len(_labels(frame))} labels"
        rows += [
            (
                f"{name}, {len(frame)} × ({columns})",
                method,
                f"{np.mean(values):.2f}",
                f"{np.std(values, ddof=1):.2f}",
                f"{spent[method] / _SPLITS:.1f} s",
            )
            for method, values in found.items()
        ]
    header = ("table", "method", "held-out log-density", "sd over splits", "CPU time per split")
    return table(f"Densities of mixed tables, {_SPLITS} splits, nats per row", rows, header)


def fit_times() -> str:
    rows = []
    for name, make in (("5,000 × 12", five_thousand), ("100,000 × 12", hundred_thousand)):
        frame = make()
        kernel = table_kernel(frame)
        wall, cpu = time.perf_counter(), time.process_time()
        mixture = MercerMixture(3, kernel=kernel).fit(frame)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        weights = ", ".join(f"{w:.2f}" for w in mixture.effective_weights_)
        rows.append((name, f"{cpu:.1f} s", f"{wall:.1f} s", str(mixture.rank_), weights))
    header = ("MercerMixture(3, table_kernel)", "CPU time", "wall time", "rank", "weights")
    return table("Fit times with default parameters", rows, header)


def tables() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for make in (likelihood, fit_times):
            yield make()
