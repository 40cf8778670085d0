"""Gram operators: stored, sparse, tile by tile, centered, degree-normalized or factored."""

from mercer.data.points import Sample
from mercer.gram.centered import CenteredGram, center_gram
from mercer.gram.chunked import ChunkedGram
from mercer.gram.expansion import Expansion, FeatureExpansion, KernelExpansion
from mercer.gram.explicit import ExplicitGram
from mercer.gram.factored import FactoredGram, SmallProblem
from mercer.gram.feature_maps import ExactFeatures, FeatureMap, LandmarkFeatures
from mercer.gram.fourier import FourierGram
from mercer.gram.frequency_grid import FrequencyGrid, NoGrid, frequency_grid
from mercer.gram.gram import BlockedGram, DenseGram, DirectGram, EigenProblem, GramOperator
from mercer.gram.landmarks import choose_landmarks, landmark_bytes
from mercer.gram.nystrom import NystromGram
from mercer.gram.sparse import NormalizedExpansion, NormalizedGram, SparseGram
from mercer.gram.window_sum import WindowSum

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
    "center_gram",
    "choose_landmarks",
    "frequency_grid",
    "landmark_bytes",
]
