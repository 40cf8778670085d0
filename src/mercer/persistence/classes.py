"""Classes that a model file may name, and how their instances are created.

A class of mercer is named ``mercer.<package>.<Class>``, so it can move between the modules of its
package. It is allowed if it declares that its attributes are its state: dataclasses, estimators,
kernels and subclasses of :class:`~mercer.utils.estimators.Storable`. Of scikit-learn a fixed list
of classes is allowed. Any other class has to be passed to ``load`` as trusted. Instances are
created without calling any method of the class: only their attributes are set.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import mercer
from mercer.utils.estimators import MercerBase, Storable

__all__ = ["check_plain", "fill", "find_class", "name_of"]

_USER_INTERFACE = {"cli", "explorer", "plots", "report"}  # packages without classes of models
_SKLEARN = {
    "sklearn.compose": "ColumnTransformer TransformedTargetRegressor",
    "sklearn.compose._column_transformer": "_RemainderColsList",  # until 1.8
    "sklearn.decomposition": "PCA",
    "sklearn.impute": "MissingIndicator SimpleImputer",
    "sklearn.mixture": "GaussianMixture",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing": "FunctionTransformer LabelEncoder MaxAbsScaler MinMaxScaler "
    "Normalizer OneHotEncoder OrdinalEncoder PowerTransformer QuantileTransformer RobustScaler "
    "StandardScaler",
    "sklearn.utils._metadata_requests": "MetadataRequest MethodMetadataRequest",
}


def _without_private(module: str) -> str:
    return ".".join(part for part in module.split(".") if not part.startswith("_"))


_SKLEARN_MODULES = {
    f"{_without_private(module)}.{name}": module
    for module, names in _SKLEARN.items()
    for name in names.split()
}


def name_of(cls: type) -> str:
    """Return the name of a class in a model file.

    It omits modules of mercer and private modules of scikit-learn, which may change.
    """
    module = cls.__module__
    library = module.partition(".")[0]
    if library == "mercer":
        module = ".".join(module.split(".")[:2])
    elif library == "sklearn":
        module = _without_private(module)
    return f"{module}.{cls.__qualname__}"


def find_class(name: Any, trusted: Iterable[type]) -> type:
    """Return the class of this name: a trusted one, or one of mercer or scikit-learn."""
    if not isinstance(name, str):
        raise ValueError("the name of a class is not a string")
    for cls in trusted:
        if name_of(cls) == name:
            return cls
    known = _known_class(name)
    if known is not None:
        return known
    for cls in trusted:  # a class of a script may have been moved to a module
        if cls.__name__ == name.rpartition(".")[2]:
            return cls
    raise ValueError(
        f"it holds an object of the untrusted class {name:.200}. If you trust this class, call "
        f"mercer.load(path, trusted=[{name.rpartition('.')[2]:.60}])"
    )


@cache
def _known_class(name: str) -> type | None:
    library, *packages, cls_name = name.split(".")
    if name in _SKLEARN_MODULES:
        return getattr(import_module(_SKLEARN_MODULES[name]), cls_name, None)
    if library != "mercer" or len(packages) != 1 or packages[0] in _USER_INTERFACE:
        return None
    module = _module_that_defines(packages[0], cls_name)
    cls = None if module is None else getattr(import_module(module), cls_name)
    return cls if isinstance(cls, type) and _is_storable(cls) else None


def _module_that_defines(package: str, cls_name: str) -> str | None:
    """Return the module of a package with this class; the source is searched, not imported."""
    if not (package.isidentifier() and cls_name.isidentifier()):
        return None
    root = Path(mercer.__file__).parent
    definition = re.compile(rf"^class {cls_name}\b", re.MULTILINE)
    for path in sorted((root / package).rglob("*.py")):
        if definition.search(path.read_text(encoding="utf-8")):
            return ".".join(["mercer", *path.relative_to(root).with_suffix("").parts])
    return None


def _is_storable(cls: type) -> bool:
    from sklearn.base import BaseEstimator  # saving data needs no scikit-learn

    return is_dataclass(cls) or issubclass(cls, BaseEstimator | MercerBase | Storable)


def check_plain(value: Any) -> None:
    """Raise TypeError if its attributes do not determine an object."""

    own = ("__new__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")
    plain = hasattr(value, "__dict__")
    for base in type(value).__mro__[:-1]:
        compiled = not base.__flags__ & 1 << 9  # Py_TPFLAGS_HEAPTYPE: defined in Python
        known = base.__module__.partition(".")[0] in ("mercer", "sklearn")
        changed = vars(base).get("__slots__") or any(method in vars(base) for method in own)
        plain &= not compiled and (known or not changed)
    if not plain:
        raise TypeError(
            "only data and objects that consist of their attributes can be saved (no functions, "
            "files, locks, or classes with __slots__ or their own __reduce__)"
        )


def fill(obj: Any, state: Mapping[str, Any]) -> None:
    """Set the attributes of an object; missing parameters and fields get their defaults."""
    added = {name: value for name, value in _defaults(type(obj)).items() if name not in state}
    missing = [name for name, value in added.items() if value is MISSING]
    if missing:
        raise ValueError(f"{name_of(type(obj))} has no attribute {', '.join(missing)}")
    vars(obj).update(state)
    vars(obj).update(added)


def _defaults(cls: type) -> dict[str, Any]:
    """Return the attributes that an instance must have, with defaults or MISSING."""
    if is_dataclass(cls):
        return {
            field.name: field.default_factory()
            if field.default_factory is not MISSING
            else field.default
            for field in fields(cls)
        }
    if not hasattr(cls, "get_params"):
        return {}
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {
        p.name: MISSING if p.default is p.empty else p.default
        for p in inspect.signature(cls).parameters.values()
        if p.kind in named
    }
