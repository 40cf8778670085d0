"""What a kernel is: a formula, its algebra, and parameters a grid search can reach."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from mercer.data import Kind, select_rows
from mercer.maths.types import Array
from mercer.notebook import table

__all__ = ["Kernel", "Product", "Scaled", "Settle", "Sum", "Tiles", "delivered"]

#: Any rectangle of a Gram matrix: ``tiles(rows, columns, out)`` fills and returns ``out``.
Tiles = Callable[[slice, slice, Array | None], Array]

#: What :meth:`Kernel.fitted` does to a leaf: ``settle(leaf, X, weights)``.
Settle = Callable[["Kernel", Any, Array | None], "Kernel"]

_ALL = slice(None)


class Kernel:
    """Base class of kernels.

    A subclass stores its parameters in ``__init__`` under their own names and gives either
    :meth:`matrix` (the formula) or, where there is a faster way, :meth:`tiles`.
    Parameters are checked when they are used, so ``clone`` and ``set_params`` always work.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Kernel
    >>> class Cauchy(Kernel):
    ...     def __init__(self, width=1.0):
    ...         self.width = width
    ...     def matrix(self, X, Y):
    ...         return 1 / (1 + ((X[:, None] - Y[None]) ** 2).sum(axis=2) / self.width**2)
    >>> Cauchy(2.0)([[0.0], [2.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    #: what is compared: "vectors", "objects" or "gram" (see :mod:`mercer.data`)
    compares: ClassVar[Kind] = "vectors"

    @property
    def is_psd(self) -> bool:
        """Whether every Gram matrix of this kernel is positive semi-definite."""
        return True

    # --- evaluation ---------------------------------------------------------------------------

    def __call__(self, X: Any, Y: Any = None) -> Array:
        """Gram matrix ``k(x_i, y_j)``; with one argument, of X against itself."""
        X = self._as_points(X)
        return self.tiles(X, None if Y is None else self._as_points(Y))(_ALL, _ALL, None)

    def matrix(self, X: Any, Y: Any) -> Array:
        """Return ``k(x_i, y_j)`` as an array of shape (len(X), len(Y)): the formula itself."""
        raise NotImplementedError(f"{type(self).__name__} defines neither matrix nor tiles")

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Prepare two point sets (``Y=None``: X against itself) for fast rectangles."""
        right = X if Y is None else Y

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            block = np.asarray(self.matrix(select_rows(X, rows), select_rows(right, columns)))
            if block.dtype.kind != "f":  # a user's kernel may count
                block = block.astype(np.float64)
            return delivered(block, out)

        return tile

    def log_tiles(self, X: Any, Y: Any) -> Tiles:
        """Prepare rectangles of ``log k(x_i, y_j)``, right where k itself would underflow.

        This default takes the logarithm of k; kernels whose logarithm is simpler override it.
        """
        return _logarithms(self.tiles(X, Y))

    def diagonal(self, X: Any) -> Array:
        """``k(x_i, x_i)`` for every row."""
        X = self._as_points(X)
        tile = self.tiles(X, X)
        parts = [tile(slice(i, i + 1), slice(i, i + 1), None)[0] for i in range(len(X))]
        return np.concatenate(parts)

    def features(self, X: Any) -> Array | None:
        """Exact finite features with ``k(x, y) = φ(x)'φ(y)``, or None where there are none."""
        return None

    def _as_points(self, X: Any) -> Any:
        if self.compares == "objects":
            return X
        X = np.asarray(X)
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        if X.ndim != 2:
            raise ValueError(
                f"Expected a 2-D array of points (rows), got {X.ndim}-D; reshape one column with "
                "X.reshape(-1, 1) and one point with X.reshape(1, -1)."
            )
        return X

    # --- as a density window ------------------------------------------------------------------

    def log_normalizer(self, d: int) -> float:
        """Logarithm of ``∫ k(x, 0) dx`` over d dimensions; never overflows."""
        raise ValueError(
            f"{self!r} is not a density window with a known, finite normaliser ∫ k(x, 0) dx. "
            "Use Gaussian, Laplacian, Matern, Epanechnikov or a sum of them."
        )

    def normalizer(self, d: int) -> float:
        """``∫ k(x, 0) dx`` over d dimensions (inf where it overflows: see log_normalizer)."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_normalizer(d)))

    @property
    def is_window(self) -> bool:
        """Whether the kernel, divided by its normaliser, is a density."""
        return type(self).log_normalizer is not Kernel.log_normalizer

    def draw(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """Draw n points of d coordinates from the normalised window about 0."""
        raise ValueError(
            f"{self!r} gives no way to draw from its window. Use Gaussian, Laplacian, Matern, "
            "Epanechnikov or a sum of them."
        )

    def self_convolution(self) -> Kernel:
        """Return the kernel whose normalised window is this one's convolved with itself."""
        raise ValueError(
            f"{self!r} has no self-convolution in closed form, only the Gaussian has; use "
            "estimator='mean', or a Gaussian kernel."
        )

    # --- back to input space ------------------------------------------------------------------

    def length_scales(self, d: int) -> Array:
        """Units of the d columns in which :meth:`squared_distances` measures."""
        return np.ones(d)

    def squared_distances(self, products: Array, norms: Array, their_norms: Array) -> Array:
        """Translate inner products in feature space into squared distances in input space.

        Pre-images need this. The answer is the squared distance, in units of
        :meth:`length_scales`, at which two points' features would have these products and norms.

        Parameters
        ----------
        products : array
            ``⟨f, φ(y)⟩`` for elements f of feature space, that need not be the image of any point.
        norms, their_norms : arrays that broadcast against ``products``
            ``|f|²`` and ``k(y, y)``.
        """
        raise ValueError(
            f"{self!r} cannot translate a distance in feature space into one in input space, which "
            "the Kwok-Tsang pre-image needs. Use preimage='ridge', or a Gaussian, Matern, "
            "Epanechnikov, linear or odd polynomial kernel."
        )

    # --- parameters ---------------------------------------------------------------------------

    @classmethod
    def _parameter_names(cls) -> list[str]:
        if cls.__init__ is object.__init__:
            return []
        return [p for p in inspect.signature(cls.__init__).parameters if p != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; parts of a sum or product as ``0__bandwidth``, ``1__degree``, …."""
        params = {name: getattr(self, name) for name in self._parameter_names()}
        if deep:
            for name, part in self._parts().items():
                params |= {f"{name}__{key}": value for key, value in part.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by the names that :meth:`get_params` gives."""
        # a part is replaced before its own parameters are set
        for name, value in sorted(params.items(), key=lambda item: item[0].count("__")):
            head, _, tail = name.partition("__")
            if tail and head in self._parts():
                self._parts()[head].set_params(**{tail: value})
            elif not tail and head in self._parameter_names():
                setattr(self, head, value)
            else:
                known = ", ".join(self.get_params()) or "none"
                raise ValueError(f"{self!r} has no parameter {name!r}; it has: {known}.")
        return self

    def _parts(self) -> dict[str, Kernel]:
        """Kernels inside this one, by the name that parameters use."""
        return {}

    def replace_parts(self, change: Callable[[Kernel], Kernel]) -> Kernel:
        """Return this kernel with ``change`` applied to its leaves."""
        return change(self)

    def widened(self, factor: float) -> Kernel:
        """Return this kernel with every width multiplied by a factor.

        A bandwidth is multiplied; ``ρ``, the kernel of what differs, becomes ``ρ^(1/factor²)``:
        both as if squared distances were divided by factor². Parts without a width stay.

        Parameters
        ----------
        factor : float
            Above 0; below 1 the kernel sees finer.

        Examples
        --------
        >>> from mercer.kernels import Categorical, Gaussian, On
        >>> (On("age", Gaussian(10.0)) * On("colour", Categorical(0.5))).widened(0.5)
        On('age', Gaussian(bandwidth=5.0)) * On('colour', Categorical(rho=0.0625, order=None))
        """
        if not 0 < factor < float("inf"):
            raise ValueError(f"factor={factor!r} must be a finite number above 0.")
        wide = self.replace_parts(lambda leaf: leaf._widened(factor))
        if factor != 1 and wide == self:
            raise ValueError(f"{self!r} has no width that could be multiplied.")
        return wide

    def _widened(self, factor: float) -> Kernel:
        """For leaves: the same with another width, if it has one."""
        return self

    def fitted(self, X: Any, weights: Array | None, settle: Settle) -> Kernel:
        """Return this kernel with all that depends on a training sample settled.

        Parameters
        ----------
        X : points that the kernel compares
        weights : array of shape (n,) or None
        settle : callable
            ``settle(leaf, X, weights)`` returns the leaf's settled version. It is called with the
            data that the leaf will see: below :class:`~mercer.kernels.On`, some columns.
        """
        return settle(self, X, weights)

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={v!r}" for k, v in self.get_params(deep=False).items())
        return f"{type(self).__name__}({inside})"

    def _repr_html_(self) -> str:
        parameters = self.get_params(deep=False)
        rows = [[name, repr(value)] for name, value in parameters.items()]
        return table(f"{type(self).__name__} kernel", ["parameter", "value"], rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kernel) or type(self) is not type(other):
            return False
        theirs = other.get_params(deep=False)
        mine = self.get_params(deep=False)
        return all(np.array_equal(value, theirs[name]) for name, value in mine.items())

    def __hash__(self) -> int:
        return hash(type(self))  # parameters may change, and arrays have no hash

    # --- algebra ------------------------------------------------------------------------------

    def __add__(self, other: Kernel) -> Kernel:
        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum((*_terms(self, Sum), *_terms(other, Sum)))

    def __mul__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Kernel):
            return Product((*_terms(self, Product), *_terms(other, Product)))
        if isinstance(other, int | float | np.number):
            return Scaled(float(other), self)
        return NotImplemented

    def __rmul__(self, factor: float) -> Kernel:
        return self * factor


def _terms(kernel: Kernel, kind: type[Sum] | type[Product]) -> tuple[Kernel, ...]:
    return kernel.terms if isinstance(kernel, kind) else (kernel,)


def delivered(block: Array, out: Array | None) -> Array:
    """The block itself, or its values where the caller wants them."""
    if out is None:
        return block
    out[...] = block
    return out


def _logarithms(tiles: Tiles) -> Tiles:
    def tile(rows: slice, columns: slice, out: Array | None) -> Array:
        block = tiles(rows, columns, out)
        with np.errstate(divide="ignore"):  # where k is 0
            return np.log(block, out=block)

    return tile


class _Combination(Kernel):
    """Several kernels on the same points, joined entry by entry."""

    def __init__(self, terms: tuple[Kernel, ...]) -> None:
        self.terms = terms

    _join: ClassVar[Callable[..., Array]]
    _symbol: ClassVar[str]

    @property
    def compares(self) -> Kind:  # type: ignore[override]
        """What all terms compare; terms that differ cannot be joined."""
        kinds = {term.compares for term in self.terms}
        if len(kinds) != 1 or kinds == {"gram"}:
            raise ValueError(
                f"{self!r} joins kernels on {' and '.join(sorted(kinds))}; a combination needs "
                "kernels on the same data, and a precomputed Gram must be combined beforehand."
            )
        return kinds.pop()

    @property
    def is_psd(self) -> bool:
        """Sums and entrywise products of positive semi-definite kernels are so (Schur)."""
        return all(term.is_psd for term in self.terms)

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Join the terms' tiles entry by entry."""
        first, *others = [term.tiles(X, Y) for term in self.terms]

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            block = first(rows, columns, out)
            for other in others:
                type(self)._join(block, other(rows, columns, None), out=block)
            return block

        return tile

    def diagonal(self, X: Any) -> Array:
        """Join the terms' diagonals."""
        total = self.terms[0].diagonal(X).copy()
        for term in self.terms[1:]:
            type(self)._join(total, term.diagonal(X), out=total)
        return total

    def _parts(self) -> dict[str, Kernel]:
        return {str(i): term for i, term in enumerate(self.terms)}

    def replace_parts(self, change: Callable[[Kernel], Kernel]) -> Kernel:
        """Apply ``change`` to the leaves of every term."""
        return type(self)(tuple(term.replace_parts(change) for term in self.terms))

    def fitted(self, X: Any, weights: Array | None, settle: Settle) -> Kernel:
        """Settle every term."""
        return type(self)(tuple(term.fitted(X, weights, settle) for term in self.terms))

    def __repr__(self) -> str:
        inside = [f"({t!r})" if isinstance(t, _Combination) else repr(t) for t in self.terms]
        return self._symbol.join(inside)

    def _repr_html_(self) -> str:
        rows = [[str(i), repr(term)] for i, term in enumerate(self.terms)]
        title = f"{type(self).__name__} of {len(rows)} kernels"
        return table(title, ["parameter", "kernel"], rows)


class Sum(_Combination):
    """Sum of kernels, ``k(x, y) = Σ_i k_i(x, y)``; written ``k1 + k2``.

    >>> from mercer.kernels import Gaussian, Linear
    >>> Gaussian(1.0) + Linear()
    Gaussian(bandwidth=1.0) + Linear(scale=1.0, constant=0.0)
    """

    _join = np.add
    _symbol = " + "

    def log_tiles(self, X: Any, Y: Any) -> Tiles:
        """Add the terms on the logarithmic scale."""
        first, *rest = [term.log_tiles(X, Y) for term in self.terms]

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            block = first(rows, columns, out)
            for other in rest:
                np.logaddexp(block, other(rows, columns, None), out=block)
            return block

        return tile

    def draw(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """Each point from one of the windows, in proportion to their integrals."""
        logs = np.array([term.log_normalizer(d) for term in self.terms])
        counts = rng.multinomial(n, np.exp(logs - np.logaddexp.reduce(logs)))
        drawn = [term.draw(c, d, rng) for term, c in zip(self.terms, counts, strict=True)]
        return rng.permutation(np.concatenate(drawn))

    def log_normalizer(self, d: int) -> float:
        """Integrals add up."""
        return float(np.logaddexp.reduce([term.log_normalizer(d) for term in self.terms]))

    @property
    def is_window(self) -> bool:
        """Whether every term is."""
        return all(term.is_window for term in self.terms)


class Product(_Combination):
    """Product of kernels, ``k(x, y) = Π_i k_i(x, y)``; written ``k1 * k2``.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> kernel = Gaussian(1.0) * Linear()
    >>> kernel
    Gaussian(bandwidth=1.0) * Linear(scale=1.0, constant=0.0)
    >>> kernel([[1.0]], [[1.0], [2.0]]).round(4)
    array([[1.    , 1.2131]])
    """

    _join = np.multiply
    _symbol = " * "


class Scaled(Kernel):
    """A kernel times a number, ``k(x, y) = factor · k₀(x, y)``; written ``2.0 * k``.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> 2.0 * Gaussian(1.0)
    2.0 * Gaussian(bandwidth=1.0)
    """

    def __init__(self, factor: float, kernel: Kernel) -> None:
        self.factor = factor
        self.kernel = kernel

    @property
    def compares(self) -> Kind:  # type: ignore[override]
        """What the scaled kernel compares."""
        if self.kernel.compares == "gram":
            raise ValueError(f"{self!r}: a precomputed Gram matrix must be scaled beforehand.")
        return self.kernel.compares

    @property
    def is_psd(self) -> bool:
        """A factor below zero turns the spectrum over."""
        return self.factor >= 0 and self.kernel.is_psd

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Scale the kernel's tiles."""
        inner = self.kernel.tiles(X, Y)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            block = inner(rows, columns, out)
            block *= self.factor
            return block

        return tile

    def log_tiles(self, X: Any, Y: Any) -> Tiles:
        """Add the logarithm of the factor."""
        if self.factor <= 0:
            return super().log_tiles(X, Y)
        inner, shift = self.kernel.log_tiles(X, Y), np.log(self.factor)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            block = inner(rows, columns, out)
            block += shift
            return block

        return tile

    def draw(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """As the scaled kernel: a window does not depend on its scale."""
        return self.kernel.draw(n, d, rng)

    def diagonal(self, X: Any) -> Array:
        """Scale the kernel's diagonal."""
        return self.factor * self.kernel.diagonal(X)

    def features(self, X: Any) -> Array | None:
        """Scale the kernel's features by the root of the factor."""
        inner = self.kernel.features(X) if self.factor > 0 else None
        return None if inner is None else np.sqrt(self.factor).astype(inner.dtype) * inner

    def log_normalizer(self, d: int) -> float:
        """``log factor`` more than the kernel's."""
        if self.factor <= 0:
            return super().log_normalizer(d)
        return float(np.log(self.factor)) + self.kernel.log_normalizer(d)

    @property
    def is_window(self) -> bool:
        """As the scaled kernel, for a positive factor."""
        return self.factor > 0 and self.kernel.is_window

    def length_scales(self, d: int) -> Array:
        """As the scaled kernel."""
        return self.kernel.length_scales(d)

    def squared_distances(self, products: Array, norms: Array, their_norms: Array) -> Array:
        """Undo the factor first."""
        if self.factor <= 0:
            return super().squared_distances(products, norms, their_norms)
        parts = (part / self.factor for part in (products, norms, their_norms))
        return self.kernel.squared_distances(*parts)

    def _parts(self) -> dict[str, Kernel]:
        return {"kernel": self.kernel}

    def replace_parts(self, change: Callable[[Kernel], Kernel]) -> Kernel:
        """Apply ``change`` to the leaves of the scaled kernel."""
        return Scaled(self.factor, self.kernel.replace_parts(change))

    def fitted(self, X: Any, weights: Array | None, settle: Settle) -> Kernel:
        """Settle the scaled kernel."""
        return Scaled(self.factor, self.kernel.fitted(X, weights, settle))

    def __repr__(self) -> str:
        inner = (
            f"({self.kernel!r})" if isinstance(self.kernel, _Combination) else f"{self.kernel!r}"
        )
        return f"{self.factor!r} * {inner}"
