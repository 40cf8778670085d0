"""Forged model files: any content, with a valid checksum."""

import hashlib
import io
import json
import zipfile

import numpy as np

import mercer
from mercer.persistence import FORMAT

COMMENT = b"mercer model file; sha256 of all bytes before: "


def signed(data):
    """Return the bytes with a valid checksum at the end."""
    body = data[:-64]
    return body + hashlib.sha256(body).hexdigest().encode()


def forged(members, compression=zipfile.ZIP_STORED):
    """Return a file of these members (name, bytes), with a valid checksum."""
    return signed(archive(members, compression, COMMENT + b"0" * 64))


def archive(members, compression=zipfile.ZIP_STORED, comment=b""):
    """Return a zip archive of these members (name, bytes)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as made:
        for name, data in members:
            made.writestr(zipfile.ZipInfo(name), data, compress_type=compression)
        made.comment = comment
    return buffer.getvalue()


def members_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(info.filename, archive.read(info)) for info in archive.infolist()]


def manifest(value, **changes):
    """Return the text of a model file that holds an encoded value."""
    known = {
        "format": FORMAT,
        "mercer": mercer.__version__,
        "numpy": "2.0",
        "scikit-learn": "1.6",
        "borrowed": [],
    }
    return json.dumps({**known, "value": value, **changes}).encode()


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=array.dtype.hasobject)
    return buffer.getvalue()


def claim(shape, descr="<f8", data=b""):
    """Return an NPY file whose header declares a shape and a type that its data may not have."""
    buffer = io.BytesIO()
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + data


def paths_in(node, path=()):
    """Yield the path to each node of a JSON value, as a tuple of indices and keys."""
    yield path
    if isinstance(node, list):
        for i, item in enumerate(node):
            yield from paths_in(item, (*path, i))
    elif isinstance(node, dict):
        for name, item in node.items():
            yield from paths_in(item, (*path, name))
