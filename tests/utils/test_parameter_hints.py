"""Unknown keyword arguments of constructors get a hint, and signatures do not change."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

import mercer
from mercer.kernels import Cosine, Gaussian, Kernel, Laplacian, Matern, Polynomial, Sigmoid
from tests.expectations import raises


@pytest.mark.parametrize(
    ("kernel", "theirs"), [(Gaussian, rbf_kernel), (Laplacian, laplacian_kernel)]
)
def test_gamma_is_translated_to_the_bandwidth(kernel, theirs):
    with pytest.raises(TypeError, match=r"gamma=0\.08.*bandwidth") as caught:
        kernel(gamma=0.08)
    bandwidth = float(str(caught.value).split("bandwidth=")[1].split(":")[0])
    X = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(kernel(bandwidth)(X), theirs(X, gamma=0.08), rtol=1e-5)


@pytest.mark.parametrize("gamma", ["scale", None, -1.0, 0, float("inf")])
def test_gamma_without_a_bandwidth_gives_the_formula(gamma):
    with raises(TypeError, "Gaussian", "gamma", "sqrt(2 * gamma)"):
        Gaussian(gamma=gamma)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Gaussian(sigma=2.0), ["sigma", "'bandwidth'"]),
        (lambda: Matern(length_scale=2.0), ["length_scale", "'bandwidth'"]),
        (lambda: Polynomial(3, gamma=0.1), ["gamma", "'scale'"]),
        (lambda: Polynomial(3, coef0=1), ["coef0", "'constant'"]),
        (lambda: Sigmoid(gamma=0.1), ["gamma", "'scale'"]),
        (lambda: Cosine(gamma=0.1), ["Cosine", "gamma", "none"]),
        (lambda: mercer.KernelPCA(2, gamma=0.5), ["gamma", "kernel=", "bandwidth=1"]),
        (lambda: mercer.KernelPCA(2, degree=3), ["degree", "Polynomial"]),
        (lambda: mercer.KernelPCA(2, n_component=3), ["n_component", "'n_components'"]),
        (lambda: mercer.KernelPCA(2, n_jobs=3), ["n_jobs", "threads"]),
        (lambda: mercer.SpectralClustering(k=3), ["'k'", "'n_clusters'"]),
        (lambda: mercer.SpectralClustering(3, affinity="rbf"), ["affinity", "'kernel'"]),
        (lambda: mercer.EntropyClustering(n_components=3), ["n_components", "'n_clusters'"]),
        (lambda: mercer.ParzenDensity(bandwidth=0.3), ["bandwidth", "kernel="]),
        (lambda: mercer.KernelNovelty(nu=0.1), ["nu", "'false_alarm_rate'"]),
        (lambda: mercer.KernelNovelty(contamination=0.1), ["'false_alarm_rate'"]),
    ],
)
def test_names_of_other_libraries_get_a_hint(make, words):
    with raises(TypeError, *words):
        make()


def test_signatures_do_not_change():
    for cls in (Gaussian, Cosine, Kernel, mercer.KernelPCA, mercer.KernelNovelty):
        kinds = {p.kind for p in inspect.signature(cls).parameters.values()}
        assert not kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
        assert set(inspect.signature(cls).parameters) == set(cls().get_params(deep=False))


def test_clones_and_own_kernels_work():
    class Cauchy(Kernel):
        def __init__(self, scale=1.0, **options):
            self.scale, self.options = scale, options

    assert Cauchy(anything=1).options == {"anything": 1}
    model = mercer.KernelPCA(3, kernel=Gaussian(2.0))
    assert clone(model).get_params() == model.get_params()
