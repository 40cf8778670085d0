"""Benchmarks: time and memory relative to other libraries in the same run (``./run bench``)."""
