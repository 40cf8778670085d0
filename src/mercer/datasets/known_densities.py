"""Artificial data with a known density: Gaussian clusters, an annulus, bit strings.

Every generator returns ``(X, y)``: points, and the index of the component that each was drawn from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.datasets.rings import FloatArray, IntArray, part_labels
from mercer.utils.validation import check_integer, check_real

__all__ = ["make_annulus", "make_bits", "make_clusters", "make_two_gaussians"]


def make_clusters(
    counts: Sequence[int] = (100, 100, 100),
    *,
    centers: Any = ((0.0, 0.7), (0.7, -0.7), (-0.7, -0.7)),
    spread: float = 0.1,
    noise: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> tuple[FloatArray, IntArray]:
    r"""Isotropic Gaussian clusters, with optional additional noise.

    A point of cluster c is :math:`x = m_c + s\,\varepsilon + t\,\eta` with
    :math:`\varepsilon, \eta \sim N(0, I)`. The noise is drawn after all clusters, so a seed gives
    the same clusters with and without noise.

    Parameters
    ----------
    counts : sequence of int
        Number of points per cluster, at least 1.
    centers : array-like of shape (len(counts), d)
        Centers m.
    spread : float
        Standard deviation s of each coordinate within a cluster.
    noise : float
        Standard deviation t of the noise added to every point.
    random_state : int, Generator or None
        Seed or generator, as for :func:`numpy.random.default_rng`.

    Returns
    -------
    X : ndarray of shape (sum(counts), d)
        Points, sorted by cluster.
    y : ndarray of shape (sum(counts),)
        Index of each point's cluster.

    Notes
    -----
    The defaults follow the first example of [1]_. Its text calls 0.1 a variance, which would be
    ``spread=0.1**0.5``. However, only if 0.1 is the standard deviation do exactly three
    eigenvectors pass the criterion of Kronmal and Tarter for a Gaussian kernel of variance 0.1, as
    the paper reports. With this interpretation, its noisy clusters have ``noise=0.38``.

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
            f"counts={counts!r} and centers of shape {centers.shape} do not match. Pass one count "
            "and one row of coordinates per cluster."
        )
    for i, count in enumerate(counts):
        check_integer(count, f"counts[{i}]")
    check_real(spread, "spread", low=0)
    check_real(noise, "noise", low=0)
    rng = np.random.default_rng(random_state)
    y = part_labels(counts)
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
        Number of points per component, at least 1.
    random_state : int, Generator or None
        Seed or generator, as for :func:`numpy.random.default_rng`.

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
        raise ValueError(f"counts={counts!r} must be a pair of integers.")
    for i, count in enumerate(counts):
        check_integer(count, f"counts[{i}]")
    rng = np.random.default_rng(random_state)
    y = part_labels(counts)
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
    r"""Points from the uniform distribution on an annulus, :math:`r_i \le \|x\| \le r_o`.

    Parameters
    ----------
    n_samples : int
        At least 1.
    inner, outer : float
        Radii; the defaults are those of Girolami's last example (9 ≤ x² + y² ≤ 25).
    random_state : int, Generator or None
        Seed or generator, as for :func:`numpy.random.default_rng`.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        Zeros, because there is one component.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_annulus
    >>> radii = np.hypot(*make_annulus(random_state=0)[0].T)
    >>> bool(radii.min() >= 3 and radii.max() <= 5)
    True
    """
    check_integer(n_samples, "n_samples")
    check_real(inner, "inner", low=0)
    check_real(outer, "outer", above=0)
    if inner >= outer:
        raise ValueError(f"inner={inner!r} must be less than outer={outer!r}.")
    rng = np.random.default_rng(random_state)
    radii = np.sqrt(rng.uniform(inner**2, outer**2, n_samples))
    angles = rng.uniform(0, 2 * np.pi, n_samples)
    X = radii[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    return X, part_labels((n_samples,))


def make_bits(
    n_samples: int = 30,
    *,
    n_bits: int = 7,
    probabilities: Any = (0.2, 0.8),
    random_state: int | np.random.Generator | None = None,
) -> tuple[FloatArray, IntArray]:
    """Bit strings from a mixture of products of Bernoulli distributions, with equal weights.

    Parameters
    ----------
    n_samples : int
        At least 1.
    n_bits : int
        Length of a string, at least 1.
    probabilities : array-like of shape (n_components,) or (n_components, n_bits)
        Probability of a 1, per component of the mixture.
    random_state : int, Generator or None
        Seed or generator, as for :func:`numpy.random.default_rng`.

    Returns
    -------
    X : ndarray of shape (n_samples, n_bits)
        0 and 1.
    y : ndarray of shape (n_samples,)
        Index of the component of each string.

    Notes
    -----
    Macready (2003) draws 30 strings of 7 bits from two components, with the probabilities of its
    footnote 6; ``./run reproduce macready-2003`` uses those.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import make_bits
    >>> X, y = make_bits(random_state=0)
    >>> X.shape, np.unique(X).tolist()
    ((30, 7), [0.0, 1.0])
    """
    check_integer(n_samples, "n_samples")
    check_integer(n_bits, "n_bits")
    components = np.asarray(probabilities, dtype=np.float64)
    components = (
        np.repeat(components[:, None], n_bits, axis=1) if components.ndim == 1 else components
    )
    if (
        components.ndim != 2
        or components.shape[1] != n_bits
        or not ((components >= 0) & (components <= 1)).all()
    ):
        raise ValueError(
            f"probabilities={probabilities!r} must be in [0, 1]: one number per component, or one "
            f"row of {n_bits} per component."
        )
    rng = np.random.default_rng(random_state)
    y = rng.integers(len(components), size=n_samples)
    return (rng.random((n_samples, n_bits)) < components[y]).astype(np.float64), y
