"""The domains: a finite space, a box, and R^d with a Gaussian base measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import ceil, log2
from typing import Any, Self

import numpy as np
from scipy.stats import Covariance, multivariate_normal, qmc

from mercer.data.points import Points
from mercer.mixture.domains.base import Domain, Nodes
from mercer.mixture.domains.refinement import refine_cells
from mercer.utils.types import Array
from mercer.utils.validation import check_integer, check_real
from mercer.utils.weights import Moments

__all__ = ["Box", "FiniteSpace", "GaussianBase", "bit_strings"]

_N_SCRAMBLES = 8
_MAX_NODES = 10**7
_CANDIDATES_PER_DRAW = 20  # but at least as many as the nodes of an integral
_MIN_EXTENT, _MAX_EXTENT = 1e-152, 1e152  # their squares neither underflow nor overflow


class FiniteSpace(Domain):
    """Finitely many objects; a density over them is a probability for each.

    Parameters
    ----------
    objects : sequence, array or data frame
        All elements, each once, in the form of the training data.

    Examples
    --------
    >>> from mercer import MercerMixture
    >>> from mercer.mixture.domains import FiniteSpace
    >>> from mercer.kernels import Categorical
    >>> colors = FiniteSpace(["red", "green", "blue"])
    >>> mixture = MercerMixture(kernel=Categorical(0.5), alpha=2.0, domain=colors)
    >>> mixture.fit(["red", "red", "green", "red"]).pdf(["red", "green", "blue"]).round(2)
    array([0.49, 0.31, 0.19])
    """

    def __init__(self, objects: Any) -> None:
        self.objects = objects
        keys = _keys(objects)
        if len(objects) == 0:
            raise ValueError("FiniteSpace has 0 objects; at least 1 is needed.")
        if keys is not None and len(set(keys)) < len(keys):
            raise ValueError(
                f"FiniteSpace has {len(keys)} objects, but only {len(set(keys))} are distinct. "
                "Pass each object once."
            )
        self._known = None if keys is None else frozenset(keys)

    def nodes(self) -> Nodes:
        """Return all objects, each with weight 1."""
        return Nodes(self.objects, np.zeros(len(self.objects)), exact=True)

    def candidates(
        self, count: int, rng: np.random.Generator, evaluate: Callable[[Any], Array]
    ) -> tuple[Nodes, Array]:
        """Return all objects."""
        return self.resolve(evaluate)

    def log_base(self, points: Points) -> Array:
        """Return 0 for elements (and for all unhashable objects) and -inf for other objects."""
        keys = _keys(points.data)
        if keys is None or self._known is None:
            return np.zeros(points.n)
        return np.array([0.0 if key in self._known else -np.inf for key in keys])

    def __repr__(self) -> str:
        return f"FiniteSpace(<{len(self.objects)} objects>)"


def bit_strings(length: int, *, text: bool = False) -> FiniteSpace:
    """Return the space of all bit strings of a length, in numerical order.

    Parameters
    ----------
    length : int
        At most 20: there are 2^length strings.
    text : bool
        Return strings of "0" and "1" instead of rows of numbers.

    Examples
    --------
    >>> from mercer.mixture.domains import bit_strings
    >>> bit_strings(2, text=True).objects
    ['00', '01', '10', '11']
    """
    remedy = "All 2^length strings are listed; for longer ones pass FiniteSpace(possible strings)."
    check_integer(length, "length", high=20, remedy=remedy)
    if text:
        return FiniteSpace([f"{number:0{length}b}" for number in range(2**length)])
    shifts = np.arange(length)[::-1]
    return FiniteSpace((np.arange(2**length)[:, None] >> shifts & 1).astype(np.float64))


class _Vectors(Domain):
    """A domain of numeric vectors."""

    def fit(self, points: Points, weights: Array | None) -> Domain:
        """Raise ValueError if the points are not numeric vectors."""
        if points.kind != "vectors":
            compared = "a precomputed Gram matrix" if points.kind == "gram" else "objects"
            raise ValueError(
                f"{self!r} is a space of numeric vectors, but the kernel compares {compared}. Use "
                "FiniteSpace(all possible objects)."
            )
        return self


class Box(_Vectors):
    """A box in R^d, with Lebesgue measure.

    Parameters
    ----------
    low, high : array-like of shape (d,) or float
        The corners; a number applies to all dimensions.
    n_nodes : int or None
        Approximate number of nodes; None: 2000 in one dimension, 160² in two, 2¹⁵ in more.
    random_state : int
        Seed of the scrambles in more than two dimensions.

    Examples
    --------
    >>> from mercer.mixture.domains import Box
    >>> Box([0, 0], [1, 2], n_nodes=8).for_dimension(2).nodes().points.data[:3]
    array([[0.25, 0.25],
           [0.25, 0.75],
           [0.25, 1.25]])
    """

    def __init__(
        self, low: Any, high: Any, *, n_nodes: int | None = None, random_state: int = 0
    ) -> None:
        self.low = low
        self.high = high
        self.n_nodes = n_nodes
        self.random_state = random_state

    _anchors: Array | None = None  # training points

    def fit(self, points: Points, weights: Array | None) -> Domain:
        """Check the dimension, and that the box contains the training points."""
        super().fit(points, weights)
        box = self.for_dimension(points.dimension or 0)
        outside = points.sum_rows(partial(_count_outside, box))
        if outside:
            raise ValueError(
                f"{outside} of the {points.n} training points are outside {self!r}, where the "
                "density is 0. Enlarge the box, or use GaussianBase()."
            )
        # some training points, which show where a density has peaks
        some = np.unique(np.linspace(0, points.n - 1, min(points.n, 4096)).astype(int))
        box._anchors = points.take(some).data.astype(np.float64)
        return box

    def for_dimension(self, d: int) -> Box:
        """Return the box with its corners as arrays of d numbers."""
        low, high = (np.asarray(side, dtype=np.float64) for side in (self.low, self.high))
        for name, side in (("low", low), ("high", high)):
            if side.ndim > 1 or (side.ndim == 1 and len(side) != d):
                raise ValueError(
                    f"{self!r} has {name} of shape {side.shape}, but the data have {d} columns; "
                    f"pass {d} numbers, or one for all columns."
                )
        low, high = np.broadcast_to(low, d), np.broadcast_to(high, d)
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
            raise ValueError(
                f"{self!r} must have finite corners with low < high. The density of a local kernel "
                "cannot be normalized over all of R^d; use GaussianBase() there."
            )
        return Box(low, high, n_nodes=self.n_nodes, random_state=self.random_state)

    def nodes(self) -> Nodes:
        """Return midpoints of a grid, or scrambled Sobol' points."""
        if len(self.low) <= 2:
            return self._grid()
        count = self._node_count(2**15)
        power = ceil(log2(max(count / _N_SCRAMBLES, 2)))
        seeds = np.random.SeedSequence(self.random_state).spawn(_N_SCRAMBLES)
        unit = [
            qmc.Sobol(len(self.low), seed=np.random.default_rng(seed)).random_base2(power)
            for seed in seeds
        ]
        return self._scaled(np.concatenate(unit), _N_SCRAMBLES)

    def resolve(self, evaluate: Callable[[Any], Array]) -> tuple[Nodes, Array]:
        """Return nodes and log-densities; a grid is refined where it does not resolve them."""
        anchors = self._anchors
        if len(self.low) > 2 or anchors is None:
            return super().resolve(evaluate)
        shape = self._cells()
        sides = (self.high - self.low) / shape
        cells = refine_cells(
            self._grid().points.data,
            tuple(shape.tolist()),
            sides,
            anchors,
            lambda data: evaluate(Points(data, "vectors")),
        )
        widths = sides * 0.5 ** cells.levels[:, None]
        nodes = Nodes(
            Points(cells.centers, "vectors"),
            np.log(widths).sum(axis=1),
            exact=True,
            widths=widths,
            errors=cells.errors,
        )
        return nodes, cells.logs

    def candidates(
        self, count: int, rng: np.random.Generator, evaluate: Callable[[Any], Array]
    ) -> tuple[Nodes, Array]:
        """Return the refined grid, or uniform draws."""
        if len(self.low) <= 2:
            return self.resolve(evaluate)
        n_candidates = max(_CANDIDATES_PER_DRAW * count, self._node_count(2**15))
        nodes = self._scaled(rng.random((n_candidates, len(self.low))))
        return nodes, evaluate(nodes.points)

    def jitter(self, points: Points, widths: Array | None, rng: np.random.Generator) -> Points:
        """Move the points uniformly within their grid cells."""
        if widths is None:
            return points
        return Points(points.data + widths * (rng.random(points.data.shape) - 0.5), "vectors")

    def log_base(self, points: Points) -> Array:
        """Return 0 inside the box and -inf outside."""
        inside = ((points.data >= self.low) & (points.data <= self.high)).all(axis=1)
        return np.where(inside, 0.0, -np.inf)

    def _node_count(self, default: int) -> int:
        count = default if self.n_nodes is None else self.n_nodes
        return check_integer(count, "n_nodes", low=2, high=_MAX_NODES)

    def _cells(self) -> Array:
        """Return the number of grid cells along each side; the cells are about square."""
        sides = self.high - self.low
        d = len(sides)
        count = self._node_count(2000 if d == 1 else 160**2)
        shape = sides * (count / sides.prod()) ** (1 / d)
        return np.clip(np.round(shape), 1, count).astype(int)

    def _grid(self) -> Nodes:
        axes = [(np.arange(cells) + 0.5) / cells for cells in self._cells()]
        unit = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        widths = np.broadcast_to((self.high - self.low) / self._cells(), unit.shape)
        return replace(self._scaled(unit), exact=True, widths=widths)

    def _scaled(self, unit: Array, groups: int = 1) -> Nodes:
        data = self.low + (self.high - self.low) * unit
        volume = np.log(self.high - self.low).sum()
        weights = np.full(len(data), volume - np.log(len(data)))
        return Nodes(Points(data, "vectors"), weights, groups)

    def __repr__(self) -> str:
        low, high = (np.asarray(side).tolist() for side in (self.low, self.high))
        return f"Box({low}, {high})"


class GaussianBase(_Vectors):
    """R^d with a Gaussian base measure q: the density is ``q(x) f(x) / ∫ q f``.

    Parameters
    ----------
    widen : float
        Ratio of the covariance of q to that of the training points.
    mean, covariance : arrays of shape (d,) and (d, d), or None
        Mean and covariance of q; None to estimate them from the training points.
    n_nodes : int
        Number of draws for the integral.
    random_state : int
        Seed of the draws.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MercerMixture
    >>> from mercer.mixture.domains import GaussianBase
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> mixture = MercerMixture(domain=GaussianBase()).fit(X)
    >>> bool(mixture.normalization_.standard_errors.max() < 0.05)
    True
    """

    def __init__(
        self,
        widen: float = 4.0,
        *,
        mean: Any = None,
        covariance: Any = None,
        n_nodes: int = 10_000,
        random_state: int = 0,
    ) -> None:
        self.widen = widen
        self.mean = mean
        self.covariance = covariance
        self.n_nodes = n_nodes
        self.random_state = random_state

    def fit(self, points: Points, weights: Array | None) -> Self:
        """Estimate mean and covariance from the training points, unless they were given."""
        super().fit(points, weights)
        check_real(self.widen, "widen", above=0)
        check_integer(self.n_nodes, "n_nodes", low=2, high=_MAX_NODES)
        n, d = points.n, points.dimension or 0
        _check_extent(*points.bounds())
        moments: Moments = points.sum_rows(_moments, weights)
        mean = moments.mean if self.mean is None else self.mean
        if self.covariance is None:
            covariance = self.widen * moments.scatter / moments.total
            # definite if there are fewer rows than columns
            covariance[np.diag_indices(d)] *= 1 + 1e-3
        else:
            covariance = self.covariance
        mean, covariance = np.asarray(mean, dtype=np.float64), np.asarray(covariance, np.float64)
        if mean.shape != (d,) or covariance.shape != (d, d):
            raise ValueError(
                f"GaussianBase has a mean of shape {mean.shape} and a covariance of shape "
                f"{covariance.shape}; for {d} columns pass shapes ({d},) and ({d}, {d})."
            )
        definite = _is_definite(covariance)
        if not definite and self.covariance is None:
            raise ValueError(
                f"The covariance of GaussianBase is not positive definite (n_samples={n}): some "
                "columns are constant. Drop them, or pass covariance=…."
            )
        if not definite:
            raise ValueError(
                f"covariance={covariance.tolist()} of GaussianBase must be symmetric and positive "
                "definite, such as np.cov(X.T)."
            )
        return type(self)(
            self.widen,
            mean=mean,
            covariance=covariance,
            n_nodes=self.n_nodes,
            random_state=self.random_state,
        )

    def nodes(self) -> Nodes:
        """Return draws from q, always with the same seed."""
        return self._draws(self.n_nodes, np.random.default_rng(self.random_state))

    def candidates(
        self, count: int, rng: np.random.Generator, evaluate: Callable[[Any], Array]
    ) -> tuple[Nodes, Array]:
        """Return new draws from q."""
        nodes = self._draws(max(_CANDIDATES_PER_DRAW * count, self.n_nodes), rng)
        return nodes, evaluate(nodes.points)

    def log_base(self, points: Points) -> Array:
        """Return ``log q(x)``."""
        covariance = Covariance.from_cholesky(np.linalg.cholesky(self.covariance))
        return np.atleast_1d(multivariate_normal(self.mean, covariance).logpdf(points.data))

    def _draws(self, count: int, rng: np.random.Generator) -> Nodes:
        data = rng.multivariate_normal(self.mean, self.covariance, size=count, method="cholesky")
        return Nodes(Points(data, "vectors"), np.full(count, -np.log(count)))

    def __repr__(self) -> str:
        return f"GaussianBase({self.widen:g})"


def _check_extent(low: Array, high: Array) -> None:
    """Raise ValueError if the covariance of the data would overflow or underflow."""
    extent = float((high.astype(np.float64) - low).max())
    if extent > 0 and not _MIN_EXTENT <= extent <= _MAX_EXTENT:
        raise ValueError(
            f"The range of the data is {extent:.3g}; GaussianBase needs a range between "
            f"{_MIN_EXTENT:g} and {_MAX_EXTENT:g}, whose squares are finite. Divide X by its scale."
        )


def _count_outside(domain: Domain, points: Points) -> int:
    return int((~np.isfinite(domain.log_base(points))).sum())


def _moments(points: Points, weights: Array | None) -> Moments:
    return Moments.of(points.data.astype(np.float64), weights)


def _is_definite(covariance: Array) -> bool:
    if not np.allclose(covariance, covariance.T, rtol=1e-9, atol=0):
        return False
    try:
        np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return False
    return True


def _keys(data: Any) -> list[Any] | None:
    """Return one hashable key per object; None if an object is not hashable."""
    if hasattr(data, "itertuples"):
        comparable = data.astype(object).where(data.notna(), None)  # NaN differs from itself
        rows: list[Any] = list(comparable.itertuples(index=False, name=None))
    elif isinstance(data, np.ndarray):
        rows = list(map(tuple, data.tolist())) if data.ndim == 2 else data.tolist()
    else:
        rows = [tuple(item) if isinstance(item, list) else item for item in data]
    try:
        hash(tuple(rows))
    except TypeError:
        return None
    return rows
