"""ParzenDensity with adaptive bandwidths, and StackedDensity."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity

import mercer
from mercer import ParzenDensity, StackedDensity
from mercer.density.stacked_density import SelectedGaussianMixture
from mercer.kernels import Gaussian, Laplacian
from tests.expectations import raises

MODES = [True, "shape"]


def sample(n=80, d=2, seed=0):
    return np.random.default_rng(seed).lognormal(0.0, 0.7, size=(n, d))


def integral(density, low, high, count=4001):
    grid = np.linspace(low, high, count)
    return density.pdf(grid[:, None]).sum() * (grid[1] - grid[0])


@pytest.mark.parametrize("mode", MODES)
def test_mass_is_one(mode):
    density = ParzenDensity(adaptive=mode).fit(sample(d=1))
    assert_allclose(integral(density, -30, 60), 1.0, atol=1e-4)


@pytest.mark.parametrize("mode", MODES)
def test_weights_equal_copies_and_order_has_no_effect(mode):
    X, weights = sample(40), np.random.default_rng(1).integers(0, 3, 40)
    new = sample(10, seed=2)
    weighted = ParzenDensity(adaptive=mode).fit(X, sample_weight=weights).score_samples(new)
    copies = np.repeat(X, weights, axis=0)
    copies = copies[np.random.default_rng(3).permutation(len(copies))]
    assert_allclose(
        ParzenDensity(adaptive=mode).fit(copies).score_samples(new), weighted, rtol=1e-6
    )


@pytest.mark.parametrize("mode", MODES)
def test_densities_do_not_depend_on_units(mode):
    X, new = sample(), sample(10, seed=1)
    scale, shift = np.array([1e-6, 40.0]), np.array([3.0, -7.0])
    first = ParzenDensity(adaptive=mode).fit(X).score_samples(new)
    second = ParzenDensity(adaptive=mode).fit(X * scale + shift).score_samples(new * scale + shift)
    assert_allclose(second, first - np.log(scale).sum(), rtol=1e-5, atol=1e-5)


def test_default_density_integrates_to_one():
    assert_allclose(integral(ParzenDensity().fit(sample(d=1)), -30, 60), 1.0, atol=1e-6)
    density = ParzenDensity().fit(sample())
    axis = np.linspace(-4, 20, 400)
    nodes = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    mass = density.pdf(nodes).sum() * (axis[1] - axis[0]) ** 2
    assert_allclose(mass, 1.0, atol=1e-6)


@pytest.mark.parametrize("mode", [False, *MODES])
def test_chosen_parameters_are_not_chosen_again(mode):
    X, other = sample(60), 3 * sample(50, seed=1)
    fitted = ParzenDensity(adaptive=mode).fit(X)
    again = fitted.with_chosen_parameters()
    assert_allclose(again.fit(X).score_samples(other), fitted.score_samples(other), rtol=1e-12)
    assert again.fit(other).kernel_ == fitted.kernel_
    assert ParzenDensity(adaptive=mode).fit(other).kernel_ != fitted.kernel_


def test_chosen_number_of_components_is_not_chosen_again():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(60, 1)), rng.normal(9, 1, size=(60, 1))]
    again = SelectedGaussianMixture().fit(X).with_chosen_parameters()
    assert again.fit(X[:60]).n_components_ == 2


def test_given_bandwidth_is_that_of_the_pilot():
    X, new = sample(50, 1), sample(6, 1, seed=1)
    density = ParzenDensity(kernel=Gaussian(0.3), adaptive=True).fit(X)
    pilot = np.exp(-((X - X.T) ** 2) / (2 * 0.3**2)).sum(axis=1)
    bandwidths = 0.3 * np.exp(-0.5 * (np.log(pilot) - np.log(pilot).mean()))
    values = np.exp(-((new - X.T) ** 2) / (2 * bandwidths**2)) / bandwidths
    expected = np.log(values.mean(axis=1) / np.sqrt(2 * np.pi))
    assert_allclose(density.score_samples(new), expected, rtol=1e-9)
    assert_allclose(density.bandwidths_ * 0.3, bandwidths, rtol=1e-9)


def test_refits_leave_nothing_of_the_other_mode():
    X, density = sample(60), ParzenDensity(kernel=Gaussian(0.5))
    plain = density.fit(X).score_samples(X)
    density.set_params(adaptive=True).fit(X)
    assert not hasattr(density._density.terms, "kernel")
    assert_array_equal(density.set_params(adaptive=False).fit(X).score_samples(X), plain)
    assert not hasattr(density, "bandwidths_")


@pytest.mark.parametrize("mode", MODES)
def test_the_metric_of_the_kernel_is_used(mode):
    X = sample() @ np.array([[1.0, 0.9], [0.0, 0.2]])
    kernel = Gaussian("auto", metric="covariance")
    found = ParzenDensity(kernel=kernel, adaptive=mode).fit(X).adaptation_.coordinates.factor
    assert_allclose(found @ found.T, np.cov(X.T, bias=True), rtol=1e-9)


def test_overall_kernel_does_not_overflow():
    X = sample() @ np.array([[1.0, 0.9], [0.0, 0.2]])
    kernel = ParzenDensity(adaptive=True).fit(1e200 * X).kernel_
    plain = ParzenDensity(adaptive=True).fit(X).kernel_
    assert_allclose(kernel(1e200 * X), plain(X), rtol=1e-6)


def test_adaptive_bandwidths_improve_skewed_data():
    X, held_out = sample(300), sample(2000, seed=1)
    fixed = ParzenDensity(kernel=Gaussian("leave-one-out")).fit(X).score(held_out)
    for mode in MODES:
        assert ParzenDensity(adaptive=mode).fit(X).score(held_out) > fixed + 0.05


@pytest.mark.parametrize("mode", MODES)
def test_models_are_saved(mode, tmp_path):
    X = sample()
    density = ParzenDensity(adaptive=mode).fit(X)
    mercer.save(density, tmp_path / "model")
    assert_array_equal(mercer.load(tmp_path / "model").score_samples(X), density.score_samples(X))


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"adaptive": "yes"}, ["'yes'", "'shape'"]),
        ({"adaptive": True, "weights": "learned"}, ["'learned'"]),
        ({"adaptive": True, "kernel": Laplacian(1.0)}, ["Laplacian"]),
        ({"adaptive": "shape", "kernel": Gaussian(0.5)}, [0.5]),
    ],
)
def test_invalid_combinations_are_refused(settings, named):
    with raises(ValueError, *named):
        ParzenDensity(**settings).fit(sample())


# --- stacked densities ----------------------------------------------------------------------------

FAST = [("parzen", ParzenDensity()), ("mixture", GaussianMixture(2, random_state=0))]


def test_stacked_density_is_the_combination_of_its_members():
    X, new = sample(), sample(9, seed=1)
    density = StackedDensity(FAST).fit(X)
    expected = sum(
        a * np.exp(member.score_samples(new))
        for a, member in zip(density.weights_, density.members_.values(), strict=True)
    )
    assert_allclose(density.pdf(new), expected, rtol=1e-9)
    assert_allclose(density.weights_.sum(), 1.0)
    best = max(density.cross_validated_scores_[name] for name in density.members_)
    assert density.cross_validated_scores_["stacked"] >= best - 1e-6


def test_stacked_mass_is_one():
    density = StackedDensity(FAST).fit(sample(d=1))
    assert_allclose(integral(density, -30, 60), 1.0, atol=1e-3)


def test_the_true_model_gets_most_of_the_weight():
    X = np.random.default_rng(0).normal(size=(300, 2))
    density = StackedDensity([("wide", KernelDensity(bandwidth=5.0)), *FAST[1:]]).fit(X)
    assert density.weights_[1] > 0.9


def test_draws_follow_the_weights():
    X = np.r_[np.zeros((60, 1)), np.ones((60, 1))] + 0.01 * sample(120, 1)
    density = StackedDensity(FAST).fit(X)
    drawn = density.sample(4000, random_state=0)
    assert drawn.shape == (4000, 1)
    assert_allclose((drawn > 0.5).mean(), 0.5, atol=4 * np.sqrt(0.25 / 4000) + 0.02)
    assert_array_equal(drawn, density.sample(4000, random_state=0))


def test_order_of_rows_has_no_effect_on_the_weights():
    X = sample()
    first = StackedDensity(FAST).fit(X)
    second = StackedDensity(FAST).fit(X[::-1])
    assert_allclose(second.weights_, first.weights_, atol=1e-6)


@pytest.mark.slow
def test_default_members_are_fitted():
    density = StackedDensity().fit(sample(60))
    assert [*density.members_] == ["parzen", "adaptive", "shape", "mixture"]
    weighted = StackedDensity().fit(sample(60), sample_weight=np.full(60, 2.0))
    assert [*weighted.members_] == ["parzen", "adaptive", "shape"]


def comb(n, seed):
    """Forty narrow peaks, which a small sample does not resolve."""
    rng = np.random.default_rng(seed)
    return rng.integers(40, size=(n, 1)) + 0.05 * rng.normal(size=(n, 1))


def test_weights_are_those_of_members_of_the_full_size():
    X, new = comb(3000, 0), comb(2000, 1)
    density = StackedDensity(FAST, max_rows=100).fit(X)
    assert density.members_["parzen"].score(new) > ParzenDensity().fit(X[:100]).score(new) + 0.3
    found = density.cross_validated_scores_["parzen"]
    assert abs(found - density.members_["parzen"].score(new)) < 0.2
    assert density.weights_[0] > 0.9


@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows_are_represented_by_some(monkeypatch, weighted):
    monkeypatch.setattr("mercer.density.stacked_density._MAX_POINTS", 200)
    X = np.random.default_rng(0).normal(size=(2000, 1))
    weights = np.where(X[:, 0] > 0, 3.0, 0.0) if weighted else None
    density = StackedDensity([("parzen", ParzenDensity())], max_rows=100)
    density.fit(X, sample_weight=weights)
    assert len(density.members_["parzen"].weights_) == 200
    median = density.quantile(0.5)
    assert_allclose(median, 0.674 if weighted else 0.0, atol=0.1)


def test_repeated_rows_are_held_out_together():
    X = np.repeat(sample(40), 3, axis=0)
    density = StackedDensity([("narrow", KernelDensity(bandwidth=1e-4)), *FAST]).fit(X)
    assert density.weights_[0] < 0.01


def test_members_without_weights_are_refused_with_weights():
    with raises(ValueError, "'mixture'"):
        StackedDensity(FAST).fit(sample(), sample_weight=np.ones(80))
    with raises(ValueError, "unique"):
        StackedDensity([*FAST, FAST[0]]).fit(sample())
    with raises(ValueError, 2, 3):
        StackedDensity(FAST).fit(np.repeat(sample(2), 9, axis=0))


def test_selected_mixture_does_not_depend_on_units():
    X = np.r_[sample(), 9 + sample()]
    first, second = (clone(SelectedGaussianMixture()).fit(Z) for Z in (X, 1e-5 * X))
    assert first.n_components_ == second.n_components_
    shift = 2 * np.log(1e-5)
    assert_allclose(second.score_samples(1e-5 * X), first.score_samples(X) - shift, rtol=1e-6)
    assert first.sample(5, random_state=1).shape == (5, 2)
