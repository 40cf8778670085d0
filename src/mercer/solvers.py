"""Solvers: how the Gram matrix is represented and how its eigenpairs are found."""

from mercer.eigen import *  # noqa: F403
from mercer.eigen import __all__ as __all__
