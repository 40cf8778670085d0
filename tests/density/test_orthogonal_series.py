"""Orthonormal bases equal their formulas."""

from math import factorial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import eval_hermite, eval_laguerre, eval_legendre

from mercer.density.orthogonal_series import BASES

M = 7


def hermite(k, z):
    norm = np.sqrt(2.0**k * factorial(k) * np.sqrt(np.pi))
    return np.exp(-(z**2) / 2) * eval_hermite(k, z) / norm


def fourier(k, z):
    if k == 0:
        return np.full(z.shape, np.sqrt(0.5))
    wave = np.cos if k % 2 else np.sin
    return wave(np.pi * ((k + 1) // 2) * z)


FORMULAS = {
    "hermite": hermite,
    "fourier": fourier,
    "legendre": lambda k, z: np.sqrt(k + 0.5) * eval_legendre(k, z),
    "laguerre": lambda k, z: np.exp(-z / 2) * eval_laguerre(k, z),
}


@pytest.mark.parametrize("m", [1, 2, M])
@pytest.mark.parametrize("name", FORMULAS)
def test_functions_equal_their_formulas(name, m):
    z = np.linspace(0, 1, 11) if name == "laguerre" else np.linspace(-1, 1, 11)
    expected = np.column_stack([FORMULAS[name](k, z) for k in range(m)])
    assert_allclose(BASES[name].functions(z, m), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", FORMULAS)
def test_masses_are_integrals(name):
    basis = BASES[name]
    low, high = basis.extent(M)
    cells = 200_000
    z = low + (high - low) * (np.arange(cells) + 0.5) / cells
    values = basis.functions(z, M)
    step = (high - low) / cells
    assert_allclose(values.sum(axis=0) * step, basis.masses(M), atol=1e-8)
    assert_allclose(values.T @ values * step, np.eye(M), atol=1e-7)


@pytest.mark.parametrize("name", ["fourier", "legendre", "laguerre"])
def test_functions_are_zero_outside_the_domain(name):
    outside = np.array([-1 - 1e-9, 1 + 1e-9, -1e300, 1e300])
    if name == "laguerre":
        outside = np.array([-1e-9, -1e300])
    assert (BASES[name].functions(outside, M) == 0).all()


def test_domain_includes_its_ends():
    assert (BASES["legendre"].functions(np.array([-1.0, 1.0]), 3) != 0).all()
    assert (BASES["fourier"].functions(np.array([-1.0, 1.0]), 2) != 0).all()
    assert (BASES["laguerre"].functions(np.zeros(1), 3) == 1).all()


def test_scalings_follow_moments_or_the_domain():
    x, weights = np.array([1.0, 2.0, 6.0]), np.array([0.5, 0.25, 0.25])
    assert_allclose(BASES["hermite"].scaling(x, weights, (0.0, 8.0)), (2.5, np.sqrt(4.25)))
    assert_allclose(BASES["laguerre"].scaling(x, weights, (0.0, 8.0)), (0.0, 1.25))
    for name in ("fourier", "legendre"):
        assert_allclose(BASES[name].scaling(x, weights, (-2.0, 8.0)), (3.0, 5.0))
