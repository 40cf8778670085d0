"""The effect of centering in feature space on kernel PCA (Liang 2014, chapter 4)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mercer.bandwidth import fit_kernel
from mercer.data.points import validate_points
from mercer.data.subsampling import evenly_spaced_rows
from mercer.information import information_potential
from mercer.kernels import Kernel, as_kernel
from mercer.population.measures import Empirical
from mercer.population.monomials import spell
from mercer.population.operator import PopulationOperator
from mercer.population.polynomial import PolynomialOperator
from mercer.population.routes import operator_of
from mercer.utils.eigenpairs import is_sign_free
from mercer.utils.types import Array
from mercer.utils.validation import check_integer

__all__ = ["CenteringEffect", "centering_effect"]

_NEARLY_ONE = 0.95  # correlations from here on count as equality
_N_COMPARED = 3  # leading components that the conclusion compares
_MAX_GRAM_ROWS = 2000


@dataclass(frozen=True)
class CenteringEffect:
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
    next_ones = np.diag(matches, 1)[:_N_COMPARED]
    if len(next_ones) and next_ones.min() > _NEARLY_ONE:
        sentences.append(
            "Every other component moves up by one, with little change except for its mean."
        )
    elif np.diag(matches)[:_N_COMPARED].min() > _NEARLY_ONE:
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
