"""Rows in chunks on a Dask cluster. No other package of mercer imports Dask.

===================  ===============================================================
``passes``           :class:`DaskPasses`, and the choice between memory and Dask
``tasks``            task graphs: one task per chunk, trees of sums, errors, memory
``dask_internals``   the only use of Dask's private API, with a fallback
``cluster``          the client in use, its memory, connecting to a scheduler
``validation``       checks of Dask input
``survey``           column statistics in one pass
``sketches``         quantiles and representative rows from bounded sketches
``points``           Dask input as points of an estimator
``remote``           placeholders for training rows that are not in this process
``files``            folders of Parquet or CSV files
===================  ===============================================================

Importing this package does not import Dask.
"""

from mercer.data.dask.passes import DaskPasses, passes_for

__all__ = ["DaskPasses", "passes_for"]
