"""What a registry, a citation and an installation are told is true of this tree."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
if not (ROOT / "pyproject.toml").exists():
    pytest.skip("needs the source tree", allow_module_level=True)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
absolute = runpy.run_path(str(ROOT / "setup.py"), run_name="imported")["absolute"]
AT = "https://git.example/a/b"


@pytest.mark.parametrize(
    ("text", "version", "expected"),
    [
        ("[a](docs/x.md)", "0.1.0", f"[a]({AT}/blob/v0.1.0/docs/x.md)"),
        ("[a](docs/x.md#y)", "0.2.0.dev0", f"[a]({AT}/blob/main/docs/x.md#y)"),
        ("![a](docs/x.png)", "0.1.0", f"![a]({AT}/raw/v0.1.0/docs/x.png)"),
        ("[a](#part)", "0.1.0", f"[a]({AT}/blob/v0.1.0/README.md#part)"),
        ("[a](https://c.d)", "0.1.0", "[a](https://c.d)"),
        (
            "[[1] [![a](x.png)](y.md)",
            "0.1.0",
            f"[[1] [![a](x.png)]({AT}/blob/v0.1.0/y.md)",
        ),
    ],
)
def test_links_of_the_description_are_absolute(text, version, expected):
    assert absolute(text, AT, version) == expected


def test_the_description_has_no_relative_link():
    text = absolute((ROOT / "README.md").read_text("utf-8"), AT, "0.1.0")
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    assert targets
    assert [one for one in targets if not one.startswith("https://")] == []
    # Pictures in HTML are not rewritten.
    assert not re.search(r"<(?:img|source)\b[^>]*\bsrc(?:set)?=\"(?!https:)", text)


def test_the_citation_names_the_software_and_the_paper():
    result = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert result["version"] == PROJECT["version"]
    assert result["license"] == PROJECT["license"]
    assert result["repository-code"] == PROJECT["urls"]["Repository"]
    paper = result["preferred-citation"]
    assert paper["title"].startswith("Human-Anchored Inference for Ranking New Models")
    names = [f"{who['given-names']} {who['family-names']}" for who in paper["authors"]]
    assert names == [
        "Xin Zhou",
        "Sinian Zhang",
        "Zhanyan Yang",
        "Mingyuan Xu",
        "Molei Liu",
        "Doudou Zhou",
    ]


def test_a_release_has_its_dated_heading_in_the_changelog():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    result = re.findall(r"^## \[([^]]+)\](?: - (\d{4}-\d\d-\d\d))?$", text, re.M)
    assert result[0] == ("Unreleased", "")
    assert all(date for _, date in result[1:])
    # A version in development has none yet.
    if "dev" not in PROJECT["version"]:
        assert result[1][0] == PROJECT["version"]
        citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
        assert str(citation["date-released"]) == result[1][1]


def test_workflows_call_the_scripts_and_repeat_nothing():
    called = set()
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        for job in yaml.safe_load(path.read_text("utf-8"))["jobs"].values():
            for step in job.get("steps", []):
                if "run" in step:
                    script = re.fullmatch(r"bash (\.ci/\w+)[^\n]*\n?", step["run"])
                    assert script, f"{path.name}: {step['run']}"
                    called.add(script[1])
    assert called == {".ci/run", ".ci/extended", ".ci/site", ".ci/distributions"}
    assert all((ROOT / script).exists() for script in called)


def test_the_tested_versions_are_those_that_are_claimed():
    text = (ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8")
    tested = yaml.safe_load(text)["jobs"]["run"]["strategy"]["matrix"]["python"]
    claimed = [
        one.rpartition(" ")[2]
        for one in PROJECT["classifiers"]
        if one.startswith("Programming Language :: Python :: 3.")
    ]
    assert tested == claimed
