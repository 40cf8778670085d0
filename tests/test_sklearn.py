"""scikit-learn's estimator checks, with no expected failures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    ComponentClassifier,
    ComponentRegressor,
    EntropyClustering,
    JointMixtureClassifier,
    JointMixtureDensity,
    JointMixtureRegressor,
    KernelDenoiser,
    KernelECA,
    KernelLDA,
    KernelNovelty,
    KernelPCA,
    MaximumEntropyProjection,
    MercerMixture,
    ParzenDensity,
    RobustKernelPCA,
    SeriesDensity,
    SpectralClustering,
    StackedDensity,
)
from mercer.domains import GaussianBase
from mercer.kernels import Gaussian, Neighbors

DEFAULTS = [
    KernelPCA(),
    RobustKernelPCA(),
    KernelECA(),
    EntropyClustering(),
    SpectralClustering(3),
    KernelDenoiser(),
    ComponentRegressor(),
    ComponentClassifier(),
    KernelLDA(),
    ParzenDensity(),
    SeriesDensity(),
    MaximumEntropyProjection(max_iter=20),
    MercerMixture(),
    KernelNovelty(),
    KernelNovelty(statistic="mixture"),
    JointMixtureClassifier(),
    JointMixtureDensity(),
    JointMixtureRegressor(),
]
VARIANTS = [
    KernelPCA(center=False, solver="lanczos"),
    KernelECA(solver="dense", kernel="polynomial"),
    EntropyClustering(n_clusters=2, bandwidths=5),
    SpectralClustering(2, kernel=Neighbors(3), noise=0.1),
    KernelDenoiser(n_components=2, order="variance", preimage="ridge"),
    ComponentClassifier(order="variance", solver="lanczos"),
    KernelLDA(regularization="cv", solver="lanczos"),
    ParzenDensity(weights="learned"),
    ParzenDensity(adaptive="shape"),
    StackedDensity([("parzen", ParzenDensity()), ("wide", ParzenDensity(kernel=Gaussian(9.0)))]),
    SeriesDensity(terms=None),
    MercerMixture(2, rank=3, n_init=3, random_state=0),
    MercerMixture(kernel="linear", domain=GaussianBase(), alpha="leave-one-out"),
    JointMixtureClassifier(2, rank=5),
]


@parametrize_with_checks(DEFAULTS)
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(VARIANTS)
def test_check_estimator_with_other_parameters(estimator, check):
    check(estimator)
