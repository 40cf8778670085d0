"""Columns that identify rows, such as customer numbers, and carry no other information."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.utils.types import Array

__all__ = ["MANY_ROWS", "counts_from_offset", "has_identifier_name", "identify_rows"]

#: Values of fewer rows may all differ by chance.
MANY_ROWS = 20

_WORDS = {"id", "ids", "identifier", "uuid", "guid", "key", "sku", "serial"}
_NAMES = {"", "index", "idx", "row", "no", "nr", "number", "unnamed: 0"}
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_YEARS = (1000, 3000)
_LENGTHS = 5  # sequences and formulas, which carry information, differ more


def has_identifier_name(name: Any) -> bool:
    """Return whether a column is named like an identifier.

    One of its words is id, identifier, uuid, guid, key, sku or serial; or the whole name is index,
    row, no, nr or number.

    >>> [has_identifier_name(name) for name in ("customer_id", "orderId", "ID", "width", "humid")]
    [True, True, True, False, False]
    """
    text = str(name).strip()
    words = {word.lower() for word in _PARTS.findall(text)}
    return bool(words & _WORDS) or text.lower() in _NAMES


def identify_rows(name: Any, cells: Array) -> bool:
    """Return whether the observed cells of a column identify rows, and say nothing else.

    This is the case if there are at least 20 cells, all different, and

    - they are whole numbers, and the column is named like an identifier, or
    - they are whole numbers that increase by 1 from row to row, starting above the number of rows
      (unless they could be years), or
    - they are strings without white space, and the column is named like an identifier, or all of
      them contain digits and their lengths differ by at most 5 characters.

    A sorted column of measurements has fractions, equal values or unequal steps, so it does not
    identify rows.

    >>> numbers = np.arange(10_000, 10_030)
    >>> identify_rows("customer", numbers), identify_rows("customer", numbers / 7)
    (True, False)
    >>> identify_rows("year", np.arange(1950, 2026))
    False
    """
    if len(cells) < MANY_ROWS:
        return False
    if cells.dtype.kind in "iuf":
        return _identifying_numbers(name, cells)
    return all(isinstance(cell, str) for cell in cells) and _identifying_strings(name, cells)


def counts_from_offset(first: float, last: float, rows: int) -> bool:
    """Return whether numbers that increase by 1 look like identifiers, from their first and last.

    >>> counts_from_offset(10_000, 10_029, 30), counts_from_offset(0, 29, 30)
    (True, False)
    """
    could_be_years = first >= _YEARS[0] and last < _YEARS[1]
    return rows >= MANY_ROWS and first > rows and not could_be_years


def _identifying_numbers(name: Any, numbers: Array) -> bool:
    if not (np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all()):
        return False
    if has_identifier_name(name):
        return len(np.unique(numbers)) == len(numbers)
    counts = bool((numbers[1:] == numbers[:-1] + 1).all())
    return counts and counts_from_offset(float(numbers[0]), float(numbers[-1]), len(numbers))


def _identifying_strings(name: Any, strings: Sequence[str] | Array) -> bool:
    if len(set(strings)) < len(strings) or any(re.search(r"\s", cell) for cell in strings):
        return False
    if has_identifier_name(name):
        return True
    lengths = [len(cell) for cell in strings]
    are_codes = max(lengths) - min(lengths) <= _LENGTHS
    return are_codes and all(re.search(r"\d", cell) for cell in strings)
