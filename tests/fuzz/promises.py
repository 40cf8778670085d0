"""What must hold whatever comes in: errors are the library's, in words, and nothing is run."""

import sys
import warnings
from contextlib import contextmanager

from mercer.errors import MercerError

__all__ = [
    "BrokenPromiseError",
    "holds",
    "is_in_words",
    "no_code",
    "strict_warnings",
]


class BrokenPromiseError(AssertionError):
    """A promise that an input has broken."""


def holds(fact, *words):
    """Raise where something should be true and is not."""
    if not fact:
        raise BrokenPromiseError(" ".join(map(str, words)))


def is_in_words(error):
    """Whether an error is one that a user can act on: of our kinds, and a sentence.

    Subclasses are refused: a ``UnicodeDecodeError`` or an ``ArrowInvalid`` is a ``ValueError`` too,
    but what it says is meant for those who wrote the reader.
    """
    plain = type(error) in (ValueError, TypeError) or type(error).__module__.startswith("mercer.")
    is_ours = isinstance(error, ValueError | TypeError | MercerError)
    return plain and is_ours and len(str(error).split()) > 2


@contextmanager
def strict_warnings():
    """Let every warning be an error, except what mercer says and what is about versions."""
    versions = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in (*versions, *_own_warnings()):
            warnings.simplefilter("ignore", category)
        yield


def _own_warnings():
    import mercer.errors

    everything = (getattr(mercer.errors, name) for name in mercer.errors.__all__)
    return [one for one in everything if isinstance(one, type) and issubclass(one, Warning)]


# --- nothing of a file is run --------------------------------------------------------------------

_FORBIDDEN = (
    *("os.system", "os.exec", "os.posix_spawn", "os.fork", "os.remove", "os.rename", "os.rmdir"),
    *("os.chmod", "os.mkdir", "subprocess.Popen", "pickle.find_class", "code.__new__"),
    *("socket.", "shutil.", "webbrowser.", "ftplib.", "urllib.", "http.client", "ctypes.dlsym"),
)
_MAY_BE_IMPORTED = {
    *("mercer", "numpy", "scipy", "sklearn", "pandas", "pyarrow", "tzdata", "networkx"),
}
_seen = None


def _watch(event, arguments):
    if _seen is None:
        return
    if event == "import":
        package = arguments[0].partition(".")[0]
        if package not in _MAY_BE_IMPORTED | sys.stdlib_module_names or package == "antigravity":
            _seen.append(f"import of {arguments[0]}")
    elif event == "open":
        if isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
            _seen.append(f"writing of {arguments[0]}")
    elif event.startswith(_FORBIDDEN):
        _seen.append(event)


@contextmanager
def no_code():
    """Raise where something is run, written, sent or imported that no reading needs."""
    global _seen
    if not getattr(_watch, "is_there", False):
        sys.addaudithook(_watch)  # for good: hooks cannot be taken away
        _watch.is_there = True
    _seen = events = []
    try:
        yield
    finally:
        _seen = None
    holds(not events, "reading did more than read:", events[:5])
