"""Gram operators of landmark features (Nyström)."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Self

import numpy as np

from mercer.data.points import Points
from mercer.gram.explicit import ExplicitGram
from mercer.gram.factored import FactoredGram
from mercer.gram.feature_maps import LandmarkFeatures
from mercer.kernels import Kernel
from mercer.utils.types import Array

__all__ = ["NystromGram"]


class NystromGram(ExplicitGram):
    """Gram operator of Nyström features: a lower approximation of K with a computable error.

    ``K - ΦΦ*`` is positive semi-definite, so its norm is at most its trace (``error_bound``).
    """

    features: LandmarkFeatures

    @cached_property
    def exact_trace(self) -> float:
        """``tr W^½ K W^½`` of the exact kernel."""
        return float(self.points.sum_rows(partial(_trace, self.kernel), self.weights))

    def absorb(self, earlier: FactoredGram) -> None:
        """Add the moments and the traces."""
        assert isinstance(earlier, NystromGram)
        self.exact_trace += earlier.exact_trace
        super().absorb(earlier)

    def centered(self) -> Self:
        """Return the operator with the mean feature removed; moments and trace are shared."""
        other = super().centered()
        other.exact_trace = self.exact_trace
        return other

    @property
    def missing_fraction(self) -> float:
        """Fraction of the uncentered trace that the landmarks miss."""
        return self.error_bound / self.exact_trace

    @cached_property
    def trace(self) -> float:
        """The exact trace, minus n times the squared norm of the mean feature if centered."""
        mean = self.moments.mean
        return self.exact_trace - (self.total * float(mean @ mean) if self.center else 0.0)

    @cached_property
    def error_bound(self) -> float:
        """Trace of ``K - ΦΦ*``, which bounds the error of every eigenvalue, plus rounding error."""
        missing = max(self.exact_trace - float(self.moments.about_zero.trace()), 0.0)
        return missing + self.features.rounding(self.moments)

    @property
    def description(self) -> str:
        """Number of landmarks."""
        return f"{self.features.landmarks.n} landmarks{', centered' if self.center else ''}"


def _trace(kernel: Kernel, points: Points, weights: Array | None) -> float:
    diagonal = kernel.diagonal(points.data).astype(np.float64)
    return float(diagonal.sum() if weights is None else diagonal @ weights)
