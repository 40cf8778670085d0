"""Number of clusters by stability and by data spectroscopy; bandwidth sweeps."""

import numpy as np
import pytest

from mercer import EntropyClustering
from mercer.cluster_count import _most_stable, count_clusters
from mercer.kernels import Gaussian
from mercer.report.clusters import sweep_widths
from tests.expectations import raises


def test_both_counts_agree_on_separated_clusters():
    rng = np.random.default_rng(0)
    groups = (((0, 0), 80), ((12, 0), 60), ((0, 14), 40))
    X = np.concatenate([rng.normal(at, 1, (size, 2)) for at, size in groups])
    found = count_clusters(X, Gaussian("auto"))
    assert (found.chosen, found.because) == (3, "agree")
    assert found.stability[3] > 0.9


def test_a_clearly_more_stable_number_takes_precedence_over_spectroscopy():
    assert _most_stable({2: 0.84, 3: 0.91, 4: 1.0}, groups=3) == 4
    assert _most_stable({2: 0.84, 3: 0.96, 4: 1.0}, groups=3) == 3
    assert _most_stable({2: 0.84, 3: 0.89}, groups=3) is None


class OneBandwidth(EntropyClustering):
    """The sweep succeeds at one bandwidth only."""

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.path_ = self.path_[:1]
        return self


def test_a_single_bandwidth_gives_no_stability(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(at, 1, size=(20, 2)) for at in (0, 8, 16)])
    for module in ("cluster_count", "report.clusters"):
        monkeypatch.setattr(f"mercer.{module}.EntropyClustering", OneBandwidth)
    found = count_clusters(X, Gaussian("auto"))
    assert (found.chosen, found.because, found.stability) == (3, "spectroscopy", {})
    assert sweep_widths(X, Gaussian("auto"), 3) is None


@pytest.mark.parametrize("n", [2, 20])
def test_equal_rows_are_one_cluster(n):
    found = count_clusters(np.ones((n, 2)), Gaussian("auto"))
    assert (found.chosen, found.because, found.stability) == (1, "spectroscopy", {})
    assert sweep_widths(np.ones((n, 2)), Gaussian("auto"), 1) is None


def test_fewer_different_rows_than_clusters_give_no_sweep():
    X = np.repeat([[0.0, 0.0], [3.0, 3.0]], 20, axis=0)
    assert sweep_widths(X, Gaussian("auto"), 3) is None
    assert sweep_widths(X, Gaussian("auto"), 2) is not None


@pytest.mark.parametrize("find", [count_clusters, lambda X, kernel: sweep_widths(X, kernel, 2)])
@pytest.mark.parametrize("n", [6, 60])
@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_missing_and_infinite_values_raise(find, n, value, name):
    X = np.random.default_rng(0).normal(size=(n, 2))
    X[0, 0] = value
    with raises(ValueError, name):
        find(X, Gaussian("auto"))


@pytest.mark.parametrize("find", [count_clusters, lambda X, kernel: sweep_widths(X, kernel, 2)])
@pytest.mark.parametrize("n", [6, 60])
@pytest.mark.parametrize("bandwidth", ["silvermann", -1.0])
def test_unknown_rules_and_negative_bandwidths_raise(find, n, bandwidth):
    X = np.random.default_rng(0).normal(size=(n, 2))
    with raises(ValueError, "bandwidth", bandwidth):
        find(X, Gaussian(bandwidth))


class Faulty(EntropyClustering):
    """An estimator with an internal error."""

    def fit(self, X, y=None, sample_weight=None):
        raise ValueError("internal error")


def test_errors_of_the_estimator_are_raised(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 2))
    for module in ("cluster_count", "report.clusters"):
        monkeypatch.setattr(f"mercer.{module}.EntropyClustering", Faulty)
    with raises(ValueError, "internal error"):
        count_clusters(X, Gaussian("auto"))
    with raises(ValueError, "internal error"):
        sweep_widths(X, Gaussian("auto"), 2)
