"""Dask arrays of test data."""

__all__ = ["in_chunks"]


def in_chunks(array, size=130):
    """Return a Dask array in chunks of ``size`` rows."""
    import dask.array as da

    return da.from_array(array, chunks=(size, *array.shape[1:]))
