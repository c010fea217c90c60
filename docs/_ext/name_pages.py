"""Pages of the reference: one for each public module, written before the build.

Each lists the public names of the module for Sphinx's autosummary, which writes the
page of each name. A name that two modules offer has one page, under the shorter path.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from types import ModuleType

import skanchor

__all__ = [
    "class_pages", "home", "module_page", "modules", "page_of", "public_names",
    "write_pages",
]  # fmt: skip

FOLDER = "generated/api"


def modules() -> list[str]:
    """Names of the package and of its public modules."""
    return ["skanchor", *(f"skanchor.{name}" for name in skanchor._PUBLIC_MODULES)]


def public_names(module: str) -> list[str]:
    """Public names of a module, each under the path of its page."""
    return [home(module, name) for name in import_module(module).__all__]


def own_names(module: str) -> list[str]:
    """Names that have their pages under a module."""
    return [
        one
        for one in import_module(module).__all__
        if home(module, one) == f"{module}.{one}"
    ]


def home(module: str, name: str) -> str:
    """The path under which a public name has its page."""
    return f"skanchor.{name}" if name in skanchor.__all__ else f"{module}.{name}"


def page_of(path: str) -> str:
    """The page of a public name, without a suffix."""
    return f"{FOLDER}/{path}"


def kinds(module: str) -> dict[str, list[str]]:
    """Names that have their pages under a module, by their kind."""
    found: dict[str, list[str]] = {"Classes": [], "Functions": [], "Data": []}
    for name in own_names(module):
        value = getattr(import_module(module), name)
        is_function = inspect.isroutine(value)
        kind = "Classes" if inspect.isclass(value) else "Data"
        found["Functions" if is_function else kind].append(name)
    return {kind: names for kind, names in found.items() if names}


def class_pages() -> dict[str, str]:
    """Path of each public class by its name, as docstrings name types."""
    return {
        name: f"{module}.{name}"
        for module in modules()
        for name in kinds(module).get("Classes", ())
    }


def introduction(module: ModuleType) -> str:
    """What the docstring of a module says."""
    return inspect.getdoc(module) or ""


def module_page(module: str) -> str:
    """The page of a module, in reStructuredText."""
    lines = [f"``{module}``", "=" * (len(module) + 4), "", f".. module:: {module}", ""]
    lines += [introduction(import_module(module)), ""]
    for kind, names in kinds(module).items():
        lines += [kind, "-" * len(kind), ""]
        lines += [".. autosummary::", "   :toctree: .", ""]
        lines += [f"   {name}" for name in names] + [""]
    elsewhere = set(public_names(module)) - {
        f"{module}.{one}" for one in own_names(module)
    }
    if elsewhere:
        named = ", ".join(f":obj:`~{path}`" for path in sorted(elsewhere))
        lines += [f"Offered by ``skanchor`` itself, too: {named}.", ""]
    return "\n".join(lines)


def index_page() -> str:
    """The list of all modules."""
    title = "Modules and names"
    text = (
        "Every public name, by module. The names of ``skanchor`` itself are those that "
        "most users need. Estimators also have ``get_params``, ``set_params`` and the "
        "methods that ask for metadata, which are scikit-learn's and described there."
    )
    entries = [f"   {module}" for module in modules()]
    toctree = [".. toctree::", "   :maxdepth: 1", "", *entries, ""]
    return "\n".join([title, "=" * len(title), "", text, "", *toctree])


def write_pages() -> dict[str, str]:
    """Texts of the pages by their path in the folder of the documentation."""
    pages = {f"{FOLDER}/{module}.rst": module_page(module) for module in modules()}
    return {f"{FOLDER}/index.rst": index_page(), **pages}
