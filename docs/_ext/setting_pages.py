"""Indexes by name: of the settings of all public classes and functions, of warnings."""

from __future__ import annotations

import inspect
import string
from collections import defaultdict
from importlib import import_module

from name_pages import modules, public_names
from numpydoc.docscrape import FunctionDoc

__all__ = ["setting_pages", "settings", "warnings_and_errors"]

FOLDER = "generated"


def settings() -> dict[str, list[tuple[str, str]]]:
    """Settings by name: who has each, and what it is there.

    A setting is a parameter with a default value, or one that a public class stores.
    """
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for module in modules():
        for path in public_names(module):
            parent, _, name = path.rpartition(".")
            value = getattr(import_module(parent), name)
            if not callable(value):
                continue
            parameters = signature_of(value)
            for one in FunctionDoc(value)["Parameters"]:
                for word in one.name.split(", "):
                    given = parameters.get(word)
                    if given is not None and given.default is not given.empty:
                        found[word][path] = one.type
    return {name: sorted(found[name].items()) for name in sorted(found, key=str.lower)}


def signature_of(value: object) -> dict[str, inspect.Parameter]:
    """Parameters of a class or a function by name."""
    try:
        return dict(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return {}


def warnings_and_errors() -> list[str]:
    """Paths of the public warnings and errors, in the order of their names."""
    found = []
    for path in public_names("skanchor.exceptions"):
        value = getattr(import_module("skanchor.exceptions"), path.rpartition(".")[2])
        if inspect.isclass(value) and issubclass(value, Exception):
            found.append(path)
    return sorted(found)


def settings_page() -> str:
    """The index of settings, in reStructuredText."""
    title = "Settings by name"
    text = (
        "Every setting of a public class or function that has a default value, with "
        "the places where it can be given. Flags of the command line are listed with "
        "the :doc:`commands <commands/index>`."
    )
    lines = [title, "=" * len(title), "", text, ""]
    named = settings()
    letters = {name[0].upper() for name in named}
    for letter in filter(letters.__contains__, string.ascii_uppercase):
        lines += [letter, "-", ""]
        for name in (one for one in named if one[0].upper() == letter):
            lines += [f"``{name}``", f"   .. index:: single: setting; {name}", ""]
            for path, kind in named[name]:
                shown = f": {literal(kind)}" if kind else ""
                lines += [f"   - :obj:`~{path}`{shown}"]
            lines.append("")
    return "\n".join(lines)


def literal(text: str) -> str:
    """The type of a setting as plain reStructuredText."""
    return text.replace("\\", "\\\\").replace("*", "\\*").replace("`", "")


def warnings_page() -> str:
    """The index of warnings and errors, in reStructuredText."""
    title = "Warnings and errors by name"
    text = (
        "What each means. :doc:`/faults` lists the faults of the input that cause "
        "them, with the answer that each gets. ``SkanchorWarning`` is the base class "
        "of all warnings, for ``warnings.filterwarnings``."
    )
    lines = [title, "=" * len(title), "", text, ""]
    for path in warnings_and_errors():
        name = path.rpartition(".")[2]
        value = getattr(import_module("skanchor.exceptions"), name)
        bases = [base.__name__ for base in value.__bases__]
        lines += [f":exc:`~{path}`", f"   .. index:: single: warning; {name}", ""]
        first = (inspect.getdoc(value) or "").split("\n\n")[0]
        lines += [
            f"   {' '.join(first.split())}",
            f"   A kind of {' and '.join(bases)}.",
        ]
        lines.append("")
    return "\n".join(lines)


def setting_pages() -> dict[str, str]:
    """Texts of the pages by their path in the folder of the documentation."""
    return {
        f"{FOLDER}/settings.rst": settings_page(),
        f"{FOLDER}/warnings.rst": warnings_page(),
    }
