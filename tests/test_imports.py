"""What importing the package loads, and what it offers."""

import importlib
import json
import pkgutil
import subprocess
import sys

import pytest

import skanchor

OPTIONAL = ["torch", "skorch", "matplotlib", "dask", "distributed"]


def loaded_after(code):
    """Top-level modules that a new interpreter holds after ``code``."""
    report = "import json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"],
        capture_output=True,
        text=True,
        check=True,
    )
    modules = json.loads(done.stdout.splitlines()[-1])
    return {name.partition(".")[0] for name in modules}


def test_import_loads_nothing_heavy():
    heavy = {*OPTIONAL, "sklearn", "pandas", "scipy", "pyarrow", "rich"}
    assert not heavy & loaded_after("import skanchor")


def test_every_public_name_does_without_the_optional_packages():
    loaded = loaded_after("from skanchor import *; AnchorPipeline, split_battles")
    assert "sklearn" in loaded
    assert not set(OPTIONAL) & loaded


def test_help_does_not_wait_for_the_numbers():
    code = "from skanchor._cli import main; main(['--help'])"
    assert not {"sklearn", "pandas", "scipy"} & loaded_after(code)


def test_public_names_are_where_they_are_said_to_be():
    assert set(skanchor.__all__) <= set(dir(skanchor))
    assert sorted(skanchor._MODULE_OF) == sorted(skanchor.__all__)
    for name, module_name in skanchor._MODULE_OF.items():
        module = importlib.import_module(f"skanchor.{module_name}")
        assert getattr(skanchor, name) is getattr(module, name)
    for name in skanchor._PUBLIC_MODULES:
        assert getattr(skanchor, name).__name__ == f"skanchor.{name}"
    with pytest.raises(AttributeError, match="no attribute 'AnchorPipelin'"):
        skanchor.AnchorPipelin  # noqa: B018


def test_public_modules_are_those_without_an_underscore():
    result = [module.name for module in pkgutil.iter_modules(skanchor.__path__)]
    public = [name for name in result if not name.startswith("_")]
    assert sorted(public) == sorted(skanchor._PUBLIC_MODULES)


def test_modules_inside_public_packages_offer_nothing():
    for package in skanchor._PUBLIC_MODULES:
        path = getattr(importlib.import_module(f"skanchor.{package}"), "__path__", [])
        for result in pkgutil.iter_modules(path):
            if not result.name.startswith("_"):
                inner = importlib.import_module(f"skanchor.{package}.{result.name}")
                assert not hasattr(inner, "__all__"), inner.__name__
