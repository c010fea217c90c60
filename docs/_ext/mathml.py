"""Formulas as MathML, which browsers set themselves: no script, and no network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

__all__ = ["setup"]

# Commands that the converter lacks: sizes of brackets say nothing else in MathML.
_REPLACED = {r"\\[bB]ig+[lr]?(?![a-zA-Z])": "", r"\\dots(?![a-zA-Z])": r"\\ldots"}

_LOGGER = logging.getLogger(__name__)


def _formula(writer: Any, node: nodes.Element, as_block: bool) -> str:
    text = node.astext()
    for command, instead in _REPLACED.items():
        text = re.sub(command, instead, text)
    try:
        return str(tex2mathml(text, as_block=as_block))
    except MathError as error:
        _LOGGER.warning("formula %r: %s", node.astext(), error, location=node)
        return f"<code>{writer.encode(node.astext())}</code>"


def visit_inline(writer: Any, node: nodes.Element) -> None:
    """Write a formula in a line."""
    writer.body.append(_formula(writer, node, as_block=False))
    raise nodes.SkipNode


def visit_block(writer: Any, node: nodes.Element) -> None:
    """Write a formula on lines of its own."""
    writer.body.append(
        f'<div class="formula" tabindex="0">{_formula(writer, node, True)}</div>'
    )
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Make MathML a renderer that ``html_math_renderer`` can name."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
