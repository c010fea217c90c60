"""Every public name, command and setting has a page; every example runs.

The pages are made from the code before the build. Here are the texts that Sphinx gets;
``.ci/site`` looks at what it makes of them.
"""

import argparse
import doctest
import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

from skanchor._cli.parser import make_parser

EXTENSIONS = Path(__file__).parents[2] / "docs" / "_ext"
if not EXTENSIONS.exists():
    pytest.skip("needs the pages", allow_module_level=True)
sys.path.insert(0, str(EXTENSIONS))

from command_pages import command_pages, commands  # noqa: E402
from name_pages import module_page, modules, own_names, write_pages  # noqa: E402
from setting_pages import setting_pages, settings, warnings_and_errors  # noqa: E402

NAMES = [(module, name) for module in modules() for name in own_names(module)]
CATEGORY = (
    "a category is only named in a filter, as the example of SkanchorWarning does"
)
NO_EXAMPLE = {
    f"skanchor.exceptions.{kind}Warning": CATEGORY
    for kind in (
        "Bound",
        "Convergence",
        "Count",
        "Data",
        "Diagnostic",
        "Instability",
        "Separation",
        "Slow",
        "WeakJudge",
    )
}
"""Names without an example, and why."""


def examples(value):
    """Examples of a public name, which the doctests of the package run."""
    return doctest.DocTestParser().get_examples(inspect.getdoc(value) or "")


def test_all_names_are_counted_once():
    assert len(NAMES) == len(set(NAMES)) > 80
    assert ("skanchor", "AnchorHistory") in NAMES
    assert ("skanchor.history", "AnchorHistory") not in NAMES


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_public_name_has_a_signature_and_an_example(module, name):
    value = getattr(import_module(module), name)
    # A value has no docstring of its own: the example is that of its module.
    holder = value if callable(value) else import_module(module)
    if callable(value):
        assert inspect.signature(value) is not None
    found = examples(holder)
    if f"{module}.{name}" in NO_EXAMPLE:
        assert not found, "it has an example: strike it off the list"
    else:
        assert found
        assert callable(value) or any(name in example.source for example in found)


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
        found = inspect.unwrap(getattr(one, "fget", None) or one)
        if (getattr(found, "__module__", None) or "").startswith("skanchor"):
            yield inspect.getdoc(found) or ""


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_references_of_a_page_lead_to_pages(module, name):
    texts = own_texts(getattr(import_module(module), name))
    found = {target for text in texts for target in REFERENCE.findall(text)}
    lost = [one for one in sorted(found) if not leads_to_a_page(one, module, name)]
    assert not lost, f"{module}.{name} refers to {lost}, which have no page"


@pytest.mark.parametrize("module", modules())
def test_the_page_of_a_module_lists_its_names(module):
    lines = [line.strip() for line in module_page(module).splitlines()]
    assert set(own_names(module)) <= set(lines)


def test_the_list_of_modules_leads_to_each():
    pages = write_pages()
    index = pages.pop("generated/api/index.rst")
    assert {f"generated/api/{module}.rst" for module in modules()} == set(pages)
    assert {line.strip() for line in index.splitlines()} >= set(modules())


def test_every_command_and_flag_has_its_place():
    pages = command_pages()
    found = list(commands(make_parser()))
    assert len(found) == len(pages) - 1 > 10
    for _, parser in found:
        page = pages[f"generated/commands/{parser.prog.replace(' ', '-')}.rst"]
        for action in parser._actions:
            hidden = action.help is argparse.SUPPRESS
            for flag in () if hidden else action.option_strings:
                assert f"{flag}" in page
    assert (
        ".. option:: --set NAME=VALUE" in pages["generated/commands/skanchor-rank.rst"]
    )


def test_every_setting_of_the_pipeline_is_indexed():
    from skanchor import AnchorPipeline

    found = settings()
    assert all(
        "skanchor.AnchorPipeline" in dict(found[name])
        for name in AnchorPipeline().get_params(deep=False)
    )
    page = setting_pages()["generated/settings.rst"]
    assert "single: setting; item_effects" in page


def test_every_warning_is_indexed():
    page = setting_pages()["generated/warnings.rst"]
    assert {one for one, why in NO_EXAMPLE.items() if why is CATEGORY} <= set(
        warnings_and_errors()
    )
    assert all(f":exc:`~{path}`" in page for path in warnings_and_errors())
