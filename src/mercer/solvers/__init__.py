"""How eigenpairs are found; solvers see matrices and a start vector, never kernels."""

from mercer.solvers.auto import (
    Auto,
    as_solver,
    count_above,
    mean_window,
    streaming_gram,
    summing_gram,
)
from mercer.solvers.base import Eigenpairs, Selection, Solver
from mercer.solvers.dense import Dense
from mercer.solvers.fourier import Fourier
from mercer.solvers.lanczos import Lanczos
from mercer.solvers.nystrom import Nystrom

__all__ = [
    "Auto",
    "Dense",
    "Eigenpairs",
    "Fourier",
    "Lanczos",
    "Nystrom",
    "Selection",
    "Solver",
    "as_solver",
    "count_above",
    "mean_window",
    "streaming_gram",
    "summing_gram",
]
