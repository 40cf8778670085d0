"""Invariants for any input: errors are clear, and reading has no side effects."""

import sys
import warnings
from contextlib import contextmanager

from mercer.errors import MercerError

__all__ = [
    "InvariantError",
    "is_clear_error",
    "no_side_effects",
    "require",
    "strict_warnings",
]


class InvariantError(AssertionError):
    """An input violates an invariant."""


def require(condition, *details):
    """Raise InvariantError unless a condition holds."""
    if not condition:
        raise InvariantError(" ".join(map(str, details)))


def is_clear_error(error):
    """Return whether an error has an expected type and a message of several words.

    Subclasses from other libraries are not accepted: a ``UnicodeDecodeError`` or an
    ``ArrowInvalid`` is a ``ValueError``, but its message is meant for developers.
    """
    plain = type(error) in (ValueError, TypeError) or type(error).__module__.startswith("mercer.")
    is_ours = isinstance(error, ValueError | TypeError | MercerError)
    return plain and is_ours and len(str(error).split()) > 2


@contextmanager
def strict_warnings():
    """Turn warnings into errors, except those of mercer and about deprecations."""
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


# --- side effects --------------------------------------------------------------------

_FORBIDDEN = (
    *("os.system", "os.exec", "os.posix_spawn", "os.fork", "os.remove", "os.rename", "os.rmdir"),
    *("os.chmod", "os.mkdir", "subprocess.Popen", "pickle.find_class", "code.__new__"),
    *("socket.", "shutil.", "webbrowser.", "ftplib.", "urllib.", "http.client", "ctypes.dlsym"),
)
_ALLOWED_IMPORTS = {
    *("mercer", "numpy", "scipy", "sklearn", "pandas", "pyarrow", "tzdata", "networkx"),
}
_events = None


def _watch(event, arguments):
    if _events is None:
        return
    if event == "import":
        package = arguments[0].partition(".")[0]
        if package not in _ALLOWED_IMPORTS | sys.stdlib_module_names or package == "antigravity":
            _events.append(f"import of {arguments[0]}")
    elif event == "open":
        if isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
            _events.append(f"writing of {arguments[0]}")
    elif event.startswith(_FORBIDDEN):
        _events.append(event)


@contextmanager
def no_side_effects():
    """Raise if code is run, or data are written, sent or imported beyond what reading needs."""
    global _events
    if not getattr(_watch, "is_installed", False):
        sys.addaudithook(_watch)  # permanent: audit hooks cannot be removed
        _watch.is_installed = True
    _events = events = []
    try:
        yield
    finally:
        _events = None
    require(not events, "side effects while reading:", events[:5])
