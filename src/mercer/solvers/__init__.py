"""Solvers: how the Gram matrix is represented and how its eigenpairs are found."""

from mercer.solvers.base import Eigenpairs, Eigensolver, OperatorChoice, Selection
from mercer.solvers.davidson import Davidson
from mercer.solvers.dense import Dense
from mercer.solvers.fourier import Fourier
from mercer.solvers.graph import GraphSolver
from mercer.solvers.lanczos import Lanczos
from mercer.solvers.nystrom import Nystrom
from mercer.solvers.plan import Auto, Plan, Request, as_solver, streaming_gram
from mercer.solvers.ranks import count_above, eigenvalue_ranks
from mercer.solvers.sums import mean_window, summing_gram
from mercer.solvers.verified_lanczos import VerifiedLanczos

__all__ = [
    "Auto",
    "Davidson",
    "Dense",
    "Eigenpairs",
    "Eigensolver",
    "Fourier",
    "GraphSolver",
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
    "mean_window",
    "streaming_gram",
    "summing_gram",
]

#: Deprecated alias of :class:`OperatorChoice`.
Solver = OperatorChoice
