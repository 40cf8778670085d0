"""Fixtures of the tests of model files."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.kernels import Gaussian
from mercer.solvers import Nystrom
from tests.persistence.tools import X


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mercer"


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """Bytes of a model file with values of many types."""
    path = tmp_path_factory.mktemp("models") / "model.mercer"
    eca = mercer.KernelECA(2, kernel=Gaussian(1.0), solver=Nystrom(5, random_state=0))
    pd = pytest.importorskip("pandas")
    extras = {"text": ("α", {1, 2}), "frame": pd.DataFrame({"a": [1.5, None], "b": ["x", None]})}
    with pytest.warns(mercer.errors.ApproximationWarning):
        fitted = make_pipeline(StandardScaler(), eca).fit(X)
    mercer.save([fitted, extras, np.random.default_rng(0)], path)
    return path.read_bytes()
