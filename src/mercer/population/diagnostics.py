"""The thesis' guidance as something to run on data: degree, centring, outliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from mercer.bandwidth import resolve
from mercer.data import validate_points
from mercer.information import information_potential
from mercer.kernels import Kernel, Polynomial, as_kernel
from mercer.maths.eigen import is_sign_free
from mercer.maths.types import Array
from mercer.population.measures import Empirical
from mercer.population.monomials import spell
from mercer.population.operator import PopulationOperator, checked_count
from mercer.population.polynomial import PolynomialOperator
from mercer.population.routes import has_moments, operator_of

__all__ = [
    "CenteringEffect",
    "DegreeEffect",
    "DegreeRow",
    "bounding_weights",
    "centering_effect",
    "degree_effect",
]

_EXTREME = 0.01  # the share of points that counts as extreme
_DOMINATED = 0.5  # a component is theirs if they make up this share of it
_SEPARATES = 0.5
_AS_GOOD = 0.02
_NEARLY = 0.95
_LOOKED_AT = 3
_MOST_ROWS = 2000  # of a Gram matrix


def thinned(rows: Array) -> Array:
    """At most 2000 rows, evenly spaced: enough to see an effect."""
    return rows[:: -(-len(rows) // _MOST_ROWS)]


# --- degree --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DegreeRow:
    """What one degree of the polynomial kernel does.

    Attributes
    ----------
    degree : int
    explained : float
        Share of the trace in the first two components.
    extreme_share : float
        Share of the first component's variance that the 1 % of points farthest out carry.
    relative_error : float
        ``√((E φ⁴ - 1)/n)``: how uncertain the first eigenvalue is, as a share of itself.
    separation : float or None
        Squared canonical correlation between the ranks of the first two components and the
        classes; ranks, because a power may squeeze a component without mixing it.
    """

    degree: int
    explained: float
    extreme_share: float
    relative_error: float
    separation: float | None


@dataclass(frozen=True)
class DegreeEffect:
    """What the degree of a polynomial kernel does to kernel PCA of a sample.

    Attributes
    ----------
    rows : tuple of DegreeRow
    mirror_overlap : float
        How alike the sample and its mirror image -X are, from 0 to 1 (the cosine between their
        mean embeddings). Even degrees cannot tell x from -x: where this is high and classes sit on
        opposite sides of the origin, they fold them onto each other.
    conclusion : str

    Examples
    --------
    >>> from mercer.population import Normal, degree_effect
    >>> effect = degree_effect(Normal([2, 1]).sample(300, random_state=0), degrees=(1, 2))
    >>> print(effect.conclusion)
    At none of these degrees do a few points own the first component.
    """

    rows: tuple[DegreeRow, ...]
    mirror_overlap: float
    conclusion: str

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for tables and files."""
        return asdict(self)

    def __str__(self) -> str:
        has_classes = self.rows[0].separation is not None
        lines = [
            "degree  explained  extreme 1 %  rel. error" + ("  separation" if has_classes else "")
        ]
        for row in self.rows:
            line = (
                f"{row.degree:6d}  {row.explained:9.3f}  {row.extreme_share:11.3f}"
                f"  {row.relative_error:10.3f}"
            )
            lines.append(line + (f"  {row.separation:10.3f}" if has_classes else ""))
        return "\n".join([*lines, self.conclusion])


def degree_effect(
    X: Any,
    y: Any = None,
    degrees: Sequence[int] = (1, 2, 3, 4, 5, 6),
    *,
    constant: float = 0.0,
    center: bool = False,
) -> DegreeEffect:
    """Show what the degree of a polynomial kernel does to the first two components.

    Odd degrees give odd functions and even degrees even ones, so which of them separates groups
    depends on where the groups lie about the origin; and the higher the degree, the more a few
    extreme points own the components (Liang 2014, 3.2.3 and 5.4). Moments are taken over all rows;
    where there are more monomials than rows, the Gram matrix of at most 2000 of them serves.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,) or None
        Classes, to measure how well they are separated.
    degrees : sequence of int
    constant : float
    center : bool
        As in kernel PCA; the thesis does not centre here.

    Returns
    -------
    DegreeEffect
        Print it for the table and its conclusion.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.population import Mixture, Normal, degree_effect
    >>> sides = [Normal([-3, 1]), Normal([2, -1])]
    >>> X = np.vstack([side.sample(200, random_state=0) for side in sides])
    >>> effect = degree_effect(X, np.repeat([0, 1], 200), degrees=(1, 2, 3))
    >>> [row.separation > 0.5 for row in effect.rows]
    [True, False, True]
    """
    X = validate_points(X, "vectors").data.astype(np.float64)
    classes = None if y is None else _checked_classes(y, len(X))
    if len(degrees) == 0:
        raise ValueError("degrees is empty; give at least one, such as (1, 2, 3).")
    if constant == 0:
        X = X / max(float(np.sqrt((X * X).sum(axis=1).mean())), 1e-300)  # only the shape matters
    if not all(has_moments(Polynomial(degree, constant), Empirical(X)) for degree in degrees):
        X, classes = thinned(X), None if classes is None else thinned(classes)
    rows = tuple(_degree_row(X, classes, degree, constant, center) for degree in degrees)
    overlap = _mirror_overlap(X)
    return DegreeEffect(rows, overlap, _degree_conclusion(rows, overlap, constant))


def _degree_row(
    X: Array, classes: Array | None, degree: int, constant: float, center: bool
) -> DegreeRow:
    kernel = Polynomial(degree, constant)
    operator = operator_of(kernel, Empirical(X), center=center, n_components=2)
    functions = operator.eigenfunctions(X)
    squares = np.sort(functions[:, 0] ** 2)[::-1]
    n = len(X)
    extreme = int(np.ceil(_EXTREME * n))
    fourth = float((squares**2).mean())
    return DegreeRow(
        int(degree),
        float(operator.eigenvalues[:2].sum() / operator.trace),
        float(squares[:extreme].sum() / squares.sum()),
        float(np.sqrt(max(fourth - 1, 0.0) / n)),
        None if classes is None else _separation(functions[:, :2], classes),
    )


def _checked_classes(y: Any, n: int) -> Array:
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"y has shape {labels.shape}; expected ({n},), one class per row of X.")
    names, classes = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        raise ValueError(f"y has the single class {names[0]!r}; at least 2 are needed, or y=None.")
    return classes


def _separation(scores: Array, classes: Array) -> float:
    """Largest squared canonical correlation between ranked scores and class membership."""
    ranks = rankdata(scores, axis=0)
    centred = ranks - ranks.mean(axis=0)
    total = centred.T @ centred
    means = np.array([centred[classes == c].mean(axis=0) for c in range(classes.max() + 1)])
    between = means.T @ (np.bincount(classes)[:, None] * means)
    ratio = np.linalg.lstsq(total, between, rcond=1e-12)[0]
    return float(np.clip(np.linalg.eigvals(ratio).real.max(), 0.0, 1.0))


def _mirror_overlap(X: Array) -> float:
    """Cosine between the mean embeddings of X and -X."""
    rows = thinned(X)
    kernel = resolve(as_kernel("gaussian"), rows) if (rows != rows[0]).any() else None
    if kernel is None:
        return 1.0 if not rows[0].any() else 0.0
    return float(kernel(rows, -rows).mean() / kernel(rows).mean())


def _degree_conclusion(rows: tuple[DegreeRow, ...], overlap: float, constant: float) -> str:
    said = []
    if rows[0].separation is not None:
        reached = max(row.separation or 0.0 for row in rows)
        # of degrees that do as well, the lowest: it is the least at the mercy of outliers
        best = next(row for row in rows if (row.separation or 0.0) > reached - _AS_GOOD)
        if reached < _SEPARATES:
            said.append("No degree separates the classes well.")
        else:
            said.append(
                f"Degree {best.degree} separates the classes ({best.separation:.2f} of 1), and no "
                "other does much better."
            )
        said += _parity(rows)
    elif constant == 0 and overlap > _SEPARATES:
        said.append(
            f"The sample resembles its mirror image ({overlap:.2f} of 1): even degrees fold "
            "opposite sides onto each other, odd degrees keep them apart."
        )
    owned = [row.degree for row in rows if row.extreme_share > _DOMINATED]
    if owned:
        said.append(
            f"From degree {min(owned)} on, 1 % of the points make up more than half of the first "
            "component: it describes outliers. Prefer a lower degree, or bounding_weights."
        )
    else:
        said.append("At none of these degrees do a few points own the first component.")
    return " ".join(said)


def _parity(rows: tuple[DegreeRow, ...]) -> list[str]:
    odd = [row.separation or 0.0 for row in rows if row.degree % 2]
    even = [row.separation or 0.0 for row in rows if row.degree % 2 == 0]
    if not odd or not even:
        return []
    if max(odd) > _SEPARATES > max(even):
        return ["Odd degrees do, even ones fold the classes together: they differ in direction."]
    if max(even) > _SEPARATES > max(odd):
        return ["Even degrees do, odd ones do not: the classes differ in distance from the origin."]
    return []


# --- centring ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CenteringEffect:
    """What centring in feature space does to the leading components of a sample.

    Attributes
    ----------
    eigenvalues, centered_eigenvalues : arrays of shape (k,)
        ``λ_i / n`` before and after.
    removed : float
        ``V / mean k(x, x)``: the share of the trace that centring removes.
    constancy : float
        ``E φ_1``, from 0 to 1: 1 if the first component is a constant, which centring deletes.
    matches : array of shape (k, k + 1)
        ``|correlation|`` of centred components (rows) with uncentred ones (columns).
    sign_free : int
        How many of the uncentred components do not change sign, each pointing at one group of
        points (Shi, Belkin and Yu 2009). A centred component always changes sign.
    leading : pair of str, or None
        For a polynomial kernel: the monomial with most weight in the first eigenfunction, before
        and after.
    conclusion : str

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.population import Normal, centering_effect
    >>> effect = centering_effect(Normal(2, 1).sample(300, random_state=0), Gaussian(1.5))
    >>> print(effect.conclusion)
    Centring removes 72 % of the trace. The first uncentred component is nearly constant, and ...
    """

    eigenvalues: Array
    centered_eigenvalues: Array
    removed: float
    constancy: float
    matches: Array
    sign_free: int
    leading: tuple[str, ...] | None
    conclusion: str

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for tables and files."""
        plain = asdict(self)
        return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in plain.items()}

    def __str__(self) -> str:
        lines = ["component  uncentred    centred  resembles uncentred"]
        for i, (before, after) in enumerate(
            zip(self.eigenvalues, self.centered_eigenvalues, strict=False)
        ):
            like = int(self.matches[i].argmax())
            lines.append(
                f"{i + 1:9d}  {before:9.5g}  {after:9.5g}  {like + 1} ({self.matches[i, like]:.2f})"
            )
        return "\n".join([*lines, self.conclusion])


def centering_effect(
    X: Any, kernel: str | Kernel = "gaussian", *, n_components: int = 5
) -> CenteringEffect:
    """Show what centring in feature space does to the components of a sample (Liang 2014, ch. 4).

    At most 2000 rows, evenly spaced, are looked at.

    Parameters
    ----------
    X : array-like of shape (n, d)
    kernel : str or Kernel
    n_components : int
        How many leading components to look at; fewer come out if the kernel has a lower rank.

    Returns
    -------
    CenteringEffect
        Print it for the table and its conclusion.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.population import Normal, centering_effect
    >>> effect = centering_effect(Normal(2, 1).sample(300, random_state=0), Gaussian(1.5))
    >>> round(effect.constancy, 2), int(effect.matches[0].argmax()) + 1
    (0.98, 2)
    """
    X = thinned(validate_points(X, "vectors").data.astype(np.float64))
    kernel = resolve(as_kernel(kernel), X)
    count = checked_count(n_components)
    law = Empirical(X)
    # one more, for the last centred component to be compared with
    plain = operator_of(kernel, law, center=False, n_components=count + 1)
    centred = operator_of(kernel, law, center=True, n_components=count)
    before, after = plain.eigenfunctions(X), centred.eigenfunctions(X)
    spread = before - plain.means
    lengths = np.sqrt((spread**2).mean(axis=0))
    matches = np.abs(after.T @ spread) / len(X) / np.where(lengths > 0, lengths, 1.0)
    share = information_potential(X, kernel) / float(kernel.diagonal(X).mean())
    shown = {
        "removed": share,
        "constancy": float(plain.means[0]),
        "matches": matches,
        "sign_free": int(is_sign_free(before[:, :count]).sum()),
        "leading": _leading_monomials(plain, centred),
    }
    return CenteringEffect(
        plain.eigenvalues[:count],
        centred.eigenvalues,
        **shown,
        conclusion=_centering_conclusion(**shown),
    )


def _leading_monomials(*operators: PopulationOperator) -> tuple[str, ...] | None:
    """The monomial with the largest entry in each operator's first eigenvector."""
    names = []
    for operator in operators:
        if not isinstance(operator, PolynomialOperator):
            return None
        entries = operator.coefficients[0] / np.sqrt(operator.features.multiplicities)
        names.append(spell(operator.exponents[int(np.abs(entries).argmax())]))
    return tuple(names)


def _centering_conclusion(
    *,
    removed: float,
    constancy: float,
    matches: Array,
    sign_free: int,
    leading: tuple[str, ...] | None,
) -> str:
    said = [f"Centring removes {100 * removed:.0f} % of the trace."]
    if constancy > _NEARLY:
        said.append("The first uncentred component is nearly constant, and centring deletes it.")
    next_ones = np.diag(matches, 1)[:_LOOKED_AT]
    if len(next_ones) and next_ones.min() > _NEARLY:
        said.append("Every other component moves up by one, little changed apart from its mean.")
    elif np.diag(matches)[:_LOOKED_AT].min() > _NEARLY:
        said.append("The leading components stay what they were, apart from their means.")
    else:
        said.append("The leading components are mixed with each other.")
    if sign_free > 1:
        said.append(
            f"{sign_free} uncentred components do not change sign, each marking a group; after "
            "centring none does. For clustering, do not centre."
        )
    if leading is not None and leading[0] != leading[1]:
        said.append(f"The leading monomial changes from {leading[0]} to {leading[1]}.")
    return " ".join(said)


# --- outliers ------------------------------------------------------------------------------------


def bounding_weights(X: Any, kernel: str | Kernel, *, quantile: float = 0.75) -> Array:
    r"""Sample weights that keep points of large feature norm from owning kernel PCA.

    A point adds ``k(x, x) = ‖Φ(x)‖²`` to the trace, which for a polynomial kernel of degree d grows
    like ``‖x‖^(2d)``. The weight

    .. math:: w = \min(1,\; q / k(x, x)), \qquad q \text{ the given quantile of } k(x, x),

    caps what any point can add at what an ordinary one does. Pass the result as ``sample_weight``
    to :class:`mercer.KernelPCA`. It resists outliers as long as they are fewer than 1 - quantile of
    the points; kernels with constant k(x, x), such as the Gaussian, need no weights and get ones.

    Parameters
    ----------
    X : array-like of shape (n, d)
    kernel : str or Kernel
    quantile : float in (0, 1)

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> from mercer.kernels import Polynomial
    >>> from mercer.population import bounding_weights
    >>> bounding_weights([[1.0], [1.0], [1.0], [10.0]], Polynomial(2)).round(4).tolist()
    [1.0, 1.0, 1.0, 0.0001]
    """
    if not 0 < quantile < 1:
        raise ValueError(f"quantile={quantile!r} must be between 0 and 1; 0.75 is the default.")
    kernel = as_kernel(kernel)
    points = validate_points(X, kernel.compares)
    norms = resolve(kernel, points).diagonal(points.data)
    # an actual value, not one between two: an outlier must not pull the cap towards itself
    cap = np.quantile(norms, quantile, method="lower")
    if cap <= 0:
        raise ValueError(
            f"The {quantile} quantile of k(x, x) is {cap:.3g}; a cap must be positive. Use a "
            "kernel with k(x, x) > 0, or a higher quantile."
        )
    return np.asarray(np.minimum(1.0, cap / np.maximum(norms, cap)))
