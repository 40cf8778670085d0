"""Bounds from residuals hold for every matrix and every basis, and are sharp near convergence."""

import numpy as np

from mercer.eigen.ritz_bounds import bound_entropy_terms, bound_norm, bound_ritz_pairs


def random_case(seed):
    """A psd matrix with clustered eigenvalues, and a disturbed basis of its leading space."""
    rng = np.random.default_rng(seed)
    n, q = 60, int(rng.integers(3, 15))
    values = np.sort(rng.exponential(size=n) ** rng.uniform(1, 6))[::-1]
    if rng.random() < 0.5:  # nearly multiple eigenvalues
        first = int(rng.integers(0, q))
        values[first : first + 3] = values[first] * (1 - rng.uniform(0, 1e-6, 3))
        values = np.sort(values)[::-1]
    E, _ = np.linalg.qr(rng.normal(size=(n, n)))
    start = E @ (rng.normal(size=n) * rng.uniform(0, 1, n) ** 4)
    A = (E * values) @ E.T
    noise = 10.0 ** rng.uniform(-8, -0.5)
    Q, _ = np.linalg.qr(E[:, :q] + noise * rng.normal(size=(n, q)) / np.sqrt(n))
    theta, Y = np.linalg.eigh(Q.T @ A @ Q)
    theta, X = theta[::-1], (Q @ Y)[:, ::-1]
    R = A @ X - X * theta
    rest = np.sqrt(
        max((A * A).sum() - (theta**2).sum() - 2 * (R * R).sum(), 0) + 1e-13 * (A * A).sum()
    )
    error = 1e-14 * values[0]
    return values, E, start, X, theta, R, bound_ritz_pairs(theta, R.T @ R, rest, error)


def test_bounds_hold_for_random_matrices():
    proven = angles = 0
    for seed in range(150):
        values, E, _, X, theta, R, bounds = random_case(seed)
        count = bounds.proven
        assert (values[: len(theta)] >= bounds.lower).all()
        assert (values[:count] <= bounds.upper[:count]).all(), seed
        assert values[count] <= bounds.upper[count]
        assert (np.linalg.norm(R, axis=0) <= bounds.residuals).all()
        known = np.flatnonzero(np.isfinite(bounds.sines))
        overlap = np.einsum("ij,ij->j", E[:, known], X[:, known])
        parallel = E[:, known] * overlap
        sines = np.linalg.norm(X[:, known] - parallel, axis=0)
        assert (sines <= bounds.sines[known] + 1e-13).all(), seed
        proven += count
        angles += len(known)
    assert proven > 500  # the bounds are not empty
    assert angles > 250


def test_errors_of_eigenvalues_are_of_second_order():
    values, _, _, _, theta, R, _ = random_case(4)
    rest = values[len(theta)] * 1.01
    bounds = bound_ritz_pairs(theta, R.T @ R, rest)
    residuals = np.linalg.norm(R, 2)
    assert bounds.proven > 0
    for i in range(bounds.proven):
        gap = theta[i] - rest
        assert bounds.upper[i] - theta[i] <= 1.02 * residuals**2 / gap + 1e-15 * theta[0]


def test_proofs_of_entropy_selections_are_correct():
    proven = 0
    for seed in range(150):
        values, E, start, X, theta, R, bounds = random_case(seed)
        total = float(start @ start)
        true = values * (start @ E) ** 2 / total**2
        squares = R.T @ R
        overlaps = start @ X
        found = bound_entropy_terms(bounds, squares, overlaps, total, float(true.sum()))
        for i, group in enumerate(found.groups):
            assert found.lower[i] <= true[group].sum() * (1 + 1e-10)
            assert found.upper[i] >= true[group].sum() * (1 - 1e-10)
        covered = np.zeros(len(values), dtype=bool)
        for group in found.groups:
            covered[group] = True
        assert true[~covered].max() <= found.hidden + 1e-14 * true.sum()
        for count in (1, 2, 3):
            selected = np.argsort(-theta * overlaps**2)[:count]
            if found.unproven(selected) is None:
                proven += 1
                assert set(selected) == set(np.argsort(-true)[:count])
    assert proven > 30


def test_no_bound_is_claimed_where_the_rest_may_be_larger():
    bounds = bound_ritz_pairs(np.array([3.0, 1.0]), np.zeros((2, 2)), rest=2.0)
    assert bounds.proven == 1
    assert bounds.upper.tolist() == [3.0, 2.0]
    assert np.isnan(bounds.sines[1])


def test_norm_bound_fails_at_most_as_often_as_stated():
    """The worst case: one eigenvalue carries almost all of the norm."""
    rng = np.random.default_rng(0)
    M = np.diag(np.r_[2.0, np.full(5, 0.01)])
    failures = 0
    for _ in range(2000):
        G = rng.normal(size=(6, 4))
        failures += bound_norm(np.linalg.norm(M @ M @ G, 2), 0.0, 4, 0.1) < 2
    assert 140 < failures < 260  # 200 expected, standard deviation 13


def test_norm_bound_includes_the_error_of_the_first_product():
    rng = np.random.default_rng(1)
    M = np.diag(np.linspace(2, 0.1, 50))
    for size in (1e-3, 0.1, 1.0):
        G = rng.normal(size=(50, 24))
        H = M @ G + size * rng.normal(size=G.shape)
        H[0] = 0  # the error removes the largest eigenvector
        error = np.linalg.norm(H - M @ G, 2)
        assert bound_norm(np.linalg.norm(M @ H, 2), error, 24, 1e-6) >= 2
    assert bound_norm(1.0, 0.0, 2, 1e-9, rounding=1.0) == np.inf
