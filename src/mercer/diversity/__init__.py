"""Diversity of a sample, its modes, and the comparison of two samples or two embeddings."""

from __future__ import annotations

from mercer.diversity.comparison import SampleComparison, compare_samples
from mercer.diversity.differences import DifferenceMode
from mercer.diversity.embeddings import EmbeddingComparison, compare_embeddings
from mercer.diversity.measure import Diversity, Mode, measure_diversity

__all__ = [
    "DifferenceMode",
    "Diversity",
    "EmbeddingComparison",
    "Mode",
    "SampleComparison",
    "compare_embeddings",
    "compare_samples",
    "measure_diversity",
]
