"""Gaussian mixtures in the feature space of a kernel, and domains of their densities."""

from mercer.utils.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "mercer_mixture": "MercerMixture",
        "joint_density": "JointMixtureDensity",
        "joint_mixture": "JointMixtureClassifier JointMixtureRegressor",
    },
)
