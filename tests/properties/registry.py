"""All public names of mercer that take rows, with settings, and the numbers that they return.

``public_names`` lists the names. ``ENTRIES`` has settings for each that takes rows, ``ABSENT`` the
reason for each that has none. ``./run test`` uses the first value of each setting, and
``./run properties`` draws the values.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import mercer
from mercer import EntropyClustering, KernelECA, KernelPCA, ParzenDensity, ProcessMonitor
from mercer.bandwidth import fit_kernel
from mercer.domains import Domain, GaussianBase
from mercer.kernels import Gaussian, Kernel, Laplacian, Matern, Neighbors, Polynomial, SelfTuning
from mercer.solvers import Lanczos, Nystrom

__all__ = [
    "ABSENT",
    "ENTRIES",
    "N_NEW",
    "Entry",
    "Results",
    "is_clear",
    "numbers",
    "public_names",
    "takes_rows",
]

Results = dict[str, np.ndarray]

N_NEW = 12  # new rows

KERNELS = (
    *("gaussian", "laplacian", Gaussian(1.0), Matern(nu=2.5), Laplacian(2.0), Polynomial(3, 1.0)),
    *("linear", "cosine", Gaussian("median-distance") + 0.5 * Matern(2.0), Gaussian(0.1)),
)
SMOOTH = ("gaussian", "laplacian", Gaussian(1.0), Matern(nu=2.5), Gaussian("silverman"))
SOLVERS = ("auto", "dense", "lanczos", Lanczos(stored=False), Nystrom(10))
SPECTRAL = {"n_components": (2, 1, 0.9, None), "kernel": KERNELS, "solver": SOLVERS}
MIXTURE = {"n_components": (1, 2), "kernel": SMOOTH, "alpha": ("auto", 1.0), "rank": (None, 3)}
CHOSEN = {"n_components": ("cv", 2), "kernel": KERNELS, "order": ("entropy", "variance")}


@dataclass(frozen=True)
class Entry:
    """A public name with settings.

    Parameters
    ----------
    path : str
        Name below ``mercer``.
    settings : dict
        Values of the parameters; the first of each is that of the fast tier.
    y : {"", "classification", "regression"}
        Kind of target.
    n_rows : int
    estimator : callable or None
        For displays: makes the estimator that is fitted to the rows and passed to ``source``.
    source : str
        Name of the class method of a display.
    """

    path: str
    settings: Mapping[str, tuple[Any, ...]]
    y: str = ""
    n_rows: int = 24
    estimator: Callable[[], Any] | None = None
    source: str = "from_estimator"

    def __repr__(self) -> str:
        return self.path

    @property
    def target(self) -> Any:
        """The public object."""
        found: Any = mercer
        for part in self.path.split("."):
            found = getattr(found, part)
        return found

    @property
    def takes_weights(self) -> bool:
        """Whether the rows can be weighted."""
        call = self.target.fit if hasattr(self.target, "fit") else self.target
        return "sample_weight" in inspect.signature(call).parameters and not self.takes_two

    @property
    def takes_two(self) -> bool:
        """Whether a function compares two samples."""
        return "Y" in inspect.signature(self.target).parameters

    @property
    def takes_frame(self) -> bool:
        """Whether a function takes data frames only."""
        return next(iter(inspect.signature(self.target).parameters), "") == "frame"

    def combinations(self) -> Iterator[dict[str, Any]]:
        """Yield all settings."""
        for values in product(*self.settings.values()):
            yield dict(zip(self.settings, values, strict=True))

    def targets(self, X: np.ndarray) -> np.ndarray | None:
        """Return targets that depend on the rank of the first column; both classes occur."""
        if not self.y:
            return None
        rank = np.argsort(np.argsort(X[:, 0], kind="stable"), kind="stable") / max(len(X) - 1, 1)
        return np.sin(3 * rank) if self.y == "regression" else (rank > 0.5).astype(int)

    def fit(
        self,
        X: Any,
        y: Any = None,
        weights: Any = None,
        *,
        other: Any = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Callable[[Any], Results]:
        """Fit or call with rows; return a function from new rows to all results.

        ``other`` is the second sample of a function that compares two.
        """
        chosen = {name: values[0] for name, values in self.settings.items()} | (settings or {})
        target = self.target
        given = {} if weights is None else {"sample_weight": weights}
        if self.estimator is not None:
            takes_rows = "X" in inspect.signature(getattr(target, self.source)).parameters
            fitted = self.estimator().fit(X)
            call = getattr(target, self.source)
            found = numbers(call(fitted, *([X] if takes_rows else []), **chosen))
            return lambda new: found
        if not inspect.isclass(target):
            known = {"X": X, "frame": X, "Y": other, "labels": y, "kernel": Gaussian()}
            required = [one for one in required_parameters(target) if one not in chosen]
            found = numbers(target(*(known[one] for one in required), **chosen, **given))
            return lambda new: found
        if issubclass(target, Kernel):
            kernel = fit_kernel(target(**chosen), X)
            found = {"matrix": kernel(X), "diagonal": kernel.diagonal(X)}
            return lambda new: found
        if "X" in inspect.signature(target).parameters:
            instance = target(X)
            return lambda new: numbers(instance.sample(5, random_state=0))
        model = target(**chosen).fit(X, *([] if y is None else [y]), **given)
        return lambda new: method_results(model, new, self)


def method_results(model: Any, new: Any, entry: Entry) -> Results:
    """Return the results of all public methods of a fitted estimator that take rows.

    A method that raises one of mercer's errors, because it does not apply, gives the error.
    Methods that draw random numbers are left out, because draws amplify rounding errors.
    """
    found = dict(fitted_numbers(model))
    y = entry.targets(np.arange(float(N_NEW))[:, None])
    known = {"X": new, "y": y, "levels": [0.5]}
    for name in public_methods(model):
        required = required_parameters(getattr(model, name))
        if "random_state" in inspect.signature(getattr(model, name)).parameters:
            continue
        by_sklearn = getattr(model, name).__module__.startswith("sklearn")
        if required[:1] != ["X"] or (by_sklearn and hasattr(new, "__dask_graph__")):
            continue
        if name in ("score", "log_density") and entry.y:
            required = ["X", "y"]
        try:
            found |= numbers(getattr(model, name)(*(known[one] for one in required)), name)
        except Exception as error:
            if not is_clear(error):
                raise
            found[name] = np.array(type(error).__name__)
    return found


def required_parameters(call: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters without a default."""
    parameters = inspect.signature(call).parameters.values()
    ordinary = [one for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    return [one.name for one in ordinary if one.default is one.empty]


def public_methods(model: Any) -> list[str]:
    """Return the names of the methods of an estimator, besides those that fit or configure."""
    other = ("_", "fit", "partial_fit", "set_", "get_")
    names = [name for name in dir(type(model)) if not name.startswith(other)]
    return [name for name in names if inspect.isfunction(getattr(type(model), name, None))]


def is_clear(error: BaseException) -> bool:
    """Return whether an exception was raised by a statement of mercer, or by a check of its input.

    Errors of other libraries and those of Python (such as a missing attribute) are not clear.
    """
    places = traceback.extract_tb(error.__traceback__)
    package = str(Path(mercer.__file__).parent)
    path, line = places[-1].filename, places[-1].line or ""
    by_mercer = path.startswith(package) and line.startswith("raise")
    by_check = path.endswith(("sklearn/utils/validation.py", "sklearn/base.py"))
    kinds = (ValueError, TypeError, NotImplementedError)
    return (by_mercer or by_check) and isinstance(error, kinds)


def fitted_numbers(model: Any) -> Iterator[tuple[str, np.ndarray]]:
    for name in ("eigenvalues_", "labels_", "information_potential_", "n_clusters_"):
        if hasattr(model, name):
            yield name, np.atleast_1d(np.asarray(getattr(model, name)))


def numbers(value: Any, name: str = "value") -> Results:
    """Return all numbers in a result: of arrays, frames, sequences, and objects of mercer."""
    if hasattr(value, "compute"):
        value = value.compute()
    if hasattr(value, "to_numpy") and hasattr(value, "select_dtypes"):
        value = value.select_dtypes(["number", "bool"]).to_numpy(dtype=float)
    if isinstance(value, bool | int | float | complex | np.number | np.bool_ | np.ndarray):
        array = np.asarray(value)
        return {name: array} if array.dtype.kind in "biuf" else {}
    if isinstance(value, Kernel):
        value = value.get_params(deep=False)
    if isinstance(value, Mapping):
        parts = {f"{name}[{key!r}]": part for key, part in value.items()}
    elif isinstance(value, list | tuple):
        labels = all(isinstance(part, int) for part in value)  # names of columns, indices
        parts = {} if labels else {f"{name}[{i}]": part for i, part in enumerate(value)}
    elif is_dataclass(value) and not isinstance(value, type):
        parts = {f"{name}.{one.name}": getattr(value, one.name) for one in fields(value)}
    elif type(value).__module__.startswith("mercer.plots"):
        parts = {f"{name}.{key}": part for key, part in vars(value).items()}
    else:
        return {}
    found = [numbers(part, label) for label, part in parts.items()]
    return {key: array for one in found for key, array in one.items()}


ENTRIES = [
    Entry("KernelPCA", SPECTRAL | {"center": (True, False)}),
    Entry("KernelECA", SPECTRAL),
    Entry("RobustKernelPCA", SPECTRAL | {"support_fraction": (0.75, 0.9)}),
    Entry(
        "KernelDenoiser",
        {"n_components": ("auto", 2), "kernel": SMOOTH, "preimage": ("kwok-tsang", "ridge")},
    ),
    Entry("MaximumEntropyProjection", {"max_iter": (3,), "random_state": (0,)}),
    Entry(
        "EntropyClustering",
        {"n_clusters": (2, "auto"), "kernel": KERNELS, "isolated": ("label", "nearest")},
    ),
    Entry(
        "SpectralClustering",
        {
            "n_clusters": (2, "auto"),
            "kernel": ("auto", *KERNELS, SelfTuning(5), Neighbors(5)),
            "components": ("variance", "entropy"),
        },
    ),
    Entry("OrthogonalSeries", {"basis": ("hermite", "legendre", "fourier"), "terms": (4, 2)}),
    Entry(
        "ParzenDensity",
        {
            "kernel": SMOOTH,
            "adaptive": (False, True, "shape"),
            "weights": (None, "learned"),
        },
    ),
    Entry("SeriesDensity", {"kernel": SMOOTH, "terms": ("kronmal-tarter", 2, None)}),
    Entry("StackedDensity", {"n_folds": (2, 3)}),
    Entry("MercerMixture", MIXTURE | {"domain": (None, GaussianBase())}),
    Entry("JointMixtureClassifier", MIXTURE, "classification"),
    Entry("JointMixtureDensity", MIXTURE, "regression"),
    Entry("JointMixtureRegressor", MIXTURE, "regression"),
    Entry("ComponentClassifier", CHOSEN, "classification"),
    Entry("ComponentRegressor", CHOSEN, "regression"),
    Entry("KernelLDA", {"kernel": KERNELS, "regularization": ("cv", 0.1)}, "classification"),
    Entry(
        "KernelNovelty",
        {"kernel": ("auto", *KERNELS), "statistic": ("auto", "mahalanobis", "neighbors")},
    ),
    Entry("ProcessMonitor", {"n_lags": ("auto", 0, 2)}, n_rows=80),
    # functions
    Entry("measure_diversity", {"kernel": ("cosine", *SMOOTH)}),
    Entry("compare_samples", {"kernel": ("cosine", *SMOOTH), "n_permutations": (19,)}),
    Entry("compare_embeddings", {"kernel": ("cosine", *SMOOTH)}),
    Entry("bandwidth.bandwidth", {"rule": ("auto", "silverman", "scott", "median-distance")}),
    Entry("bandwidth.distance_fraction", {}),
    Entry("bandwidth.fit_kernel", {}),
    Entry("bandwidth.leave_one_out", {}),
    Entry("bandwidth.median_distance", {}),
    Entry("bandwidth.plug_in_matrix", {}),
    Entry("bandwidth.scott", {}),
    Entry("bandwidth.silverman", {}),
    Entry("bandwidth.spectroscopy", {}),
    Entry("information.cauchy_schwarz_divergence", {"kernel": SMOOTH}),
    Entry("information.column_dependence", {}),
    Entry("information.diversity_gradient", {"kernel": SMOOTH[:1]}),
    Entry("information.entropy_terms", {"kernel": SMOOTH, "n_components": (2, None)}),
    Entry("information.feature_variance", {"kernel": SMOOTH}),
    Entry("information.information_potential", {"kernel": SMOOTH, "normalize": (False, True)}),
    Entry("information.matrix_renyi_entropy", {"kernel": SMOOTH, "alpha": (2.0, 1.0, 0.5)}),
    Entry("information.potential_gradient", {"kernel": SMOOTH[:1]}),
    Entry("information.renyi_entropy", {"kernel": SMOOTH, "estimator": ("mean", "integral")}),
    Entry("information.vendi_score", {"kernel": SMOOTH, "q": (1.0, 2.0)}),
    Entry("population.Empirical", {}),
    Entry("population.bounding_weights", {}),
    Entry("population.centering_effect", {"kernel": SMOOTH}),
    Entry("population.degree_effect", {"degrees": ((1, 2),)}),
    Entry("describe_clusters", {"min_effect": (0.2,)}, "classification"),
    Entry("cluster.angular_kernel_kmeans", {"n_clusters": (2,), "kernel": SMOOTH}),
    Entry("cluster.clustering_cost", {"kernel": SMOOTH}, "classification"),
    # displays
    Entry("plots.BandwidthDisplay", {}, estimator=lambda: EntropyClustering(2, bandwidths=3)),
    Entry("plots.DensityDisplay", {"grid": (12,)}, estimator=ParzenDensity),
    Entry("plots.EigenfunctionDisplay", {"grid": (8,)}, estimator=KernelECA),
    Entry("plots.EmbeddingDisplay", {}, estimator=KernelPCA),
    Entry("plots.GramDisplay", {}, estimator=KernelECA),
    Entry("plots.MonitoringDisplay", {}, estimator=ProcessMonitor, n_rows=80),
    Entry("plots.SpectrumDisplay", {}, estimator=KernelPCA),
    # kernels of vectors
    *(
        Entry(f"kernels.{name}", {})
        for name in ("Gaussian", "Laplacian", "Matern", "Epanechnikov", "Linear", "Polynomial")
    ),
    *(Entry(f"kernels.{name}", {}) for name in ("Sigmoid", "Cosine", "SelfTuning", "Neighbors")),
]


def _below(module: str, names: str, reason: str) -> dict[str, str]:
    return {f"{module}.{name}": reason for name in names.split()}


OBJECTS = "compares objects or cells of columns; in tests/kernels with strings, sets and tables"
PARTS = "combines other kernels; in test_kernels as random trees"
RESULT = "takes a result or an estimator of an entry, not rows"
DOMAIN = "domain of a MercerMixture, which passes rows that it has checked"
ABSENT = {
    **_below("kernels", "Categorical Graph Hamming Jaccard MinMax NGram On Table", OBJECTS),
    **_below("kernels", "table_kernel", OBJECTS),
    **_below("kernels", "Normalized Product Scaled Sum FunctionKernel Precomputed", PARTS),
    **_below("kernels", "Kernel Stationary", "base class of the other kernels"),
    **_below("kernels", "as_kernel check_kernel", "returns or tests a kernel; in tests/kernels"),
    **_below("domains", "Box Domain FiniteSpace GaussianBase ProductDomain table_domain", DOMAIN),
    **_below("population", "compare compare_discriminants", RESULT),
    **_below("tables", "Rows Table as_table", "takes tables of texts and numbers; in tests/tables"),
    "save": RESULT,
}


def public_names() -> dict[str, Any]:
    """Return all public objects by their shortest path below ``mercer``."""
    found: dict[str, Any] = {}
    modules = [mercer, *(import_module(f"mercer.{name}") for name in mercer._MODULES)]
    for module in modules:
        prefix = module.__name__.partition(".")[2]
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value) and not any(value is other for other in found.values()):
                found[f"{prefix}.{name}" if prefix else name] = value
    return found


ROWS = {"X", "Y", "frame", "estimator"}


def takes_rows(value: Any) -> bool:
    """Return whether a public object takes rows: by its name of parameters, or by a fit method."""
    if inspect.isclass(value):
        if issubclass(value, BaseEstimator | Kernel | Domain):
            return True
        calls = [value, *(getattr(value, n) for n in dir(value) if n.startswith("from_"))]
    else:
        calls = [value]
    try:
        return any(ROWS & set(inspect.signature(call).parameters) for call in calls)
    except (TypeError, ValueError):
        return False
