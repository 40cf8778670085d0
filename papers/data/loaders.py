"""Loaders of the real data sets of the papers, with the interface of scikit-learn's loaders.

The files are not part of the package; see :mod:`papers.data.files` for the search.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from papers.data import openml
from papers.data.files import Arrays, DataFile, find

if TYPE_CHECKING:
    from sklearn.utils import Bunch

__all__ = [
    "load_frey_faces",
    "load_ida",
    "load_newsgroups",
    "load_pendigits",
    "load_segment",
    "load_thyroid",
    "load_usps",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


_PENDIGITS = DataFile(
    "pendigits.npz",
    ("X", "y", "is_train"),
    "Pen-based digits: eight pen positions (x1, y1, ..., x8, y8), integers 0 to 100, of 10992 "
    "digits. The training rows are by 30 writers, the test rows by 14 others.",
    "E. Alpaydin, F. Alimoglu (1996), Pen-Based Recognition of Handwritten Digits, UCI Machine "
    "Learning Repository, doi:10.24432/C5MG6K.",
    mirror=openml.PENDIGITS,
)
_SEGMENT = DataFile(
    "segment.npz",
    ("X", "y", "is_train", "feature_names"),
    "Image segmentation: 19 features of 2310 regions of 3 x 3 pixels cut from seven outdoor "
    "images, 330 regions of each class. The column region-pixel-count is constant.",
    "Vision Group, University of Massachusetts (1990), Image Segmentation, UCI Machine Learning "
    "Repository, doi:10.24432/C5GP4N.",
    mirror=openml.SEGMENT,
)
_THYROID = DataFile(
    "newthyroid.npz",
    ("X", "y", "class_names", "feature_names"),
    "New thyroid: five laboratory values of 215 patients; 1 normal, 2 hyper-, 3 hypothyroid.",
    "D. Coomans, donated by S. Aeberhard; new-thyroid in Thyroid Disease, UCI Machine Learning "
    "Repository, doi:10.24432/C5D010.",
    mirror=openml.THYROID,
)
_USPS = DataFile(
    "usps.npz",
    ("X_train", "y_train", "X_test", "y_test"),
    "USPS digits: 9298 gray images of 16 x 16 pixels, row by row, -1 background, +1 ink.",
    "Y. LeCun et al. (1990), US Postal Service digits; distributed with T. Hastie, R. Tibshirani, "
    "J. Friedman, The Elements of Statistical Learning.",
    mirror=openml.USPS,
    units=" (pixels as int16, in thousandths)",
)
_NEWSGROUPS = DataFile(
    "news20_w100.npz",
    ("X", "y", "words", "group_names"),
    "Newsgroups: which of 100 words occur (0 or 1) in each of 16242 postings, sorted by group.",
    "S. Roweis, 20news_w100.mat, from the 20 Newsgroups collection of K. Lang (1995).",
)
_FREY_FACES = DataFile(
    "frey_faces.npz",
    ("X",),
    "Frey faces: 1965 video frames in temporal order, 28 rows x 20 columns, gray values 0 to 255.",
    "B. Frey, frey_rawface.mat; B. J. Frey, A. Colmenarez, T. S. Huang, Mixtures of local linear "
    "subspaces for face recognition, CVPR 1998.",
)
_IDA_NAMES = (
    "banana",
    "breast_cancer",
    "german",
    "heart",
    "image",
    "ringnorm",
    "titanic",
    "twonorm",
    "waveform",
)


def load_pendigits(
    *, subset: str = "all", return_X_y: bool = False
) -> Bunch | tuple[FloatArray, IntArray]:
    """Pen-based handwritten digits, ten classes.

    Parameters
    ----------
    subset : {"all", "train", "test"}
        All 10992 rows, the 7494 training rows or the 3498 test rows, in the original order
        ("all": training rows first).
    return_X_y : bool
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch or (data, target)
        ``data`` (n, 16), coordinates 0 to 100; ``target``, the digit; ``feature_names``,
        ``target_names``, ``source`` (location of the data), ``DESCR``.

    References
    ----------
    .. [1] E. Alpaydin, F. Alimoglu, Pen-Based Recognition of Handwritten Digits, UCI Machine
       Learning Repository, 1996, doi:10.24432/C5MG6K.

    Examples
    --------
    >>> from papers.data import load_pendigits
    >>> load_pendigits(subset="test").data.shape  # doctest: +SKIP
    (3498, 16)
    """
    found, source = find(_PENDIGITS, subset)
    rows = _rows(found, subset)
    return _result(
        _PENDIGITS,
        source,
        found["X"][rows],
        found["y"][rows],
        return_X_y,
        feature_names=[f"{axis}{i}" for i in range(1, 9) for axis in "xy"],
        target_names=np.arange(10).astype(str),
    )


def load_segment(
    *, subset: str = "all", return_X_y: bool = False
) -> Bunch | tuple[FloatArray, IntArray]:
    """Image segmentation, seven classes of outdoor surfaces.

    Parameters
    ----------
    subset : {"all", "train", "test"}
        All 2310 rows, the 210 training rows or the 2100 test rows, in the original order ("all":
        training rows first).
    return_X_y : bool
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch or (data, target)
        ``data`` (n, 19); ``target``, 1 to 7; ``target_names``, the name of class c is
        ``target_names[c - 1]``; ``feature_names``, ``source`` (location of the data),
        ``DESCR``.

    References
    ----------
    .. [1] Vision Group, University of Massachusetts, Image Segmentation, UCI Machine Learning
       Repository, 1990, doi:10.24432/C5GP4N.

    Examples
    --------
    The three classes of Jenssen (2010), cement, sky and grass:

    >>> import numpy as np
    >>> from papers.data import load_segment
    >>> X, y = load_segment(subset="train", return_X_y=True)  # doctest: +SKIP
    >>> X[np.isin(y, [4, 2, 7])].shape  # doctest: +SKIP
    (90, 19)
    """
    found, source = find(_SEGMENT, subset)
    rows = _rows(found, subset)
    return _result(
        _SEGMENT,
        source,
        found["X"][rows],
        found["y"][rows],
        return_X_y,
        feature_names=found["feature_names"].tolist(),
        target_names=np.array(openml.SURFACES),
    )


def load_thyroid(*, return_X_y: bool = False) -> Bunch | tuple[FloatArray, IntArray]:
    """New-thyroid patients: normal, hyper- and hypothyroid.

    Parameters
    ----------
    return_X_y : bool
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch or (data, target)
        ``data`` (215, 5); ``target``, 1 normal (150), 2 hyper (35), 3 hypo (30);
        ``target_names``, the name of class c is ``target_names[c - 1]``; ``feature_names``,
        ``source`` (location of the data), ``DESCR``.

    References
    ----------
    .. [1] D. Coomans, new-thyroid, in Thyroid Disease, UCI Machine Learning Repository,
       doi:10.24432/C5D010.

    Examples
    --------
    >>> from papers.data import load_thyroid
    >>> load_thyroid().target_names.tolist()  # doctest: +SKIP
    ['normal', 'hyper', 'hypo']
    """
    found, source = find(_THYROID)
    return _result(
        _THYROID,
        source,
        found["X"],
        found["y"],
        return_X_y,
        feature_names=found["feature_names"].tolist(),
        target_names=found["class_names"],
    )


def load_usps(
    *, subset: str = "all", return_X_y: bool = False
) -> Bunch | tuple[FloatArray, IntArray]:
    """US Postal Service handwritten digits, 16 x 16 pixels.

    Parameters
    ----------
    subset : {"all", "train", "test"}
        All 9298 rows, the 7291 training rows or the 2007 test rows, in the original order ("all":
        training rows first).
    return_X_y : bool
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch or (data, target)
        ``data`` (n, 256), pixels from -1 (background) to 1 (ink); ``images``, the same as
        (n, 16, 16); ``target``, the digit; ``target_names``, ``source`` (location of the data),
        ``DESCR``.

    References
    ----------
    .. [1] Y. LeCun et al., "Handwritten digit recognition with a back-propagation network",
       Advances in Neural Information Processing Systems 2, 1990.

    Examples
    --------
    >>> from papers.data import load_usps
    >>> load_usps(subset="test").images.shape  # doctest: +SKIP
    (2007, 16, 16)
    """
    found, source = find(_USPS, subset)
    parts = ("train", "test") if subset == "all" else (subset,)
    # the file stores thousandths, because the original has three decimals
    X = np.vstack([found[f"X_{part}"] for part in parts]) / 1000.0
    y = np.concatenate([found[f"y_{part}"] for part in parts])
    return _result(
        _USPS,
        source,
        X,
        y,
        return_X_y,
        images=X.reshape(-1, 16, 16),
        target_names=np.arange(10).astype(str),
    )


def load_newsgroups(*, return_X_y: bool = False) -> Bunch | tuple[FloatArray, IntArray]:
    """Occurrence of 100 words in newsgroup postings, four classes.

    Parameters
    ----------
    return_X_y : bool
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch or (data, target)
        ``data`` (16242, 100), 1 if the posting contains the word, else 0; ``target``, 1 to 4;
        ``target_names``, the name of class c is ``target_names[c - 1]``; ``feature_names``, the
        words; ``source`` (location of the data), ``DESCR``.

    References
    ----------
    .. [1] K. Lang, "NewsWeeder: learning to filter netnews", ICML 1995; the selection of postings
       and words is by S. Roweis (20news_w100).

    Examples
    --------
    >>> from papers.data import load_newsgroups
    >>> load_newsgroups().target_names.tolist()  # doctest: +SKIP
    ['comp.*', 'rec.*', 'sci.*', 'talk.*']
    """
    found, source = find(_NEWSGROUPS)
    return _result(
        _NEWSGROUPS,
        source,
        found["X"],
        found["y"],
        return_X_y,
        feature_names=found["words"].tolist(),
        target_names=found["group_names"],
    )


def load_frey_faces() -> Bunch:
    """Video frames of one face in temporal order, without classes.

    Returns
    -------
    Bunch
        ``data`` (1965, 560), gray values from 0 to 255; ``images``, the same as
        (1965, 28, 20); ``source`` (location of the data), ``DESCR``.

    References
    ----------
    .. [1] B. J. Frey, A. Colmenarez, T. S. Huang, "Mixtures of local linear subspaces for face
       recognition", CVPR 1998.

    Examples
    --------
    >>> from papers.data import load_frey_faces
    >>> load_frey_faces().images.shape  # doctest: +SKIP
    (1965, 28, 20)
    """
    from sklearn.utils import Bunch

    found, source = find(_FREY_FACES)
    X = found["X"].astype(np.float64)
    return Bunch(data=X, images=X.reshape(-1, 28, 20), source=source, DESCR=_FREY_FACES.description)


def load_ida(
    name: str, realisation: int | None = None, *, return_X_y: bool = False
) -> Bunch | tuple[FloatArray, IntArray]:
    """Two-class benchmark of Rätsch with its published splits (IDA repository).

    Parameters
    ----------
    name : str
        "banana", "breast_cancer", "german", "heart", "image", "ringnorm", "titanic", "twonorm" or
        "waveform".
    realisation : int or None
        Index of the split, from 0 (realization 1 of the repository is 0 here), or None for all.
    return_X_y : bool
        Return ``(data, target)`` of all rows; cannot be combined with `realisation`.

    Returns
    -------
    Bunch or (data, target)
        ``data`` (n, d), all rows, features standardized as published; ``target``, -1 or +1;
        ``train`` and ``test``, row indices of shape (n_train,) and (n_test,) for one split, or one
        row per split for all; ``target_names``, ``source`` (location of the data),
        ``DESCR``.

    Notes
    -----
    The repository has 100 realizations (20 of image); the files contain the first ten (nine for
    image, one for twonorm). Over all rows, means are 0 and standard deviations 1
    (``ddof=1``), in breast_cancer only approximately.

    References
    ----------
    .. [1] G. Rätsch, T. Onoda, K.-R. Müller, "Soft margins for AdaBoost", Machine Learning
       42:287-320, 2001.

    Examples
    --------
    >>> from papers.data import load_ida
    >>> banana = load_ida("banana", 0)  # doctest: +SKIP
    >>> banana.data[banana.train].shape, banana.data[banana.test].shape  # doctest: +SKIP
    ((400, 2), (4900, 2))
    """
    if name not in _IDA_NAMES:
        raise ValueError(f"name={name!r} must be one of {', '.join(_IDA_NAMES)}.")
    if return_X_y and realisation is not None:
        raise ValueError(
            f"return_X_y=True returns all rows, without the split realisation={realisation!r}. "
            "Pass one of the two; the Bunch has the split as train and test."
        )
    data_file = DataFile(
        f"ida_{name}.npz",
        ("X", "y", "train", "test"),
        f"IDA benchmark {name}: two classes, features standardized, with its published splits.",
        "G. Rätsch, T. Onoda, K.-R. Müller, Soft margins for AdaBoost, Machine Learning "
        "42:287-320 (2001); repackaged as doi:10.5281/zenodo.18110.",
    )
    found, source = find(data_file)
    train, test = found["train"].astype(np.int64), found["test"].astype(np.int64)
    if realisation is not None:
        index = operator.index(realisation)
        if not 0 <= index < len(train):
            raise ValueError(
                f"realisation={realisation} must be between 0 and {len(train) - 1}, because the "
                f"file of {name} has {len(train)} splits. Pass None for all."
            )
        train, test = train[index], test[index]
    return _result(
        data_file,
        source,
        found["X"],
        found["y"],
        return_X_y,
        train=train,
        test=test,
        target_names=np.array(["-1", "+1"]),
    )


def _result(
    data_file: DataFile,
    source: str,
    X: NDArray[Any],
    y: NDArray[Any],
    return_X_y: bool,
    **more: object,
) -> Bunch | tuple[FloatArray, IntArray]:
    """Return (data, target), or a Bunch with names and description."""
    from sklearn.utils import Bunch

    data, target = X.astype(np.float64, copy=False), y.astype(np.int64)
    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, source=source, DESCR=data_file.description, **more)


def _rows(found: Arrays, subset: str) -> slice | NDArray[np.bool_]:
    """Return an index of the rows of a subset."""
    if subset == "all":
        return slice(None)
    return found["is_train"] if subset == "train" else ~found["is_train"]
