"""Class names in model files, and trusted classes."""

import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.cluster.graphs import StoredKernel
from mercer.domains import Domain
from mercer.gram import Expansion
from mercer.kernels import FunctionKernel, Gaussian, Kernel
from mercer.persistence import classes
from mercer.solvers import Nystrom
from tests.expectations import raises
from tests.fuzz.forging import members_of
from tests.persistence.tools import Halved, X


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


def test_listed_classes_can_be_imported():
    for name in set(classes.CLASSES) - {"sklearn.compose._RemainderColsList"}:  # gone from 1.8 on
        assert classes.name_of(classes.find_class(name, ())) == name


def test_error_names_a_listed_class_that_does_not_exist(monkeypatch):
    monkeypatch.setitem(classes.CLASSES, "mercer.kernels.Gone", ("mercer.kernels", "Gone"))
    with raises(ValueError, "mercer.kernels.Gone"):
        classes.find_class("mercer.kernels.Gone", ())


def test_every_class_that_a_model_may_hold_is_listed():
    for module in Path(mercer.__file__).parent.rglob("*.py"):
        parts = module.relative_to(Path(mercer.__file__).parent).with_suffix("").parts
        if parts[0] in {"kernels", "operators", "estimators", "solvers", "domains", "tables"}:
            import_module(".".join(["mercer", *parts]).removesuffix(".__init__"))
    for base in (Kernel, Domain, Expansion, BaseEstimator):
        for cls in descendants(base):
            # functions cannot be saved; a stored kernel is used during a fit only
            savable = cls not in (FunctionKernel, StoredKernel)
            if cls.__module__.startswith("mercer.") and is_concrete(cls) and savable:
                assert classes.is_listed(classes.name_of(cls)), cls


def descendants(cls):
    for child in cls.__subclasses__():
        yield child
        yield from descendants(child)


def is_concrete(cls):
    """Return whether a class is public and has no subclasses in mercer."""
    own = [child for child in cls.__subclasses__() if child.__module__.startswith("mercer.")]
    return not own and not cls.__name__.startswith("_")


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
    assert {"mercer.KernelPCA", "mercer.Spectrum", "mercer.kernels.Gaussian"} <= names
    assert names <= set(classes.CLASSES)
    homes = {module for module, _ in classes.CLASSES.values()}
    inner = {home for home in homes if home.startswith("mercer.") and home.count(".") > 1}
    assert not [home for home in inner if home in str(text)]
