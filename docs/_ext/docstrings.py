"""What the reference does to docstrings that were written in scikit-learn's manner."""

import re

# An attribute of a fit ends in "_", which reStructuredText takes for a link.
_FITTED = re.compile(r"(?<![`\w\\:.])([A-Za-z]\w*)_(?=[\s,;.)\]:]|$)")
_LITERAL = re.compile(r"(``.+?``|`[^`]+`_{0,2})")


def escape(lines):
    """Escape such names, except in examples and in literals.

    >>> escape(["array of shape (n, n_components_)", ">>> a.b_", "", "``rank_`` of rank_."])
    ['array of shape (n, n_components\\\\_)', '>>> a.b_', '', '``rank_`` of rank\\\\_.']
    """
    example, found = False, []
    for line in lines:
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        parts = [line] if example else _LITERAL.split(line)
        if not example:
            parts[::2] = [_FITTED.sub(r"\1\\_", part) for part in parts[::2]]
        found.append("".join(parts))
    return found


def process(app, what, name, obj, options, lines):
    """Escape in place, as autodoc wants it."""
    lines[:] = escape(lines)


def skip(app, what, name, obj, skip, options):
    """Leave out what scikit-learn adds to every class: it documents that itself."""
    home = getattr(obj, "__module__", None) or ""
    return True if home.startswith("sklearn.") or re.fullmatch(r"set_\w+_request", name) else None


def setup(app):
    """Listen to autodoc, after numpydoc."""
    app.connect("autodoc-process-docstring", process, priority=900)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
