"""Mixed tables with missing values, compared with common preprocessing; and large tables.

The data are part of packages in ``mercer[dev]``: palmerpenguins, vega_datasets and statsmodels.
Nothing is downloaded and nothing is tuned: methods have default parameters or those named in the
tables, and the same splits.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from importlib.resources import files

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, adjusted_rand_score, log_loss
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.measure import extra_peak, table
from mercer import JointMixtureClassifier, MercerMixture
from mercer.kernels import table_kernel
from mercer.solvers import Nystrom

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
Data = tuple[pd.DataFrame, np.ndarray]


# --- data sets ---------------------------------------------------------------------------------


def penguins() -> Data:
    """344 penguins: island, four measures, sex, year, missing values; the class is the species."""
    frame = pd.read_csv(files("palmerpenguins") / "data" / "penguins.csv")
    return frame.drop(columns="species"), frame["species"].to_numpy(str)


def cars() -> Data:
    """406 cars: name, five measures, cylinders, year, missing values; the class is the origin."""
    frame = pd.read_json(str(files("vega_datasets") / "_data" / "cars.json"))
    frame["Year"] = pd.to_datetime(frame["Year"]).dt.year
    frame["Cylinders"] = frame["Cylinders"].astype(str)
    return frame.drop(columns="Origin"), frame["Origin"].to_numpy(str)


def voters() -> Data:
    """944 answers to the 1996 election study, mostly on ordered scales; the class is the vote."""
    frame = _statsmodels("anes96")
    for column in ("TVnews", "selfLR", "ClinLR", "DoleLR", "PID", "educ"):
        frame[column] = pd.Categorical(frame[column], ordered=True)
    return frame.drop(columns="vote"), np.where(frame["vote"] == 1, "Dole", "Clinton")


def marriages() -> Data:
    """2000 of 6366 answers on marriage; the class is whether there was an affair."""
    frame = _statsmodels("fair").sample(2000, random_state=0).reset_index(drop=True)
    for column in ("rate_marriage", "religious"):
        frame[column] = pd.Categorical(frame[column], ordered=True)
    for column in ("occupation", "occupation_husb"):
        frame[column] = frame[column].astype(int).astype(str)
    return frame.drop(columns="affairs"), np.where(frame["affairs"] > 0, "yes", "no")


def _statsmodels(name: str) -> pd.DataFrame:
    import importlib

    return importlib.import_module(f"statsmodels.datasets.{name}").load_pandas().data


SETS: dict[str, Callable[[], Data]] = {
    "penguins": penguins,
    "cars": cars,
    "voters": voters,
    "marriages": marriages,
}


# --- common preprocessing and other libraries --------------------------------------------------


def one_hot() -> Pipeline:
    """Return a pipeline that imputes, one-hot encodes categories and standardizes numbers."""
    numbers = make_column_selector(dtype_include="number")
    labels = make_column_selector(dtype_exclude="number")
    return make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            (
                make_pipeline(
                    SimpleImputer(strategy="most_frequent"),
                    OneHotEncoder(handle_unknown="ignore", min_frequency=5, sparse_output=False),
                ),
                labels,
            ),
        )
    )


class MixedKDE:
    """statsmodels' KDEMultivariate, the only mixed-type density estimate in wide use."""

    def fit(self, X: pd.DataFrame) -> MixedKDE:
        from statsmodels.nonparametric.kernel_density import KDEMultivariate

        # KDEMultivariate does not accept constant columns or texts.
        usable = [c for c in X if X[c].nunique() > 1]
        X = X[[c for c in usable if _is_number(X[c]) or X[c].nunique() < 30]]
        self.columns = list(X)
        self.fills = {c: X[c].mean() if _is_number(X[c]) else X[c].mode()[0] for c in X}
        self.levels = {c: {v: i for i, v in enumerate(_levels(X[c]))} for c in X}
        kinds = "".join(_kind(X[c]) for c in X)
        self.density = KDEMultivariate(self._coded(X), kinds, bw="normal_reference")
        # The rule treats category codes as numbers. Above these limits weights become negative.
        limits = {"c": [np.inf] * len(kinds), "o": [0.9] * len(kinds)}
        limits["u"] = [1 - 1 / max(len(self.levels[c]), 2) for c in X]
        self.density.bw = np.minimum(
            self.density.bw, [limits[kind][i] for i, kind in enumerate(kinds)]
        )
        return self

    def score_samples(self, X: pd.DataFrame) -> np.ndarray:
        return np.log(self.density.pdf(self._coded(X)) + 1e-300)

    def _coded(self, X: pd.DataFrame) -> np.ndarray:
        columns = []
        for c in self.columns:
            cells = X[c].astype(object).where(X[c].notna(), self.fills[c])
            if not _is_number(X[c]):
                cells = cells.map(self.levels[c]).astype(float).fillna(len(self.levels[c]))
            columns.append(cells.to_numpy(float))
        return np.column_stack(columns)


def _is_number(cells: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(cells.dtype) and cells.dtype != bool


def _levels(cells: pd.Series) -> list[object]:
    ordered = getattr(cells.dtype, "ordered", False)
    return list(cells.cat.categories) if ordered else sorted(cells.dropna().unique().tolist())


def _kind(cells: pd.Series) -> str:
    if _is_number(cells):
        return "c"
    return "o" if getattr(cells.dtype, "ordered", False) else "u"


class ByClass:
    """Bayes' rule with one density for each class."""

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> ByClass:
        self.classes_, counts = np.unique(y, return_counts=True)
        self.priors = np.log(counts / len(y))
        self.densities = [self.make().fit(X[y == c]) for c in self.classes_]
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        logs = np.column_stack([d.score_samples(X) for d in self.densities]) + self.priors
        proportions = np.exp(logs - logs.max(axis=1, keepdims=True))
        return proportions / proportions.sum(axis=1, keepdims=True)


class Encoded:
    """A density of the one-hot columns; the encoder is fitted to all training rows."""

    def __init__(self, encoder: Pipeline, model: object) -> None:
        self.encoder, self.model = encoder, model

    def fit(self, X: pd.DataFrame) -> Encoded:
        self.model.fit(self.encoder.transform(X))
        return self

    def score_samples(self, X: pd.DataFrame) -> np.ndarray:
        return self.model.score_samples(self.encoder.transform(X))


def _gaussian(encoder: Pipeline) -> Encoded:
    return Encoded(encoder, GaussianMixture(1, reg_covar=1e-3, random_state=0))


# --- tasks -------------------------------------------------------------------------------------


def _classifiers(X: pd.DataFrame, y: np.ndarray) -> dict[str, object]:
    encoder = one_hot().fit(X)
    return {
        "JointMixtureClassifier(table_kernel)": JointMixtureClassifier(kernel=table_kernel(X)),
        "one-hot, GaussianMixture per class": ByClass(lambda: _gaussian(encoder)),
        "KDEMultivariate per class": ByClass(MixedKDE),
        "one-hot, LogisticRegression": make_pipeline(one_hot(), LogisticRegression(max_iter=1000)),
    }


def classification() -> str:
    rows = []
    for name, load in SETS.items():
        X, y = load()
        found: dict[str, list[tuple[float, float]]] = {}
        for train, test in FOLDS.split(X, y):
            models = _classifiers(X.iloc[train], y[train])
            for method, model in models.items():
                if method.startswith("KDE") and len(X) > 1000:
                    continue  # takes minutes
                proba = model.fit(X.iloc[train], y[train]).predict_proba(X.iloc[test])
                classes = np.unique(y)
                right = accuracy_score(y[test], classes[proba.argmax(axis=1)])
                loss = log_loss(y[test], proba, labels=classes)
                found.setdefault(method, []).append((right, loss))
        rows += [
            (name, method, *(f"{value:.3f}" for value in np.mean(values, axis=0)))
            for method, values in found.items()
        ]
    header = ("data set", "method", "accuracy", "log loss")
    return table("Classification, five folds", rows, header)


def clustering() -> str:
    rows = []
    for name, load in SETS.items():
        X, y = load()
        k = len(np.unique(y))
        encoded = one_hot().fit_transform(X)
        settings = {"kernel": table_kernel(X), "rank": 10, "alpha": "scaled", "n_init": 10}
        mixture = MercerMixture(k, random_state=0, **settings)
        ours = mixture.fit_predict(X)
        peer = GaussianMixture(k, n_init=10, reg_covar=1e-3, random_state=0).fit_predict(encoded)
        rows += [
            (
                name,
                f"MercerMixture({k}, table_kernel, rank=10, alpha='scaled')",
                f"{adjusted_rand_score(y, ours):.3f}",
                ", ".join(f"{w:.2f}" for w in mixture.effective_weights_),
            ),
            (name, f"one-hot, GaussianMixture({k})", f"{adjusted_rand_score(y, peer):.3f}", ""),
        ]
    header = ("data set", "method", "adjusted Rand index with the classes", "weights")
    return table("Clustering, ten starts each", rows, header)


# --- size --------------------------------------------------------------------------------------


def mixed_table(n: int) -> pd.DataFrame:
    """Three groups: six numeric, four categorical, two boolean columns; 10 % missing values."""
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=n)
    columns: dict[str, object] = {}
    for j in range(6):
        numbers = rng.normal(size=n) + group * (j % 3)
        numbers[rng.random(n) < 0.1] = np.nan
        columns[f"number{j}"] = numbers
    for j in range(4):
        labels = np.array(list("abcdef"), dtype=object)[(group + rng.integers(4, size=n)) % 6]
        labels[rng.random(n) < 0.1] = None
        columns[f"label{j}"] = labels
    for j in range(2):
        columns[f"flag{j}"] = rng.random(n) < 0.3 + 0.2 * group
    return pd.DataFrame(columns)


def five_thousand() -> pd.DataFrame:
    return mixed_table(5000)


def hundred_thousand() -> pd.DataFrame:
    return mixed_table(100_000)


def fit_small(frame: pd.DataFrame) -> MercerMixture:
    return MercerMixture(3, kernel=table_kernel(frame), rank=100).fit(frame)


def fit_default(frame: pd.DataFrame) -> MercerMixture:
    return MercerMixture(kernel=table_kernel(frame)).fit(frame)


def fit_landmarks(frame: pd.DataFrame) -> MercerMixture:
    solver = Nystrom(500, random_state=0)
    return MercerMixture(3, kernel=table_kernel(frame), rank=100, solver=solver).fit(frame)


def size() -> str:
    rows = []
    for name, make, fit in (
        ("5,000 × 12, one component, all defaults", five_thousand, fit_default),
        ("5,000 × 12, three components, rank=100", five_thousand, fit_small),
        ("100,000 × 12, three components, rank=100, Nystrom(500)", hundred_thousand, fit_landmarks),
    ):
        frame = make()
        begin = time.perf_counter()
        model = fit(frame)
        spent = time.perf_counter() - begin
        begin = time.perf_counter()
        model.score_samples(frame[:1000])
        scored = time.perf_counter() - begin
        memory = extra_peak(__name__, make.__name__, fit.__name__)
        rows.append((name, f"{spent:.1f} s", f"{scored:.2f} s", f"{memory:.0f} MB"))
    header = ("MercerMixture(table_kernel)", "fit", "1000 rows scored", "peak memory")
    return table("A mixed table with missing values", rows, header)


def tables() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for make in (classification, clustering, size):
            yield make()
