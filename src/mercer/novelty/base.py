"""Base class of novelty detectors: decisions by a threshold of the scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import OutlierMixin

from mercer.data.rowwise import rowwise
from mercer.utils.types import Array

__all__ = ["NoveltyDetector"]


class NoveltyDetector(OutlierMixin, ABC):  # type: ignore[misc]
    """A detector with scores and a threshold: rows with a score below ``offset_`` are abnormal."""

    offset_: float

    @abstractmethod
    def score_samples(self, X: Any) -> Array:
        """Return the score of every row: low for abnormal rows."""

    @rowwise
    def decision_function(self, X: Any) -> Array:
        """Return ``score_samples(X) - offset_``: negative for abnormal rows."""
        return self.score_samples(X) - self.offset_

    @rowwise
    def predict(self, X: Any) -> Array:
        """Return -1 for abnormal rows and 1 for the others."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "offset_")
