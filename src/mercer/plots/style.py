"""Colors and marker shapes of all figures, suitable for color-blind readers.

Each color has two shades, for light and for dark backgrounds, with a contrast of at least 3:1
(WCAG 2, graphics). The first six hues follow Okabe and Ito (2008), darkened where a white
background requires it. With more than four classes colors alone are hard to distinguish, so classes
also differ in the shape of their marker.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "DARK_PALETTE",
    "HIGHLIGHT",
    "MARKERS",
    "MUTED",
    "PALETTE",
    "new_axes",
    "new_panels",
    "ordered_colormap",
]

PALETTE = (
    "#0072b2",  # blue
    "#d55e00",  # vermilion
    "#008f68",  # bluish green
    "#b4508c",  # reddish purple
    "#a07200",  # amber
    "#3390c0",  # sky blue
    "#6a3d9a",  # violet
    "#a3242b",  # dark red
    "#4d7c1f",  # leaf green
    "#6b7178",  # gray
)
DARK_PALETTE = (
    "#5ab0e6",
    "#ff8a3d",
    "#35cfa2",
    "#e795c6",
    "#e9bd45",
    "#a3daf7",
    "#b692e8",
    "#ff9499",
    "#a9d977",
    "#aab2bb",
)
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "p")

#: For selected items.
HIGHLIGHT = PALETTE[1]
#: For other items.
MUTED = PALETTE[-1]


def new_axes(rows: int, size: tuple[float, float], *, sharex: bool = True) -> Any:
    """Return an array of ``rows`` axes, stacked vertically, by default with a common x axis."""
    _, axes = _pyplot().subplots(
        rows, 1, sharex=sharex, squeeze=False, figsize=size, layout="constrained"
    )
    return axes[:, 0]


def new_panels(count: int, side: float, columns: int | None = None) -> Any:
    """Return an array of at least ``count`` square axes, with up to four per row by default."""
    columns = min(count, 4 if count > 9 else 3) if columns is None else columns
    rows = -(-count // columns)
    size = (side * columns, side * rows)
    _, axes = _pyplot().subplots(rows, columns, squeeze=False, figsize=size, layout="constrained")
    return axes.ravel()


def ordered_colormap() -> Any:
    """Return a color map for ordered values; legible on light and dark backgrounds."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("mercer", [PALETTE[0], "#8a8f96", PALETTE[1]])


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Plots need matplotlib, which is not installed: pip install mercer[plot]",
            name=error.name,
        ) from error
    return plt
