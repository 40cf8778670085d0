"""Fixtures and hypothesis profiles of all tests."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from mercer import config_context
from mercer.datasets import make_halo

ROOT = Path(__file__).parents[1]

# "fast" and "full" repeat the same examples in every run; "search" looks for new ones.
settings.register_profile("fast", max_examples=20, deadline=None, derandomize=True)
settings.register_profile("full", max_examples=100, deadline=None, derandomize=True)
settings.register_profile("search", max_examples=300, deadline=None)
settings.load_profile(os.environ.get("MERCER_TEST_PROFILE", "full"))

# Files that take too long for the fast tier, and the tests of them that it runs nevertheless.
SLOW_FILES = {
    "tests/data/test_cluster.py": {
        "test_parzen_density_agrees_with_memory",
        "test_clustering_agrees_with_memory",
    },
    "tests/cli/test_engine.py": {"test_engines_agree_and_apply_models_of_each_other"},
    "tests/cli/test_processes.py": {"test_compressed_standard_input"},
    "tests/explorer/test_browser.py": {"test_slide_click_brush_and_reload"},
}
# Tests that take more than two seconds, with behavior that a faster test covers.
SLOW_TESTS = {
    "tests/cli/test_column_output.py": {"test_cluster_and_report_number_clusters_as_the_estimator"},
    "tests/cluster/test_clustering_sweep.py": {"test_sweep_rows_are_a_subsample_or_none"},
    "tests/explorer/test_clients.py": {"test_explorer_exits_while_clients_are_connected"},
    "tests/explorer/test_service.py": {
        "test_exported_code_reproduces_the_views",
        "test_exported_code_of_large_planar_data",
    },
    "tests/supervised/test_kernel_lda.py": {
        "test_leave_one_out_error_is_close_to_that_of_refits",
    },
    "tests/fuzz/test_fuzz.py": {"test_inputs_are_read_or_rejected_with_a_clear_error"},
    "tests/kernels/test_tables.py": {
        "test_table_kernels_are_positive_semidefinite_with_missing_values",
    },
    "tests/gram/test_fourier.py": {"test_operator_equals_the_matrix"},
    "tests/papers/test_girolami_and_paiva_tables.py": {
        "test_paiva_networks_agree_and_respect_the_lower_limits",
    },
    "tests/papers/test_jenssen_2010.py": {"test_frey_faces_components"},
    "tests/papers/test_liang_2014_discriminants.py": {
        "test_kernel_discriminants_are_near_the_population_ones",
    },
    "tests/persistence/test_forged_files.py": {"test_forged_bytes_load_or_are_rejected"},
    "tests/population/test_diagnostics.py": {
        "test_effects_do_not_depend_on_row_order",
        "test_standard_errors_are_those_of_repeated_samples",
    },
    "tests/properties/test_extreme_inputs.py": {"test_ten_thousand_columns"},
    "tests/properties/test_limits.py": {"test_a_thousand_fits_leak_no_memory"},
    "tests/eigen/test_certificate.py": {"test_certificate_is_never_wrong"},
    "tests/eigen/test_factored.py": {"test_sums_over_many_points"},
}
# Tests of all estimators, whose lines other tests cover: coverage would take 70 % more time.
WITHOUT_COVERAGE = {"tests/properties/test_estimators.py", "tests/test_sklearn.py"}


def pytest_collection_modifyitems(items):
    """Mark the tests of the lists above as slow, or as not measured by coverage."""
    for item in items:
        path = item.path.relative_to(ROOT).as_posix() if item.path.is_relative_to(ROOT) else ""
        name = getattr(item, "originalname", None) or item.name
        in_slow_file = path in SLOW_FILES and name not in SLOW_FILES[path]
        if in_slow_file or name in SLOW_TESTS.get(path, ()):
            item.add_marker(pytest.mark.slow)
        if path in WITHOUT_COVERAGE:
            item.add_marker(pytest.mark.no_cover)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def one_thread():
    """Run on one thread: starting threads is slower than small transforms."""
    with config_context(threads=1):
        yield


@pytest.fixture(scope="module")
def halo():
    return make_halo(random_state=0)


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
