"""Settings of long computations: memory, threads, and progress on standard error."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from math import inf
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from mercer.errors import MemoryBudgetError
from mercer.utils.validation import check_integer

__all__ = [
    "Config",
    "ProgressBar",
    "blas_threads_for",
    "check_memory",
    "config_context",
    "free_memory",
    "get_config",
    "memory_budget",
    "parse_memory",
    "peak_memory",
    "progress_is_shown",
    "report_status",
    "results_in_order",
    "run_each_in_threads",
    "run_in_threads",
    "set_config",
    "show_progress",
    "single_thread",
    "single_threaded_blas",
    "thread_count",
]

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_PROCESSES = Path("/proc")
_CONTROL_GROUP = Path("/sys/fs/cgroup")

_SECONDS_BEFORE_BAR = 2.0

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Config:
    """The current settings.

    Parameters
    ----------
    memory : str, int or None
        Memory budget of one fit: bytes, a size such as ``"2GB"``, a percentage of the free memory
        such as ``"50%"``, or None for half of the memory that is free when a fit starts.
    threads : int or None
        Number of worker threads; None for the number of cores available to this process, or
        OMP_NUM_THREADS if that is set and smaller.
    copy_X : bool
        Whether a fitted model stores a copy of its training rows. Without it the model is a view of
        the caller's data, and changes of the data change its predictions.
    """

    memory: str | int | None = None
    threads: int | None = None
    copy_X: bool = True  # noqa: N815 (X as in scikit-learn's copy_X)


#: The current settings; :func:`mercer.set_config` replaces them.
settings = Config()

# --- memory ---------------------------------------------------------------------------------------


def memory_budget() -> int:
    """Return the bytes that one fit may allocate."""
    memory = settings.memory
    return parse_memory("50%" if memory is None else memory)


def check_memory(needed: float, what: str, remedy: str, budget: float | None = None) -> None:
    """Raise MemoryBudgetError if an operation needs more bytes than the budget.

    The message names the operation, ``what``, and an alternative that needs less memory.
    """
    budget = memory_budget() if budget is None else budget
    if needed > budget:
        raise MemoryBudgetError(
            f"{what} needs {needed / 1e9:.3g} GB; the memory budget is {budget / 1e9:.3g} GB. "
            f"{remedy}, or raise the budget with mercer.set_config(memory=…)."
        )


def parse_memory(memory: str | int) -> int:
    """Convert ``"2GB"``, ``"50%"`` (of the free memory) or a number of bytes to bytes."""
    match = re.fullmatch(r"\s*([0-9]+\.?[0-9]*)\s*([A-Za-z%]*)\s*", str(memory))
    unit = match.group(2).upper() if match else None
    if match is None or (unit != "%" and unit not in _UNITS) or float(match.group(1)) <= 0:
        raise ValueError(
            f"memory={memory!r} is not a size. Pass bytes, a size such as '2GB', a percentage of "
            "the free memory such as '50%', or None."
        )
    number = float(match.group(1))
    if unit == "%":
        return int(number / 100 * free_memory())
    return int(number * _UNITS[unit or ""])


def free_memory() -> int:
    """Return the bytes available without swapping, within control group and process limits."""
    free: list[float] = []
    for available in (_in_machine, _in_control_group, _in_address_space):
        with suppress(OSError, ImportError, KeyError):  # not on every system
            free.append(available())
    smallest = min(free, default=inf)
    return 4 * 2**30 if smallest == inf else int(smallest)


def peak_memory() -> int | None:
    """Return the largest amount of memory that this process has used, in bytes; None on Windows."""
    try:
        import resource
    except ModuleNotFoundError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) if sys.platform == "darwin" else 1024 * int(peak)


def _in_machine() -> float:
    return 1024 * _fields(_PROCESSES / "meminfo")["MemAvailable:"]


def _in_control_group() -> float:
    limit = (_CONTROL_GROUP / "memory.max").read_text().strip()
    used = int((_CONTROL_GROUP / "memory.current").read_text())
    # cached files count as used, but they are evicted when memory is needed
    evictable = _fields(_CONTROL_GROUP / "memory.stat").get("inactive_file", 0)
    return inf if limit == "max" else max(int(limit) - used + evictable, 0)


def _in_address_space() -> float:
    """Return the remaining bytes under ``ulimit -v``; larger allocations fail."""
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = int((_PROCESSES / "self" / "statm").read_text().split()[0])
    unlimited = limit == resource.RLIM_INFINITY
    return inf if unlimited else max(limit - pages * resource.getpagesize(), 0)


def _fields(path: Path) -> dict[str, int]:
    """Return the numbers of a file whose lines are a name and a number."""
    lines = map(str.split, path.read_text().splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) > 1}


# --- threads --------------------------------------------------------------------------------------

_local = threading.local()
_lock = threading.Lock()
_users: set[object] = set()
_limiter: Any = None


def thread_count() -> int:
    """Return the number of worker threads for products and transforms."""
    if getattr(_local, "single", 0):
        return 1
    if settings.threads is not None:
        return settings.threads
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores or 1, int(limit)) if limit.isdecimal() and int(limit) else cores or 1


@contextmanager
def single_thread() -> Iterator[None]:
    """Disable nested threading in the calling thread, such as inside a Dask worker."""
    _local.single = getattr(_local, "single", 0) + 1
    try:
        yield
    finally:
        _local.single -= 1


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread inside a ``with`` block.

    The limit applies to the whole process, so callers are counted: the first one sets the limit and
    the last one removes it, also if an interrupt arrives during entry.
    """
    global _limiter
    caller = object()
    try:
        with _lock:
            _users.add(caller)
            if _limiter is None:
                _limiter = _libraries().limit(limits=1, user_api="blas")
        yield
    finally:
        with _lock:
            _users.discard(caller)
            if not _users and _limiter is not None:
                _take_control()
                _limiter.restore_original_limits()
                _take_control()
                _limiter = None


def blas_threads_for(size: int) -> AbstractContextManager[None]:
    """Limit BLAS to one thread for matrices that are too small to benefit from more threads.

    Threads of OpenBLAS wait for each other by spinning, so they are much slower while another
    process uses a core; from 2000 rows on they save time on an idle machine.
    """
    return single_threaded_blas() if size <= 2000 else nullcontext()


@cache
def _libraries() -> Any:
    """Return a controller of the loaded BLAS libraries; cached, since the search is slow."""
    import scipy.linalg  # noqa: F401 (SciPy's own copy must be loaded before the search)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _take_control() -> None:
    """Allow this thread to change a limit that another thread has set, if OpenBLAS checks it."""
    from threadpoolctl import OpenBLASController

    if hasattr(OpenBLASController, "clear_controlling_thread"):
        OpenBLASController.clear_controlling_thread(force=True)


def run_in_threads(
    tasks: Sequence[Task], work: Callable[[Sequence[Task]], Any], parallel: bool = True
) -> list[Any]:
    """Split tasks evenly among threads and return the result of ``work(tasks)`` of each thread.

    The split depends on the number of threads only, not on timing, so that sums over tiles are
    reproducible. With ``parallel=False`` all tasks run in the calling thread.
    """
    if not parallel:
        return [work(tasks)]
    threads = max(1, min(thread_count(), len(tasks)))
    parts = [tasks[i::threads] for i in range(threads)]
    with single_threaded_blas():
        if threads == 1:
            return [work(parts[0])]
        with _pool(threads) as pool:
            return list(pool.map(work, parts))


def run_each_in_threads(
    tasks: Sequence[Task], work: Callable[[Task], Any], parallel: bool = True
) -> None:
    """Call ``work`` with each task, in threads that take the next task when they are free.

    For tasks that write to different places, so that the result does not depend on timing. If
    another process uses a core, :func:`run_in_threads` would wait for the thread on that core.
    """
    threads = max(1, min(thread_count(), len(tasks))) if parallel else 1
    with single_threaded_blas() if threads > 1 else nullcontext():
        if threads == 1:
            for task in tasks:
                work(task)
            return
        with _pool(threads) as pool:
            for _ in pool.map(work, tasks):
                pass


def results_in_order(
    tasks: Sequence[Task], work: Callable[[Task], Result], parallel: bool = True
) -> Iterator[Result]:
    """Yield ``work(task)`` of each task in order; threads compute at most one ahead of each.

    For results that are added up: the order of the sum does not depend on timing or on the number
    of threads, and few results are in memory.
    """
    # every thread holds a part of a sum, which may be large: at most 8
    threads = min(thread_count(), len(tasks), 8) if parallel else 1
    if threads <= 1:
        yield from map(work, tasks)
        return
    with single_threaded_blas(), _pool(threads) as pool:
        waiting: deque[Future[Result]] = deque()
        for task in tasks:
            waiting.append(pool.submit(work, task))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _pool(threads: int) -> ThreadPoolExecutor:
    """Return threads that do not start further ones."""
    return ThreadPoolExecutor(threads, initializer=lambda: setattr(_local, "single", 1))


# --- progress -------------------------------------------------------------------------------------


class _Line:
    """One line of standard error, rewritten in place."""

    def __init__(self) -> None:
        self._written = False

    def write(self, text: str) -> None:
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()
        self._written = True

    def close(self) -> None:
        """End the line, if there is one."""
        if self._written:
            sys.stderr.write("\n")
            self._written = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_line: ContextVar[_Line | None] = ContextVar("progress line", default=None)


@contextmanager
def show_progress(shown: bool = True) -> Iterator[None]:
    """Show the progress of solvers and passes in a ``with`` block, or hide it (``shown=False``)."""
    with _Line() as line:
        before = _line.set(line if shown else None)
        try:
            yield
        finally:
            _line.reset(before)


def progress_is_shown() -> bool:
    """Return whether progress is turned on."""
    return _line.get() is not None


def report_status(text: str) -> None:
    """Replace the progress line, if progress is turned on."""
    line = _line.get()
    if line is not None:
        line.write(text)


class ProgressBar(_Line):
    """Progress bar for a number of steps; ``what`` is a plural noun for them.

    It is shown with ``always``, if progress is turned on, or on a terminal after two seconds.
    """

    def __init__(self, total: int, what: str, always: bool = False) -> None:
        super().__init__()
        self.total, self.what = total, what
        self.always = always or progress_is_shown()
        self.started = time.monotonic()

    def step(self, done: int) -> None:
        """Show that ``done`` steps are finished."""
        spent = time.monotonic() - self.started
        if not self.always and (spent < _SECONDS_BEFORE_BAR or not sys.stderr.isatty()):
            return
        full = round(24 * done / self.total)
        left = spent / max(done, 1) * (self.total - done)
        bar = "█" * full + "░" * (24 - full)
        self.write(f"{bar} {done}/{self.total} {self.what}, {left:.0f} s left")


# --- settings -------------------------------------------------------------------------------------


class _Unset(Enum):
    """Default of arguments for which None is a valid value."""

    UNSET = 0


UNSET: Final = _Unset.UNSET


def get_config() -> Config:
    """Return the current settings.

    Examples
    --------
    >>> import mercer
    >>> with mercer.config_context(threads=1):
    ...     print(mercer.get_config().threads)
    1
    """
    return settings


def set_config(
    *,
    memory: str | int | _Unset | None = UNSET,
    threads: int | _Unset | None = UNSET,
    copy_X: bool | _Unset = UNSET,
) -> None:
    """Set the memory budget, the number of threads and whether models copy their training rows.

    Settings that are not passed are unchanged; None restores the default of ``memory`` and
    ``threads``. See ``mercer.utils.resources.Config`` for the parameters.

    Examples
    --------
    >>> import mercer
    >>> mercer.set_config(memory="2GB")
    >>> mercer.set_config(threads=2)
    >>> mercer.get_config()
    Config(memory='2GB', threads=2, copy_X=True)
    >>> mercer.set_config(memory=None, threads=None)
    """
    global settings
    if memory is not UNSET and memory is not None:
        parse_memory(memory)
    if threads is not UNSET and threads is not None:
        check_integer(threads, "threads", remedy="Pass None for all cores.")
    if copy_X is not UNSET and not isinstance(copy_X, bool):
        raise TypeError(f"copy_X={copy_X!r} must be True or False.")
    passed = {"memory": memory, "threads": threads, "copy_X": copy_X}
    changes = {name: value for name, value in passed.items() if value is not UNSET}
    settings = replace(settings, **changes)  # type: ignore[arg-type]


@contextmanager
def config_context(**changes: str | int | None) -> Iterator[None]:
    """Change settings inside a ``with`` block.

    Examples
    --------
    >>> import mercer
    >>> with mercer.config_context(memory="2 GB"):
    ...     print(mercer.get_config().memory)
    2 GB
    >>> print(mercer.get_config().memory)
    None
    """
    global settings
    before = settings
    set_config(**changes)  # type: ignore[arg-type]
    try:
        yield
    finally:
        settings = before
