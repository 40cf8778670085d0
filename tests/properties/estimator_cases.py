"""All estimators with small settings, and the results that property tests compare.

``results`` returns only what the formulas determine: it removes the sign of components, the basis
of a tie and the numbering of clusters.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import mercer
from mercer import (
    ComponentRegressor,
    EntropyClustering,
    JointMixtureRegressor,
    KernelDenoiser,
    MaximumEntropyProjection,
    MercerMixture,
    SeriesDensity,
    SpectralClustering,
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

CLIPPED = {"zeros": "the clipped mass is integrated on a grid for d <= 2 and by sampling beyond"}
DENSITY = {"is_density": True, "spectral": False}
SERIES = {"is_density": True, "compare_densities": True, "exempt": CLIPPED}
POLYNOMIALS = DENSITY | {"compare_densities": True}
MEAN_SPACING = "its default domain depends on the mean spacing of rows"
CLUSTERS = {"exempt": SINGLE, "max_condition": FIFTY}
GRAPHS = {"uses_sample_size": COPIES, "exempt": GRAPH, "max_condition": FIFTY}
BAYES = {"uses_sample_size": PRIOR, "doubled_params": {"alpha": 1.0, "beta": 2.0}}
JOINT = {"alpha": 0.5, "rank": 3}


def _case(name: str, first: Any = None, *, of: dict[str, Any], **settings: Any) -> Case:
    """Return a case of the class that its name begins with.

    ``first`` is the positional argument. Settings may be functions of the bandwidth.
    """
    cls = getattr(mercer, name.partition("-")[0])
    given = [] if first is None else [first]
    if "kernel" in inspect.signature(cls).parameters:
        settings = {"kernel": Gaussian} | settings

    def make(h: Any) -> Any:
        values = {k: v(h) if callable(v) else v for k, v in settings.items()}
        return cls(*(v(h) if callable(v) else v for v in given), **values)

    return Case(name, make, **of)


PLAIN: dict[str, Any] = {}
FIXED = {"exempt": NO_BANDWIDTH}
REGULAR = "the spectrum holds the regular rows only, so it has fewer projections"
CASES = [
    _case("KernelPCA", 2, of=PLAIN),
    _case("KernelPCA-uncentered", 2, center=False, of=PLAIN),
    _case("KernelPCA-laplacian", 2, kernel=Laplacian, of=PLAIN),
    _case("KernelPCA-matern", 2, kernel=lambda h: Matern(h, nu=2.5), of=PLAIN),
    _case("KernelPCA-matern-odd", 2, kernel=lambda h: Matern(h, nu=0.8), of=PLAIN),
    _case("KernelPCA-epanechnikov", 2, kernel=Epanechnikov, of=PLAIN),
    _case("KernelPCA-linear", 1, kernel=lambda h: Linear(), of=FIXED),
    _case("KernelPCA-polynomial", 2, kernel=lambda h: Polynomial(3, 1.0, 0.1), of=FIXED),
    _case("KernelPCA-cosine", 1, kernel=lambda h: Cosine(), of=PLAIN),
    _case("KernelPCA-lanczos", 2, solver="lanczos", of=PLAIN),
    _case("RobustKernelPCA", 2, support_fraction=0.9, of={"exempt": {"in sample": REGULAR}}),
    _case("KernelECA", 2, of=PLAIN),
    _case("KernelECA-laplacian", 2, kernel=Laplacian, of=PLAIN),
    _case("KernelECA-sum", 2, kernel=lambda h: Gaussian(h) + 0.5 * Matern(2 * h), of=PLAIN),
    _case("KernelECA-lanczos", 2, solver="lanczos", of=PLAIN),
    _case("KernelECA-matrix-free", 2, solver=Lanczos(stored=False), of=PLAIN),
    _case("EntropyClustering", 2, of=CLUSTERS),
    _case("EntropyClustering-nearest", 2, isolated="nearest", of=CLUSTERS),
    _case(
        "EntropyClustering-sweep",
        2,
        bandwidths=lambda h: np.array([0.5, 0.6, 0.7]) * h,
        of=CLUSTERS | {"uses_sample_size": "the stability of a sweep counts pairs of rows"},
    ),
    _case("SpectralClustering", 2, of=GRAPHS),
    _case("SpectralClustering-self-tuning", 2, kernel=lambda h: SelfTuning(3), of=GRAPHS),
    _case(
        "SpectralClustering-neighbors",
        2,
        kernel=lambda h: Neighbors(3, mode="weighted", mutual=True),
        of=GRAPHS,
    ),
    _case("KernelDenoiser", 2, of={"exempt": NEIGHBORS}),
    _case(
        "KernelDenoiser-ridge",
        2,
        preimage="ridge",
        order="variance",
        of={"amplification": 1000.0},  # inverse of the ridge parameter
    ),
    _case("ComponentRegressor", 2, of={"y": "regression"}),
    _case("ComponentClassifier", 2, of={"y": "classification"}),
    _case(
        "KernelLDA",
        rank=3,
        regularization=0.1,
        of={
            "y": "classification",
            "exempt": LEAVE_ONE_OUT,
            "uses_sample_size": "confidence_ comes from leaving out one unit of weight",
            "amplification": 100.0,  # inverse of the ridge parameter, squared
        },
    ),
    _case("ParzenDensity", of=DENSITY),
    _case("ParzenDensity-laplacian", kernel=Laplacian, of=DENSITY),
    _case(
        "ParzenDensity-adaptive",
        adaptive=True,
        of=DENSITY | {"exempt": {"zeros": "bandwidths of points differ in the added column too"}},
    ),
    # a duality gap of 1e-6 nats per row: its root is the error of the density
    _case("ParzenDensity-learned", weights="learned", of=DENSITY | {"tolerance": 1e-2}),
    _case("SeriesDensity", terms=2, of=SERIES),
    _case("SeriesDensity-eigenvalue", terms=2, order="eigenvalue", of=SERIES),
    _case("SeriesDensity-all", terms=None, of=DENSITY),
    _case(
        "OrthogonalSeries", "hermite", terms=4, max_terms=4, of=POLYNOMIALS | {"exempt": OWN_SCALE}
    ),
    _case(
        "OrthogonalSeries-legendre",
        "legendre",
        terms=4,
        max_terms=4,
        of=POLYNOMIALS
        | {"exempt": OWN_SCALE | {"doubling": MEAN_SPACING}, "uses_sample_size": MEAN_SPACING},
    ),
    _case(
        "MaximumEntropyProjection",
        max_iter=3,
        random_state=0,
        of={"spectral": False, "tolerance": 1e-6, "exempt": NETWORK},
    ),
    _case("MercerMixture", alpha=0.5, rank=3, of=BAYES),
    _case(
        "MercerMixture-two",
        2,
        alpha=0.05,
        rank=2,
        # EM stops at its tolerance
        of=BAYES | {"tolerance": 1e-4, "doubled_params": {"alpha": 0.1, "beta": 2.0}},
    ),
    _case(
        "MercerMixture-domain",
        **JOINT,
        domain=GaussianBase(),
        of=BAYES
        | {"exempt": {"zeros": "its base measure is normal, which needs non-constant columns"}},
    ),
    _case(
        "KernelNovelty",
        false_alarm_rate=0.2,
        of={
            "uses_sample_size": "p-values and neighbors count rows",
            "exempt": LEAVE_ONE_OUT
            | {"single precision": "the tenth of the rows left out may change"},
            "spectral": False,
        },
    ),
    _case("JointMixtureClassifier", **JOINT, of=BAYES | {"y": "classification"}),
    _case("JointMixtureRegressor", **JOINT, of=BAYES | {"y": "regression"}),
    _case("JointMixtureDensity", **JOINT, of=BAYES | {"y": "regression"}),
    _case(
        "StackedDensity",
        lambda h: [(k.__name__, mercer.ParzenDensity(kernel=k(h))) for k in (Gaussian, Laplacian)],
        n_folds=2,
        of=DENSITY | {"exempt": FOLDS, "uses_sample_size": "cross-validation counts rows"},
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
