"""The one rule that picks operator and solver, as a table.

============================================================  =====================================
first row that applies                                        solver="auto" does
============================================================  =====================================
kernel with exact features, fewer than n/2                    full decomposition of Φ*Φ
rows in chunks (Dask)                                         ``Fourier`` where it serves, else
                                                              ``Nystrom`` with 1000 landmarks
n ≤ 600, all components, or more than n/8 of them             ``Dense``, where it fits the memory
Gaussian or Matérn, d ≤ 3, n > 4000, and a frequency grid     ``Fourier`` (1e-10)
that costs less than a product with K (see below)
n² numbers fit half of the memory budget                      ``Lanczos``, K held in memory
n ≤ 30,000, or an indefinite kernel                           ``Lanczos``, matrix-free products
otherwise                                                     ``Nystrom`` with 1000 landmarks
============================================================  =====================================

A frequency grid is taken when its doubled version has at most n²/250 points (about where a fit on
it becomes faster than one with a stored K) and at most 2²⁴. Only the last row is an approximation
beyond rounding or 1e-10; it warns with the exact share that is missing. The measurements behind the
numbers are in docs/design.md.

An entropy iteration that cannot prove its selection within n/2 products of a stored K hands over
to the full decomposition, which by then costs no more.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np

from mercer.config import memory_budget
from mercer.data import Points
from mercer.errors import ConvergenceError
from mercer.kernels import Kernel
from mercer.maths.types import Array
from mercer.operators import (
    EigenProblem,
    ExactFeatures,
    ExplicitGram,
    FactoredGram,
    FourierGram,
    FrequencyGrid,
    GramOperator,
    NoGrid,
    Sample,
    SmallSide,
    WindowSum,
)
from mercer.solvers.base import Eigenpairs, Progress, Selection, Solver
from mercer.solvers.block_krylov import leading_eigenpairs
from mercer.solvers.dense import Dense, dense_bytes
from mercer.solvers.fourier import Fourier
from mercer.solvers.lanczos import Lanczos
from mercer.solvers.nystrom import Nystrom
from mercer.solvers.small_side import SMALL, SmallSideSolver

__all__ = [
    "Auto",
    "as_solver",
    "count_above",
    "mean_window",
    "streaming_gram",
    "summing_gram",
]

log = logging.getLogger("mercer")

_FOURIER_FROM = 4000
_FOURIER_SHARE = 250
_FOURIER_LARGEST = 2**24
_EXACT_UP_TO = 30_000
_LANDMARKS = 1000
# Up to here all eigenvalues (without vectors) cost a few seconds at most.
_SMALL_ENOUGH_TO_COUNT = 4000


@dataclass(frozen=True)
class Auto:
    """Choose by the table of this module.

    Parameters
    ----------
    n_components : int, float or None
        What will be asked for: it matters for the choice.
    largest_gram : float
        Bytes beyond which K is not held, even where the memory budget allows it.
    exact_up_to : int or None
        Beyond so many points the last row applies even where an earlier one is affordable: for
        uses that need the span of many components rather than each of them.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.operators import Sample
    >>> from mercer.data import validate_points
    >>> import numpy as np
    >>> from mercer.solvers import Auto
    >>> for n in (500, 3000, 20_000):
    ...     X = np.random.default_rng(0).normal(size=(n, 2))
    ...     sample = Sample(Gaussian(0.3), validate_points(X, "vectors"))
    ...     print(n, type(Auto(3).choose(sample)).__name__)
    500 Dense
    3000 Lanczos
    20000 Fourier
    """

    n_components: int | float | None = None
    largest_gram: float = inf
    exact_up_to: int | None = None

    can_grow: ClassVar[bool] = False

    def gram(self, sample: Sample) -> GramOperator:
        """Make the operator of the first row that applies."""
        if _has_few_features(sample):
            return _explicit(sample)
        solver = self.choose(sample)
        log.info("auto: %r for %d points", solver, sample.points.n)
        return solver.gram(sample)

    def choose(self, sample: Sample) -> Solver:
        """Return the solver of the first row that applies (but the first)."""
        kernel, points = sample.kernel, sample.points
        n = points.n
        if points.is_chunked:
            return _on_chunks(kernel, points)
        itemsize = points.dtype.itemsize
        if self._full(n) and self._may_hold(n, itemsize) and _dense_fits(n, itemsize):
            return Dense()
        if sample.matrix is not None:
            return Lanczos()
        if n > _FOURIER_FROM and _serving_grid(kernel, points, n * n / _FOURIER_SHARE) is not None:
            return Fourier()
        stored = self._may_hold(n, itemsize) and 2 * n * n * itemsize <= memory_budget()
        affordable = (stored or n <= _EXACT_UP_TO) and n <= (self.exact_up_to or n)
        if affordable or not kernel.is_psd:
            return Lanczos(stored=stored)
        return Nystrom(_LANDMARKS)

    def _may_hold(self, n: int, itemsize: int) -> bool:
        return n * n * itemsize <= self.largest_gram

    def _full(self, n: int) -> bool:
        wanted = n if self.n_components is None else self.n_components
        return n <= SMALL or (isinstance(wanted, int) and wanted > n / 8)

    def solve(
        self,
        problem: EigenProblem,
        selection: Selection,
        *,
        random_state: int | None = None,
        progress: Progress | None = None,
    ) -> Eigenpairs:
        """Solve; hand over to Dense where the iteration cannot prove its answer."""
        hints: dict[str, Any] = {"random_state": random_state, "progress": progress}
        if isinstance(problem, SmallSide):
            return SmallSideSolver().solve(problem, selection, **hints)
        n = problem.size
        if not (_dense_fits(n, 8) and self._may_hold(n, 8)):
            return Lanczos().solve(problem, selection, **hints)
        if self._full(n):
            return Dense().solve(problem, selection)
        try:
            pairs = Lanczos(max_products=n // 2).solve(problem, selection, **hints)
            if pairs.certified:
                return pairs
        except ConvergenceError:
            pass
        log.info("no certificate after %d products: full decomposition", n // 2)
        return Dense().solve(problem, selection)


def _on_chunks(kernel: Kernel, points: Points) -> Solver:
    """Rows on an engine: features that add up, or nothing."""
    if _serving_grid(kernel, points, _FOURIER_LARGEST) is not None:
        return Fourier()
    if not kernel.is_psd:
        raise ValueError(
            f"{kernel!r} is not positive semi-definite, and X is a Dask collection: plane waves "
            "and landmarks, which work on chunks, need a kernel that is. Use one, or "
            "solver='lanczos' for as many rows as it allows."
        )
    return Nystrom(_LANDMARKS)


def _dense_fits(n: int, itemsize: int) -> bool:
    return dense_bytes(n, itemsize) <= memory_budget()


def _explicit(sample: Sample) -> ExplicitGram:
    return ExplicitGram(ExactFeatures(sample.kernel), sample.points, sample.weights)


def _features(sample: Sample) -> int | None:
    """How many exact features the kernel has, if any."""
    if sample.points.kind != "vectors":
        return None
    one = sample.kernel.features(np.ones((1, sample.points.dimension or 0)))
    return None if one is None else int(one.shape[1])


def _has_few_features(sample: Sample) -> bool:
    features = _features(sample)
    return features is not None and features < sample.points.n / 2


def _serving_grid(kernel: Kernel, points: Points, largest: float) -> FrequencyGrid | None:
    """A frequency grid whose doubled version has at most ``largest`` points, if there is one."""
    if points.dimension is None or points.dimension > 3:
        return None
    grid = Fourier().grid(kernel, points)
    if isinstance(grid, NoGrid):
        return None
    doubled = 2 ** len(grid.shape) * grid.size
    return grid if doubled <= min(largest, _FOURIER_LARGEST) else None


def streaming_gram(sample: Sample) -> FactoredGram:
    """Return an operator that can absorb more points: exact features, or landmarks among these.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.operators import Sample
    >>> from mercer.data import validate_points
    >>> import numpy as np
    >>> from mercer.solvers import streaming_gram
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> type(streaming_gram(Sample(Gaussian(1.0), validate_points(X, "vectors")))).__name__
    'NystromGram'
    """
    return Nystrom(_LANDMARKS).gram(sample) if _features(sample) is None else _explicit(sample)


def summing_gram(sample: Sample, box: tuple[Array, Array] | None = None) -> GramOperator:
    """Return the operator for sums over K, such as V: plane waves, features, or one product.

    With a ``box`` the frequency grid serves points of several samples at once.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.operators import Sample
    >>> from mercer.data import validate_points
    >>> import numpy as np
    >>> from mercer.solvers import summing_gram
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> gram = summing_gram(Sample(Gaussian(1.0), validate_points(X, "vectors")))
    >>> bool(np.isclose(gram.potential, Gaussian(1.0)(X).mean()))
    True
    """
    if _has_few_features(sample):
        return _explicit(sample)
    grid = _summing_grid(sample, box)
    if grid is not None:
        return FourierGram(sample.kernel, sample.points, sample.weights, grid, only_mean=True)
    return Lanczos(stored=False).gram(sample)


def mean_window(sample: Sample, solver: Any = "auto") -> WindowSum:
    """Return the weighted mean of the kernel about the points, for evaluation anywhere.

    By plane waves with ``Fourier``, or where "auto" finds them cheaper; pair by pair otherwise.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.operators import Sample
    >>> from mercer.data import validate_points
    >>> from mercer.solvers import mean_window
    >>> window = mean_window(Sample(Gaussian(1.0), validate_points([[0.0], [2.0]], "vectors")))
    >>> window.values(validate_points([[1.0]], "vectors")).round(4)
    array([0.6065])
    """
    chosen = None if solver == "auto" else as_solver(solver, 1)
    if isinstance(chosen, Nystrom):
        raise ValueError(
            f"solver={solver!r} cannot evaluate a window sum: landmarks make it negative in "
            "places. Use 'auto', 'fourier' (Gaussian, at most 3 columns) or 'lanczos' (exact)."
        )
    if isinstance(chosen, Fourier):
        full = chosen.gram(sample)
        assert isinstance(full, FourierGram)
        grid: FrequencyGrid | None = full.grid
    else:
        grid = _summing_grid(sample, None) if chosen is None else None
    kernel, points, weights = sample.kernel, sample.points, sample.weights
    if grid is None:
        return WindowSum(kernel, points, sample.shares)
    gram = FourierGram(kernel, points, weights, grid, only_mean=True)
    mean = gram.expansion(np.ones(1), gram.mean_vector[:, None])
    return WindowSum(kernel, points, sample.shares, mean)


def _summing_grid(sample: Sample, box: tuple[Array, Array] | None) -> FrequencyGrid | None:
    """Return the grid of frequencies if sums over it are cheaper than over pairs."""
    points = sample.points
    chunked = points.is_chunked
    small = points.n <= _FOURIER_FROM and not chunked
    if points.dimension is None or small or points.dimension > 3:
        return None
    grid = Fourier(box=box).grid(sample.kernel, points)
    largest = _FOURIER_LARGEST if chunked else points.n**2 / _FOURIER_SHARE
    return grid if isinstance(grid, FrequencyGrid) and grid.size <= largest else None


_NAMES: dict[str, Callable[[], Solver]] = {
    "dense": Dense,
    "lanczos": Lanczos,
    "fourier": Fourier,
    "nystrom": Nystrom,
}


def as_solver(solver: Any, n_components: int | float | None) -> Solver:
    """Turn a name into its solver; a solver object stays itself.

    Examples
    --------
    >>> from mercer.solvers import as_solver
    >>> as_solver("lanczos", 3)
    Lanczos(max_products=2000, stored=None)
    """
    if isinstance(solver, str):
        if solver == "auto":
            return Auto(n_components)
        if solver in _NAMES:
            return _NAMES[solver]()
    elif hasattr(solver, "gram") and hasattr(solver, "solve") and not isinstance(solver, type):
        return solver
    raise ValueError(
        f"solver={solver!r} is neither one of 'auto', {', '.join(map(repr, _NAMES))} nor a solver "
        "object such as mercer.solvers.Lanczos(max_products=500)."
    )


def count_above(
    problem: EigenProblem, values: Array, error: float = 0.0, affordable: int = 256
) -> Array | None:
    """1-based places of ``values`` among all eigenvalues, or None where finding out costs too much.

    ``error`` is how far off the values may be. Leading eigenpairs are computed in growing numbers
    until they reach below the smallest value.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.operators import Sample
    >>> from mercer.data import validate_points
    >>> import numpy as np
    >>> from mercer.solvers import Dense, count_above
    >>> points = validate_points(np.arange(40.0).reshape(-1, 1), "vectors")
    >>> gram = Dense().gram(Sample(Gaussian(1.0), points))
    >>> values = np.linalg.eigvalsh(gram.dense())[::-1]
    >>> count_above(gram, values[[0, 4]]).tolist()
    [1, 5]
    """
    small = problem.size <= _SMALL_ENOUGH_TO_COUNT and _dense_fits(problem.size, 8)
    k = 16
    while k <= min(32 if small else affordable, problem.size // 2):
        found, _, converged, _ = leading_eigenpairs(
            problem.product, problem.size, k, tolerance=1e-10
        )
        if converged and found[-1] < values.min() * (1 - 1e-8) - error:
            return _places(values, found, error)
        k *= 2
    return _places(values, np.linalg.eigvalsh(problem.dense()), error) if small else None


def _places(values: Array, all_values: Array, error: float) -> Array:
    """How many eigenvalues are larger, beyond rounding and the given error, plus one."""
    slack = max(1e-9 * np.abs(all_values).max(), error)
    return np.asarray((all_values[None, :] > values[:, None] + slack).sum(axis=1) + 1)
