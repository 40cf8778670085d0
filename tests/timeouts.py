"""Interrupt code after a time limit."""

import signal
from contextlib import contextmanager

__all__ = ["alarm"]


@contextmanager
def alarm(seconds, error):
    """Raise ``error`` in the main thread after ``seconds``."""

    def ring(number, frame):
        raise error

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before or signal.SIG_IGN)
