"""Base class of kernels: evaluation, parameters (for grid search), densities and algebra."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from copy import copy, deepcopy
from difflib import get_close_matches
from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse

import mercer.kernels
from mercer.data.points import Kind, check_sparse, select_rows
from mercer.utils.estimators import MercerBase
from mercer.utils.formatting import table as html_table
from mercer.utils.frames import as_frame, is_mixed_table
from mercer.utils.types import Array

__all__ = [
    "KERNEL_NAMES",
    "FitParts",
    "Kernel",
    "Tiles",
    "as_kernel",
    "checked_depth",
    "copy_into",
    "map_leaves",
]

#: Function that evaluates a rectangle of a Gram matrix: ``tiles(rows, columns, out)`` fills and
#: returns ``out``, or returns a new array (which the caller may modify) if ``out`` is None.
Tiles = Callable[[slice, slice, Array | None], Array]

#: Classes of :mod:`mercer.kernels` by the names that estimators accept.
KERNEL_NAMES = {
    "gaussian": "Gaussian",
    "rbf": "Gaussian",
    "laplacian": "Laplacian",
    "polynomial": "Polynomial",
    "linear": "Linear",
    "sigmoid": "Sigmoid",
    "cosine": "Cosine",
    "precomputed": "Precomputed",
    "table": "Table",
}

_ALL = slice(None)
_DENSITY_KERNELS = "Use Gaussian, Laplacian, Matern, Epanechnikov or a sum of them."

# Methods of kernels inside kernels are recursive. The deepest recursion, a copy by copy.deepcopy,
# needs six of Python's 1000 calls per level.
_MAX_DEPTH = 100


class FitParts(NamedTuple):
    """The kernels inside a composite kernel, each with the training data that it compares.

    ``parts`` are triples of kernel, data and weights; ``assemble`` takes the fitted parts, in the
    same order, and returns the fitted composite kernel. ``label`` names the data in error messages.
    """

    parts: Sequence[tuple[Kernel, Any, Array | None]]
    assemble: Callable[[Sequence[Kernel]], Kernel]
    label: str = ""


class Kernel(MercerBase):
    """Base class of kernels.

    A subclass stores its parameters in ``__init__`` under their own names and defines either
    :meth:`matrix` (the formula) or, for speed, :meth:`tiles`. Parameters are checked when they are
    used, so ``clone`` and ``set_params`` always work.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Kernel
    >>> class Cauchy(Kernel):
    ...     def __init__(self, scale=1.0):
    ...         self.scale = scale
    ...     def matrix(self, X, Y):
    ...         return 1 / (1 + ((X[:, None] - Y[None]) ** 2).sum(axis=2) / self.scale**2)
    >>> Cauchy(2.0)([[0.0], [2.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    #: type of the data that are compared: "vectors", "objects" or "gram"; see
    #: :mod:`mercer.data.points`
    compares: ClassVar[Kind] = "vectors"

    def __init__(self) -> None:
        """Create a kernel without parameters."""

    @property
    def is_psd(self) -> bool:
        """Whether every Gram matrix of this kernel is positive semi-definite."""
        return True

    @property
    def is_sparse(self) -> bool:
        """Whether most kernel values are 0, so that :meth:`sparse` evaluates Gram matrices."""
        return False

    @property
    def accepts_sparse(self) -> bool:
        """Whether rows may be those of a SciPy sparse matrix: if all inner kernels accept them."""
        parts = self.inner_kernels().values()
        return bool(parts) and all(part.accepts_sparse for part in parts)

    # --- evaluation ---------------------------------------------------------------------------

    def __call__(self, X: Any, Y: Any = None) -> Array:
        """Return the Gram matrix ``k(x_i, y_j)``; with one argument, of X against itself."""
        X = self._as_points(X)
        return self.tiles(X, None if Y is None else self._as_points(Y))(_ALL, _ALL, None)

    def matrix(self, X: Any, Y: Any) -> Array:
        """Return ``k(x_i, y_j)`` as an array of shape (len(X), len(Y))."""
        raise NotImplementedError(f"{type(self).__name__} defines neither matrix nor tiles")

    def tiles(self, X: Any, Y: Any = None) -> Tiles:
        """Return a function that evaluates rectangles of the Gram matrix of X and Y.

        ``Y=None`` means X against itself. The default evaluates :meth:`matrix` and copies the
        result, since it may be an array that the kernel stores.
        """
        right = X if Y is None else Y

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            block = np.asarray(self.matrix(select_rows(X, rows), select_rows(right, columns)))
            if out is not None:
                out[...] = block
                return out
            return np.array(block, dtype=block.dtype if block.dtype.kind == "f" else np.float64)

        return tile

    def sparse(self, X: Any, Y: Any = None) -> Any:
        """Return ``k(x_i, y_j)`` as a SciPy sparse array, for kernels with ``is_sparse``."""
        raise NotImplementedError(f"{type(self).__name__} has no sparse Gram matrix")

    def log_tiles(self, X: Any, Y: Any) -> Tiles:
        """Return a function that evaluates rectangles of ``log k(x_i, y_j)``.

        The default takes the logarithm of k. Kernels with a simpler logarithm override it and are
        accurate where k underflows.
        """
        tiles = self.tiles(X, Y)

        def tile(rows: slice, columns: slice, out: Array | None) -> Array:
            block = tiles(rows, columns, out)
            with np.errstate(divide="ignore"):  # where k is 0
                return np.log(block, out=block)

        return tile

    def diagonal(self, X: Any) -> Array:
        """Return ``k(x_i, x_i)`` for every row."""
        X = self._as_points(X)
        tile = self.tiles(X, X)
        parts = [tile(slice(i, i + 1), slice(i, i + 1), None)[0] for i in range(len(X))]
        return np.concatenate(parts)

    def features(self, X: Any) -> Array | None:
        """Return exact finite features with ``k(x, y) = φ(x)'φ(y)``, or None if unavailable."""
        return None

    def _as_points(self, X: Any) -> Any:
        if issparse(X):
            return check_sparse(X, self)
        if self.compares == "objects":
            return as_frame(X)
        X = np.asarray(X)
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        if X.ndim != 2:
            raise ValueError(
                f"Expected a 2-D array of points (rows), got {X.ndim}-D; reshape one column with "
                "X.reshape(-1, 1) and one point with X.reshape(1, -1)."
            )
        return X

    # --- densities ----------------------------------------------------------------------------

    def log_normalizer(self, d: int) -> float:
        """Return the logarithm of ``∫ k(x, 0) dx`` over d dimensions; it does not overflow."""
        raise ValueError(
            f"{self!r} is not a density: it has no known, finite integral ∫ k(x, 0) dx. "
            f"{_DENSITY_KERNELS}"
        )

    def normalizer(self, d: int) -> float:
        """Return ``∫ k(x, 0) dx`` over d dimensions; inf if it overflows."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_normalizer(d)))

    @property
    def is_density(self) -> bool:
        """Whether the kernel, divided by its normalizer, is a density."""
        return type(self).log_normalizer is not Kernel.log_normalizer

    def draw(self, n: int, d: int, rng: np.random.Generator) -> Array:
        """Draw n points of d coordinates from the normalized kernel centered at 0."""
        raise ValueError(f"{self!r} does not support sampling. {_DENSITY_KERNELS}")

    def self_convolution(self, d: int | None = None) -> Kernel:
        """Return a kernel whose density is the self-convolution of this kernel's density.

        Gaussian, Laplacian and Matérn kernels and their sums have closed forms
        (``mercer.kernels.densities``); other kernels raise ValueError.

        Parameters
        ----------
        d : int or None
            Number of columns, needed by Matérn kernels and sums.
        """
        from mercer.kernels.densities import self_convolution

        return self_convolution(self, d)

    def log_normalizer_or_zero(self, d: int | None) -> float:
        """Return the log normalizer in d dimensions; 0 if k is not a density or d is None."""
        return self.log_normalizer(d) if d is not None and self.is_density else 0.0

    # --- parameters ---------------------------------------------------------------------------

    @classmethod
    @cache
    def _parameter_names(cls) -> tuple[str, ...]:
        return tuple(inspect.signature(cls.__init__).parameters)[1:]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return parameters by name.

        Parameters of the terms of a sum or product are named ``0__bandwidth``, ``1__degree`` etc.
        """
        params = {name: getattr(self, name) for name in self._parameter_names()}
        if deep:
            for name, part in self.inner_kernels().items():
                params |= {f"{name}__{key}": value for key, value in part.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by the names that :meth:`get_params` returns."""
        # Replace an inner kernel before its own parameters are set.
        for name, value in sorted(params.items(), key=lambda item: item[0].count("__")):
            head, _, tail = name.partition("__")
            if tail and head in self.inner_kernels():
                self.inner_kernels()[head].set_params(**{tail: value})
            elif not tail and head in self._parameter_names():
                setattr(self, head, value)
            else:
                known = ", ".join(self.get_params()) or "none"
                raise ValueError(f"{self!r} has no parameter {name!r}; it has: {known}.")
        return self

    def with_own_parameters(self) -> Self:
        """Return a copy that shares no parameters with this kernel, so neither changes the other.

        >>> from mercer.kernels import Gaussian
        >>> kernel = Gaussian(1.0)
        >>> owned = kernel.with_own_parameters()
        >>> kernel.bandwidth = 2.0
        >>> owned
        Gaussian(bandwidth=1.0)
        """
        owned = copy(self)
        for name in self._parameter_names():
            setattr(owned, name, deepcopy(getattr(self, name)))
        return owned

    def inner_kernels(self) -> dict[str, Kernel]:
        """Return the kernels inside this one by parameter name; a leaf has none."""
        return {}

    def with_inner_kernels(self, kernels: Sequence[Kernel]) -> Kernel:
        """Return this kernel with other kernels inside, in the order of :meth:`inner_kernels`."""
        return self

    def split_for_fit(self, X: Any, weights: Array | None) -> FitParts | None:
        """Return the kernels inside this one with their training data; None for a leaf.

        :func:`mercer.bandwidth.fit_kernel` fits the parts and passes them to ``assemble``.
        """
        names = self.inner_kernels()
        if not names:
            return None
        return FitParts([(part, X, weights) for part in names.values()], self.with_inner_kernels)

    def scale_bandwidths(self, factor: float) -> Kernel:
        """Return this kernel with every bandwidth multiplied by a factor.

        The value ρ of a kernel between different categories becomes ``ρ^(1/factor²)``: both are
        equivalent to dividing squared distances by factor². Parts without a bandwidth do not
        change.

        Parameters
        ----------
        factor : float
            Above 0; below 1 the kernel is more local.

        Examples
        --------
        >>> from mercer.kernels import Categorical, Gaussian, On
        >>> (On("age", Gaussian(10.0)) * On("color", Categorical(0.5))).scale_bandwidths(0.5)
        On('age', Gaussian(bandwidth=5.0)) * On('color', Categorical(rho=0.0625, order=None))
        """
        if not 0 < factor < float("inf"):
            raise ValueError(f"factor={factor!r} must be a finite number above 0.")
        if factor != 1 and not self.has_bandwidth:
            raise ValueError(f"{self!r} has no bandwidth that could be multiplied.")
        return map_leaves(self, lambda leaf: leaf._with_scaled_bandwidth(factor))

    @property
    def has_bandwidth(self) -> bool:
        """Whether a part of this fitted kernel has a bandwidth (or a ρ) that can be multiplied.

        >>> from mercer.kernels import Gaussian, Linear
        >>> Linear().has_bandwidth, (Linear() + Gaussian(1.0)).has_bandwidth
        (False, True)
        """
        return map_leaves(self, lambda leaf: leaf._with_scaled_bandwidth(2.0)) != self

    def _with_scaled_bandwidth(self, factor: float) -> Kernel:
        """Return this kernel with a scaled bandwidth, if it has one; for leaves."""
        return self

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={v!r}" for k, v in self.get_params(deep=False).items())
        return f"{type(self).__name__}({inside})"

    def _repr_html_(self) -> str:
        rows = [[name, repr(value)] for name, value in self.get_params(deep=False).items()]
        return html_table(f"{type(self).__name__} kernel", ["parameter", "value"], rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kernel) or type(self) is not type(other):
            return False
        theirs = other.get_params(deep=False)
        mine = self.get_params(deep=False)
        return all(np.array_equal(value, theirs[name]) for name, value in mine.items())

    def __hash__(self) -> int:
        return hash(type(self))  # parameters may change, and arrays have no hash

    # --- algebra (see mercer.kernels.algebra) ---------------------------------------------------

    def __add__(self, other: Any) -> Kernel:
        from mercer.kernels.algebra import add

        return add(self, other)

    def __radd__(self, other: Any) -> Kernel:
        # sum([k1, k2]) starts with 0
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        from mercer.kernels.algebra import multiply

        return multiply(self, other)

    def __rmul__(self, other: Any) -> Kernel:
        return self * other


def as_kernel(
    kernel: Any, X: Any = None, *, table: Literal["sum", "product"] | None = "sum"
) -> Kernel:
    """Return a kernel object; a name gives its kernel with default parameters.

    "auto" is "table" if X is a data frame with other columns than numbers or with missing values,
    and "gaussian" otherwise. ``table`` is the form that "table" stands for: the sum of the columns'
    kernels, or their product, normalized so that k(x, x) = 1 for rows with missing values too; None
    where neither is possible. A function of two rows or two matrices becomes a
    :class:`~mercer.kernels.FunctionKernel`.

    >>> from mercer.kernels import as_kernel
    >>> as_kernel("gaussian")
    Gaussian(bandwidth='auto')
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str) and kernel == "auto":
        kernel = "table" if table is not None and is_mixed_table(as_frame(X)) else "gaussian"
    if isinstance(kernel, str) and kernel == "table" and table == "product":
        return mercer.kernels.Normalized(mercer.kernels.Table("product"))
    if isinstance(kernel, str) and kernel in KERNEL_NAMES:
        named: Kernel = getattr(mercer.kernels, KERNEL_NAMES[kernel])()
        return named
    if callable(kernel) and not isinstance(kernel, type):
        return mercer.kernels.FunctionKernel(kernel)
    raise ValueError(
        f"kernel={kernel!r} is neither a kernel object (such as mercer.kernels.Gaussian(1.0)), a "
        f"function, nor one of the names {', '.join(map(repr, ['auto', *KERNEL_NAMES]))}."
        f"{_hint(kernel)}"
    )


def _hint(kernel: Any) -> str:
    """Return a remedy for names of scikit-learn and misspelled names."""
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        return f" Pass an object, {kernel.__name__}(…), instead of the class."
    if not isinstance(kernel, str):
        return ""
    if kernel.lower() == "poly":
        return (
            " scikit-learn's kernel='poly' is Polynomial(3, constant=1, scale=1 / n_features); "
            "'polynomial' is Polynomial(2)."
        )
    close = get_close_matches(kernel.lower(), KERNEL_NAMES, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def map_leaves(kernel: Kernel, change: Callable[[Kernel], Kernel]) -> Kernel:
    """Return a kernel with ``change`` applied to its leaves."""
    parts = kernel.inner_kernels()
    if not parts:
        return change(kernel)
    return kernel.with_inner_kernels([map_leaves(part, change) for part in parts.values()])


def checked_depth(parts: Iterable[Any]) -> int:
    """Return the number of levels of a kernel with these parts; more than 100 raise ValueError."""
    depth = 1 + max((getattr(part, "_depth", 1) for part in parts), default=0)
    if depth > _MAX_DEPTH:
        raise ValueError(
            f"The kernel has more than {_MAX_DEPTH} levels of kernels inside each other. Write "
            "nested sums as one sum: 0.5 * (0.5 * (a + b) + c) is 0.25 * a + 0.25 * b + 0.5 * c."
        )
    return depth


def copy_into(block: Array, out: Array | None) -> Array:
    """Return the block itself, or ``out`` filled with its values."""
    if out is None:
        return block
    out[...] = block
    return out
