"""Gram operators: stored, sparse, tile by tile, centered, degree-normalized or factored."""

from mercer.data.points import Sample
from mercer.gram.expansion import Expansion, KernelExpansion
from mercer.gram.features import (
    ExactFeatures,
    ExplicitGram,
    FactoredGram,
    FeatureExpansion,
    FeatureMap,
    SmallProblem,
)
from mercer.gram.fourier import FourierGram, FrequencyGrid, NoGrid, frequency_grid
from mercer.gram.gram import (
    BlockedGram,
    CenteredGram,
    ChunkedGram,
    DenseGram,
    DirectGram,
    EigenProblem,
    GramOperator,
)
from mercer.gram.kernel_sums import WindowSum
from mercer.gram.landmarks import LandmarkFeatures, NystromGram, choose_landmarks, landmark_bytes
from mercer.gram.sparse import NormalizedExpansion, NormalizedGram, SparseGram

__all__ = [
    "BlockedGram",
    "CenteredGram",
    "ChunkedGram",
    "DenseGram",
    "DirectGram",
    "EigenProblem",
    "ExactFeatures",
    "Expansion",
    "ExplicitGram",
    "FactoredGram",
    "FeatureExpansion",
    "FeatureMap",
    "FourierGram",
    "FrequencyGrid",
    "GramOperator",
    "KernelExpansion",
    "LandmarkFeatures",
    "NoGrid",
    "NormalizedExpansion",
    "NormalizedGram",
    "NystromGram",
    "Sample",
    "SmallProblem",
    "SparseGram",
    "WindowSum",
    "choose_landmarks",
    "frequency_grid",
    "landmark_bytes",
]
