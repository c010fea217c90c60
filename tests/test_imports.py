"""What importing the package loads, and what it offers."""

import importlib
import json
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
    code = "from skanchor.cli import main; main(['--help'])"
    assert not {"sklearn", "pandas", "scipy"} & loaded_after(code)


def test_public_names_are_where_they_are_said_to_be():
    assert set(skanchor.__all__) <= set(dir(skanchor))
    assert sorted(skanchor._HOMES) == sorted(skanchor.__all__)
    for name, home in skanchor._HOMES.items():
        module = importlib.import_module(f"skanchor.{home}")
        assert getattr(skanchor, name) is getattr(module, name)
        assert name in module.__all__
    for name in skanchor._MODULES:
        assert getattr(skanchor, name).__name__ == f"skanchor.{name}"
    with pytest.raises(AttributeError, match="no attribute 'AnchorPipelin'"):
        skanchor.AnchorPipelin  # noqa: B018
