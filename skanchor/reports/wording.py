"""The templates, and the functions by which they write names and numbers."""

from __future__ import annotations

import re
import textwrap
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from skanchor.reports.tables import joined, label, percent, text_of

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def template_source(name: str) -> str:
    """Text of a file of the folder ``templates``."""
    return (files("skanchor.reports") / "templates" / name).read_text("utf-8")


@cache
def environment() -> Environment:
    """The templates, those of pages with all text escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        loader=FunctionLoader(template_source),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {
        "cell": text_of,
        "chance": _chance,
        "joined": joined,
        "label": label,
        "labels": lambda names: [label(name) for name in names],
        "ordinal": _ordinal,
        "p": _p_value,
        "percent": percent,
        "wrap": _wrap,
    }
    return made


@cache
def words(template: str = "sentences.jinja") -> Any:
    """Macros of a template, and advice by kind of finding."""
    # A page must not import these: what a macro returns there counts as escaped.
    return environment().get_template(template).module


def say(macro: str, *values: Any, template: str = "sentences.jinja") -> list[str]:
    """Paragraphs of a macro, each on one line; names keep their blanks."""
    text = getattr(words(template), macro)(*values)
    paragraphs = re.split(r"\n[ \t]*\n", text)
    lines = [re.sub(r"\s*\n\s*", " ", one).strip() for one in paragraphs]
    return list(filter(None, lines))


def _chance(share: float) -> str:
    """A chance in percent, never shown as 0 or 100 %."""
    if 0.01 <= share <= 0.99:
        return f"{100 * share:.0f} %"
    return "under 1 %" if share < 0.01 else "over 99 %"


def _ordinal(n: int) -> str:
    # 11th, 12th and 13th, but 21st, 22nd and 23rd.
    tail = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10)
    return f"{n}{tail or 'th'}"


def _p_value(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


def _wrap(text: str, width: int) -> str:
    """Break each line between words; those that follow are indented."""
    wrapper = textwrap.TextWrapper(
        max(width, 20),
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    # A number is not parted from its sign.
    lines = text.replace(" %", "\N{NO-BREAK SPACE}%").splitlines()
    filled = "\n".join(wrapper.fill(line) for line in lines if line.strip())
    return filled.replace("\N{NO-BREAK SPACE}%", " %")
