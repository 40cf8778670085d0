"""Plots of the effects of degree and centering on kernel PCA (see :mod:`mercer.population`)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.plots.style import PALETTE, new_axes, new_panels
from mercer.population import CenteringEffect, DegreeEffect

__all__ = ["EffectDisplay"]

_MEASURES = {
    "separation": "class separation",
    "explained": "explained by 2 components",
    "extreme_fraction": "due to extreme 1 %",
    "relative_error": "relative error of λ₁",
}


class EffectDisplay:
    """Plot of a :func:`~mercer.population.degree_effect` or ``centering_effect``.

    Parameters
    ----------
    effect : DegreeEffect or CenteringEffect

    Attributes
    ----------
    axes_ : dict of matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.plots import EffectDisplay
    >>> from mercer.population import degree_effect
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> display = EffectDisplay.from_effect(degree_effect(X, degrees=(1, 2, 3)))
    >>> sorted(display.axes_)
    ['explained', 'extreme_fraction', 'relative_error']
    """

    def __init__(self, effect: DegreeEffect | CenteringEffect) -> None:
        self.effect = effect

    @classmethod
    def from_effect(cls, effect: DegreeEffect | CenteringEffect) -> Self:
        """Plot an effect in a new figure."""
        return cls(effect).plot()

    def plot(self) -> Self:
        """Draw the effect in a new figure."""
        if isinstance(self.effect, DegreeEffect):
            self.axes_ = self._degrees(self.effect)
        elif isinstance(self.effect, CenteringEffect):
            self.axes_ = self._centering(self.effect)
        else:
            raise TypeError(
                f"EffectDisplay plots results of degree_effect and centering_effect, not "
                f"{type(self.effect).__name__}."
            )
        self.figure_ = next(iter(self.axes_.values())).figure
        return self

    def _degrees(self, effect: DegreeEffect) -> dict[str, Any]:
        degrees = [row.degree for row in effect.rows]
        names = [n for n in _MEASURES if getattr(effect.rows[0], n) is not None]
        axes = dict(zip(names, new_axes(len(names), (5.0, 1.9 * len(names))), strict=True))
        for (name, ax), color in zip(axes.items(), PALETTE, strict=False):
            ax.plot(degrees, [getattr(row, name) for row in effect.rows], "o-", color=color)
            ax.set_ylabel(_MEASURES[name], fontsize="small")
            ax.set_ylim(bottom=0)
        ax.set_xlabel("degree of the polynomial kernel")
        ax.set_xticks(degrees)
        return axes

    def _centering(self, effect: CenteringEffect) -> dict[str, Any]:
        values, matches = new_panels(2, 3.6)
        for offset, label, found in (
            (-0.2, "uncentered", effect.eigenvalues),
            (0.2, "centered", effect.centered_eigenvalues),
        ):
            positions = np.arange(1, len(found) + 1) + offset
            values.bar(positions, found, 0.4, label=label, color=PALETTE[int(offset > 0)])
        values.set_xlabel("component")
        values.set_ylabel("eigenvalue λ / n")
        values.legend(frameon=False)
        rows, columns = effect.matches.shape
        image = matches.imshow(effect.matches, vmin=0, vmax=1, cmap="cividis")
        matches.set_xticks(range(columns), [str(i + 1) for i in range(columns)])
        matches.set_yticks(range(rows), [str(i + 1) for i in range(rows)])
        matches.set_xlabel("uncentered component")
        matches.set_ylabel("centered component")
        matches.figure.colorbar(image, ax=matches, label="|correlation|", shrink=0.8)
        return {"eigenvalues": values, "matches": matches}
