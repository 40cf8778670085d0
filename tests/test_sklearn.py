"""scikit-learn's estimator checks, with no expected failures."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    ComponentClassifier,
    ComponentRegressor,
    EntropyClustering,
    JointMixtureClassifier,
    JointMixtureRegressor,
    KernelDenoiser,
    KernelECA,
    KernelLDA,
    KernelPCA,
    MaximumEntropyProjection,
    MercerMixture,
    MercerNovelty,
    ParzenDensity,
    SeriesDensity,
)
from mercer.domains import GaussianBase


@parametrize_with_checks(
    [
        KernelPCA(),
        KernelPCA(center=False, solver="lanczos"),
        KernelPCA(kernel="linear"),
        KernelECA(),
        KernelECA(solver="lanczos"),
        KernelECA(solver="dense", kernel="polynomial"),
        EntropyClustering(),
        EntropyClustering(n_clusters=2, bandwidths=5),
        KernelDenoiser(n_components=3),
        KernelDenoiser(n_components=2, order="variance", preimage="ridge"),
        ComponentRegressor(),
        ComponentRegressor(n_components=3, order="variance"),
        ComponentClassifier(),
        ComponentClassifier(order="variance", solver="lanczos"),
        KernelLDA(),
        KernelLDA(regularization="cv", solver="lanczos"),
        KernelLDA(kernel="linear"),
        ParzenDensity(),
        ParzenDensity(weights="learned"),
        SeriesDensity(),
        SeriesDensity(terms=2),
        SeriesDensity(terms=None),
        MaximumEntropyProjection(max_iter=20),
        MercerMixture(),
        MercerMixture(2, rank=3, n_init=3, random_state=0),
        MercerMixture(kernel="linear", domain=GaussianBase(), alpha="leave-one-out"),
        MercerNovelty(),
        JointMixtureClassifier(),
        JointMixtureClassifier(2, rank=5),
        JointMixtureRegressor(),
    ]
)
def test_check_estimator(estimator, check):
    check(estimator)
