"""Effects of the degree of a polynomial kernel, and of centering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from mercer.bandwidth import fit_kernel
from mercer.data.points import validate_points
from mercer.data.subsampling import evenly_spaced_rows
from mercer.eigen.dense import is_sign_free
from mercer.information import information_potential
from mercer.kernels import Gaussian, Kernel, Polynomial, as_kernel
from mercer.population.comparison import has_moments, operator_of
from mercer.population.measure import spell
from mercer.population.measures import Empirical
from mercer.population.operator import PolynomialOperator, PopulationOperator
from mercer.utils.formatting import Result
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = ["CenteringEffect", "DegreeEffect", "DegreeRow", "centering_effect", "degree_effect"]

_GOOD_SEPARATION = 0.5
_MAX_GRAM_ROWS = 2000


@dataclass(frozen=True)
class DegreeRow:
    """The effect of one degree of the polynomial kernel."""

    degree: int
    explained: float  # fraction of the trace in the first two components
    # fraction of the variance of the first component that is due to the 1 % of the points that
    # are farthest out: from the origin or, with ``center=True``, from the mean
    extreme_fraction: float
    # ``√((E φ⁴ - 1)/n)``, the relative standard error of the first eigenvalue
    relative_error: float
    # squared canonical correlation between the ranks of the first two components and the
    # classes. Ranks are used because powers stretch a component but preserve its order
    separation: float | None


@dataclass(frozen=True)
class DegreeEffect(Result):
    """The effect of the degree of a polynomial kernel on kernel PCA of a sample.

    Attributes
    ----------
    rows : tuple of DegreeRow
    mirror_overlap : float
        Similarity of the sample and its mirror image -X, from 0 to 1 (the cosine between their
        mean embeddings). Even degrees do not distinguish x from -x: if this is high and classes are
        on opposite sides of the origin, even degrees map them onto each other.
    conclusion : str

    Examples
    --------
    >>> from mercer.population import Normal, degree_effect
    >>> effect = degree_effect(Normal([2, 1]).sample(300, random_state=0), degrees=(1, 2))
    >>> print(effect.conclusion)
    The first component is not dominated by a few points at any of these degrees.
    """

    rows: tuple[DegreeRow, ...]
    mirror_overlap: float
    conclusion: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, for tables and files."""
        return asdict(self)

    def __str__(self) -> str:
        has_classes = self.rows[0].separation is not None
        lines = [
            "degree  explained  extreme 1 %  rel. error" + ("  separation" if has_classes else "")
        ]
        for row in self.rows:
            line = (
                f"{row.degree:6d}  {row.explained:9.3f}  {row.extreme_fraction:11.3f}"
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
    """Return the effect of the degree of a polynomial kernel on the first two components.

    Odd degrees give odd functions and even degrees give even functions, so the positions of groups
    relative to the origin determine which degrees separate them. With increasing degree, a few
    extreme points dominate the components (Liang 2014, 3.2.3 and 5.4). Moments are computed from
    all rows; if there are more monomials than rows, the Gram matrix of at most 2000 rows is used,
    evenly spaced in lexicographic order.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,) or None
        Classes, to measure their separation.
    degrees : sequence of int
    constant : float
    center : bool
        As in kernel PCA; the thesis does not center here.

    Returns
    -------
    DegreeEffect
        Its ``str`` is a table with a conclusion.

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
        raise ValueError("degrees is empty; pass at least one degree, such as (1, 2, 3).")
    if constant == 0:
        # eigenfunctions do not depend on the scale
        largest = float(np.abs(X).max())
        X = X / (largest if largest > 0 else 1.0)  # squares must not overflow
        X = X / max(float(np.sqrt((X * X).sum(axis=1).mean())), 1e-300)
    if not all(has_moments(Polynomial(degree, constant), Empirical(X)) for degree in degrees):
        rows_used = evenly_spaced_rows(X, _MAX_GRAM_ROWS)
        X, classes = X[rows_used], None if classes is None else classes[rows_used]
    rows = tuple(_degree_row(X, classes, degree, constant, center) for degree in degrees)
    overlap = _mirror_overlap(X)
    return DegreeEffect(rows, overlap, _degree_conclusion(rows, overlap, constant))


def _degree_row(
    X: Array, classes: Array | None, degree: int, constant: float, center: bool
) -> DegreeRow:
    kernel = Polynomial(degree, constant)
    operator = operator_of(kernel, Empirical(X), center=center, n_components=2)
    functions = operator.eigenfunctions(X)
    squares = functions[:, 0] ** 2
    n = len(X)
    distances = ((X - center * X.mean(axis=0)) ** 2).sum(axis=1)
    extreme = np.argsort(-distances, kind="stable")[: int(np.ceil(0.01 * n))]
    fourth = float((squares**2).mean())
    return DegreeRow(
        int(degree),
        float(operator.eigenvalues[:2].sum() / operator.trace),
        float(squares[extreme].sum() / squares.sum()),
        float(np.sqrt(max(fourth - 1, 0.0) / n)),
        None if classes is None else _separation(functions[:, :2], classes),
    )


def _checked_classes(y: Any, n: int) -> Array:
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"y has shape {labels.shape}; expected ({n},), one class per row of X.")
    names, classes = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        raise ValueError(
            f"y has the single class {names[0]!r}; pass at least 2 classes, or y=None."
        )
    return classes


def _separation(scores: Array, classes: Array) -> float:
    """Return the largest squared canonical correlation of ranked scores with the classes."""
    ranks = rankdata(scores, axis=0)
    centered = ranks - ranks.mean(axis=0)
    total = centered.T @ centered
    means = np.array([centered[classes == c].mean(axis=0) for c in range(classes.max() + 1)])
    between = means.T @ (np.bincount(classes)[:, None] * means)
    ratio = np.linalg.lstsq(total, between, rcond=1e-12)[0]
    return float(np.clip(np.linalg.eigvals(ratio).real.max(), 0.0, 1.0))


def _mirror_overlap(X: Array) -> float:
    """Return the cosine between the mean embeddings of X and -X."""
    rows = X[evenly_spaced_rows(X, _MAX_GRAM_ROWS)]
    if (rows == rows[0]).all():
        return 1.0 if not rows[0].any() else 0.0
    kernel = fit_kernel(Gaussian("auto"), rows)
    return min(1.0, float(kernel(rows, -rows).mean() / kernel(rows).mean()))


def _degree_conclusion(rows: tuple[DegreeRow, ...], overlap: float, constant: float) -> str:
    sentences = []
    if rows[0].separation is not None:
        sentences += _separation_conclusion(rows)
    elif constant == 0 and overlap > _GOOD_SEPARATION:
        sentences.append(
            f"The sample is similar to its mirror image ({overlap:.2f} of 1): even degrees map "
            "opposite sides onto each other, odd degrees separate them."
        )
    dominated = [row.degree for row in rows if row.extreme_fraction > 0.5]
    if dominated:
        sentences.append(
            f"From degree {min(dominated)} on, 1 % of the points make up more than half of the "
            "first component, which then describes outliers. Use a lower degree or "
            "bounding_weights."
        )
    else:
        sentences.append(
            "The first component is not dominated by a few points at any of these degrees."
        )
    return " ".join(sentences)


def _separation_conclusion(rows: tuple[DegreeRow, ...]) -> list[str]:
    reached = max(row.separation or 0.0 for row in rows)
    if reached < _GOOD_SEPARATION:
        return ["No degree separates the classes well."]
    # among similar degrees the lowest is the least sensitive to outliers
    best = next(row for row in rows if (row.separation or 0.0) > reached - 0.02)
    return [
        f"Degree {best.degree} separates the classes ({best.separation:.2f} of 1), and no other "
        "does much better.",
        *_parity_conclusion(rows),
    ]


def _parity_conclusion(rows: tuple[DegreeRow, ...]) -> list[str]:
    odd, even = (
        [row.separation or 0.0 for row in rows if row.degree % 2 == rest] for rest in (1, 0)
    )
    if not odd or not even:
        return []
    if max(odd) > _GOOD_SEPARATION > max(even):
        return ["Only odd degrees separate them: the classes differ in direction."]
    if max(even) > _GOOD_SEPARATION > max(odd):
        return ["Only even degrees separate them: the classes differ in distance from the origin."]
    return []


# --- centering ------------------------------------------------------------------------------------


_NEARLY_ONE = 0.95  # correlations from here on count as equality


@dataclass(frozen=True)
class CenteringEffect(Result):
    """The effect of centering in feature space on the leading components of a sample.

    Attributes
    ----------
    eigenvalues, centered_eigenvalues : arrays of shape (k,)
        ``λ_i / n`` before and after.
    removed : float
        ``V / mean k(x, x)``: the fraction of the trace that centering removes.
    constancy : float
        ``E φ_1``, from 0 to 1: 1 if the first component is a constant, which centering removes.
    matches : array of shape (k, k + 1)
        ``|correlation|`` of centered components (rows) with uncentered ones (columns).
    sign_free : int
        Number of uncentered components that do not change sign, each of which indicates one group
        of points (Shi, Belkin and Yu 2009). A centered component always changes sign.
    leading : pair of str, or None
        For a polynomial kernel: the monomial with the largest coefficient in the first
        eigenfunction, before and after.
    conclusion : str

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.population import Normal, centering_effect
    >>> effect = centering_effect(Normal(2, 1).sample(300, random_state=0), Gaussian(1.5))
    >>> print(effect.conclusion)
    Centering removes 72 % of the trace. The first uncentered component is nearly constant, and ...
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
        """Return plain numbers, for tables and files."""
        plain = asdict(self)
        return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in plain.items()}

    def __str__(self) -> str:
        lines = ["component  uncentered   centered  most similar uncentered"]
        for i, (before, after) in enumerate(
            zip(self.eigenvalues, self.centered_eigenvalues, strict=False)
        ):
            best = int(self.matches[i].argmax())
            match = f"{best + 1} ({self.matches[i, best]:.2f})"
            lines.append(f"{i + 1:9d}  {before:10.5g}  {after:9.5g}  {match}")
        return "\n".join([*lines, self.conclusion])


def centering_effect(
    X: Any, kernel: str | Kernel = "gaussian", *, n_components: int = 5
) -> CenteringEffect:
    """Return the effect of centering in feature space on the components (Liang 2014, ch. 4).

    At most 2000 rows are used, evenly spaced in lexicographic order.

    Parameters
    ----------
    X : array-like of shape (n, d)
    kernel : str or Kernel
    n_components : int
        Number of leading components; fewer if the kernel has a lower rank.

    Returns
    -------
    CenteringEffect
        Its ``str`` is a table with a conclusion.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.population import Normal, centering_effect
    >>> effect = centering_effect(Normal(2, 1).sample(300, random_state=0), Gaussian(1.5))
    >>> round(effect.constancy, 2), int(effect.matches[0].argmax()) + 1
    (0.98, 2)
    """
    X = validate_points(X, "vectors").data.astype(np.float64)
    X = X[evenly_spaced_rows(X, _MAX_GRAM_ROWS)]
    kernel = fit_kernel(as_kernel(kernel), X)
    count = check_integer(n_components, "n_components")
    measure = Empirical(X)
    # one more component, because a centered component often matches the next uncentered one
    plain = operator_of(kernel, measure, center=False, n_components=count + 1)
    centered = operator_of(kernel, measure, center=True, n_components=count)
    before, after = plain.eigenfunctions(X), centered.eigenfunctions(X)
    spread = before - plain.means
    deviations = np.sqrt((spread**2).mean(axis=0))
    correlations = after.T @ spread / len(X) / np.where(deviations > 0, deviations, 1.0)
    matches = np.minimum(np.abs(correlations), 1.0)
    removed = information_potential(X, kernel) / float(kernel.diagonal(X).mean())
    findings = {
        "removed": removed,
        "constancy": float(plain.means[0]),
        "matches": matches,
        "sign_free": int(is_sign_free(before[:, :count]).sum()),
        "leading": _leading_monomials(plain, centered),
    }
    return CenteringEffect(
        plain.eigenvalues[:count],
        centered.eigenvalues,
        **findings,
        conclusion=_centering_conclusion(**findings),
    )


def _leading_monomials(*operators: PopulationOperator) -> tuple[str, ...] | None:
    """Return the monomial with the largest entry in each operator's first eigenvector."""
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
    sentences = [f"Centering removes {100 * removed:.0f} % of the trace."]
    if constancy > _NEARLY_ONE:
        sentences.append(
            "The first uncentered component is nearly constant, and centering removes it."
        )
    next_ones = np.diag(matches, 1)[:3]
    if len(next_ones) and next_ones.min() > _NEARLY_ONE:
        sentences.append(
            "Every other component moves up by one, with little change except for its mean."
        )
    elif np.diag(matches)[:3].min() > _NEARLY_ONE:
        sentences.append("The leading components change little, except for their means.")
    else:
        sentences.append("Centering mixes the leading components.")
    if sign_free > 1:
        sentences.append(
            f"{sign_free} uncentered components do not change sign, and each indicates a group; "
            "all centered ones change sign. Do not center for clustering."
        )
    if leading is not None and leading[0] != leading[1]:
        sentences.append(f"The leading monomial changes from {leading[0]} to {leading[1]}.")
    return " ".join(sentences)
