"""Nested least squares: every k equals a separate fit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mercer.supervised.least_squares import NestedLeastSquares


def naive(Z, y, k, weights=None):
    """Return a least-squares predictor with an intercept, of minimum norm if singular."""
    design = np.column_stack([np.ones(len(Z)), Z[:, :k]])
    root = np.ones((len(Z), 1)) if weights is None else np.sqrt(weights)[:, None]
    solution = np.linalg.lstsq(design * root, y * root, rcond=1e-10)[0]
    return lambda new: np.column_stack([np.ones(len(new)), new[:, :k]]) @ solution


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
    columns=st.integers(1, 8),
    weighted=st.booleans(),
)
def test_every_k_equals_a_separate_fit(seed, n, columns, weighted):
    rng = np.random.default_rng(seed)
    Z, y = rng.normal(size=(n, columns)), rng.normal(size=(n, 2))
    weights = rng.uniform(0.5, 4, size=n) if weighted else None
    model = NestedLeastSquares.fit(Z, y, weights)
    path = model.path(Z)
    assert path.shape == (columns, n, 2)
    for k in range(1, min(columns, n - 2) + 1):
        assert_allclose(path[k - 1], naive(Z, y, k, weights)(Z), atol=1e-6)
        intercept, slopes = NestedLeastSquares.fit(Z[:, :k], y, weights).coefficients()
        assert_allclose(intercept + Z[:, :k] @ slopes.T, path[k - 1], atol=1e-6)


def singular_designs():
    """Return designs with a column that depends on earlier columns."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(25, 5))
    constant, zero, copy, combined = (Z.copy() for _ in range(4))
    constant[:, 0] = 3.0
    zero[:, 1] = 0.0
    copy[:, 2] = Z[:, 0]
    combined[:, 3] = 1 + Z[:, 0] - 2 * Z[:, 2]
    groups = np.eye(3)[rng.integers(3, size=25)]  # they sum to the intercept column
    behind = np.column_stack([groups, rng.normal(size=(25, 2))])
    return {
        "a constant column": constant,
        "a column of zeros": zero,
        "a copy": copy,
        "a combination": combined,
        "indicators": behind,
    }


@pytest.mark.parametrize("kind", singular_designs())
def test_dependent_columns_do_not_change_predictions(kind):
    Z = singular_designs()[kind]
    y = np.random.default_rng(1).normal(size=(25, 1))
    model = NestedLeastSquares.fit(Z, y)
    path = model.path(Z)
    errors = ((path - y) ** 2).mean(axis=(1, 2))
    for k in range(1, 6):
        assert_allclose(path[k - 1], naive(Z, y, k)(Z), atol=1e-8, err_msg=f"path, k = {k}")
        intercept, slopes = NestedLeastSquares.fit(Z[:, :k], y).coefficients()
        fitted = intercept + Z[:, :k] @ slopes.T
        assert_allclose(fitted, naive(Z, y, k)(Z), atol=1e-8, err_msg=f"coefficients, k = {k}")
    assert (np.diff(errors) <= 1e-12).all()  # the training error never increases with k


def test_more_columns_than_rows_interpolate():
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(5, 9)), rng.normal(size=(5, 1))
    model = NestedLeastSquares.fit(Z, y)
    assert_allclose(model.path(Z)[3:], np.broadcast_to(y, (6, 5, 1)), atol=1e-10)
    intercept, slopes = model.coefficients()
    assert_allclose(intercept + Z @ slopes.T, y, atol=1e-10)
