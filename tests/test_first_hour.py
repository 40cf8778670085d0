"""The jobs of a new user run in a small form, and their results are plausible."""

import pytest

from tools.first_hour import JOBS, make_customers, run_jobs

NAMES = [job.__name__ for job in JOBS]


def outcome(name, size=0.1):
    [found] = run_jobs([NAMES.index(name) + 1], size)
    assert found.error is None
    assert found.name == name
    return found.results


@pytest.mark.parametrize("name", ["first_contact", "own_data", "files"])
def test_jobs_run(name):
    results = outcome(name)
    assert results.get("equal to precomputed", True)
    assert results.get("equal to the pipeline", True)


def test_mistakes_raise_errors():
    assert "no error" not in outcome("mistakes").values()


def test_denoising_has_a_good_default():
    results = outcome("denoising")
    assert results["KernelDenoiser()"] < 0.4 * results["error of the noisy digits"]
    assert results["KernelDenoiser()"] < results["KernelDenoiser(8)"]


def test_density_is_close_to_the_truth():
    results = outcome("density", 0.02)
    assert results["mean log density of new points"] == pytest.approx(results["truth"], abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mixed_table", "novelty", "embeddings", "monitoring"])
def test_longer_jobs_run(name):
    results = outcome(name)
    assert results.get("area under the curve", 1) > 0.8


def test_customers_have_an_identifier_and_missing_values():
    frame, group = make_customers(200)
    assert frame.shape == (200, 8)
    assert frame["customer_id"].is_unique
    assert frame["age"].isna().any()
    assert set(group) == {0, 1, 2, 3}


def test_errors_of_a_job_are_reported():
    [found] = run_jobs([2], 0.0005)  # one row
    assert found.error is not None
