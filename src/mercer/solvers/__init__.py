"""How eigenpairs are found; solvers see matrices and a start vector, never kernels."""

from mercer.solvers.auto import Auto, as_solver, count_above, summing_gram
from mercer.solvers.base import Eigenpairs, Selection, Solver
from mercer.solvers.dense import Dense
from mercer.solvers.lanczos import Lanczos

__all__ = [
    "Auto",
    "Dense",
    "Eigenpairs",
    "Lanczos",
    "Selection",
    "Solver",
    "as_solver",
    "count_above",
    "summing_gram",
]
