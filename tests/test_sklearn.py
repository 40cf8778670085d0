"""scikit-learn's own checks, with no expected failures."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    ComponentClassifier,
    ComponentRegressor,
    EntropyClustering,
    KernelDenoiser,
    KernelECA,
    KernelLDA,
    KernelPCA,
    MaximumEntropyProjection,
    ParzenDensity,
    SeriesDensity,
)


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
    ]
)
def test_check_estimator(estimator, check):
    check(estimator)
