"""Estimators with the scikit-learn interface, built on :class:`mercer.spectrum.Spectrum`."""

from mercer.estimators.bandwidth_sweep import BandwidthRecord
from mercer.estimators.clustering import EntropyClustering
from mercer.estimators.component_models import ComponentClassifier, ComponentRegressor
from mercer.estimators.denoising import KernelDenoiser
from mercer.estimators.discriminant import KernelLDA
from mercer.estimators.eca import KernelECA
from mercer.estimators.joint_density import JointMixtureDensity
from mercer.estimators.joint_mixture import JointMixtureClassifier, JointMixtureRegressor
from mercer.estimators.kernel_novelty import KernelNovelty
from mercer.estimators.maximum_entropy import MaximumEntropyProjection
from mercer.estimators.mixture import MercerMixture
from mercer.estimators.novelty import MercerNovelty
from mercer.estimators.orthogonal_series import OrthogonalSeries
from mercer.estimators.parzen_density import ParzenDensity
from mercer.estimators.pca import KernelPCA
from mercer.estimators.process_monitor import ProcessMonitor
from mercer.estimators.robust_pca import RobustKernelPCA
from mercer.estimators.series_density import SeriesDensity
from mercer.estimators.spectral_clustering import SpectralClustering
from mercer.estimators.stacked_density import SelectedGaussianMixture, StackedDensity

__all__ = [
    "BandwidthRecord",
    "ComponentClassifier",
    "ComponentRegressor",
    "EntropyClustering",
    "JointMixtureClassifier",
    "JointMixtureDensity",
    "JointMixtureRegressor",
    "KernelDenoiser",
    "KernelECA",
    "KernelLDA",
    "KernelNovelty",
    "KernelPCA",
    "MaximumEntropyProjection",
    "MercerMixture",
    "MercerNovelty",
    "OrthogonalSeries",
    "ParzenDensity",
    "ProcessMonitor",
    "RobustKernelPCA",
    "SelectedGaussianMixture",
    "SeriesDensity",
    "SpectralClustering",
    "StackedDensity",
]
