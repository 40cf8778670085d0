"""The few global settings: how much memory and how many threads the library may use."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

__all__ = [
    "Config",
    "config_context",
    "get_config",
    "memory_budget",
    "set_config",
    "single_thread",
    "thread_count",
]

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_PROCESSES = Path("/proc")
_CONTROL_GROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Config:
    """Settings in force.

    Parameters
    ----------
    memory : str, int or None
        What one fit may allocate: bytes, a size such as ``"2GB"``, a share of the free memory such
        as ``"50%"``, or None for half of what is free when it is asked.
    threads : int or None
        Worker threads; None for the cores this process may use, or for OMP_NUM_THREADS where that
        is set and smaller.
    """

    memory: str | int | None = None
    threads: int | None = None


_current = Config()
_here = threading.local()


def get_config() -> Config:
    """Return the settings in force.

    Examples
    --------
    >>> import mercer
    >>> with mercer.config_context(threads=1):
    ...     print(mercer.get_config().threads)
    1
    """
    return _current


def set_config(*, memory: str | int | None = None, threads: int | None = None) -> None:
    """Set the memory budget and the number of threads; an argument left out becomes the default.

    Examples
    --------
    >>> import mercer
    >>> mercer.set_config(memory="2GB", threads=2)
    >>> mercer.get_config().memory
    '2GB'
    >>> mercer.set_config()
    """
    global _current
    if memory is not None:
        parse_memory(memory)
    if threads is not None and (type(threads) is not int or threads < 1):
        raise ValueError(f"threads={threads!r} must be a whole number of at least 1, or None.")
    _current = Config(memory, threads)


@contextmanager
def config_context(**changes: str | int | None) -> Iterator[None]:
    """Change settings for the length of a ``with`` block.

    Examples
    --------
    >>> import mercer
    >>> with mercer.config_context(memory="2 GB"):
    ...     print(mercer.get_config().memory)
    2 GB
    >>> print(mercer.get_config().memory)
    None
    """
    before = _current
    after = replace(before, **changes)  # type: ignore[arg-type]
    set_config(memory=after.memory, threads=after.threads)
    try:
        yield
    finally:
        set_config(memory=before.memory, threads=before.threads)


def memory_budget() -> int:
    """Bytes that one fit may allocate."""
    return parse_memory("50%" if _current.memory is None else _current.memory)


def thread_count() -> int:
    """Worker threads for products and transforms."""
    if getattr(_here, "single", 0):
        return 1
    if _current.threads is not None:
        return _current.threads
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    asked = os.environ.get("OMP_NUM_THREADS", "")  # whoever sets it means us too
    return min(cores or 1, int(asked)) if asked.isdecimal() and int(asked) else cores or 1


@contextmanager
def single_thread() -> Iterator[None]:
    """Let this thread work alone: it is one of an engine that has enough of them."""
    _here.single = getattr(_here, "single", 0) + 1
    try:
        yield
    finally:
        _here.single -= 1


def parse_memory(memory: str | int) -> int:
    """Turn ``"2GB"``, ``"50%"`` or a number of bytes into bytes."""
    match = re.fullmatch(r"\s*([0-9]+\.?[0-9]*)\s*([A-Za-z%]*)\s*", str(memory))
    unit = match.group(2).upper() if match else None
    if match is None or (unit != "%" and unit not in _UNITS) or float(match.group(1)) <= 0:
        raise ValueError(
            f"memory={memory!r} is not a size: give bytes, a size such as '2GB', a share of the "
            "free memory such as '50%', or None."
        )
    number = float(match.group(1))
    if unit == "%":
        return int(number / 100 * free_memory())
    return int(number * _UNITS[unit or ""])


def free_memory() -> int:
    """Bytes that can be had without swapping, within the limits of control group and process."""
    free = [_meminfo(), _cgroup(), _address_space()]
    return min((size for size in free if size is not None), default=4 * 2**30)


def _meminfo() -> int | None:
    try:
        lines = (_PROCESSES / "meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(x.split()[1]) * 1024 for x in lines if x.startswith("MemAvailable")), None)


def _cgroup() -> int | None:
    try:
        limit = (_CONTROL_GROUP / "memory.max").read_text().strip()
        used = int((_CONTROL_GROUP / "memory.current").read_text())
        uses = (_CONTROL_GROUP / "memory.stat").read_text().splitlines()
    except OSError:
        return None
    # files read long ago count as used, and make way for whoever needs the memory
    files = next((int(x.split()[1]) for x in uses if x.startswith("inactive_file ")), 0)
    return None if limit == "max" else max(int(limit) - used + files, 0)


def _address_space() -> int | None:
    """What ``ulimit -v`` leaves: allocations beyond it fail however much memory is free."""
    try:
        import resource  # not on every system

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        pages = int((_PROCESSES / "self" / "statm").read_text().split()[0])
    except (ImportError, OSError):
        return None
    if limit == resource.RLIM_INFINITY:
        return None
    return max(limit - pages * resource.getpagesize(), 0)
