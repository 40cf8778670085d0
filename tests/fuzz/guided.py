"""Inputs chosen by atheris: those that reach new lines of mercer are kept and changed further."""

import atexit
import sys
from random import Random


def is_possible():
    """Whether atheris is there; it has wheels for some systems only."""
    try:
        import atheris  # noqa: F401
    except ImportError:
        return False
    return True


def instrument(packages):
    """Watch which lines of these are reached; to be called before mercer is imported."""
    import atheris

    return atheris.instrument_imports(include=packages)


def fuzz(trial, corpus, seed, seconds):
    """Try inputs for so long; the process ends here."""
    import atheris

    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(trial.target.seeds()):
        (corpus / f"seed-{number:03d}").write_bytes(data)

    def changed(data, largest, number):
        random = Random(number)
        if random.random() < 0.2:
            return atheris.Mutate(data, largest)
        return trial.target.mutate(data, random)[:largest]

    atexit.register(trial.tell)
    options = [
        *(f"-max_total_time={seconds}", f"-seed={seed}", "-max_len=32768", "-print_final_stats=1"),
        *("-len_control=0", "-timeout=600", "-rss_limit_mb=3000", "-reload=0", "-verbosity=0"),
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], trial, custom_mutator=changed)
    atheris.Fuzz()
