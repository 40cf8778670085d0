"""Every estimator once, with small settings, and how to read its answers.

A law compares two fits. What they may differ in without being wrong (the sign of a component, the
basis of a tie, the numbering of clusters) is taken out by ``answers``, which returns only what the
formulas determine.
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
    JointMixtureRegressor,
    KernelDenoiser,
    KernelECA,
    KernelLDA,
    KernelPCA,
    MaximumEntropyProjection,
    MercerMixture,
    MercerNovelty,
    OrthogonalSeries,
    ParzenDensity,
    SeriesDensity,
)
from mercer.domains import GaussianBase
from mercer.kernels import Cosine, Epanechnikov, Gaussian, Laplacian, Linear, Matern, Polynomial
from mercer.solvers import Lanczos

__all__ = ["CASES", "Case", "answers", "fit", "targets"]

Answers = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """One estimator under test.

    Parameters
    ----------
    name : str
    make : callable
        ``make(width)`` returns an unfitted estimator whose kernel has this bandwidth (ignored where
        there is none).
    y : {"", "classes", "numbers"}
        What ``fit`` wants beside X.
    window : bool
        Whether answers called ``log density`` are densities of X.
    exempt : dict
        Laws that do not hold for it, each with the reason.
    doubled : dict
        Parameters that have to change when every row comes twice, so that nothing else does.
    spectral : bool
        Whether its answers come from some of K's components.
    vanishing : bool
        Whether its density can be 0 or nearly so between points: its logarithm is then compared
        as the number that it stands for.
    most : float
        Up to which magnification of rounding its answers are determined.
    magnifies : float
        How much it magnifies errors of the components themselves.
    slack : float
        How far two runs of its iteration may end apart, beyond rounding.
    """

    name: str
    make: Callable[[Any], Any]
    y: str = ""
    window: bool = False
    exempt: dict[str, str] = field(default_factory=dict)
    doubled: dict[str, Any] = field(default_factory=dict)
    spectral: bool = True
    vanishing: bool = False
    most: float = np.inf
    magnifies: float = 1.0
    slack: float = 0.0

    def __repr__(self) -> str:
        return self.name


NO_WIDTH = {"scaling": "its kernel has no bandwidth to scale along"}
OWN_SCALE = {
    "zeros": "a constant column has no scale, so it is refused",
}
NETWORK = {
    "scaling": "a network with random first weights knows the scale of its inputs",
    "zeros": "one more input takes more random first weights",
}
SHORT = {"single precision": "points vanish at fifty roundings, and single ones are larger"}
NEIGHBOURS = {"single precision": "its neighbours are chosen, and of far ones all are equally far"}
FIFTY = 50.0  # roundings, at which a point vanishes from its cluster
LEFT_OUT = {"doubling": "a row is left out, not its copy, so what is chosen by it differs"}

CASES = [
    Case("KernelPCA", lambda h: KernelPCA(2, kernel=Gaussian(h))),
    Case("KernelPCA-uncentred", lambda h: KernelPCA(2, kernel=Gaussian(h), center=False)),
    Case("KernelPCA-laplacian", lambda h: KernelPCA(2, kernel=Laplacian(h))),
    Case("KernelPCA-matern", lambda h: KernelPCA(2, kernel=Matern(h, nu=2.5))),
    Case("KernelPCA-matern-odd", lambda h: KernelPCA(2, kernel=Matern(h, nu=0.8))),
    Case("KernelPCA-epanechnikov", lambda h: KernelPCA(2, kernel=Epanechnikov(h))),
    Case("KernelPCA-linear", lambda h: KernelPCA(1, kernel=Linear()), exempt=NO_WIDTH),
    Case(
        "KernelPCA-polynomial",
        lambda h: KernelPCA(2, kernel=Polynomial(3, constant=1.0, scale=0.1)),
        exempt=NO_WIDTH,
    ),
    Case("KernelPCA-cosine", lambda h: KernelPCA(1, kernel=Cosine())),
    Case("KernelPCA-lanczos", lambda h: KernelPCA(2, kernel=Gaussian(h), solver="lanczos")),
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
        exempt=SHORT,
        most=FIFTY,
    ),
    Case(
        "EntropyClustering-sweep",
        lambda h: EntropyClustering(
            2, kernel=Gaussian(h), bandwidths=np.array([0.5, 0.6, 0.7]) * h
        ),
        exempt=SHORT,
        most=FIFTY,
    ),
    Case(
        "KernelDenoiser",
        lambda h: KernelDenoiser(2, kernel=Gaussian(h)),
        exempt=NEIGHBOURS,
    ),
    Case(
        "KernelDenoiser-ridge",
        lambda h: KernelDenoiser(2, kernel=Gaussian(h), preimage="ridge", order="variance"),
        magnifies=1000.0,  # the inverse of its ridge
    ),
    Case("ComponentRegressor", lambda h: ComponentRegressor(2, kernel=Gaussian(h)), "numbers"),
    Case("ComponentClassifier", lambda h: ComponentClassifier(2, kernel=Gaussian(h)), "classes"),
    Case(
        "KernelLDA",
        lambda h: KernelLDA(kernel=Gaussian(h), rank=3, regularization=0.1),
        "classes",
        exempt=LEFT_OUT,
        magnifies=100.0,  # the inverse of its ridge, twice in a product
    ),
    Case("ParzenDensity", lambda h: ParzenDensity(kernel=Gaussian(h)), window=True, spectral=False),
    Case(
        "ParzenDensity-laplacian",
        lambda h: ParzenDensity(kernel=Laplacian(h)),
        window=True,
        spectral=False,
    ),
    Case(
        "ParzenDensity-learned",
        lambda h: ParzenDensity(kernel=Gaussian(h), weights="learned"),
        window=True,
        spectral=False,
        slack=1e-2,  # a gap of 1e-6 nats per row leaves the root of it to the density
    ),
    Case(
        "SeriesDensity",
        lambda h: SeriesDensity(kernel=Gaussian(h), terms=2),
        window=True,
        vanishing=True,
        exempt={
            "zeros": "the mass that it clips is found on a grid up to the plane, then by draws"
        },
    ),
    Case(
        "SeriesDensity-all",
        lambda h: SeriesDensity(kernel=Gaussian(h), terms=None),
        window=True,
        spectral=False,
    ),
    Case(
        "OrthogonalSeries",
        lambda h: OrthogonalSeries("hermite", terms=4, max_terms=4),
        window=True,
        vanishing=True,
        spectral=False,
        exempt=OWN_SCALE,
    ),
    Case(
        "OrthogonalSeries-legendre",
        lambda h: OrthogonalSeries("legendre", terms=4, max_terms=4),
        window=True,
        vanishing=True,
        spectral=False,
        exempt=OWN_SCALE | {"doubling": "its default domain is padded by the rows' mean spacing"},
    ),
    Case(
        "MaximumEntropyProjection",
        lambda h: MaximumEntropyProjection(max_iter=3, random_state=0),
        spectral=False,
        slack=1e-6,
        exempt=NETWORK,
    ),
    Case(
        "MercerMixture",
        lambda h: MercerMixture(kernel=Gaussian(h), alpha=0.5, rank=3),
        doubled={"alpha": 1.0, "beta": 2.0},
    ),
    Case(
        "MercerMixture-two",
        lambda h: MercerMixture(2, kernel=Gaussian(h), alpha=0.05, rank=2),
        slack=1e-4,  # EM stops by its tolerance
        doubled={"alpha": 0.1, "beta": 2.0},
    ),
    Case(
        "MercerMixture-domain",
        lambda h: MercerMixture(kernel=Gaussian(h), alpha=0.5, rank=3, domain=GaussianBase()),
        doubled={"alpha": 1.0, "beta": 2.0},
        exempt={"zeros": "its base measure is a normal law, which needs columns that vary"},
    ),
    Case(
        "MercerNovelty",
        lambda h: MercerNovelty(kernel=Gaussian(h), alpha=0.5, rank=2, contamination=0.2),
        exempt={"doubling": "a quantile of twice the rows lies elsewhere between two of them"},
    ),
    Case(
        "JointMixtureClassifier",
        lambda h: JointMixtureClassifier(kernel=Gaussian(h), alpha=0.5, rank=3),
        "classes",
        doubled={"alpha": 1.0, "beta": 2.0},
    ),
    Case(
        "JointMixtureRegressor",
        lambda h: JointMixtureRegressor(kernel=Gaussian(h), alpha=0.5, rank=3),
        "numbers",
        doubled={"alpha": 1.0, "beta": 2.0},
    ),
]


def targets(case: Case, X: Any) -> np.ndarray | None:
    """Targets that are a function of the row, in the middle of its range: both classes occur."""
    if not case.y:
        return None
    first = np.asarray(X, dtype=np.float64)[:, 0]
    rank = np.argsort(np.argsort(first, kind="stable"), kind="stable") / max(len(first) - 1, 1)
    return np.sin(3 * rank) if case.y == "numbers" else (rank > 0.5).astype(int)


def fit(model: Any, X: Any, y: Any, weights: Any = None) -> Any:
    """Fit with the arguments that this estimator takes."""
    given = {} if weights is None else {"sample_weight": weights}
    return model.fit(X, **given) if y is None else model.fit(X, y, **given)


def answers(model: Any, new: Any) -> Answers:
    """What a fitted estimator says about itself and about new points, freedoms removed."""
    found: Answers = {}
    if hasattr(model, "eigenvalues_"):
        found["eigenvalues"] = model.eigenvalues_
    if hasattr(model, "information_potential_"):
        found["potential"] = np.atleast_1d(model.information_potential_)
    if isinstance(model, KernelDenoiser | MaximumEntropyProjection):
        found["output"] = model.transform(new)
    elif hasattr(model, "transform"):
        Z = model.transform(new).astype(np.float64)
        found["products of projections"] = Z @ Z.T
    if hasattr(model, "decision_function"):
        found["decision"] = model.decision_function(new)
    if hasattr(model, "predict_proba") and not isinstance(model, MercerMixture):
        found["probabilities"] = model.predict_proba(new)
    if isinstance(model, ComponentRegressor | JointMixtureRegressor):
        found["prediction"] = model.predict(new)
    if isinstance(model, MercerMixture | EntropyClustering):
        found["together"] = together(model.predict(new))
    if hasattr(model, "score_samples"):
        found["log density"] = model.score_samples(new)
    return found


def together(labels: np.ndarray) -> np.ndarray:
    """Which points share a label: the same for every numbering."""
    return np.equal.outer(labels, labels)
