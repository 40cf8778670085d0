"""How the Gram matrix multiplies: stored, tile by tile, centred, or through a factor."""

from mercer.data import Sample
from mercer.operators.base import EigenProblem, GramOperator
from mercer.operators.centered import CenteredGram
from mercer.operators.expansion import Expansion, FeatureExpansion, KernelExpansion
from mercer.operators.explicit import ExplicitGram, NystromGram
from mercer.operators.factored import FactoredGram, SmallSide
from mercer.operators.features import ExactFeatures, FeatureMap, LandmarkFeatures
from mercer.operators.fourier import FourierGram
from mercer.operators.frequency_grid import FrequencyGrid, NoGrid, frequency_grid
from mercer.operators.gram import BlockedGram, ChunkedGram, DenseGram
from mercer.operators.landmarks import choose_landmarks, landmark_bytes
from mercer.operators.window_sum import WindowSum

__all__ = [
    "BlockedGram",
    "CenteredGram",
    "ChunkedGram",
    "DenseGram",
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
    "NystromGram",
    "Sample",
    "SmallSide",
    "WindowSum",
    "choose_landmarks",
    "frequency_grid",
    "landmark_bytes",
]
