"""Fixtures and hypothesis profiles of all tests."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]

# "fast" and "full" repeat the same examples in every run; "search" looks for new ones.
settings.register_profile("fast", max_examples=20, deadline=None, derandomize=True)
settings.register_profile("full", max_examples=100, deadline=None, derandomize=True)
settings.register_profile("search", max_examples=300, deadline=None)
settings.load_profile(os.environ.get("MERCER_TEST_PROFILE", "full"))

# Test files whose CPU time does not fit into five minutes, and the tests of them that the fast tier
# runs nevertheless. Chosen by measured CPU time.
SLOW_FILES = {
    "tests/chunks/test_cluster.py": {"test_parzen", "test_clustering"},
    "tests/cli/test_engine.py": {"test_both_engines_agree_and_apply_each_others_models"},
    "tests/cli/test_processes.py": {"test_compressed_standard_input"},
    "tests/explorer/test_browser.py": {"test_load_slide_click_brush_and_reload"},
}
# Single tests of more than two seconds, whose behavior a faster test covers.
SLOW_TESTS = {
    "tests/cli/test_columns.py": {"test_cluster_counts_and_sweeps_as_the_report_does"},
    "tests/estimators/test_clustering.py": {"test_rows_of_the_sweep"},
    "tests/explorer/test_clients.py": {"test_it_ends_while_clients_hang"},
    "tests/explorer/test_engine.py": {
        "test_the_exported_code_gives_the_views_numbers",
        "test_the_exported_code_of_many_points_of_the_plane",
    },
    "tests/operators/test_fourier.py": {"test_the_operator_is_the_matrix"},
    "tests/solvers/test_certificate.py": {"test_certificate_never_lies"},
    "tests/solvers/test_factored.py": {"test_sums_over_many_points"},
}


def pytest_collection_modifyitems(items):
    """Mark the tests of the lists above as slow."""
    for item in items:
        path = item.path.relative_to(ROOT).as_posix() if item.path.is_relative_to(ROOT) else ""
        name = getattr(item, "originalname", None) or item.name
        in_slow_file = path in SLOW_FILES and name not in SLOW_FILES[path]
        if in_slow_file or name in SLOW_TESTS.get(path, ()):
            item.add_marker(pytest.mark.slow)


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
