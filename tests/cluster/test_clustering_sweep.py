"""EntropyClustering over several bandwidths: the path, the choice, progress and interrupts."""

import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from mercer import EntropyClustering, KernelECA
from mercer.bandwidth import median_distance
from mercer.cluster.bandwidth_sweep import _agreement, choose_record
from mercer.datasets import make_rings
from mercer.errors import ApproximationWarning, ConvergenceWarning, IdentifiabilityWarning
from mercer.kernels import Epanechnikov, Gaussian, Laplacian, Matern
from mercer.solvers import Lanczos
from mercer.utils.row_passes import IN_MEMORY
from tests.cluster.clustering_cases import blobs, naive_costs, quiet, same_partition
from tests.expectations import raises, warns

pytestmark = pytest.mark.usefixtures("one_thread")


@quiet
def test_sweep_does_not_depend_on_the_order_of_rows():
    X = blobs(1)
    order = np.random.default_rng(1).permutation(len(X))
    straight, mixed = EntropyClustering(3).fit(X), EntropyClustering(3).fit(X[order])
    assert_allclose(mixed.kernel_.bandwidth, straight.kernel_.bandwidth, rtol=1e-12)
    assert_allclose(
        [r.stability for r in mixed.path_], [r.stability for r in straight.path_], atol=1e-12
    )
    same_partition(mixed.labels_, straight.labels_[order])


@quiet
@pytest.mark.parametrize("seed", range(3))
def test_weights_equal_repeated_rows_in_the_sweep(seed):
    """Costs and stability are equal at every bandwidth."""
    X = blobs(seed, spread=1.5)
    weights = np.random.default_rng(seed).integers(1, 5, size=len(X))
    weighted = EntropyClustering(3).fit(X, sample_weight=weights)
    copies = EntropyClustering(3).fit(np.repeat(X, weights, axis=0))
    for one, other in zip(weighted.path_, copies.path_, strict=True):
        assert_allclose(one.bandwidth, other.bandwidth, rtol=1e-12)
        assert_allclose(one.cost, other.cost, rtol=1e-9)
        assert_allclose(one.stability, other.stability, atol=1e-9)
    assert weighted.kernel_.bandwidth == pytest.approx(copies.kernel_.bandwidth, rel=1e-12)


@quiet
def test_rows_with_zero_weight_do_not_change_the_sweep():
    X = blobs(2)
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    weighted = EntropyClustering(3).fit(X, sample_weight=weights)
    absent = EntropyClustering(3).fit(X[weights > 0])
    assert weighted.kernel_ == absent.kernel_
    assert_array_equal(weighted.labels_[weights > 0], absent.labels_)
    assert weighted.labels_.shape == (len(X),)
    for one, other in zip(weighted.path_, absent.path_, strict=True):
        assert one.stability == pytest.approx(other.stability)


@quiet
def test_rows_with_zero_weight_do_not_count_for_the_subsample():
    """Of 2600 rows only 5 have a positive weight, so the sweep uses all 5."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(at, 0.5, size=(1300, 2)) for at in (0, 4)])
    weights = np.ones(2600)
    weights[rng.choice(2600, size=2595, replace=False)] = 0.0
    weighted = EntropyClustering(2).fit(X, sample_weight=weights)
    absent = EntropyClustering(2).fit(X[weights > 0])
    assert_allclose(weighted.kernel_.bandwidth, absent.kernel_.bandwidth, rtol=1e-12)
    assert_array_equal(weighted.labels_[weights > 0], absent.labels_)


@quiet
@pytest.mark.parametrize("factor", [1e-5, 1e5])
def test_the_sweep_scales_with_the_data(factor):
    X = blobs(3)
    plain, scaled = EntropyClustering(3).fit(X), EntropyClustering(3).fit(factor * X)
    assert_allclose(scaled.kernel_.bandwidth, factor * plain.kernel_.bandwidth, rtol=1e-9)
    assert_array_equal(scaled.labels_, plain.labels_)


@quiet
def test_path_records_every_bandwidth():
    X = blobs(2, sizes=(12, 9, 8))
    bandwidths = [1.2, 0.5, 0.8]
    found = EntropyClustering(3, bandwidths=bandwidths).fit(X)
    assert [r.bandwidth for r in found.path_] == sorted(bandwidths)
    for record in found.path_:
        kernel = Gaussian(record.bandwidth)
        single = EntropyClustering(3, kernel=kernel).fit(X)
        eca = KernelECA(3, kernel=kernel, solver="dense").fit(X)
        Z = eca.transform(X)
        assert_array_equal(record.labels, single.labels_)
        full, inside = naive_costs(kernel(X), Z, record.labels)
        assert_allclose([record.cost, record.eca_cost], [full, inside], rtol=1e-8)
        assert record.components.tolist() == eca.component_ranks_.tolist()
        assert_allclose(record.eigenvalues, eca.eigenvalues_, rtol=1e-9)
        assert_allclose(record.entropy_ratio, eca.entropy_ratio_.sum(), rtol=1e-9)
        sums = [Z[record.labels == c].sum(axis=0) for c in range(3)]
        coherence = np.linalg.norm(sums, axis=1).sum() / np.linalg.norm(Z, axis=1).sum()
        assert_allclose(record.coherence, coherence, rtol=1e-9)
        assert record.certified
        for name in ("bandwidth", "cost", "eca_cost", "stability", "labels", "components"):
            assert_array_equal(record[name], getattr(record, name))
    with raises(AttributeError, "nonsense"):
        found.path_[0]["nonsense"]


@quiet
@pytest.mark.parametrize("solver", ["lanczos", Lanczos(stored=False)], ids=repr)
def test_components_in_the_path_after_an_iteration(solver):
    X = blobs(2)
    found = EntropyClustering(3, bandwidths=[0.5, 0.9], solver=solver).fit(X)
    for record in found.path_:
        eca = KernelECA(3, kernel=Gaussian(record.bandwidth), solver="dense").fit(X)
        assert record.components.tolist() == eca.component_ranks_.tolist()


@quiet
def test_stability_equals_the_mean_rand_index_of_scikit_learn():
    """Mean over all bandwidths within 10 %, and over the two neighbors at least."""
    X = blobs(3, spread=1.4)
    bandwidths = np.array([0.3, 0.31, 0.32, 0.36, 0.5, 0.54, 0.9, 2.0, 2.15, 2.3])
    found = EntropyClustering(3, bandwidths=bandwidths).fit(X)
    labels = [record.labels for record in found.path_]
    for i, record in enumerate(found.path_):
        near = [
            j
            for j, other in enumerate(found.path_)
            if abs(i - j) == 1
            or (i != j and abs(np.log(record.bandwidth / other.bandwidth)) <= np.log(1.1))
        ]
        expected = np.mean([adjusted_rand_score(labels[i], labels[j]) for j in near])
        assert_allclose(record.stability, expected, atol=1e-12)


@quiet
@pytest.mark.parametrize("seed", range(4))
def test_chosen_bandwidth_follows_the_documented_rule(seed):
    """The lowest cost among bandwidths with a stability of 0.95, or the largest stability."""
    X = blobs(seed, spread=1.4)
    found = EntropyClustering(3).fit(X)
    path = found.path_
    limit = min(0.95, max(record.stability for record in path))
    stable = [record for record in path if record.stability >= limit]
    best = min(stable, key=lambda record: record.cost)
    assert found.kernel_.bandwidth == best.bandwidth
    assert path[choose_record(path)] is best
    assert_array_equal(found.labels_, best.labels)
    assert_allclose(found.cost_, best.cost, rtol=1e-9)


@quiet
def test_forms_of_the_bandwidths_parameter():
    X = blobs(0)
    median = median_distance(X)

    def tried(**settings):
        found = EntropyClustering(3, **settings).fit(X)
        return np.array([record.bandwidth for record in found.path_])

    assert_allclose(tried(), median * np.geomspace(0.1, 2, 33))
    assert_allclose(tried(bandwidths=7), median * np.linspace(0.1, 0.2, 7))
    assert_allclose(tried(bandwidths=np.int64(2)), median * np.array([0.1, 0.2]))
    assert_allclose(tried(bandwidths=1), median * 0.1)
    assert_allclose(tried(bandwidths=[2, 1, 1]), [1.0, 2.0])
    assert_allclose(tried(bandwidths=(0.7,)), [0.7])
    assert_allclose(tried(kernel=Gaussian(0.8)), [0.8])
    assert_allclose(tried(kernel=Gaussian(0.8), bandwidths=3), median * np.array([0.1, 0.15, 0.2]))
    assert len(tried(kernel=Gaussian("silverman"))) == 1
    assert len(tried(kernel=Laplacian(), bandwidths=[1.0, 2.0])) == 2
    assert len(tried(kernel="laplacian")) == 33
    assert len(tried(kernel=Matern(nu=2.5))) == 33


@quiet
def test_sweep_does_not_change_other_kernel_parameters():
    found = EntropyClustering(3, kernel=Matern(nu=2.5), bandwidths=[1.0, 2.0]).fit(blobs(0))
    assert found.kernel_.nu == 2.5


def test_stability_of_a_single_bandwidth_is_nan():
    found = EntropyClustering(3, kernel=Gaussian(1.0)).fit(blobs(0))
    assert np.isnan(found.path_[0].stability)


@quiet
def test_sweep_rows_are_a_subsample_or_none():
    """None if all rows or a single bandwidth were used; refitting resets it."""
    assert EntropyClustering(3, kernel=Gaussian(1.0)).fit(blobs(0)).sweep_rows_ is None
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(at, 0.5, size=(1100, 2)) for at in (0, 5)])
    found = EntropyClustering(2).fit(X)
    assert found.labels_.shape == (2200,)
    assert found.sweep_rows_.shape == (1000,)
    assert len(np.unique(found.sweep_rows_)) == 1000
    assert all(record.labels.shape == (1000,) for record in found.path_)
    same_partition(found.labels_, np.repeat([0, 1], 1100))
    again = clone(found).fit(X).set_params(kernel=Gaussian(1.0)).fit(X[:50])
    assert again.sweep_rows_ is None
    order = rng.permutation(2200)
    mixed = EntropyClustering(2).fit(X[order])
    assert_allclose(mixed.kernel_.bandwidth, found.kernel_.bandwidth, rtol=1e-12)
    assert set(map(tuple, X[found.sweep_rows_])) == set(map(tuple, X[order][mixed.sweep_rows_]))


@quiet
def test_given_bandwidths_are_tried_on_all_rows():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(at, 0.5, size=(1100, 2)) for at in (0, 5)])
    found = EntropyClustering(2, bandwidths=[0.5, 0.6]).fit(X)
    assert found.path_[0].labels.shape == (2200,)


@quiet
def test_sweep_skips_bandwidths_with_too_few_components():
    """At a bandwidth of 1e9 all values of K are 1 up to rounding error."""
    X = np.concatenate([blobs(0, sizes=(20,)), blobs(1, sizes=(20,)) + 6])
    found = EntropyClustering(2, bandwidths=[0.8, 1.0, 1e9]).fit(X)
    same_partition(found.labels_, np.repeat([0, 1], 20))


def test_explicit_bandwidths_need_no_rule():
    """Equal rows have no distances for a rule, but the bandwidths are given."""
    X = np.ones((5, 2))
    found = EntropyClustering(1, bandwidths=[1.0, 2.0]).fit(X)
    assert found.labels_.tolist() == [0] * 5


def test_composite_kernels_are_swept_by_multipliers():
    X, _ = make_rings(random_state=0)
    plain = EntropyClustering(3, kernel=Gaussian(3.0), bandwidths=[2.4, 3.0, 3.7]).fit(X)
    composite = EntropyClustering(
        3, kernel=Gaussian(3.0) * Gaussian(1e9), bandwidths=[0.8, 1, 3.7 / 3]
    )
    composite.fit(X)
    assert_allclose([r.bandwidth for r in composite.path_], [0.8, 1, 3.7 / 3])
    assert_allclose([r.cost for r in composite.path_], [r.cost for r in plain.path_], rtol=1e-6)
    assert_allclose(composite.kernel_.terms[0].bandwidth, plain.kernel_.bandwidth)


def test_only_the_final_fit_warns():
    """At 0.01 nearly all points are isolated; at the selected bandwidth none is."""
    X = np.concatenate([blobs(0, sizes=(30,)), blobs(1, sizes=(30,)) + 8])
    with warns(IdentifiabilityWarning, "isolated", "100%"):
        EntropyClustering(2, kernel=Gaussian(0.01)).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = EntropyClustering(2, bandwidths=[0.01, 1.0, 1.05, 1.1]).fit(X)
    assert found.kernel_.bandwidth >= 1.0


def test_warnings_are_issued_once_at_the_callers_line():
    K = np.zeros((7, 7))
    K[:3, :3], K[3:5, 3:5] = 1.0, 1.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        EntropyClustering(2, kernel="precomputed").fit(K)
    found = [w for w in caught if w.category is ApproximationWarning]
    assert len(found) == 1
    assert found[0].filename == __file__


def test_too_few_iterations_warn():
    X = np.random.default_rng(1).normal(size=(200, 2))
    with warns(ConvergenceWarning, "max_iter"):
        EntropyClustering(4, kernel=Gaussian(0.4), max_iter=1).fit(X)


class Terminal:
    """A replacement of standard error that is a terminal or not."""

    def __init__(self, interactive):
        self.interactive, self.text = interactive, ""

    def isatty(self):
        return self.interactive

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@quiet
@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("verbose", [True, False])
@pytest.mark.parametrize("slow", [True, False])
def test_conditions_of_the_progress_bar(monkeypatch, terminal, verbose, slow):
    """The bar is shown if verbose, or on a terminal if the fit takes long."""
    import mercer.utils.resources

    screen = Terminal(terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(mercer.utils.resources, "_SECONDS_BEFORE_BAR", -1.0 if slow else 1e9)
    EntropyClustering(3, bandwidths=[0.5, 0.8, 1.0], verbose=verbose).fit(blobs(0))
    assert ("3/3 bandwidths" in screen.text) == (verbose or (terminal and slow))
    assert not screen.text or screen.text.endswith("\n")


class Interrupted(Gaussian):
    """A Gaussian that is interrupted after some evaluations."""

    left = 0

    def profile(self, h):
        Interrupted.left -= 1
        if Interrupted.left < 0:
            raise KeyboardInterrupt
        return super().profile(h)


@quiet
@pytest.mark.parametrize("evaluations", [0, 1, 7, 20])
def test_interrupted_fits_leave_the_estimator_unfitted(evaluations):
    X = blobs(0)
    model = EntropyClustering(3, kernel=Interrupted())
    Interrupted.left = evaluations
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    with pytest.raises(NotFittedError):
        model.predict(X)
    for name in ("labels_", "path_", "eca_", "cost_", "cluster_centers_"):
        assert not hasattr(model, name)
    Interrupted.left = 10**9
    assert model.fit(X).labels_.shape == (len(X),)


@quiet
def test_interrupted_refits_restore_the_earlier_fit():
    X = blobs(0)
    model = EntropyClustering(3, kernel=Gaussian(1.0)).fit(X)
    labels, path = model.labels_.copy(), list(model.path_)
    Interrupted.left = 7
    with pytest.raises(KeyboardInterrupt):
        model.set_params(kernel=Interrupted()).fit(X + 1)
    assert_array_equal(model.labels_, labels)
    assert_array_equal(model.predict(X), labels)
    assert all(a is b for a, b in zip(model.path_, path, strict=True))


@quiet
def test_indefinite_kernels_in_the_sweep():
    found = EntropyClustering(3, kernel="gaussian", bandwidths=4).fit(blobs(0))
    indefinite = EntropyClustering(3, kernel=Epanechnikov()).fit(blobs(0))
    assert len(found.path_) == 4
    assert len(indefinite.path_) == 33
    for record in indefinite.path_:
        K = Epanechnikov(record.bandwidth)(blobs(0))
        assert_allclose(record.cost, naive_costs(K, K, record.labels)[0], rtol=1e-8)


def test_agreement_equals_scikit_learn_on_copies(rng):
    one, other, counts = (rng.integers(low, 4, 40) for low in (-1, 0, 0))
    copied = adjusted_rand_score(np.repeat(one, counts), np.repeat(other, counts))
    found = _agreement(one, other, counts.astype(float), IN_MEMORY)
    assert_allclose(found, copied, rtol=1e-12)
    assert _agreement(one, one, None, IN_MEMORY) == 1
    single = np.zeros(5, int)
    assert _agreement(single, single, None, IN_MEMORY) == 1
