"""The spectrum kernel on strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mercer.kernels.cells import to_codes
from mercer.kernels.counts import CountKernel
from mercer.utils.types import Array

__all__ = ["NGram"]


class NGram(CountKernel):
    r"""Spectrum kernel on strings: :math:`k_0(x, y) = \sum_g c_g(x) c_g(y)` over n-grams g.

    :math:`c_g(x)` counts how often g occurs in x (Leslie, Eskin, Noble 2002). Sequences of tokens
    (lists or tuples of words) are compared in the same way. The kernel is
    :math:`\rho + (1 - \rho) k_0`, an inner product of features, hence positive semi-definite.

    A string shorter than n has no n-grams: k₀ is 0 with all strings. With normalization such a
    string is a feature by itself: k₀ is 1 with equal strings (including empty ones) and 0 with all
    others.

    Parameters
    ----------
    n : int or sequence of int
        Length of the n-grams; the kernels of several lengths are added before normalization.
    normalize : bool
        Divide by the norms of the feature vectors: k₀ is then a cosine.
    rho : float in [0, 1)
        ρ, the kernel value of strings without a common n-gram. In a product of kernels a value
        above 0 prevents one text from making the product 0.

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

    def part_codes(self, item: Any, codes: dict[Any, int]) -> list[int]:
        """Return the codes of all n-grams, from left to right."""
        text = _sequence(item)
        return to_codes(
            (
                text[i : i + length]
                for length in self._lengths()
                for i in range(len(text) - length + 1)
            ),
            codes,
        )

    def substitute_part(self, item: Any) -> Any:
        """Return the string itself, which is shorter than every n-gram."""
        return _sequence(item)

    def _with_scaled_bandwidth(self, factor: float) -> NGram:
        return NGram(self.n, self.normalize, self.rho ** (1 / factor**2))

    def _value(self, products: Array) -> Array:
        if not 0 <= self.rho < 1:
            raise ValueError(
                f"NGram(rho={self.rho!r}) must be in [0, 1): it is the kernel value of strings "
                "without a common n-gram."
            )
        if self.rho:
            products *= 1 - self.rho
            products += self.rho
        return products

    def _lengths(self) -> tuple[int, ...]:
        lengths = tuple(self.n) if isinstance(self.n, Sequence) else (self.n,)
        if not lengths or len(set(lengths)) < len(lengths) or min(lengths) < 1:
            raise ValueError(
                f"NGram(n={self.n!r}) must be a length of at least 1, or several distinct lengths."
            )
        return lengths


def _sequence(item: Any) -> Any:
    """Return a string, or a tuple of tokens."""
    if isinstance(item, str | bytes):
        return item
    if isinstance(item, list | tuple):
        return tuple(item)
    raise TypeError(
        f"NGram compares strings (or lists of tokens), not {type(item).__name__}: {item!r:.60}. "
        "For missing texts in a table use On(column, NGram(…)), which can compare them once it is "
        "fitted; convert other values with str()."
    )
