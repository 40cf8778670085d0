"""The Dask client in use, and the memory of its workers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mercer.utils.resources import free_memory, thread_count

__all__ = ["client", "connected", "require_dask", "total_memory", "worker_memory"]


def client() -> Any:
    """Return the default client, or None."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


@contextmanager
def connected(address: str, timeout: float | str) -> Iterator[None]:
    """Use the scheduler at this address; raise OSError if it does not respond in time."""
    from distributed import Client

    try:
        found = Client(address, timeout=timeout)
    except (OSError, ValueError) as error:
        raise OSError(
            f"No Dask scheduler responds at {address} ({error}). Start one with 'dask scheduler', "
            "and workers with 'dask worker ADDRESS', or omit --scheduler to use threads."
        ) from error
    with found:
        yield


def require_dask(feature: str) -> None:
    """Raise ModuleNotFoundError if Dask is not installed."""
    try:
        import dask.dataframe  # noqa: F401
        import distributed  # noqa: F401
    except ImportError as error:
        raise ModuleNotFoundError(
            f"{feature} requires Dask, which is not installed: pip install mercer[dask]",
            name="dask",
        ) from error


def worker_memory() -> int | None:
    """Return bytes per thread of the smallest worker, or of this process; None if unlimited."""
    if client() is None:
        import dask

        return free_memory() // (dask.config.get("num_workers", None) or thread_count())
    limits = [w["memory_limit"] // w["nthreads"] for w in _workers() if w["memory_limit"]]
    return min(limits, default=None)


def total_memory() -> int | None:
    """Return bytes of all workers, or of this process; None if unlimited."""
    if client() is None:
        return free_memory()
    limits = [w["memory_limit"] for w in _workers()]
    return sum(limits) if limits and all(limits) else None


def _workers() -> list[dict[str, Any]]:
    return list(client().scheduler_info(n_workers=-1)["workers"].values())
