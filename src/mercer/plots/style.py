"""What all pictures share: colours that survive colour blindness, and marker shapes beside them.

Each colour comes in two shades, for light and for dark paper, each with a contrast of at least 3:1
against it (WCAG 2, graphics). The first six hues follow Okabe and Ito (2008), darkened where white
paper asks for it. Beyond three or four classes no palette is safe alone, so classes differ in
their marker's shape too.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "DARK_PALETTE",
    "KEPT",
    "LEFT_OUT",
    "MARKERS",
    "ORDERED",
    "PALETTE",
    "new_axes",
    "new_panels",
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
    "#6b7178",  # grey
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

KEPT = PALETTE[1]
LEFT_OUT = PALETTE[-1]

#: Ends and middle of a scale for ordered labels: of middling lightness, so legible on any paper.
ORDERED = (PALETTE[0], "#8a8f96", PALETTE[1])


def new_axes(rows: int, size: tuple[float, float]) -> Any:
    """Return an array of ``rows`` axes, one above the other with a common x axis."""
    _, axes = _pyplot().subplots(
        rows, 1, sharex=True, squeeze=False, figsize=size, layout="constrained"
    )
    return axes[:, 0]


def new_panels(count: int, side: float, columns: int | None = None) -> Any:
    """Return an array of at least ``count`` square axes, in rows of up to four unless told."""
    columns = min(count, 4 if count > 9 else 3) if columns is None else columns
    rows = -(-count // columns)
    size = (side * columns, side * rows)
    _, axes = _pyplot().subplots(rows, columns, squeeze=False, figsize=size, layout="constrained")
    return axes.ravel()


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Drawing needs matplotlib, which is not installed: pip install mercer[plot]",
            name=error.name,
        ) from error
    return plt
