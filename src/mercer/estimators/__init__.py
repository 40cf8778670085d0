"""The scikit-learn layer: thin estimators over one Spectrum."""

from mercer.estimators.clustering import BandwidthRecord, EntropyClustering
from mercer.estimators.components import ComponentClassifier, ComponentRegressor
from mercer.estimators.denoising import KernelDenoiser
from mercer.estimators.discriminant import KernelLDA
from mercer.estimators.eca import KernelECA
from mercer.estimators.joint import JointMixtureClassifier, JointMixtureRegressor
from mercer.estimators.mixture import MercerMixture
from mercer.estimators.novelty import MercerNovelty
from mercer.estimators.orthogonal import OrthogonalSeries
from mercer.estimators.parzen import ParzenDensity
from mercer.estimators.pca import KernelPCA
from mercer.estimators.projection import MaximumEntropyProjection
from mercer.estimators.series import SeriesDensity

__all__ = [
    "BandwidthRecord",
    "ComponentClassifier",
    "ComponentRegressor",
    "EntropyClustering",
    "JointMixtureClassifier",
    "JointMixtureRegressor",
    "KernelDenoiser",
    "KernelECA",
    "KernelLDA",
    "KernelPCA",
    "MaximumEntropyProjection",
    "MercerMixture",
    "MercerNovelty",
    "OrthogonalSeries",
    "ParzenDensity",
    "SeriesDensity",
]
