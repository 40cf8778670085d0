"""Shared by all tests: one seeded generator, and the number of examples at the end."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def pytest_terminal_summary(terminalreporter):
    """Tell how many examples of laws were tried, in all processes together."""
    reports = terminalreporter.stats.get("passed", []) + terminalreporter.stats.get("failed", [])
    counts = [
        count
        for report in reports
        for name, count in getattr(report, "user_properties", [])
        if name == "examples of laws" and report.when == "call"
    ]
    if counts:
        terminalreporter.write_line(f"{sum(counts)} examples of {len(counts)} laws were compared")
