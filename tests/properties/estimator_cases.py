"""All estimators with small settings, and the results that property tests compare.

``results`` returns only what the formulas determine: it removes the sign of components, the basis
of a tie and the numbering of clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

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
    OrthogonalSeries,
    ParzenDensity,
    RobustKernelPCA,
    SeriesDensity,
    SpectralClustering,
    StackedDensity,
)
from mercer.domains import GaussianBase
from mercer.kernels import (
    Cosine,
    Epanechnikov,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Neighbors,
    Polynomial,
    SelfTuning,
)
from mercer.solvers import Lanczos

__all__ = [
    "CASES",
    "Case",
    "Results",
    "fit",
    "results",
    "same_label",
    "shift_log_density",
    "targets",
]

Results = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """One estimator under test.

    Parameters
    ----------
    name : str
    make : callable
        ``make(bandwidth)`` returns an unfitted estimator whose kernel has this bandwidth (ignored
        by kernels without one).
    y : {"", "classification", "regression"}
        Kind of target.
    is_density : bool
        Whether ``score_samples`` is the log of a density of X.
    exempt : dict
        Properties that the estimator does not have, with the reason.
    doubled_params : dict
        Parameters to change when all rows are doubled, so that the results stay the same.
    spectral : bool
        Whether the results depend on selected components of K.
    compare_densities : bool
        Whether the density can be (nearly) zero between points, so that densities are compared and
        not their logarithms.
    max_condition : float
        Largest condition number up to which the results are determined by the data.
    amplification : float
        Factor by which the estimator amplifies errors of the components.
    tolerance : float
        Additional tolerance of estimators that iterate until convergence.
    uses_sample_size : str
        Why the results depend on the sample size n at a fixed bandwidth; "" if they do not.
    """

    name: str
    make: Callable[[Any], Any]
    y: str = ""
    is_density: bool = False
    exempt: dict[str, str] = field(default_factory=dict)
    doubled_params: dict[str, Any] = field(default_factory=dict)
    spectral: bool = True
    compare_densities: bool = False
    max_condition: float = np.inf
    amplification: float = 1.0
    tolerance: float = 0.0
    uses_sample_size: str = ""

    def __repr__(self) -> str:
        return self.name


NO_BANDWIDTH = {"scaling": "its kernel has no bandwidth to scale"}
OWN_SCALE = {"zeros": "a constant column has no scale and is rejected"}
NETWORK = {
    "scaling": "a network with random initial weights depends on the scale of its inputs",
    "zeros": "one more input requires more random initial weights",
}
SINGLE = {"single precision": "projections below a threshold of float64 precision are zero"}
NEIGHBORS = {"single precision": "the nearest neighbors of distant points are nearly tied"}
FIFTY = 50.0  # rounding errors: projections below this threshold are treated as zero
LEAVE_ONE_OUT = {"doubling": "leave-one-out removes a row and not its copy"}
COPIES = "the neighbors of a row with weight w include its w - 1 copies"
GRAPH = SINGLE | {"doubling": "a row is connected with its copies, not with itself"}
FOLDS = {
    "doubling": "copies of a row are in one fold, as are all rows with equal values",
    "zeros": "the normalizers of the two kernels differ in the added dimension",
}
PRIOR = "alpha and beta count as rows of a prior"

CASES = [
    Case("KernelPCA", lambda h: KernelPCA(2, kernel=Gaussian(h))),
    Case("KernelPCA-uncentered", lambda h: KernelPCA(2, kernel=Gaussian(h), center=False)),
    Case("KernelPCA-laplacian", lambda h: KernelPCA(2, kernel=Laplacian(h))),
    Case("KernelPCA-matern", lambda h: KernelPCA(2, kernel=Matern(h, nu=2.5))),
    Case("KernelPCA-matern-odd", lambda h: KernelPCA(2, kernel=Matern(h, nu=0.8))),
    Case("KernelPCA-epanechnikov", lambda h: KernelPCA(2, kernel=Epanechnikov(h))),
    Case("KernelPCA-linear", lambda h: KernelPCA(1, kernel=Linear()), exempt=NO_BANDWIDTH),
    Case(
        "KernelPCA-polynomial",
        lambda h: KernelPCA(2, kernel=Polynomial(3, constant=1.0, scale=0.1)),
        exempt=NO_BANDWIDTH,
    ),
    Case("KernelPCA-cosine", lambda h: KernelPCA(1, kernel=Cosine())),
    Case("KernelPCA-lanczos", lambda h: KernelPCA(2, kernel=Gaussian(h), solver="lanczos")),
    Case(
        "RobustKernelPCA",
        lambda h: RobustKernelPCA(2, kernel=Gaussian(h), support_fraction=0.9),
        exempt={
            "in sample": "the spectrum holds the regular rows only, so it has fewer projections",
        },
    ),
    Case("KernelECA", lambda h: KernelECA(2, kernel=Gaussian(h))),
    Case("KernelECA-laplacian", lambda h: KernelECA(2, kernel=Laplacian(h))),
    Case("KernelECA-sum", lambda h: KernelECA(2, kernel=Gaussian(h) + 0.5 * Matern(2 * h))),
    Case("KernelECA-lanczos", lambda h: KernelECA(2, kernel=Gaussian(h), solver="lanczos")),
    Case(
        "KernelECA-matrix-free",
        lambda h: KernelECA(2, kernel=Gaussian(h), solver=Lanczos(stored=False)),
    ),
    Case(
        "EntropyClustering",
        lambda h: EntropyClustering(2, kernel=Gaussian(h)),
        exempt=SINGLE,
        max_condition=FIFTY,
    ),
    Case(
        "EntropyClustering-nearest",
        lambda h: EntropyClustering(2, kernel=Gaussian(h), isolated="nearest"),
        exempt=SINGLE,
        max_condition=FIFTY,
    ),
    Case(
        "EntropyClustering-sweep",
        lambda h: EntropyClustering(
            2, kernel=Gaussian(h), bandwidths=np.array([0.5, 0.6, 0.7]) * h
        ),
        uses_sample_size="the stability of a sweep counts pairs of rows",
        exempt=SINGLE,
        max_condition=FIFTY,
    ),
    Case(
        "SpectralClustering",
        lambda h: SpectralClustering(2, kernel=Gaussian(h)),
        uses_sample_size=COPIES,
        exempt=GRAPH,
        max_condition=FIFTY,
    ),
    Case(
        "SpectralClustering-self-tuning",
        lambda h: SpectralClustering(2, kernel=SelfTuning(3)),
        uses_sample_size=COPIES,
        exempt=GRAPH,
        max_condition=FIFTY,
    ),
    Case(
        "SpectralClustering-neighbors",
        lambda h: SpectralClustering(2, kernel=Neighbors(3, mode="weighted", mutual=True)),
        uses_sample_size=COPIES,
        exempt=GRAPH,
        max_condition=FIFTY,
    ),
    Case(
        "KernelDenoiser",
        lambda h: KernelDenoiser(2, kernel=Gaussian(h)),
        exempt=NEIGHBORS,
    ),
    Case(
        "KernelDenoiser-ridge",
        lambda h: KernelDenoiser(2, kernel=Gaussian(h), preimage="ridge", order="variance"),
        amplification=1000.0,  # inverse of the ridge parameter
    ),
    Case("ComponentRegressor", lambda h: ComponentRegressor(2, kernel=Gaussian(h)), "regression"),
    Case(
        "ComponentClassifier",
        lambda h: ComponentClassifier(2, kernel=Gaussian(h)),
        "classification",
    ),
    Case(
        "KernelLDA",
        lambda h: KernelLDA(kernel=Gaussian(h), rank=3, regularization=0.1),
        "classification",
        exempt=LEAVE_ONE_OUT,
        uses_sample_size="confidence_ comes from leaving out one unit of weight",
        amplification=100.0,  # inverse of the ridge parameter, squared
    ),
    Case(
        "ParzenDensity",
        lambda h: ParzenDensity(kernel=Gaussian(h)),
        is_density=True,
        spectral=False,
    ),
    Case(
        "ParzenDensity-laplacian",
        lambda h: ParzenDensity(kernel=Laplacian(h)),
        is_density=True,
        spectral=False,
    ),
    Case(
        "ParzenDensity-adaptive",
        lambda h: ParzenDensity(kernel=Gaussian(h), adaptive=True),
        is_density=True,
        spectral=False,
        exempt={"zeros": "bandwidths of points differ in the added column too"},
    ),
    Case(
        "ParzenDensity-learned",
        lambda h: ParzenDensity(kernel=Gaussian(h), weights="learned"),
        is_density=True,
        spectral=False,
        tolerance=1e-2,  # a duality gap of 1e-6 nats per row: its root is the error of the density
    ),
    Case(
        "SeriesDensity",
        lambda h: SeriesDensity(kernel=Gaussian(h), terms=2),
        is_density=True,
        compare_densities=True,
        exempt={
            "zeros": "the clipped mass is integrated on a grid for d <= 2 and by sampling beyond"
        },
    ),
    Case(
        "SeriesDensity-eigenvalue",
        lambda h: SeriesDensity(kernel=Gaussian(h), terms=2, order="eigenvalue"),
        is_density=True,
        compare_densities=True,
        exempt={
            "zeros": "the clipped mass is integrated on a grid for d <= 2 and by sampling beyond"
        },
    ),
    Case(
        "SeriesDensity-all",
        lambda h: SeriesDensity(kernel=Gaussian(h), terms=None),
        is_density=True,
        spectral=False,
    ),
    Case(
        "OrthogonalSeries",
        lambda h: OrthogonalSeries("hermite", terms=4, max_terms=4),
        is_density=True,
        compare_densities=True,
        spectral=False,
        exempt=OWN_SCALE,
    ),
    Case(
        "OrthogonalSeries-legendre",
        lambda h: OrthogonalSeries("legendre", terms=4, max_terms=4),
        is_density=True,
        compare_densities=True,
        spectral=False,
        exempt=OWN_SCALE | {"doubling": "its default domain depends on the mean spacing of rows"},
        uses_sample_size="its default domain depends on the mean spacing of rows",
    ),
    Case(
        "MaximumEntropyProjection",
        lambda h: MaximumEntropyProjection(max_iter=3, random_state=0),
        spectral=False,
        tolerance=1e-6,
        exempt=NETWORK,
    ),
    Case(
        "MercerMixture",
        lambda h: MercerMixture(kernel=Gaussian(h), alpha=0.5, rank=3),
        uses_sample_size=PRIOR,
        doubled_params={"alpha": 1.0, "beta": 2.0},
    ),
    Case(
        "MercerMixture-two",
        lambda h: MercerMixture(2, kernel=Gaussian(h), alpha=0.05, rank=2),
        uses_sample_size=PRIOR,
        tolerance=1e-4,  # EM stops at its tolerance
        doubled_params={"alpha": 0.1, "beta": 2.0},
    ),
    Case(
        "MercerMixture-domain",
        lambda h: MercerMixture(kernel=Gaussian(h), alpha=0.5, rank=3, domain=GaussianBase()),
        uses_sample_size=PRIOR,
        doubled_params={"alpha": 1.0, "beta": 2.0},
        exempt={"zeros": "its base measure is normal, which needs non-constant columns"},
    ),
    Case(
        "KernelNovelty",
        lambda h: KernelNovelty(Gaussian(h), false_alarm_rate=0.2),
        uses_sample_size="p-values and neighbors count rows",
        exempt=LEAVE_ONE_OUT | {"single precision": "the tenth of the rows left out may change"},
        spectral=False,
    ),
    Case(
        "JointMixtureClassifier",
        lambda h: JointMixtureClassifier(kernel=Gaussian(h), alpha=0.5, rank=3),
        "classification",
        uses_sample_size=PRIOR,
        doubled_params={"alpha": 1.0, "beta": 2.0},
    ),
    Case(
        "JointMixtureRegressor",
        lambda h: JointMixtureRegressor(kernel=Gaussian(h), alpha=0.5, rank=3),
        "regression",
        uses_sample_size=PRIOR,
        doubled_params={"alpha": 1.0, "beta": 2.0},
    ),
    Case(
        "JointMixtureDensity",
        lambda h: JointMixtureDensity(kernel=Gaussian(h), alpha=0.5, rank=3),
        "regression",
        uses_sample_size=PRIOR,
        doubled_params={"alpha": 1.0, "beta": 2.0},
    ),
    Case(
        "StackedDensity",
        lambda h: StackedDensity(
            [
                ("gaussian", ParzenDensity(kernel=Gaussian(h))),
                ("laplacian", ParzenDensity(kernel=Laplacian(h))),
            ],
            n_folds=2,
        ),
        is_density=True,
        spectral=False,
        exempt=FOLDS,
        uses_sample_size="cross-validation counts rows",
    ),
]


def targets(case: Case, X: Any) -> np.ndarray | None:
    """Return targets that depend on the rank of the first column; both classes occur."""
    if not case.y:
        return None
    first = np.asarray(X, dtype=np.float64)[:, 0]
    rank = np.argsort(np.argsort(first, kind="stable"), kind="stable") / max(len(first) - 1, 1)
    return np.sin(3 * rank) if case.y == "regression" else (rank > 0.5).astype(int)


def fit(model: Any, X: Any, y: Any, weights: Any = None) -> Any:
    """Fit with the arguments of this estimator."""
    given = {} if weights is None else {"sample_weight": weights}
    return model.fit(X, **given) if y is None else model.fit(X, y, **given)


def results(model: Any, new: Any) -> Results:
    """Return what the formulas determine of a fitted estimator and its results on new points."""
    found: Results = {}
    if hasattr(model, "eigenvalues_"):
        found["eigenvalues"] = model.eigenvalues_
    if hasattr(model, "information_potential_"):
        found["potential"] = np.atleast_1d(model.information_potential_)
    if isinstance(model, KernelDenoiser | MaximumEntropyProjection):
        found["output"] = model.transform(new)
    elif hasattr(model, "transform"):
        Z = model.transform(new).astype(np.float64)
        with np.errstate(under="ignore"):
            found["inner products"] = Z @ Z.T
    if hasattr(model, "decision_function"):
        found["decision"] = model.decision_function(new)
    if hasattr(model, "predict_proba") and not isinstance(model, MercerMixture):
        found["probabilities"] = model.predict_proba(new)
    if isinstance(model, ComponentRegressor | JointMixtureRegressor):
        found["prediction"] = model.predict(new)
    if isinstance(model, MercerMixture | EntropyClustering | SpectralClustering):
        found["same label"] = same_label(model.predict(new))
    if hasattr(model, "score_samples"):
        found["log density"] = model.score_samples(new)
    if isinstance(model, SeriesDensity):
        training = model.spectrum_.points.data
        found["largest log density"] = np.array(model.score_samples(training).max())
    return found


def shift_log_density(found: Results, shift: float) -> None:
    """Add a constant to the log densities, in place."""
    for name in {"log density", "largest log density"} & found.keys():
        found[name] = found[name] + shift


def same_label(labels: np.ndarray) -> np.ndarray:
    """Return the matrix of pairs with equal labels, which does not depend on the numbering."""
    return np.equal.outer(labels, labels)
