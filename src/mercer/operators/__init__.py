"""Gram operators: stored, sparse, tile by tile, centered, degree-normalized or factored."""

from mercer.data import Sample
from mercer.operators.centered import CenteredGram, center_gram
from mercer.operators.chunked import ChunkedGram
from mercer.operators.expansion import Expansion, FeatureExpansion, KernelExpansion
from mercer.operators.explicit import ExplicitGram
from mercer.operators.factored import FactoredGram, SmallProblem
from mercer.operators.feature_maps import ExactFeatures, FeatureMap, LandmarkFeatures
from mercer.operators.fourier import FourierGram
from mercer.operators.frequency_grid import FrequencyGrid, NoGrid, frequency_grid
from mercer.operators.gram import BlockedGram, DenseGram, DirectGram, EigenProblem, GramOperator
from mercer.operators.landmarks import choose_landmarks, landmark_bytes
from mercer.operators.nystrom import NystromGram
from mercer.operators.sparse import NormalizedExpansion, NormalizedGram, SparseGram
from mercer.operators.symmetric import SymmetricGram
from mercer.operators.window_sum import WindowSum

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
    "SymmetricGram",
    "WindowSum",
    "center_gram",
    "choose_landmarks",
    "frequency_grid",
    "landmark_bytes",
]
