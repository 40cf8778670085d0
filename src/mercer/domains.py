"""Domains of densities, see :mod:`mercer.mixture.domains`."""

from mercer.mixture.domains import *  # noqa: F403
from mercer.mixture.domains import __all__ as __all__
