"""Deprecated alias of :mod:`mercer.cluster_count`."""

import warnings

from mercer.cluster_count import *  # noqa: F403
from mercer.cluster_count import __all__ as __all__

warnings.warn(
    "mercer.counting is deprecated and will be removed in 0.3; use mercer.cluster_count.",
    DeprecationWarning,
    stacklevel=2,
)
