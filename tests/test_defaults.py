"""Defaults are what the documentation says they are."""

import ast
import importlib
import inspect
import pkgutil
import re

import pytest

import skanchor

PACKAGES = [package.name for package in pkgutil.iter_modules(skanchor.__path__)]
# Python 3.13 takes the indentation out of docstrings.
NAMED = re.compile(r"^ {0,8}(\w+) : .*\bdefault=([^\n]+?)\.?$", re.M)


def documented():
    """Public functions and classes, with the defaults that their docstrings name."""
    seen = {}
    for package in ("", *(f".{name}" for name in PACKAGES if not name.startswith("_"))):
        module = importlib.import_module(f"skanchor{package}")
        for name in getattr(module, "__all__", ()):
            result = getattr(module, name)
            named = NAMED.findall(getattr(result, "__doc__", None) or "")
            if callable(result) and named:
                seen.setdefault(result, (f"{module.__name__}.{name}", dict(named)))
            if not inspect.isclass(result):
                continue
            for part, method in inspect.getmembers(result, inspect.isfunction):
                named = NAMED.findall(method.__doc__ or "")
                ours = method.__module__.startswith("skanchor") and part[0] != "_"
                if named and ours:
                    seen.setdefault(method, (method.__qualname__, dict(named)))
    return [
        pytest.param(function, of, id=name) for function, (name, of) in seen.items()
    ]


@pytest.mark.parametrize(("function", "named"), documented())
def test_defaults_are_as_documented(function, named):
    reference = inspect.signature(function).parameters
    for name, text in named.items():
        if name in reference:
            default = reference[name].default
            documented_default = str if text == "str" else ast.literal_eval(text)
            assert documented_default == default, (name, text, default)


def test_most_of_what_is_public_names_defaults():
    assert len(documented()) > 50
