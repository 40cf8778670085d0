"""A clock that interrupts what takes too long, or what should be interrupted."""

import signal
from contextlib import contextmanager

__all__ = ["alarm"]


@contextmanager
def alarm(seconds, error):
    """Raise an error after so many seconds, as soon as the main thread is back in Python."""

    def ring(number, frame):
        raise error

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before or signal.SIG_IGN)
