"""Tests of mercer.diversity."""
