"""Where a density lives: spaces over which it can be summed or integrated, and drawn from.

The density that a mixture in feature space induces has no normaliser of its own, and none at all
over R^d where the kernel is local: far from the data it tends to a constant. So the space has to be
named. Each domain offers nodes, ``∫ f dμ ≈ Σ_j exp(w_j) f(x_j)``:

===================== ========================= ======================= ====================
domain                nodes                     error of the integral   draws
===================== ========================= ======================= ====================
:class:`FiniteSpace`  all its elements          none                    exact
:class:`Box`, d ≤ 2   midpoints of a grid       that of the grid        a cell, then within
:class:`Box`, d > 2   scrambled Sobol' points   from eight scrambles    resampling
:class:`GaussianBase` draws from q              Monte Carlo             resampling
===================== ========================= ======================= ====================

With a base measure the density is ``p ∝ q f``: f, which is bounded, tilts q.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from math import ceil, log2
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, qmc

from mercer.data import Points
from mercer.errors import ApproximationWarning, warn
from mercer.maths.moments import Moments
from mercer.maths.types import Array

__all__ = [
    "Box",
    "Domain",
    "FiniteSpace",
    "GaussianBase",
    "Nodes",
    "Normalization",
    "bit_strings",
    "integrate",
    "resample",
]

_SCRAMBLES = 8
_MOST_BITS = 20
_MOST_NODES = 10**7
_CANDIDATES = 20  # for each wanted draw; and never fewer than the nodes of an integral
_RIDGE = 1e-3  # keeps a covariance definite where there are fewer rows than columns
_SMALLEST, _LARGEST = 1e-152, 1e152  # extents whose squares are numbers
_FEW = 100  # fewer effective nodes than this do not make an integral


@dataclass(frozen=True)
class Nodes:
    """Points and weights of an integral.

    Attributes
    ----------
    points : Points, or objects that an estimator admits
    log_weights : array of shape (N,)
    groups : int
        Independent repetitions, one after the other, whose spread tells the error; 1: each node is
        a draw of its own.
    exact : bool
        Whether there is no error to tell (a finite space), or none that could be told (a grid).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.domains import Box
    >>> nodes = Box(0, 2).fitted_to(1).nodes()
    >>> round(float(np.exp(nodes.log_weights).sum()), 6)
    2.0
    """

    points: Any
    log_weights: Array
    groups: int = 1
    exact: bool = False


@dataclass(frozen=True)
class Normalization:
    """Normalisers of the components over a domain.

    Attributes
    ----------
    domain : Domain
    log_constants : array of shape (M,)
        log ∫ p_m.
    standard_errors : array of shape (M,)
        Of the constants, relative to them: 0 where the integral is exact, nan on a grid, whose
        error is not known.
    effective_sizes : array of shape (M,)
        ``(Σ w)² / Σ w²``: by how many of the nodes the integral is carried.
    n_nodes : int

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MercerMixture
    >>> from mercer.domains import FiniteSpace
    >>> from mercer.kernels import Categorical
    >>> mixture = MercerMixture(kernel=Categorical(0.5), domain=FiniteSpace(["a", "b", "c"]))
    >>> mixture.fit(["a", "a", "b"]).normalization_.n_nodes
    3
    """

    domain: Domain
    log_constants: Array
    standard_errors: Array
    effective_sizes: Array
    n_nodes: int


class Domain(ABC):
    """A space with a measure.

    Examples
    --------
    >>> from mercer.domains import Box, Domain, FiniteSpace
    >>> isinstance(Box([0.0], [1.0]), Domain), isinstance(FiniteSpace(["a", "b"]), Domain)
    (True, True)
    """

    def fitted(self, points: Points, weights: Array | None) -> Domain:
        """Check that the training points can live here; learn from them what is left open."""
        return self

    @abstractmethod
    def nodes(self) -> Nodes:
        """Nodes for an integral."""

    @abstractmethod
    def candidates(self, count: int, rng: np.random.Generator) -> Nodes:
        """Nodes to draw ``count`` points from."""

    def settle(self, points: Points, rng: np.random.Generator) -> Points:
        """Move drawn nodes to where the density means them to be."""
        return points

    @abstractmethod
    def log_base(self, points: Points) -> Array:
        """Log-density of the base measure at points: -inf outside the domain."""


class FiniteSpace(Domain):
    """Finitely many objects; a density over them is a probability for each.

    Parameters
    ----------
    objects : sequence, array or data frame
        All of them, each once, in the form of the training data.

    Examples
    --------
    >>> from mercer import MercerMixture
    >>> from mercer.domains import FiniteSpace
    >>> from mercer.kernels import Categorical
    >>> colours = FiniteSpace(["red", "green", "blue"])
    >>> mixture = MercerMixture(kernel=Categorical(0.5), alpha=2.0, domain=colours)
    >>> mixture.fit(["red", "red", "green", "red"]).pdf(["red", "green", "blue"]).round(2)
    array([0.49, 0.31, 0.19])
    """

    def __init__(self, objects: Any) -> None:
        self.objects = objects
        keys = _keys(objects)
        if len(objects) == 0:
            raise ValueError("FiniteSpace holds no objects; at least 1 is needed.")
        if keys is not None and len(set(keys)) < len(keys):
            raise ValueError(
                f"FiniteSpace has {len(keys)} objects of which {len(set(keys))} are different; "
                "each must come once, or it would count twice."
            )
        self._known = None if keys is None else frozenset(keys)

    def nodes(self) -> Nodes:
        """All objects, each with weight 1."""
        return Nodes(self.objects, np.zeros(len(self.objects)), exact=True)

    def candidates(self, count: int, rng: np.random.Generator) -> Nodes:
        """The same."""
        return self.nodes()

    def log_base(self, points: Points) -> Array:
        """0 for its objects; what has no hash is taken to belong here."""
        keys = _keys(points.data)
        if keys is None or self._known is None:
            return np.zeros(points.n)
        return np.array([0.0 if key in self._known else -np.inf for key in keys])

    def __repr__(self) -> str:
        return f"FiniteSpace(<{len(self.objects)} objects>)"


def bit_strings(length: int, *, text: bool = False) -> FiniteSpace:
    """All strings of so many bits, in the order of the numbers that they spell.

    Parameters
    ----------
    length : int
        At most 20: there are 2^length of them.
    text : bool
        As strings of "0" and "1" instead of rows of numbers.

    Examples
    --------
    >>> from mercer.domains import bit_strings
    >>> bit_strings(2, text=True).objects
    ['00', '01', '10', '11']
    """
    if not isinstance(length, int | np.integer) or not 1 <= length <= _MOST_BITS:
        raise ValueError(
            f"length={length!r} must be a whole number from 1 to {_MOST_BITS}: all 2^length "
            "strings are listed. For longer ones pass FiniteSpace(those that can occur)."
        )
    if text:
        return FiniteSpace([f"{number:0{length}b}" for number in range(2**length)])
    places = np.arange(length)[::-1]
    return FiniteSpace((np.arange(2**length)[:, None] >> places & 1).astype(np.float64))


class _Vectors(Domain):
    """What only rows of numbers can live in."""

    def fitted(self, points: Points, weights: Array | None) -> Domain:
        """Refuse what is not a row of numbers."""
        if points.kind != "vectors":
            what = "a precomputed Gram matrix" if points.kind == "gram" else "objects"
            raise ValueError(
                f"{self!r} is a space of numbers, and the kernel compares {what}. Use "
                "FiniteSpace(all objects that can occur)."
            )
        return self


class Box(_Vectors):
    """A box in R^d, with Lebesgue measure.

    Parameters
    ----------
    low, high : array-like of shape (d,) or float
        Its corners; a number serves all dimensions.
    n_nodes : int or None
        About how many nodes: None for 2000 in one dimension, 160² in two, 2¹⁵ in more.
    random_state : int
        Seed of the scrambles in more than two dimensions.

    Examples
    --------
    >>> from mercer.domains import Box
    >>> Box([0, 0], [1, 2], n_nodes=8).fitted_to(2).nodes().points.data[:3]
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

    def fitted(self, points: Points, weights: Array | None) -> Domain:
        """Check the dimension, and that the training points are inside."""
        super().fitted(points, weights)
        box = self.fitted_to(points.dimension or 0)
        outside = points.sum_rows(partial(_count_outside, box))
        if outside:
            raise ValueError(
                f"{outside} of the {points.n} training points lie outside {self!r}: the "
                "density would be 0 there. Widen the box, or use GaussianBase()."
            )
        return box

    def fitted_to(self, d: int) -> Box:
        """Return the box with its corners as arrays of d numbers."""
        low, high = (np.asarray(side, dtype=np.float64) for side in (self.low, self.high))
        for name, side in (("low", low), ("high", high)):
            if side.ndim > 1 or (side.ndim == 1 and len(side) != d):
                raise ValueError(
                    f"{self!r} has {name} of shape {side.shape}, and the data have {d} columns: "
                    f"pass {d} numbers, or one for all."
                )
        low, high = np.broadcast_to(low, d), np.broadcast_to(high, d)
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
            raise ValueError(
                f"{self!r} must have finite corners, low below high. All of R^d has no uniform "
                "measure: a local kernel's density does not vanish far away. Use GaussianBase()."
            )
        return Box(low, high, n_nodes=self.n_nodes, random_state=self.random_state)

    def nodes(self) -> Nodes:
        """Midpoints of a grid, or scrambled Sobol' points."""
        if len(self.low) <= 2:
            return self._grid()
        wanted = self._wanted(2**15)
        power = ceil(log2(max(wanted / _SCRAMBLES, 2)))
        seeds = np.random.SeedSequence(self.random_state).spawn(_SCRAMBLES)
        unit = [
            qmc.Sobol(len(self.low), seed=np.random.default_rng(seed)).random_base2(power)
            for seed in seeds
        ]
        return self._spread(np.concatenate(unit), _SCRAMBLES)

    def candidates(self, count: int, rng: np.random.Generator) -> Nodes:
        """The grid, or uniform draws."""
        if len(self.low) <= 2:
            return self._grid()
        wanted = max(_CANDIDATES * count, self._wanted(2**15))
        return self._spread(rng.random((wanted, len(self.low))))

    def settle(self, points: Points, rng: np.random.Generator) -> Points:
        """Anywhere in the cell of a grid."""
        if len(self.low) > 2:
            return points
        cell = (self.high - self.low) / self._cells()
        return Points(points.data + cell * (rng.random(points.data.shape) - 0.5), "vectors")

    def log_base(self, points: Points) -> Array:
        """0 inside."""
        inside = ((points.data >= self.low) & (points.data <= self.high)).all(axis=1)
        return np.where(inside, 0.0, -np.inf)

    def _wanted(self, usual: int) -> int:
        wanted = usual if self.n_nodes is None else self.n_nodes
        if not isinstance(wanted, int | np.integer) or not 2 <= wanted <= _MOST_NODES:
            raise ValueError(f"n_nodes={wanted!r} must be a whole number from 2 to {_MOST_NODES}.")
        return int(wanted)

    def _cells(self) -> Array:
        """Cells of the grid along each side, about square ones."""
        sides = self.high - self.low
        d = len(sides)
        wanted = self._wanted(2000 if d == 1 else 160**2)
        shape = sides * (wanted / sides.prod()) ** (1 / d)
        return np.clip(np.round(shape), 1, wanted).astype(int)

    def _grid(self) -> Nodes:
        axes = [(np.arange(cells) + 0.5) / cells for cells in self._cells()]
        unit = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        return self._spread(unit, exact=True)

    def _spread(self, unit: Array, groups: int = 1, exact: bool = False) -> Nodes:
        data = self.low + (self.high - self.low) * unit
        volume = np.log(self.high - self.low).sum()
        weights = np.full(len(data), volume - np.log(len(data)))
        return Nodes(Points(data, "vectors"), weights, groups, exact)

    def __repr__(self) -> str:
        low, high = (np.asarray(side).tolist() for side in (self.low, self.high))
        return f"Box({low}, {high})"


class GaussianBase(_Vectors):
    """R^d with a Gaussian base measure q: the density is ``q(x) f(x) / ∫ q f``.

    Parameters
    ----------
    widen : float
        The covariance of q is so many times that of the training points.
    mean, covariance : arrays of shape (d,) and (d, d), or None
        Of q, where they are to be other than the training points'.
    n_nodes : int
        Draws for the integral.
    random_state : int
        Their seed.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MercerMixture
    >>> from mercer.domains import GaussianBase
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

    def fitted(self, points: Points, weights: Array | None) -> Self:
        """Take mean and covariance from the training points."""
        super().fitted(points, weights)
        if not (isinstance(self.widen, int | float | np.number) and 0 < self.widen < np.inf):
            raise ValueError(f"widen={self.widen!r} must be a finite number above 0, such as 4.")
        if not isinstance(self.n_nodes, int | np.integer) or not 2 <= self.n_nodes <= _MOST_NODES:
            raise ValueError(
                f"n_nodes={self.n_nodes!r} must be a whole number from 2 to {_MOST_NODES}."
            )
        n, d = points.n, points.dimension or 0
        _check_squares(*points.bounds())
        known: Moments = points.sum_rows(_moments, weights)
        mean = known.mean if self.mean is None else self.mean
        if self.covariance is None:
            covariance = self.widen * known.scatter / known.total
            covariance[np.diag_indices(d)] *= 1 + _RIDGE
        else:
            covariance = self.covariance
        mean, covariance = np.asarray(mean, dtype=np.float64), np.asarray(covariance, np.float64)
        if mean.shape != (d,) or covariance.shape != (d, d):
            raise ValueError(
                f"GaussianBase has a mean of shape {mean.shape} and a covariance of shape "
                f"{covariance.shape}; the data have {d} columns, so ({d},) and ({d}, {d}) are "
                "needed."
            )
        if self.covariance is None:
            _check_varied(covariance, n)
        elif not _is_definite(covariance):
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
        """Draws from q, with the same seed every time."""
        return self._draws(self.n_nodes, np.random.default_rng(self.random_state))

    def candidates(self, count: int, rng: np.random.Generator) -> Nodes:
        """More draws from q."""
        return self._draws(max(_CANDIDATES * count, self.n_nodes), rng)

    def log_base(self, points: Points) -> Array:
        """``log q(x)``."""
        return np.atleast_1d(multivariate_normal(self.mean, self.covariance).logpdf(points.data))

    def _draws(self, count: int, rng: np.random.Generator) -> Nodes:
        data = rng.multivariate_normal(self.mean, self.covariance, size=count, method="cholesky")
        return Nodes(Points(data, "vectors"), np.full(count, -np.log(count)))

    def __repr__(self) -> str:
        return f"GaussianBase({self.widen:g})"


def integrate(domain: Domain, nodes: Nodes, logs: Array) -> Normalization:
    """Integrals of components whose logarithms at the nodes are given, as an (N, M) array.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.domains import Box, integrate
    >>> line = Box(-8, 8).fitted_to(1)
    >>> nodes = line.nodes()
    >>> logs = -0.5 * np.square(nodes.points.data)  # exp(-x²/2), whose integral is √(2π)
    >>> found = integrate(line, nodes, logs)
    >>> np.exp(found.log_constants).round(6)
    array([2.506628])
    """
    terms = logs + nodes.log_weights[:, None]
    totals = logsumexp(terms, axis=0)
    if not np.isfinite(totals).all():
        raise ValueError(
            f"The density vanishes at every node of {domain!r}: it cannot be normalised there. Use "
            "more nodes (n_nodes=…), a domain nearer to the data, or a larger alpha."
        )
    shares = np.exp(terms - totals)
    sizes = 1 / (shares**2).sum(axis=0)
    errors = np.full(len(totals), np.nan if isinstance(domain, Box) else 0.0)
    if not nodes.exact:
        groups = nodes.groups if nodes.groups > 1 else len(shares)
        parts = shares.reshape(groups, -1, len(totals)).sum(axis=1) * groups
        errors = parts.std(axis=0, ddof=1) / np.sqrt(groups)
        if sizes.min() < _FEW:
            warn(
                f"The normaliser over {domain!r} rests on {sizes.min():.0f} effective nodes of "
                f"{len(shares)} (relative standard error {errors.max():.2g}). Use more nodes "
                "(n_nodes=…), a domain nearer to the data, or a larger alpha.",
                ApproximationWarning,
            )
    return Normalization(domain, totals, errors, sizes, len(shares))


def resample(nodes: Nodes, logs: Array, counts: Array, rng: np.random.Generator) -> Array:
    """Places of nodes drawn for each component, ``counts[m]`` for the m-th (SIR).

    Warns where fewer nodes carry a component than were drawn for it, so that draws repeat.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.domains import FiniteSpace, resample
    >>> nodes = FiniteSpace(["often", "never"]).nodes()
    >>> logs = np.array([[0.0], [-np.inf]])
    >>> resample(nodes, logs, np.array([5]), np.random.default_rng(0)).tolist()
    [0, 0, 0, 0, 0]
    """
    terms = logs + nodes.log_weights[:, None]
    shares = np.exp(terms - logsumexp(terms, axis=0))
    chosen = []
    for count, share in zip(counts, shares.T, strict=True):
        chosen.append(rng.choice(len(share), size=count, p=share / share.sum()))
        size = 1 / (share**2).sum()
        if not nodes.exact and size < count:
            warn(
                f"{count} draws of one component come from {size:.0f} effective candidates, so "
                "many repeat. Draw fewer, or use a domain nearer to the data.",
                ApproximationWarning,
            )
    return np.concatenate(chosen)


def _check_squares(low: Array, high: Array) -> None:
    """Refuse data whose covariance no number can hold."""
    extent = float((high.astype(np.float64) - low).max())
    if extent > 0 and not _SMALLEST <= extent <= _LARGEST:
        raise ValueError(
            f"The data extend over {extent:.3g}; GaussianBase needs their squares, and those of "
            f"numbers beyond {_SMALLEST:g} and {_LARGEST:g} leave the range of numbers. Divide X "
            "by its scale."
        )


def _count_outside(domain: Domain, points: Points) -> int:
    return int((~np.isfinite(domain.log_base(points))).sum())


def _moments(points: Points, weights: Array | None) -> Moments:
    return Moments.of(points.data.astype(np.float64), weights)


def _check_varied(covariance: Array, n: int) -> None:
    if not _is_definite(covariance):
        raise ValueError(
            f"The covariance of GaussianBase is not positive definite (n_samples={n}): some "
            "columns are constant. Drop them, or pass covariance=…."
        )


def _is_definite(covariance: Array) -> bool:
    if not np.allclose(covariance, covariance.T, rtol=1e-9, atol=0):
        return False
    try:
        np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return False
    return True


def _keys(data: Any) -> list[Any] | None:
    """One hashable key per object; None where there is none."""
    if hasattr(data, "itertuples"):
        gaps_alike = data.astype(object).where(data.notna(), None)  # NaN differs from itself
        rows: list[Any] = list(gaps_alike.itertuples(index=False, name=None))
    elif isinstance(data, np.ndarray):
        rows = list(map(tuple, data.tolist())) if data.ndim == 2 else data.tolist()
    else:
        rows = [tuple(item) if isinstance(item, list) else item for item in data]
    try:
        hash(tuple(rows))
    except TypeError:
        return None
    return rows
