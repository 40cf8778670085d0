"""Solvers, the values of ``solver=``: how K is represented and how its eigenpairs are found."""

from mercer.eigen import Arpack, Auto, Dense, Fourier, Lanczos, Nystrom, VerifiedLanczos

__all__ = [
    "Arpack",
    "Auto",
    "Dense",
    "Fourier",
    "Lanczos",
    "Nystrom",
    "VerifiedLanczos",
]
