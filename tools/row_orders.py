"""Write the original order of the rows of data sets that OpenML has, and print their checksums.

    MERCER_DATA=folder python -m tools.row_orders

OpenML may order rows differently and does not mark training and test rows. The file
``papers/data/row_orders.npz`` has, for each row of the original file, its position among
the sorted rows; :mod:`papers.data.mirrors` uses it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from papers.data import load_pendigits, load_segment, load_thyroid, load_usps
from papers.data.mirrors import checksum, sorted_rows

__all__ = ["main", "positions"]

# loader, factor to the units of the file, decimals that are compared
_DATA: dict[str, tuple[Any, float, int]] = {
    "newthyroid": (load_thyroid, 1, 1),
    "pendigits": (load_pendigits, 1, 0),
    "segment": (load_segment, 1, 1),
    "usps": (load_usps, 1000, 0),
}


def positions(X: np.ndarray, y: np.ndarray, decimals: int) -> np.ndarray:
    """Return the position of each row among the sorted rows."""
    return np.argsort(sorted_rows(X, y, decimals)).astype(np.uint16)


def main() -> None:
    """Write the file and print checksums."""
    orders: dict[str, Any] = {}
    for name, (load, factor, decimals) in _DATA.items():
        X, y = load(return_X_y=True)
        orders[name] = positions(factor * X, y, decimals)
        print(name, len(X), checksum(factor * X, y, decimals))
    folder = Path(__file__).parents[1] / "papers" / "data"
    np.savez_compressed(folder / "row_orders.npz", **orders)


if __name__ == "__main__":
    main()
