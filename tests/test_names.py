"""Names say what a thing is: words that could stand for anything name nothing."""

import ast
from pathlib import Path

import pytest

import skanchor

TESTS = Path(__file__).parent
FOLDERS = [Path(skanchor.__file__).parent, TESTS, TESTS.parent / "benchmarks"]
VAGUE = set(
    "own known found told said given each some rest kept asked due late anew at_home "
    "hand_on admit heard held view place Chain Evidence Journal Survey Treatment board "
    "everyone".split()
)
PUBLIC = {"place", "board"}
"""The method of a history and its command, and the table that a display was given."""


def names_of(tree):
    """Names of the variables, parameters, attributes, functions and classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            if isinstance(node.ctx, ast.Store):
                yield node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_name_is_vague(folder):
    vague = [
        f"{path.relative_to(folder)}: {name}"
        for path in sorted(folder.rglob("*.py"))
        for name in names_of(ast.parse(path.read_text("utf-8")))
        if name in VAGUE - PUBLIC
    ]
    assert not vague
