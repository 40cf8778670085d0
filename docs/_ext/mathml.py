"""Formulas as MathML: the browser draws them, no script and no font is fetched."""

import re
import unicodedata

from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from sphinx.errors import ExtensionError
from sphinx.util.math import get_node_equation_number

# Browsers ignore mathvariant and columnalign: bold letters have places of their own in Unicode,
# and a style aligns.
_BOLD = re.compile(r'<(m[in]) mathvariant="bold">(.)<')
_ALIGN = re.compile(r'<mtd columnalign="(\w+)">')
_UNREAD = re.compile(r'>\\[a-zA-Z]+|mathvariant="(?!normal)[a-z-]+"')


def _bold(match):
    tag, letter = match.groups()
    name = unicodedata.name(letter).removeprefix("LATIN ").replace("LETTER ", "")
    return f"<{tag}>{unicodedata.lookup(f'MATHEMATICAL BOLD {name}')}<"


def to_mathml(latex, *, block):
    """Turn a formula into a ``<math>`` element; what cannot be read is an error."""
    latex = latex.strip().replace("aligned}", "align*}")
    try:
        found = convert(latex, display="block" if block else "inline")
    except Exception as error:
        raise ExtensionError(f"latex2mathml cannot read {latex!r}: {error!r}") from error
    found = _ALIGN.sub(r'<mtd style="text-align:\1">', _BOLD.sub(_bold, found))
    if unread := _UNREAD.findall(found):
        raise ExtensionError(f"latex2mathml does not know {unread} in {latex!r}")
    return found


def inline(translator, node):
    """Write a formula within a sentence."""
    translator.body.append(to_mathml(node.astext(), block=False))
    raise SkipNode


def block(translator, node):
    """Write a formula on its own line, with its number if it has one."""
    translator.body.append(translator.starttag(node, "div", CLASS="math-block"))
    translator.body.append(to_mathml(node.astext(), block=True))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})</span>')
    translator.body.append("</div>\n")
    raise SkipNode


def setup(app):
    """Register the renderer under the name that ``html_math_renderer`` asks for."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
