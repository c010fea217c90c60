"""Estimators show themselves in notebooks, with a link to their place in the docs."""

import pkgutil
import sys
from importlib import import_module
from importlib.metadata import Distribution

import pytest

import skanchor
from skanchor import AnchorPipeline, _documented
from skanchor._documented import DocumentedMixin
from skanchor.baselines import JointBTL
from skanchor.bias import BoostedBias, LinearBias
from skanchor.features import ResponseFeatures

SITE = "https://docs.example/stable"


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
    ("estimator", "path"),
    [
        (AnchorPipeline(), "skanchor.AnchorPipeline"),
        (LinearBias(), "skanchor.bias.LinearBias"),
        (BoostedBias(), "skanchor.bias.BoostedBias"),
        (ResponseFeatures(), "skanchor.features.ResponseFeatures"),
        (JointBTL(), "skanchor.baselines.JointBTL"),
    ],
)
def test_the_diagram_links_to_the_page_of_the_class(estimator, path, installed):
    installed("Source, https://a.b", f"Documentation, {SITE}/")
    assert f'href="{SITE}/generated/{path}.html"' in estimator._repr_html_()


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


def test_every_link_leads_to_a_public_name(installed):
    installed(f"Documentation, {SITE}")
    for found in pkgutil.walk_packages(skanchor.__path__, "skanchor."):
        if "._torch" not in found.name and not found.name.endswith("__main__"):
            import_module(found.name)
    seen, todo = set(), [DocumentedMixin]
    while todo:
        for kind in todo.pop().__subclasses__():
            todo.append(kind)
            link = kind._get_doc_link(kind.__new__(kind))
            path = link.removeprefix(f"{SITE}/generated/").removesuffix(".html")
            module, _, name = path.rpartition(".")
            # Of what estimators are made of nobody has an instance.
            home = sys.modules.get(module)
            if link and name in getattr(home, "__all__", ()):
                seen.add(name)
                assert getattr(home, name) is kind
    public = {"AnchorPipeline", "BTLRegressor", "JointBTL", "EmbeddingFeatures"}
    assert public | {"AutoBias", "Bootstrapped"} <= seen
