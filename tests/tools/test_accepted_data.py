"""The table of accepted data on docs/any-data.md, found by trying."""

import pytest

from tools import accepted_data, generated_section

ATTEMPTS = {attempt.header: attempt for attempt in accepted_data.ATTEMPTS}


@pytest.mark.slow
def test_table_of_accepted_data_is_current():
    section = accepted_data.section()
    command = "python -m tools.accepted_data --update"
    assert generated_section.is_current(accepted_data.NAME, section, accepted_data.PAGE), (
        f"run: {command}"
    )


@pytest.mark.parametrize(
    ("name", "header", "expected"),
    [
        ("KernelLDA", "mixed frames", '"table"'),
        ("KernelNovelty", "mixed frames", "yes"),
        ("SpectralClustering", "Dask frames", "yes"),
        ("ParzenDensity", "mixed frames", accepted_data.NOT_ACCEPTED),
        ("compare_embeddings", "Dask arrays", accepted_data.NOT_ACCEPTED),
        ("column_dependence", "Dask frames", accepted_data.NOT_ACCEPTED),
        ("describe_clusters", "Dask frames", accepted_data.NOT_ACCEPTED),
        ("ProcessMonitor", "Dask frames", accepted_data.NOT_ACCEPTED),
    ],
)
def test_attempts_find_what_is_accepted(name, header, expected):
    assert accepted_data.cell(name, ATTEMPTS[header]) == expected


def test_table_has_a_row_for_every_public_estimator():
    listed = accepted_data.names()
    assert {"KernelPCA", "JointMixtureDensity", "measure_diversity", "vendi_score"} <= set(listed)
    assert not set(listed) & accepted_data.OTHERS
