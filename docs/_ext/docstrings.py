"""Preprocess docstrings and signatures in the style of scikit-learn for the API reference."""

import inspect
import re

# Names of fitted attributes end in "_", which reStructuredText parses as a link.
_FITTED = re.compile(r"(?<![`\w\\:.])([A-Za-z]\w*)_(?=[\s,;.)\]:]|$)")
_LITERAL = re.compile(r"(``.+?``|`[^`]+`_{0,2})")


def escape(lines):
    """Escape names of fitted attributes, except in examples and literals.

    >>> escape(["array of shape (n, n_components_)", ">>> a.b_", "", "``rank_`` of rank_."])
    ['array of shape (n, n_components\\\\_)', '>>> a.b_', '', '``rank_`` of rank\\\\_.']
    """
    example, escaped = False, []
    for line in lines:
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        parts = [line] if example else _LITERAL.split(line)
        if not example:
            parts[::2] = [_FITTED.sub(r"\1\\_", part) for part in parts[::2]]
        escaped.append("".join(parts))
    return escaped


def process(app, what, name, obj, options, lines):
    """Escape a docstring in place."""
    lines[:] = escape(lines)


def skip(app, what, name, obj, skip, options):
    """Skip members that scikit-learn adds to every class."""
    home = getattr(obj, "__module__", None) or ""
    general = re.fullmatch(r"set_\w+_request|[gs]et_params", name)
    return True if home.startswith("sklearn.") or general else None


def constructor_signature(app, what, name, obj, options, signature, return_annotation):
    """Return the parameters of ``__init__``; autodoc prefers those of an inherited ``__new__``."""
    if what != "class" or signature is None or "*args" not in signature:
        return None
    from sphinx.util.inspect import stringify_signature

    found = inspect.signature(obj).replace(return_annotation=inspect.Signature.empty)
    return stringify_signature(found, show_annotation=False), None


def setup(app):
    """Connect to autodoc events, after numpydoc."""
    app.connect("autodoc-process-signature", constructor_signature, priority=900)
    app.connect("autodoc-process-docstring", process, priority=900)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
