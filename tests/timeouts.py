"""Interrupt code after a time limit."""

import signal
from contextlib import contextmanager

__all__ = ["alarm"]


@contextmanager
def alarm(seconds, error):
    """Raise ``error`` in the main thread after ``seconds``.

    The timer of pytest-timeout, which is the same one, is set again afterwards.
    """

    def ring(number, frame):
        raise error

    before = signal.signal(signal.SIGALRM, ring)
    outer, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)  # before the handler changes
        signal.signal(signal.SIGALRM, before or signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, outer)
