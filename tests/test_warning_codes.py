"""Every warning of the package names its finding, and whom it is about."""

import ast
import re
from functools import cache
from pathlib import Path

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
    """Whether a call constructs a warning of the package."""
    called = node.func
    return getattr(called, "id", getattr(called, "attr", None)) in CATEGORIES


def is_told_of_data(node):
    """Whether a call warns of rows or labels, whose code and subject it must give."""
    return getattr(node.func, "id", "") == "warn_of_data"


@cache
def calls():
    """All calls of the package, each with where it is."""
    result = []
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                result.append((f"{path.relative_to(ROOT)}:{node.lineno}", node))
    return result


def names_labels(message):
    """Whether a message interpolates names: quoted, the first of a list, or joined."""
    for part in ast.walk(message):
        if isinstance(part, ast.FormattedValue):
            value = part.value
            sliced = isinstance(value, ast.Subscript) and isinstance(
                value.slice, ast.Slice
            )
            joined = isinstance(value, ast.Call) and (
                ast.unparse(value.func) in {"', '.join", "first_five"}
            )
            listed = isinstance(value, ast.Name) and value.id in {"names", "listed"}
            if part.conversion == ord("r") or sliced or joined or listed:
                return True
    return False


def test_a_warning_has_a_code_and_names_its_subject():
    constructed = [(where, call) for where, call in calls() if is_warning(call)]
    data_warnings = [(where, call) for where, call in calls() if is_told_of_data(call)]
    assert len(constructed) + len(data_warnings) > 40
    for where, call in constructed:
        arguments = {keyword.arg: keyword.value for keyword in call.keywords}
        assert "code" in arguments, where
        codes = [
            node.value
            for node in ast.walk(arguments["code"])
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        assert all(CODE.fullmatch(code) for code in codes), where
        assert "subject" in arguments or not any(map(names_labels, call.args)), where
    for where, call in data_warnings:
        code = call.args[0]
        assert not isinstance(code, ast.Constant) or CODE.fullmatch(code.value), where


def test_no_category_is_issued_with_a_bare_text():
    """As ``warnings.warn(text, DataWarning)``, whose warning has no code."""
    for where, node in calls():
        name = getattr(node.func, "id", getattr(node.func, "attr", None))
        if name in {"warn", "map"} and not is_warning(node):
            names = {getattr(item, "id", None) for item in node.args}
            assert not names & CATEGORIES, where
