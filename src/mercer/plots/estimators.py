"""What displays read from the estimators that users have: pipelines, clusterers, detectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_outlier_detector
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer.utils.types import Array

__all__ = ["FinalStep", "column_names", "final_step", "fitted_spectrum", "predicted_labels"]


@dataclass(frozen=True)
class FinalStep:
    """The fitted estimator at the end of a pipeline, and rows as it receives them."""

    estimator: Any
    X: Any


def final_step(estimator: Any, X: Any = None) -> FinalStep:
    """Return the last estimator of a pipeline, and the rows after all steps before it.

    An estimator that is not a pipeline is returned as it is, with its rows.
    """
    if not isinstance(estimator, Pipeline):
        check_is_fitted(estimator)
        return FinalStep(estimator, X)
    final = estimator.steps[-1][1]
    check_is_fitted(final)
    return FinalStep(final, X if X is None else estimator[:-1].transform(X))


def fitted_spectrum(estimator: Any) -> Any:
    """Return the spectrum of an estimator or of the last step of a pipeline."""
    final = final_step(estimator).estimator
    if not hasattr(final, "spectrum_"):
        raise TypeError(
            f"{type(final).__name__} has no spectrum. Pass an estimator with spectrum_, such as "
            "KernelPCA, KernelECA, EntropyClustering or SeriesDensity."
        )
    return final.spectrum_


def column_names(estimator: Any, count: int) -> list[str]:
    """Return the names of the columns that the last step receives, or x1, x2 and so on."""
    names = getattr(estimator, "feature_names_in_", None)
    if isinstance(estimator, Pipeline):
        try:
            names = estimator[:-1].get_feature_names_out()
        except (AttributeError, ValueError):  # a step has no names
            names = None
    if names is None or len(names) != count:
        return [f"x{i + 1}" for i in range(count)]
    return [str(name) for name in names]


def predicted_labels(estimator: Any, X: Any) -> Array | None:
    """Return clusters, classes, or whether a row is abnormal; None if nothing is predicted."""
    if not hasattr(estimator, "predict"):
        return None
    labels = np.asarray(estimator.predict(X))
    if is_outlier_detector(estimator):
        return np.where(labels < 0, "abnormal", "normal")
    return labels
