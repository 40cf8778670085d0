"""Artificial data with a known density: Gaussian clusters, an annulus, bit strings.

As in :mod:`mercer.datasets.generators`, every generator returns ``(X, y)``: points, and the number
of the part that each came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.datasets.generators import (
    FloatArray,
    IntArray,
    check_count,
    check_noise,
    check_radius,
    part_numbers,
)

__all__ = ["make_annulus", "make_bits", "make_clusters", "make_two_gaussians"]


def make_clusters(
    counts: Sequence[int] = (100, 100, 100),
    *,
    centers: Any = ((0.0, 0.7), (0.7, -0.7), (-0.7, -0.7)),
    spread: float = 0.1,
    noise: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> tuple[FloatArray, IntArray]:
    r"""Round Gaussian clusters, with or without more noise on top.

    A point of cluster c is :math:`x = m_c + s\,\varepsilon + t\,\eta` with
    :math:`\varepsilon, \eta \sim N(0, I)`. The noise is drawn after all clusters, so the same seed
    gives the same points with and without it.

    Parameters
    ----------
    counts : sequence of int
        Points of each cluster, at least 1.
    centers : array-like of shape (len(counts), d)
        Centres m.
    spread : float
        Standard deviation s of each coordinate within a cluster.
    noise : float
        Standard deviation t of the noise added to every point.
    random_state : int, Generator or None
        What :func:`numpy.random.default_rng` takes.

    Returns
    -------
    X : ndarray of shape (sum(counts), d)
        Points, cluster after cluster.
    y : ndarray of shape (sum(counts),)
        Index of each point's cluster.

    Notes
    -----
    The defaults follow the first example of [1]_. Its text calls 0.1 a variance, which would be
    ``spread=0.1**0.5``; but with a Gaussian kernel of variance 0.1 exactly three eigenvectors pass
    the criterion of Kronmal and Tarter, as the paper reports, only if 0.1 is the standard
    deviation. Its noisy clusters are ``noise=0.38`` in the same reading.

    References
    ----------
    .. [1] M. Girolami, "Orthogonal series density estimation and the kernel eigenvalue problem",
       Neural Computation 14(3):669-688, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_clusters
    >>> X, y = make_clusters(random_state=0)
    >>> np.bincount(y).tolist()
    [100, 100, 100]
    >>> X[y == 1].mean(axis=0).round(1).tolist()
    [0.7, -0.7]
    """
    centers = np.asarray(centers, dtype=np.float64)
    if np.ndim(counts) != 1 or centers.ndim != 2 or not 0 < len(counts) == len(centers):
        raise ValueError(
            f"counts={counts!r} and centers of shape {centers.shape} do not belong together; pass "
            "one count and one row of coordinates per cluster."
        )
    for i, count in enumerate(counts):
        check_count(f"counts[{i}]", count)
    check_noise("spread", spread)
    check_noise("noise", noise)
    rng = np.random.default_rng(random_state)
    y = part_numbers(counts)
    X = centers[y] + spread * rng.standard_normal((len(y), centers.shape[1]))
    return X + noise * rng.standard_normal(X.shape), y


def make_two_gaussians(
    counts: Sequence[int] = (100, 100), *, random_state: int | np.random.Generator | None = None
) -> tuple[FloatArray, IntArray]:
    r"""Two elongated Gaussians at right angles, the example of Paiva, Xu and Príncipe.

    :math:`N((-1, -1), \mathrm{diag}(1, 0.1))` and :math:`N((1, 1), \mathrm{diag}(0.1, 1))`.

    Parameters
    ----------
    counts : pair of int
        Points of either, at least 1.
    random_state : int, Generator or None
        What :func:`numpy.random.default_rng` takes.

    Returns
    -------
    X : ndarray of shape (sum(counts), 2)
    y : ndarray of shape (sum(counts),)
        0 and 1.

    References
    ----------
    .. [1] A. Paiva, J.-W. Xu, J. Príncipe, "Kernel principal components are maximum entropy
       projections", ICA 2006, LNCS 3889:846-853.

    Examples
    --------
    >>> from mercer.datasets import make_two_gaussians
    >>> X, y = make_two_gaussians(random_state=0)
    >>> X.shape
    (200, 2)
    """
    if np.ndim(counts) != 1 or len(counts) != 2:
        raise ValueError(f"counts={counts!r} must be two numbers of points.")
    for i, count in enumerate(counts):
        check_count(f"counts[{i}]", count)
    rng = np.random.default_rng(random_state)
    y = part_numbers(counts)
    means = np.array([[-1.0, -1.0], [1.0, 1.0]])
    deviations = np.sqrt([[1.0, 0.1], [0.1, 1.0]])
    return means[y] + deviations[y] * rng.standard_normal((len(y), 2)), y


def make_annulus(
    n_samples: int = 1000,
    *,
    inner: float = 3.0,
    outer: float = 5.0,
    random_state: int | np.random.Generator | None = None,
) -> tuple[FloatArray, IntArray]:
    r"""Points spread evenly over an annulus, :math:`r_i \le \|x\| \le r_o`.

    Parameters
    ----------
    n_samples : int
        At least 1.
    inner, outer : float
        Radii; the defaults are those of Girolami's last example (9 ≤ x² + y² ≤ 25).
    random_state : int, Generator or None
        What :func:`numpy.random.default_rng` takes.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        0 throughout: there is one part.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_annulus
    >>> radii = np.hypot(*make_annulus(random_state=0)[0].T)
    >>> bool(radii.min() >= 3 and radii.max() <= 5)
    True
    """
    check_count("n_samples", n_samples)
    check_noise("inner", inner)
    check_radius("outer", outer)
    if inner >= outer:
        raise ValueError(f"inner={inner!r} must be less than outer={outer!r}.")
    rng = np.random.default_rng(random_state)
    radii = np.sqrt(rng.uniform(inner**2, outer**2, n_samples))
    angles = rng.uniform(0, 2 * np.pi, n_samples)
    X = radii[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    return X, part_numbers((n_samples,))


def make_bits(
    n_samples: int = 30,
    *,
    n_bits: int = 7,
    probabilities: Any = (0.2, 0.8),
    random_state: int | np.random.Generator | None = None,
) -> tuple[FloatArray, IntArray]:
    """Bit strings from an equal mixture of products of Bernoulli laws.

    Parameters
    ----------
    n_samples : int
        At least 1.
    n_bits : int
        Length of a string, at least 1.
    probabilities : array-like of shape (parts,) or (parts, n_bits)
        Of a one, in each part of the mixture.
    random_state : int, Generator or None
        What :func:`numpy.random.default_rng` takes.

    Returns
    -------
    X : ndarray of shape (n_samples, n_bits)
        0 and 1.
    y : ndarray of shape (n_samples,)
        The part that each string came from.

    Notes
    -----
    Macready (2003) draws 30 strings of 7 bits from two such laws, with the probabilities of its
    footnote 6; ``./run reproduce macready-2003`` uses those.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_bits
    >>> X, y = make_bits(random_state=0)
    >>> X.shape, np.unique(X).tolist()
    ((30, 7), [0.0, 1.0])
    """
    check_count("n_samples", n_samples)
    check_count("n_bits", n_bits)
    laws = np.asarray(probabilities, dtype=np.float64)
    laws = np.repeat(laws[:, None], n_bits, axis=1) if laws.ndim == 1 else laws
    if laws.ndim != 2 or laws.shape[1] != n_bits or not ((laws >= 0) & (laws <= 1)).all():
        raise ValueError(
            f"probabilities={probabilities!r} must lie in [0, 1]: one number per part, or one row "
            f"of {n_bits} per part."
        )
    rng = np.random.default_rng(random_state)
    y = rng.integers(len(laws), size=n_samples)
    return (rng.random((n_samples, n_bits)) < laws[y]).astype(np.float64), y
