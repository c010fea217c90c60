"""Estimators show themselves in notebooks, with a link to their place in the docs."""

import pkgutil
import sys
from importlib import import_module
from importlib.metadata import Distribution
from importlib.util import find_spec
from pathlib import Path

import pytest

import skanchor
from skanchor import AnchorPipeline, _documented
from skanchor._documented import DocumentedMixin
from skanchor.baselines import JointBTL
from skanchor.bias import BoostedBias, LinearBias
from skanchor.features import ResponseFeatures

PACKAGES = ("baselines", "bias", "bootstrap", "features")
SITE = "https://docs.example/stable"
REPOSITORY = "https://git.example/who/skanchor/blob/main/docs"


class Installed(Distribution):
    """The package as it would be installed, with these lines in its metadata."""

    def __init__(self, *urls):
        self.urls = urls

    def read_text(self, filename):
        lines = ["Metadata-Version: 2.1", "Name: skanchor"]
        return "\n".join([*lines, *(f"Project-URL: {url}" for url in self.urls)])

    def locate_file(self, path):
        raise NotImplementedError


@pytest.fixture
def installed(monkeypatch):
    """Say what the metadata of the installed package states."""

    def state(*urls):
        found = Installed(*urls).metadata
        monkeypatch.setattr(_documented, "metadata", lambda name: found)
        _documented.documentation_url.cache_clear()

    yield state
    _documented.documentation_url.cache_clear()


@pytest.mark.parametrize(
    ("estimator", "place"),
    [
        (AnchorPipeline(), "AnchorPipeline"),
        (LinearBias(), "LinearBias"),
        (BoostedBias(), "BoostedBias"),
        (ResponseFeatures(), "ResponseFeatures"),
        (JointBTL(), "baselines"),
    ],
)
@pytest.mark.parametrize(
    ("url", "page"), [(SITE, "api.html"), (f"{REPOSITORY}/", "api.md")]
)
def test_the_diagram_links_to_the_place(estimator, place, url, page, installed):
    installed("Source, https://a.b", f"Documentation, {url}")
    link = f"{url.rstrip('/')}/{page}#{place}"
    assert f'href="{link}"' in estimator._repr_html_()


@pytest.mark.parametrize("urls", [(), ("Source, https://a.b",)])
def test_without_an_address_there_is_no_link(urls, installed):
    installed(*urls)
    assert _documented.documentation_url() == ""
    html = AnchorPipeline(cv=7)._repr_html_()
    assert "AnchorPipeline" in html and "href" not in html
    assert AnchorPipeline()._get_doc_link() == ""


def test_a_class_of_the_user_is_not_said_to_be_documented(installed):
    installed(f"Documentation, {SITE}")
    mine = type("Mine", (LinearBias,), {"__module__": "my_module"})
    assert "href" not in mine()._repr_html_()


def test_every_link_has_a_place_to_lead_to(installed):
    installed(f"Documentation, {SITE}")
    for found in pkgutil.walk_packages(skanchor.__path__, "skanchor."):
        if "._torch" not in found.name and not found.name.endswith("__main__"):
            import_module(found.name)
    page = Path(__file__).parents[1].joinpath("docs", "api.md").read_text("utf-8")
    seen, todo = set(), [DocumentedMixin]
    while todo:
        for kind in todo.pop().__subclasses__():
            todo.append(kind)
            home = kind.__module__.split(".")
            if home[0] != "skanchor":
                continue
            # Of what estimators are made of nobody has an instance.
            home = (
                skanchor if home[1] not in PACKAGES else sys.modules[".".join(home[:2])]
            )
            if kind.__name__ in home.__all__:
                seen.add(kind.__name__)
                _, _, place = kind._get_doc_link(kind.__new__(kind)).partition("#")
                link = f'<a id="{place}"></a>'
                said = f"{kind.__name__} links to {link}: put it in docs/api.md, once"
                assert page.count(link) == 1, said
    assert {"AnchorPipeline", "BTLRegressor", "JointBTL", "EmbeddingFeatures"} <= seen
    assert ("NetworkBias" in seen) or find_spec("torch") is None
