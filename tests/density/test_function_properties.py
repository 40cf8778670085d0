"""Mass, cdf, mean, quantiles, gradients and conditional densities of random densities."""

import warnings

import numpy as np
import pytest

from mercer.density.kernel_sum import KernelSum
from tests.density.function_checks import differences, random_case

FEW, MANY = range(10), range(10, 400)


def check(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bandwidths far from the most likely ones
        return differences(random_case(seed))


@pytest.mark.parametrize("seed", FEW)
def test_functions_of_a_density_agree_with_quadrature_and_differences(seed):
    assert check(seed) == []


@pytest.mark.slow
@pytest.mark.parametrize("block", np.array_split(MANY, 13), ids=lambda block: str(block[0]))
def test_functions_of_many_densities_agree_with_quadrature_and_differences(block):
    assert [entry for seed in block for entry in check(int(seed))] == []


@pytest.mark.parametrize(
    ("method", "wrong", "found"),
    [
        ("log_density", lambda values: values + 1e-6, "mass"),
        ("cdf", lambda values: values + 1e-6, "cdf"),
        ("quantile", lambda values: values + 1e-4, "quantile"),
        ("mean", lambda values: values + 1e-4, "mean"),
        ("gradient", lambda values: 1.01 * values, "gradient"),
    ],
)
def test_wrong_values_are_found(method, wrong, found, monkeypatch):
    right = getattr(KernelSum, method)
    monkeypatch.setattr(
        KernelSum, method, lambda self, *args, **options: wrong(right(self, *args, **options))
    )
    assert any(entry.startswith(found) for seed in (23, 28) for entry in check(seed))
