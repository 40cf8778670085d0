"""Fuzz targets: any input is either read correctly or rejected with a clear error.

A target is a module with

- ``seeds()``: valid inputs, as bytes;
- ``mutate(data, random)``: a similar input; the mutator knows the format;
- ``check(data, folder)``: pass the input to mercer and raise if an invariant is violated.
  ``folder`` is for temporary files.

``tools.fuzz`` runs the targets (``./run fuzz``).
"""

from importlib import import_module
from typing import Any

TARGETS = {"tables": "table_files", "models": "model_files", "requests": "explorer_requests"}
#: Packages whose coverage guides atheris: code that decides about an input, not the mathematics.
INSTRUMENTED = {
    "tables": ["mercer.tables", "mercer.data.dask.files"],
    "models": ["mercer.persistence"],
    "requests": ["mercer.explorer", "mercer.tables"],
}


def load_target(name: str) -> Any:
    """Import the module of a target."""
    return import_module(f"tests.fuzz.{TARGETS[name]}")
