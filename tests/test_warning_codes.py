"""Every warning of the package names its finding, and whom it is about."""

import ast
import re
from pathlib import Path

import pytest

import skanchor
from skanchor import exceptions
from skanchor.exceptions import SkanchorWarning

ROOT = Path(skanchor.__file__).parent
CATEGORIES = {
    name
    for name in exceptions.__all__
    if issubclass(getattr(exceptions, name), SkanchorWarning)
}
CODE = re.compile(r"[a-z]+(-[a-z]+)*")


def is_warning(node):
    """Whether a node constructs a warning of the package."""
    called = node.func if isinstance(node, ast.Call) else None
    return getattr(called, "id", getattr(called, "attr", None)) in CATEGORIES


def constructions():
    """Each construction of a warning, with where it is."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if is_warning(node):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def names_labels(message):
    """Whether a message interpolates names: quoted, the first of a list, or joined."""
    for part in ast.walk(message):
        if isinstance(part, ast.FormattedValue):
            value = part.value
            sliced = isinstance(value, ast.Subscript) and isinstance(
                value.slice, ast.Slice
            )
            joined = isinstance(value, ast.Call) and (
                ast.unparse(value.func) == "', '.join"
            )
            listed = isinstance(value, ast.Name) and value.id in {"names", "listed"}
            if part.conversion == ord("r") or sliced or joined or listed:
                return True
    return False


FOUND = dict(constructions())


@pytest.mark.parametrize("where", FOUND)
def test_a_warning_has_a_code_and_names_its_subject(where):
    call = FOUND[where]
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    assert "code" in given
    codes = [
        node.value
        for node in ast.walk(given["code"])
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert all(CODE.fullmatch(code) for code in codes)
    if any(map(names_labels, call.args)):
        assert "subject" in given


def test_no_category_is_issued_with_a_bare_text():
    """As ``warnings.warn(text, DataWarning)``, whose warning has no code."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or is_warning(node):
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", None))
            if name in {"warn", "map"}:
                names = {getattr(each, "id", None) for each in node.args}
                assert not names & CATEGORIES, f"{path.name}:{node.lineno}"
