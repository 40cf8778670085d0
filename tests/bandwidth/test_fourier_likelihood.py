"""Leave-one-out likelihoods by Fourier sums, compared with sums over all pairs."""

import numpy as np
import pytest

from mercer import ParzenDensity
from mercer.bandwidth.fourier_likelihood import fourier_likelihood
from mercer.data.points import Points
from mercer.kernels import Gaussian


def naive(kernel, X, weights, rows, row_weights):
    logs = []
    for row in rows:
        others = (row != X).any(axis=1)
        terms = kernel.log_tiles(row[None], X[others])(slice(0, 1), slice(0, others.sum()), None)[0]
        top = terms.max()
        total = np.log(weights[others] @ np.exp(terms - top)) + top
        logs.append(total - np.log(weights[others].sum()))
    return row_weights @ logs / row_weights.sum() - kernel.log_normalizer(X.shape[1])


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("case", ["plain", "weights and copies", "outliers", "metric"])
def test_likelihood_equals_sums_over_all_pairs(d, case):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(3000, d))
    weights = None
    width = 0.2 if d < 3 else 1.0
    kernel = Gaussian(width)
    if case == "weights and copies":
        X = X.round(2 if d == 1 else 1)
        weights = rng.uniform(0.5, 3, len(X))
    elif case == "outliers":
        X[:d] = 9 * np.eye(d)  # far from all other points: their sums are below the tolerance
    elif case == "metric" and d > 1:
        kernel = Gaussian(width, metric=np.eye(d) + 0.5)
    rows = np.unique(X[:60], axis=0)
    row_weights = rng.uniform(1, 2, len(rows))
    score = fourier_likelihood(kernel, Points(X), weights, rows, row_weights, 4.0)
    assert score is not None
    assert (len(score.tail) > 0) == (case == "outliers")
    given = np.ones(len(X)) if weights is None else weights
    for factor in (1.0, 1.7, 4.0):
        expected = naive(kernel.scale_bandwidths(factor), X, given, rows, row_weights)
        # sums are accurate to a few percent where they are close to their error
        assert score(factor) == pytest.approx(expected, abs=1e-3 if case == "outliers" else 1e-6)


def test_none_if_too_expensive(monkeypatch):
    X = np.random.default_rng(0).normal(size=(3000, 2))
    rows, weights = X[:10], np.ones(10)
    assert fourier_likelihood(Gaussian(1e-4), Points(X), None, rows, weights, 4.0) is None
    monkeypatch.setattr("mercer.bandwidth.fourier_likelihood._MAX_PAIRS", 100)
    far = np.concatenate([X, [[9.0, 9.0]]])
    assert fourier_likelihood(Gaussian(0.1), Points(far), None, far[-1:], weights[:1], 4.0) is None


@pytest.mark.parametrize("d", [1, 2])
def test_bandwidth_of_many_rows_is_more_likely_than_others(d):
    """With two scales, the best bandwidth of 2000 rows is too wide for many rows."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(12_000, d))
    X[::2] = 0.002 * X[::2] + 1
    X, new = X[:10_000], X[10_000:]
    found = ParzenDensity().fit(X)
    score = found.score(new)
    for factor in (0.4, 0.6, 1.6, 2.5):
        other = ParzenDensity(kernel=found.kernel_.scale_bandwidths(factor)).fit(X).score(new)
        assert other < score + 0.05  # sampling error of 2000 new rows


def test_dask_equals_memory():
    da = pytest.importorskip("dask.array")
    X = np.random.default_rng(0).normal(size=(5000, 2)) ** 3
    expected = ParzenDensity().fit(X).kernel_
    found = ParzenDensity().fit(da.from_array(X, chunks=(1300, 2))).kernel_
    assert found.bandwidth_matrix(2) == pytest.approx(expected.bandwidth_matrix(2), rel=1e-6)
