"""Global settings: memory budget, number of threads, copies of training data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from typing import Final

from mercer.utils import resources
from mercer.utils.resources import Config, parse_memory
from mercer.utils.validation import check_integer

__all__ = ["Config", "config_context", "get_config", "set_config"]


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
    return resources.settings


def set_config(
    *,
    memory: str | int | _Unset | None = UNSET,
    threads: int | _Unset | None = UNSET,
    copy_X: bool | _Unset = UNSET,
) -> None:
    """Set the memory budget, the number of threads and whether models copy their training rows.

    Settings that are not passed are unchanged; None restores the default of ``memory`` and
    ``threads``. See ``mercer.utils.config.Config`` for the parameters.

    Examples
    --------
    >>> import mercer
    >>> mercer.set_config(memory="2GB")
    >>> mercer.set_config(threads=2)
    >>> mercer.get_config()
    Config(memory='2GB', threads=2, copy_X=True)
    >>> mercer.set_config(memory=None, threads=None)
    """
    if memory is not UNSET and memory is not None:
        parse_memory(memory)
    if threads is not UNSET and threads is not None:
        check_integer(threads, "threads", remedy="Pass None for all cores.")
    if copy_X is not UNSET and not isinstance(copy_X, bool):
        raise TypeError(f"copy_X={copy_X!r} must be True or False.")
    passed = {"memory": memory, "threads": threads, "copy_X": copy_X}
    changes = {name: value for name, value in passed.items() if value is not UNSET}
    resources.settings = replace(resources.settings, **changes)  # type: ignore[arg-type]


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
    before = resources.settings
    set_config(**changes)  # type: ignore[arg-type]
    try:
        yield
    finally:
        resources.settings = before
