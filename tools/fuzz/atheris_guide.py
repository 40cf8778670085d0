"""Coverage-guided fuzzing with atheris: inputs that reach new lines are stored and mutated."""

from __future__ import annotations

import atexit
import sys
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any


def is_available() -> bool:
    """Return whether atheris is installed; it has wheels for some platforms only."""
    return find_spec("atheris") is not None


def instrument(packages: list[str]) -> AbstractContextManager[Any]:
    """Measure the coverage of these packages; call it before mercer is imported."""
    import atheris

    return atheris.instrument_imports(include=packages)


def fuzz(trial: Any, corpus: Path, seed: int, seconds: int) -> None:
    """Try inputs until the time is over; atheris then ends the process."""
    import atheris

    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(trial.target.seeds()):
        (corpus / f"seed-{number:03d}").write_bytes(data)

    def mutate(data: bytes, max_size: int, mutation_seed: int) -> bytes:
        random = Random(mutation_seed)
        if random.random() < 0.2:
            return atheris.Mutate(data, max_size)
        return trial.target.mutate(data, random)[:max_size]

    atexit.register(trial.write_counts)
    options = [
        *(f"-max_total_time={seconds}", f"-seed={seed}", "-max_len=32768", "-print_final_stats=1"),
        *("-len_control=0", "-timeout=600", "-rss_limit_mb=3000", "-reload=0", "-verbosity=0"),
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], trial, custom_mutator=mutate)
    atheris.Fuzz()
