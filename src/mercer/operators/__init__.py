"""How the Gram matrix multiplies: stored, tile by tile, centred, or through a factor."""

from mercer.operators.base import EigenProblem, GramOperator
from mercer.operators.centered import CenteredGram
from mercer.operators.expansion import Expansion, FeatureExpansion, KernelExpansion
from mercer.operators.explicit import ExplicitGram
from mercer.operators.factored import FactoredGram, SmallSide
from mercer.operators.gram import BlockedGram, DenseGram

__all__ = [
    "BlockedGram",
    "CenteredGram",
    "DenseGram",
    "EigenProblem",
    "Expansion",
    "ExplicitGram",
    "FactoredGram",
    "FeatureExpansion",
    "GramOperator",
    "KernelExpansion",
    "SmallSide",
]
