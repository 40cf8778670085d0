"""``V'AV`` of every operator equals that of the matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.data.points import Points
from mercer.eigen.plan import FiniteFeatures
from mercer.gram import Sample, center_gram
from mercer.kernels import Gaussian, Linear
from mercer.solvers import Fourier, Lanczos, Nystrom
from tests.gram.naive import weighted_gram


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize(
    ("kernel", "solver"),
    [
        (Gaussian(0.8), Lanczos(stored=True)),
        (Gaussian(0.8), Lanczos(stored=False)),
        (Gaussian(0.8), Fourier()),
        (Gaussian(0.8), Nystrom(200)),
        (Linear(1.0, 0.5), FiniteFeatures()),
    ],
    ids=lambda part: type(part).__name__,
)
def test_quadratic_form_equals_that_of_the_matrix(kernel, solver, center, weighted, rng):
    X, V = rng.normal(size=(200, 2)), rng.normal(size=(200, 3))
    w = rng.integers(1, 4, size=200).astype(float) if weighted else None
    gram = solver.gram(Sample(kernel, Points(X), w))
    gram = center_gram(gram) if center else gram
    A = weighted_gram(kernel, X, w, center)
    root = np.ones(200) if w is None else np.sqrt(w)
    # the error of an entry of K is at most the tolerance of the Fourier features, 1e-10
    reach = float((root[:, None] * np.abs(V)).sum(axis=0).max())
    assert_allclose(gram.quadratic(V), V.T @ A @ V, rtol=0, atol=1e-10 * reach**2)
