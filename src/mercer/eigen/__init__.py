"""Eigenpairs: which operator represents the Gram matrix, and how its eigenpairs are found."""

from mercer.eigen.approximations import Fourier, Nystrom
from mercer.eigen.arpack import Arpack
from mercer.eigen.base import Eigenpairs, Eigensolver, OperatorChoice, Selection
from mercer.eigen.decompose import count_above, eigenvalue_ranks
from mercer.eigen.dense import Dense
from mercer.eigen.lanczos import Lanczos
from mercer.eigen.plan import Auto, Plan, Request, as_solver, streaming_gram, summing_gram
from mercer.eigen.verified_lanczos import VerifiedLanczos

__all__ = [
    "Arpack",
    "Auto",
    "Dense",
    "Eigenpairs",
    "Eigensolver",
    "Fourier",
    "Lanczos",
    "Nystrom",
    "OperatorChoice",
    "Plan",
    "Request",
    "Selection",
    "VerifiedLanczos",
    "as_solver",
    "count_above",
    "eigenvalue_ranks",
    "streaming_gram",
    "summing_gram",
]
