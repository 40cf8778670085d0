"""Fixtures and hypothesis profiles of all tests."""

import os

import numpy as np
import pytest
from hypothesis import settings

# "fast" and "full" repeat the same examples in every run; "search" looks for new ones.
settings.register_profile("fast", max_examples=20, deadline=None, derandomize=True)
settings.register_profile("full", max_examples=100, deadline=None, derandomize=True)
settings.register_profile("search", max_examples=300, deadline=None)
settings.load_profile(os.environ.get("MERCER_TEST_PROFILE", "full"))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def pytest_terminal_summary(terminalreporter):
    """Print the number of examples of the property tests in all processes."""
    reports = terminalreporter.stats.get("passed", []) + terminalreporter.stats.get("failed", [])
    counts = [
        count
        for report in reports
        for name, count in getattr(report, "user_properties", [])
        if name == "property examples" and report.when == "call"
    ]
    if counts:
        terminalreporter.write_line(f"{sum(counts)} examples of {len(counts)} property tests")
