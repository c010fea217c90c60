"""Every public name has a signature, an example, and references that lead to pages.

The reference is made from the code by autosummary; ``.ci/site`` builds it.
"""

import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import skanchor

PAGE = Path(__file__).parents[2] / "docs" / "reference.md"
MODULES = ["skanchor", *(f"skanchor.{name}" for name in skanchor._PUBLIC_MODULES)]
NAMES = [
    (module, name)
    for module in MODULES
    for name in import_module(module).__all__
    if module == "skanchor" or name not in skanchor.__all__
]
# A category is only named in a filter, as the example of SkanchorWarning does.
CATEGORIES = (
    "Bound", "Convergence", "Count", "Data", "Diagnostic", "Instability", "Separation",
    "Slow", "WeakJudge",
)  # fmt: skip
NO_EXAMPLE = {f"skanchor.exceptions.{kind}Warning" for kind in CATEGORIES}


def examples(value):
    """Examples of a public name, which the doctests of the package run."""
    return doctest.DocTestParser().get_examples(inspect.getdoc(value) or "")


@pytest.mark.skipif(not PAGE.exists(), reason="needs the pages")
def test_the_page_lists_every_public_module():
    listed = re.findall(r"^   (skanchor[.\w]*)$", PAGE.read_text("utf-8"), re.M)
    assert sorted(listed) == sorted(MODULES)
    assert len(NAMES) == len(set(NAMES)) > 80


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_public_name_has_a_signature_and_an_example(module, name):
    value = getattr(import_module(module), name)
    # A value has no docstring of its own: the example is that of its module.
    holder = value if callable(value) else import_module(module)
    if callable(value):
        assert inspect.signature(value) is not None
    result = examples(holder)
    if f"{module}.{name}" in NO_EXAMPLE:
        assert not result, "it has an example: strike it off the list"
    else:
        assert result
        assert callable(value) or any(name in example.source for example in result)


REFERENCE = re.compile(r":(?:class|func|meth|attr|exc|data|obj):`~?([\w.]+)`")


def leads_to_a_page(target, module, name):
    """Whether a reference on the page of a name is a public name, or a part of one."""
    for path in (f"{module}.{name}.{target}", f"{module}.{target}", target):
        home, _, part = path.rpartition(".")
        above, _, kind = home.rpartition(".")
        if (home, part) in NAMES:
            return True
        owner = getattr(import_module(above), kind) if (above, kind) in NAMES else None
        if owner is not None and hasattr(owner, part):
            return True
    return False


def own_texts(value):
    """Docstrings of a public name and, of a class, of its members that are ours."""
    parts = dir(value) if inspect.isclass(value) else ()
    for one in (value, *(getattr(value, part) for part in parts if part[0] != "_")):
        result = inspect.unwrap(getattr(one, "fget", None) or one)
        if (getattr(result, "__module__", None) or "").startswith("skanchor"):
            yield inspect.getdoc(result) or ""


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_references_of_a_page_lead_to_pages(module, name):
    texts = own_texts(getattr(import_module(module), name))
    result = {target for text in texts for target in REFERENCE.findall(text)}
    lost = [one for one in sorted(result) if not leads_to_a_page(one, module, name)]
    assert not lost, f"{module}.{name} refers to {lost}, which have no page"
