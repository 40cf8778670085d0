"""KernelDenoiser: projection and pre-image in one step."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from mercer import KernelDenoiser, KernelECA, KernelPCA
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial
from tests.expectations import raises

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

every_method = pytest.mark.parametrize("method", ["kwok-tsang", "mika", "ridge"])
both_orders = pytest.mark.parametrize("order", ["entropy", "variance"])


@pytest.fixture
def circle():
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    return np.column_stack([np.cos(angle), np.sin(angle)])


@pytest.fixture
def noisy(circle, rng):
    return circle[::4] + 0.15 * rng.normal(size=(15, 2))


@both_orders
@every_method
def test_transform_equals_transform_and_inverse_transform(order, method, circle, noisy):
    settings = {"kernel": Gaussian(0.4), "preimage": method}
    denoiser = KernelDenoiser(5, order=order, **settings).fit(circle)
    transform = (
        KernelECA(5, **settings) if order == "entropy" else KernelPCA(5, center=False, **settings)
    ).fit(circle)
    expected = transform.inverse_transform(transform.transform(noisy))
    assert_allclose(denoiser.transform(noisy), expected, atol=1e-8)
    assert denoiser.transform(noisy).shape == noisy.shape


@both_orders
@pytest.mark.parametrize("kernel", [Gaussian(0.4), Matern(0.8), Linear(), Polynomial(3)], ids=repr)
def test_clean_points_are_unchanged_with_all_components(order, kernel, circle):
    circle = circle + np.array([2.0, 1.0])  # around 0 odd kernels carry no entropy
    denoiser = KernelDenoiser(None, kernel=kernel, order=order).fit(circle)
    assert_allclose(denoiser.transform(circle), circle, atol=1e-6)
    assert_allclose(denoiser.fit_transform(circle), circle, atol=1e-6)


def test_noise_around_a_circle_is_removed(circle, noisy):
    """The mean distance to the circle decreases for every method."""
    for method in ("kwok-tsang", "mika", "ridge"):
        denoiser = KernelDenoiser(15, kernel=Gaussian(0.4), order="variance", preimage=method)
        cleaned = denoiser.fit(circle).transform(noisy)
        before = np.abs(np.linalg.norm(noisy, axis=1) - 1).mean()
        assert np.abs(np.linalg.norm(cleaned, axis=1) - 1).mean() < 0.8 * before


@pytest.mark.parametrize("n_neighbors", [1, 3, 59, 60, 1000])
def test_n_neighbors_selects_the_nearest_rows(n_neighbors, circle, noisy):
    denoiser = KernelDenoiser(5, kernel=Gaussian(0.4), n_neighbors=n_neighbors).fit(circle)
    cleaned = denoiser.transform(noisy)
    if n_neighbors == 1:  # the point in the span of one point is that point
        distances = np.abs(cleaned[:, None] - circle).max(axis=2).min(axis=1)
        assert_allclose(distances, 0, atol=1e-12)
        return
    eca = KernelECA(5, kernel=Gaussian(0.4)).fit(circle)
    expected = eca.inverse_transform(eca.transform(noisy), n_neighbors=n_neighbors)
    assert_allclose(cleaned, expected, atol=1e-10)


@every_method
def test_integer_weights_equal_repeated_rows(method, circle, noisy, rng):
    weights = rng.integers(0, 3, size=len(circle))
    make = KernelDenoiser(4, kernel=Gaussian(0.5), preimage=method)
    weighted = clone(make).fit(circle, sample_weight=weights).transform(noisy)
    copies = clone(make).fit(np.repeat(circle, weights, axis=0)).transform(noisy)
    assert_allclose(weighted, copies, atol=1e-6)


def test_fraction_of_variance_uses_the_fewest_components(circle):
    denoiser = KernelDenoiser(0.9, kernel=Gaussian(0.4), order="variance").fit(circle)
    terms = denoiser.spectrum_.eigenvalues
    assert terms.sum() >= 0.9 * len(circle) > terms[:-1].sum()


def test_names_precision_and_pickle(circle, noisy):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(circle, columns=["a", "b"])
    denoiser = KernelDenoiser(5, kernel=Gaussian(0.4)).set_output(transform="pandas").fit(frame)
    out = denoiser.transform(frame)
    assert list(out.columns) == ["a", "b"]
    assert denoiser.get_feature_names_out().tolist() == ["a", "b"]
    with raises(ValueError, "names"):
        denoiser.transform(frame[["b", "a"]])
    plain = KernelDenoiser(5, kernel=Gaussian(0.4)).fit(circle)
    again = pickle.loads(pickle.dumps(plain))
    assert_allclose(again.transform(noisy), plain.transform(noisy), atol=0)
    single = KernelDenoiser(5, kernel=Gaussian(0.4)).fit(circle.astype(np.float32))
    cleaned = single.transform(noisy.astype(np.float32))
    assert cleaned.dtype == np.float32
    assert plain.kernel_ == Gaussian(0.4)


def test_one_row():
    denoiser = KernelDenoiser(1, kernel=Gaussian(1.0)).fit([[1.0, 2.0]])
    assert_allclose(denoiser.transform([[1.5, 2.0]]), [[1.0, 2.0]])


# --- invalid input: errors are raised in fit ----------------------------------------------------


@pytest.mark.parametrize("order", ["size", "", None, "Entropy"])
def test_unknown_orders_raise(order, circle):
    with raises(ValueError, f"order={order!r}", "'entropy'", "'variance'"):
        KernelDenoiser(3, order=order).fit(circle)


@pytest.mark.parametrize("method", ["kwok", None, 1])
def test_unknown_methods_raise(method, circle):
    with raises(ValueError, f"preimage={method!r}", "'kwok-tsang'"):
        KernelDenoiser(3, preimage=method).fit(circle)


@pytest.mark.parametrize("count", [0, -1, 1.5, "ten"])
def test_invalid_n_neighbors_raise(count, circle):
    with raises((TypeError, ValueError), f"n_neighbors={count!r}", 1):
        KernelDenoiser(3, n_neighbors=count).fit(circle)


def test_precomputed_kernels_raise(circle):
    """There are no pre-images, and fit already raises."""
    with raises(ValueError, "Precomputed()", "vectors"):
        KernelDenoiser(3, kernel="precomputed").fit(Gaussian(1.0)(circle))


@pytest.mark.parametrize(
    ("kernel", "method"),
    [(Laplacian(1.0), "kwok-tsang"), (Polynomial(2), "kwok-tsang"), (Matern(1.0), "mika")],
    ids=repr,
)
def test_kernels_without_preimages_raise(kernel, method, circle):
    with raises(ValueError, repr(kernel), "'ridge'"):
        KernelDenoiser(2, kernel=kernel, preimage=method).fit(circle).transform(circle)


@pytest.mark.parametrize("count", [0, -1, 1.5, 61])
def test_invalid_n_components_raise(count, circle):
    with raises((TypeError, ValueError), f"n_components={count}"):
        KernelDenoiser(count, kernel=Gaussian(0.4)).fit(circle)


def test_invalid_arrays_raise(circle):
    denoiser = KernelDenoiser(3, kernel=Gaussian(0.4)).fit(circle)
    with raises(ValueError, "NaN"):
        denoiser.transform([[np.nan, 1.0]])
    with raises(ValueError, "NaN"):
        KernelDenoiser(3).fit([[np.nan, 1.0], [1.0, 2.0]])
    with raises(ValueError, 3, 2):
        denoiser.transform(np.ones((2, 3)))
    with raises(NotFittedError):
        KernelDenoiser().transform(circle)


# --- defaults --------------------------------------------------------------------------------


def test_default_number_of_components_holds_95_percent_of_the_trace(circle):
    denoiser = KernelDenoiser(kernel=Gaussian(0.4)).fit(circle)
    values = np.linalg.eigvalsh(Gaussian(0.4)(circle))[::-1]
    expected = int(np.argmax(np.cumsum(values) >= 0.95 * len(circle) * (1 - 1e-9))) + 1
    assert denoiser.n_components_ == denoiser.spectrum_.n_components == expected
    assert (denoiser.order_, denoiser.preimage_) == ("variance", "mika")
    given = KernelDenoiser(expected, kernel=Gaussian(0.4), order="variance", preimage="mika")
    assert_allclose(denoiser.transform(circle), given.fit(circle).transform(circle), atol=1e-8)


def test_default_number_of_components_is_at_most_256(rng):
    X = rng.normal(size=(300, 20))
    denoiser = KernelDenoiser(kernel=Gaussian(0.5)).fit(X)  # K is nearly the identity
    assert denoiser.n_components_ == 256
    assert KernelDenoiser(kernel=Linear()).fit(X).n_components_ <= 20  # the rank of K


def test_given_number_of_components_implies_the_settings_of_the_paper(circle, noisy):
    denoiser = KernelDenoiser(5, kernel=Gaussian(0.4)).fit(circle)
    paper = KernelDenoiser(5, kernel=Gaussian(0.4), order="entropy", preimage="kwok-tsang")
    assert (denoiser.order_, denoiser.preimage_) == ("entropy", "kwok-tsang")
    assert_allclose(denoiser.transform(noisy), paper.fit(circle).transform(noisy))


@pytest.mark.parametrize("kernel", [Matern(0.8), Polynomial(3)], ids=repr)
def test_default_preimage_of_other_kernels_is_kwok_tsang(kernel, circle):
    assert KernelDenoiser(kernel=kernel).fit(circle).preimage_ == "kwok-tsang"


def test_default_removes_three_quarters_of_the_noise_of_digits():
    """With 8 components by entropy, as in the paper, half or more of the error remains."""
    X = load_digits().data / 16
    clean, noisy = X[600:700], X[600:700] + np.random.default_rng(0).normal(0, 0.25, (100, 64))
    remaining = {
        count: ((KernelDenoiser(count).fit(X[:600]).transform(noisy) - clean) ** 2).mean()
        for count in ("auto", 8)
    }
    assert remaining["auto"] < 0.3 * 0.25**2
    assert remaining[8] > 0.5 * 0.25**2
