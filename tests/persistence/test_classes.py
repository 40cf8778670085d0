"""Class names in model files, and trusted classes."""

import json
import pkgutil
from dataclasses import is_dataclass
from importlib import import_module

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.kernels import Gaussian
from mercer.persistence import classes
from mercer.solvers import Nystrom
from mercer.utils.estimators import MercerBase, Storable
from tests.expectations import raises
from tests.fuzz.forging import members_of
from tests.persistence.tools import Halved, X

STORABLE = (BaseEstimator, MercerBase, Storable)


def test_user_kernels_have_to_be_trusted(path):
    fitted = mercer.KernelECA(kernel=Halved()).fit(X)
    mercer.save(fitted, path)
    with raises(ValueError, "trusted=[Halved]"):
        mercer.load(path)
    with raises(ValueError, "Halved"):
        mercer.load(path, trusted=[KMeans])
    loaded = mercer.load(path, trusted=[Halved])
    np.testing.assert_array_equal(loaded.transform(X), fitted.transform(X))
    with raises(TypeError, "'Halved'"):
        mercer.load(path, trusted=["Halved"])


def test_trusted_class_that_moved_is_found_by_its_name(path):
    mercer.save(Halved(0.25), path)
    moved = type("Halved", (Halved,), {"__module__": "elsewhere"})
    assert type(mercer.load(path, trusted=[moved])) is moved


def test_unlisted_estimators_of_scikit_learn_have_to_be_trusted(path):
    fitted = make_pipeline(StandardScaler(), KMeans(2, n_init=1, random_state=0)).fit(X)
    mercer.save(fitted, path)
    with raises(ValueError, "sklearn.cluster.KMeans"):
        mercer.load(path)
    loaded = mercer.load(path, trusted=[KMeans])
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))


def test_storable_classes_are_found_by_their_names():
    """The names are unique, although they omit the module."""
    n_found = 0
    for module in pkgutil.walk_packages(mercer.__path__, "mercer."):
        user_interface = module.name.split(".")[1] in {"cli", "explorer", "plots", "report"}
        if user_interface or module.name.endswith("_loops"):
            continue
        for cls in vars(import_module(module.name)).values():
            is_own = isinstance(cls, type) and cls.__module__ == module.name
            if is_own and (is_dataclass(cls) or issubclass(cls, STORABLE)):
                assert classes.find_class(classes.name_of(cls), ()) is cls
                n_found += 1
    assert n_found > 100


def test_classes_of_scikit_learn_are_found_by_their_names():
    gone = {"sklearn.compose._RemainderColsList"}  # from 1.8 on
    for name in set(classes._SKLEARN_MODULES) - gone:
        assert classes.name_of(classes.find_class(name, ())) == name


def class_names(node):
    if isinstance(node, list):
        return {name for item in node for name in class_names(item)}
    if not isinstance(node, dict):
        return set()
    ((tag, content),) = node.items()
    if tag == "object":
        return {content[0]}.union(*(class_names(item) for item in content[1].values()))
    return class_names(content)


@pytest.mark.filterwarnings("ignore::mercer.errors.ApproximationWarning")
def test_saved_files_hold_no_module_paths(path):
    estimators = [
        make_pipeline(StandardScaler(), mercer.KernelPCA(2, kernel=2.0 * Gaussian(1.0))).fit(X),
        mercer.KernelECA(2, kernel=Gaussian(1.0), solver=Nystrom(5)).partial_fit(X),
        mercer.EntropyClustering(2, kernel=Gaussian(1.0)).fit(X),
        mercer.MercerMixture(2, kernel=Gaussian(1.0), alpha=0.1).fit(X),
        mercer.ParzenDensity(solver="fourier").fit(X),
    ]
    mercer.save(estimators, path)
    (_, text), *_ = members_of(path.read_bytes())
    names = class_names(json.loads(text)["value"])
    assert {
        *("mercer.decomposition.KernelPCA", "mercer.eigen.Spectrum", "mercer.kernels.Gaussian"),
        "sklearn.preprocessing.StandardScaler",
    } <= names
    assert {name.count(".") for name in names} == {2}
