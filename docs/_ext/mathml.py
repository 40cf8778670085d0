"""Formulas as MathML: the browser draws them, no script and no font is fetched."""

import re
import unicodedata

from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from sphinx.errors import ExtensionError
from sphinx.util.math import get_node_equation_number

# Browsers ignore mathvariant and columnalign; letters of their own and a style do the same.
_VARIANT = re.compile(r'<(m[ino]) mathvariant="(bold|double-struck)">(.)</')
_ALIGN = re.compile(r'<mtd columnalign="(\w+)">')
_NAMES = {"bold": "MATHEMATICAL BOLD", "double-struck": "MATHEMATICAL DOUBLE-STRUCK"}
_PLAIN_LETTERS = {"E": "𝔼", "R": "ℝ", "N": "ℕ", "P": "ℙ", "Z": "ℤ", "C": "ℂ"}
_UNREAD = re.compile(r">\\[a-zA-Z]+")


def _letter(match):
    tag, variant, letter = match.groups()
    if variant == "double-struck" and letter in _PLAIN_LETTERS:
        return f"<{tag}>{_PLAIN_LETTERS[letter]}</"
    kind = unicodedata.name(letter).removeprefix("LATIN ").replace("LETTER ", "")
    return f"<{tag}>{unicodedata.lookup(f'{_NAMES[variant]} {kind}')}</"


def to_mathml(latex, *, block):
    r"""Turn a formula into a ``<math>`` element; what cannot be read is an error."""
    latex = latex.strip().replace("aligned}", "align*}")
    try:
        found = convert(latex, display="block" if block else "inline")
    except Exception as error:
        raise ExtensionError(f"latex2mathml cannot read {latex!r}: {error!r}") from error
    if _UNREAD.search(found):
        raise ExtensionError(f"latex2mathml does not know {_UNREAD.findall(found)} in {latex!r}")
    return _ALIGN.sub(r'<mtd style="text-align:\1">', _VARIANT.sub(_letter, found))


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
