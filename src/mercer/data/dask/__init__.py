"""Rows in chunks on a Dask cluster. No other package of mercer imports Dask.

===================  ===============================================================
``passes``           :class:`DaskPasses`, the choice between memory and Dask, sketches
``tasks``            task graphs: one task per chunk, trees of sums, errors, memory
``dask_internals``   the only use of Dask's private API, with a fallback
``cluster``          the client in use, its memory, connecting to a scheduler
``validation``       checks of Dask input, and column statistics in one pass
``points``           Dask input as points of an estimator
``files``            folders of Parquet or CSV files
===================  ===============================================================

Importing this package does not import Dask.
"""

from mercer.data.dask.passes import DaskPasses, passes_for

__all__ = ["DaskPasses", "passes_for"]
