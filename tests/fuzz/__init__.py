"""Fuzzers: whatever comes in from outside is read, or refused in words.

A target is a module with

- ``seeds()``: valid inputs, as bytes, to begin with;
- ``mutate(data, random)``: another input, near that one, that knows the format;
- ``check(data, folder)``: hand the input to mercer, and raise where a promise is broken. ``folder``
  is for files that live for a moment.

``running`` tries many inputs in a process of its own, ``guided`` lets atheris choose them by the
lines that they reach, ``__main__`` is the command ``./run fuzz``.
"""

from importlib import import_module

TARGETS = {"tables": "read_tables", "models": "load_models", "requests": "ask_explorer"}
#: Whose lines are watched, where atheris chooses: what decides about an input, not the mathematics.
WATCHED = {
    "tables": ["mercer.tables", "mercer.chunks.files"],
    "models": ["mercer.persistence"],
    "requests": ["mercer.explorer", "mercer.tables"],
}


def target(name):
    """The module of a target."""
    return import_module(f"tests.fuzz.{TARGETS[name]}")
