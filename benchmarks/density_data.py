"""Real tables of one to ten numeric columns for the comparison of densities.

The data are part of scikit-learn and of packages in ``mercer[dev]`` (statsmodels, vega_datasets,
palmerpenguins); thyroid, banana and pendigits need the data folder of
:mod:`mercer.datasets`. Nothing is downloaded. Rows with missing values are dropped, and at most
2000 rows are used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from importlib.resources import files

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from papers.data import load_ida, load_pendigits, load_thyroid

MAX_ROWS = 2000


def _statsmodels(name: str, *columns: str) -> np.ndarray:
    frame = importlib.import_module(f"statsmodels.datasets.{name}").load_pandas().data
    return frame[list(columns)].to_numpy(dtype=float)


def _vega(name: str, *columns: str) -> np.ndarray:
    path = files("vega_datasets") / "_data" / name
    frame = (pd.read_json if name.endswith("json") else pd.read_csv)(str(path))
    return frame[list(columns)].to_numpy(dtype=float)


def _penguins() -> np.ndarray:
    frame = pd.read_csv(files("palmerpenguins") / "data" / "penguins.csv")
    return frame.select_dtypes("number").drop(columns="year").to_numpy(dtype=float)


def _diabetes(*columns: int) -> np.ndarray:
    return load_diabetes(scaled=False).data[:, list(columns)]


CARS = ("Miles_per_Gallon", "Displacement", "Horsepower", "Weight_in_lbs", "Acceleration")

#: The tables on which the defaults were chosen: those of earlier comparisons, and four others.
DEVELOPMENT: dict[str, Callable[[], np.ndarray]] = {
    "iris petal length": lambda: load_iris().data[:, 2:3],
    "wine flavanoids": lambda: load_wine().data[:, 6:7],
    "iris sepals": lambda: load_iris().data[:, :2],
    "wine 1, 7": lambda: load_wine().data[:, [0, 6]],
    "diabetes bmi, bp, s5": lambda: _diabetes(2, 3, 8),
    "iris": lambda: load_iris().data,
    "wine 1-5": lambda: load_wine().data[:, :5],
    "thyroid": lambda: load_thyroid().data,
    "banana, 400 rows": lambda: load_ida("banana").data[:400],
    "penguins": _penguins,
    "Engel": lambda: _statsmodels("engel", "income", "foodexp"),
    "breast cancer 1-10": lambda: load_breast_cancer().data[:, :10],
    "crime by state": lambda: _statsmodels(
        "statecrime", "violent", "murder", "hs_grad", "poverty", "single", "white", "urban"
    ),
}

#: The tables on which nothing was chosen.
REPORT: dict[str, Callable[[], np.ndarray]] = {
    "Nile": lambda: _statsmodels("nile", "volume"),
    "sunspots": lambda: _statsmodels("sunspots", "SUNACTIVITY"),
    "Seattle temperatures": lambda: _vega("seattle-temps.csv", "temp"),
    "breast cancer area": lambda: load_breast_cancer().data[:, 3:4],
    "airports": lambda: _vega("airports.csv", "latitude", "longitude"),
    "cancer, population": lambda: _statsmodels("cancer", "cancer", "population"),
    "heart transplants": lambda: _statsmodels("heart", "survival", "age"),
    "fertility": lambda: _statsmodels("fertility", "1970", "1990", "2010"),
    "Grunfeld": lambda: _statsmodels("grunfeld", "invest", "value", "capital"),
    "Seattle weather": lambda: _vega("seattle-weather.csv", "temp_max", "temp_min", "wind"),
    "breast cancer 4": lambda: load_breast_cancer().data[:, [0, 1, 4, 5]],
    "inflation": lambda: _statsmodels("macrodata", "tbilrate", "unemp", "infl"),
    "travel mode": lambda: _statsmodels("modechoice", "ttme", "invc", "invt", "gc"),
    "cars": lambda: _vega("cars.json", *CARS),
    "school districts": lambda: _statsmodels(
        "star98", "LOWINC", "PERMINTE", "AVYRSEXP", "AVSALK", "PERSPENK", "PTRATIO"
    ),
    "pendigits 1-6": lambda: load_pendigits().data[:, :6],
    "breast cancer errors": lambda: load_breast_cancer().data[:, 10:18],
    "diabetes": lambda: _diabetes(0, 2, 3, 4, 5, 6, 7, 8, 9),
    "wine 1-10": lambda: load_wine().data[:, :10],
}


def load(name: str) -> np.ndarray:
    """Return a table; repeated values are spread over their rounding step with a fixed seed."""
    X = np.asarray({**DEVELOPMENT, **REPORT}[name](), dtype=float)
    X = X[np.isfinite(X).all(axis=1)]
    rng = np.random.default_rng(0)
    if len(X) > MAX_ROWS:
        X = X[np.sort(rng.choice(len(X), MAX_ROWS, replace=False))]
    return np.column_stack([spread(column, rng) for column in X.T])


def spread(column: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Spread repeated values uniformly over the smallest difference between values.

    Without this, ever narrower bandwidths at the repeated values have the largest likelihood.
    """
    values = np.unique(column)
    if len(values) == len(column):
        return column
    step = np.diff(values).min()
    return column + step * rng.uniform(-0.5, 0.5, len(column))
