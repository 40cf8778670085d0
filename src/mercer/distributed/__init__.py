"""Deprecated: this package is now :mod:`mercer.chunks`."""
