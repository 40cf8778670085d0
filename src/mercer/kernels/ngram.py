"""The spectrum kernel on strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mercer.kernels.cells import numbered
from mercer.kernels.counts import CountKernel
from mercer.maths.types import Array

__all__ = ["NGram"]


class NGram(CountKernel):
    r"""Spectrum kernel on strings: :math:`k_0(x, y) = \sum_g c_g(x) c_g(y)` over n-grams g.

    :math:`c_g(x)` tells how often g occurs in x (Leslie, Eskin, Noble 2002). Sequences of tokens
    (lists or tuples of words, say) are compared in the same way. The kernel is
    :math:`\rho + (1 - \rho) k_0`, an inner product of features, hence positive semi-definite.

    A string shorter than n has no n-grams: k₀ is 0 with everything. Normalised, such a string is a
    feature by itself: k₀ is 1 with its equals (the empty string with the empty string, too) and 0
    with all others.

    Parameters
    ----------
    n : int or sequence of int
        Length of the n-grams; with several, their kernels are added before they are normalised.
    normalize : bool
        Divide by the lengths of the feature vectors: k₀ is then a cosine.
    rho : float in [0, 1)
        ρ, the kernel between strings that have nothing in common. In a product of kernels a value
        above 0 keeps one text from deciding alone.

    Examples
    --------
    >>> from mercer.kernels import NGram
    >>> NGram(2)(["banana", "ananas", "kiwi"])
    array([[9., 8., 0.],
           [8., 9., 0.],
           [0., 0., 3.]])
    >>> NGram((1, 2), normalize=True)(["ab", "ba"]).round(4)
    array([[1.    , 0.6667],
           [0.6667, 1.    ]])
    """

    def __init__(
        self, n: int | Sequence[int] = 3, normalize: bool = False, rho: float = 0.0
    ) -> None:
        self.n = n
        self.normalize = normalize
        self.rho = rho

    def parts(self, item: Any, numbers: dict[Any, int]) -> list[int]:
        """All n-grams, from left to right."""
        text = _sequence(item)
        return numbered(
            (
                text[i : i + length]
                for length in self._lengths()
                for i in range(len(text) - length + 1)
            ),
            numbers,
        )

    def whole(self, item: Any) -> Any:
        """The string itself, which is shorter than every n-gram."""
        return _sequence(item)

    def _widened(self, factor: float) -> NGram:
        return NGram(self.n, self.normalize, self.rho ** (1 / factor**2))

    def _value(self, products: Array) -> Array:
        if not 0 <= self.rho < 1:
            raise ValueError(
                f"NGram(rho={self.rho!r}) must lie in [0, 1): it is the kernel between strings "
                "that have nothing in common."
            )
        if self.rho:
            products *= 1 - self.rho
            products += self.rho
        return products

    def _lengths(self) -> tuple[int, ...]:
        lengths = tuple(self.n) if isinstance(self.n, Sequence) else (self.n,)
        if not lengths or len(set(lengths)) < len(lengths) or min(lengths) < 1:
            raise ValueError(
                f"NGram(n={self.n!r}) must be a length of at least 1, or several different ones."
            )
        return lengths


def _sequence(item: Any) -> Any:
    """A string, or a tuple of tokens."""
    if isinstance(item, str | bytes):
        return item
    if isinstance(item, list | tuple):
        return tuple(item)
    raise TypeError(
        f"NGram compares strings (or lists of tokens), not {type(item).__name__}: {item!r:.60}. "
        "Missing texts in a table are handled by On(column, NGram(…)) once it is fitted; other "
        "values need str()."
    )
