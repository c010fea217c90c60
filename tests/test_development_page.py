"""The map of the package in docs/development.md is that of the tree."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import skanchor

PACKAGE = Path(skanchor.__file__).parent
PAGE = PACKAGE.parent / "docs" / "development.md"
MODULES = {
    ".".join(
        ("skanchor", *path.relative_to(PACKAGE).with_suffix("").parts)
    ).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
    if path != PACKAGE / "__init__.py"
}
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="needs the pages")


def packages_of_page():
    section = PAGE.read_text(encoding="utf-8").split("\n## Packages\n")[1]
    return re.findall(r"^\| `(\w+)` \|", section.split("\n## ")[0], re.M)


def packages_of_tree():
    names = {path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")}
    return {name.removesuffix(".py") for name in names} - {"__init__", "__main__"}


@cache
def imported(file):
    """Imports of a file from modules, and whether each is for types alone."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    typed = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return [(node, node in typed) for node in nodes if node.module]


def imports(package):
    """Packages that a package imports when it runs, in functions or not."""
    path = PACKAGE / package
    for file in path.rglob("*.py") if path.is_dir() else [path.with_suffix(".py")]:
        for node, is_for_types in imported(file):
            root, *inner = node.module.split(".")
            if root == "skanchor" and not is_for_types:
                name = node.names[0].name
                yield (inner or [skanchor._MODULE_OF.get(name, name)])[0]


def test_every_package_is_on_the_page_once():
    packages = packages_of_page()
    assert len(packages) == len(set(packages))
    assert set(packages) == packages_of_tree()


def test_a_package_imports_only_packages_above_it():
    packages = packages_of_page()
    for number, package in enumerate(packages):
        below = set(imports(package)) - set(packages[: number + 1])
        assert not below, f"{package} imports {below}, which stand below it"


def modules_that(file):
    """Modules of the package that a file imports, for its types or when it runs."""
    for node, _ in imported(file):
        if node.module.startswith("skanchor."):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module


def test_no_circle_of_imports():
    graph = {name: set(modules_that(file)) for name, file in MODULES.items()}
    assert sum(map(len, graph.values())) > 800
    TopologicalSorter(graph).prepare()


def test_files_and_names_of_the_page_exist():
    text = PAGE.read_text(encoding="utf-8")
    for file in re.findall(r"`(\w+/[\w/]+\.py)`", text):
        if not re.search(r"my|_x\.|_x\b", file):  # those that a reader will write
            assert (PACKAGE / file).exists() or (PAGE.parents[1] / file).exists(), file
    words = set()
    for path in PACKAGE.rglob("*.py"):
        words.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    sure = text.split("\n## Tests, checks")[0]
    for name in re.findall(r"`(?:\w+\.)?(\w+)(?:\(.*?\))?`", sure):
        assert name in words or (PACKAGE / name).exists() or name == "py", name
