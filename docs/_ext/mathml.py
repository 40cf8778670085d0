"""Render formulas as MathML, which needs no scripts and no fonts."""

import re
import unicodedata

from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from sphinx.errors import ExtensionError
from sphinx.util.math import get_node_equation_number

# Browsers ignore mathvariant and columnalign: use the bold letters of Unicode and a style.
_BOLD = re.compile(r'<(m[in]) mathvariant="bold">(.)<')
_ALIGN = re.compile(r'<mtd columnalign="(\w+)">')
_UNSUPPORTED = re.compile(r'>\\[a-zA-Z]+|mathvariant="(?!normal)[a-z-]+"')


def _bold(match):
    tag, letter = match.groups()
    name = unicodedata.name(letter).removeprefix("LATIN ").replace("LETTER ", "")
    return f"<{tag}>{unicodedata.lookup(f'MATHEMATICAL BOLD {name}')}<"


def to_mathml(latex, *, block):
    """Convert a formula to a ``<math>`` element; raise an error if it is not supported."""
    latex = latex.strip().replace("aligned}", "align*}")
    try:
        mathml = convert(latex, display="block" if block else "inline")
    except Exception as error:
        raise ExtensionError(f"latex2mathml cannot parse {latex!r}: {error!r}") from error
    mathml = _ALIGN.sub(r'<mtd style="text-align:\1">', _BOLD.sub(_bold, mathml))
    if unsupported := _UNSUPPORTED.findall(mathml):
        raise ExtensionError(f"latex2mathml does not support {unsupported} in {latex!r}")
    return mathml


def inline(translator, node):
    """Write an inline formula."""
    translator.body.append(to_mathml(node.astext(), block=False))
    raise SkipNode


def block(translator, node):
    """Write a display formula, with its number if it has one."""
    translator.body.append(translator.starttag(node, "div", CLASS="math-block"))
    translator.body.append(to_mathml(node.astext(), block=True))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})</span>')
    translator.body.append("</div>\n")
    raise SkipNode


def setup(app):
    """Register the renderer as ``mathml``, the value of ``html_math_renderer``."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
