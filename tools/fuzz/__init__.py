"""Run the fuzz targets of ``tests/fuzz`` in subprocesses, guided by atheris where it is installed.

See :mod:`tools.fuzz.__main__` for the command line.
"""
