"""Estimators show themselves in notebooks, with a link to the documentation's page."""

import pytest

from skanchor import AnchorPipeline, _documented
from skanchor.bias import AutoBias, BoostedBias, LinearBias
from skanchor.features import ResponseFeatures


@pytest.fixture
def published(monkeypatch):
    monkeypatch.setattr(
        "skanchor._documented.documentation_url", lambda: "https://docs.example/stable"
    )


@pytest.mark.parametrize(
    ("estimator", "page"),
    [
        (AnchorPipeline(), "skanchor.anchor.AnchorPipeline"),
        (LinearBias(), "skanchor.bias.LinearBias"),
        (BoostedBias(), "skanchor.bias.BoostedBias"),
        (AutoBias(), "skanchor.bias.AutoBias"),
        (ResponseFeatures(), "skanchor.features.response.ResponseFeatures"),
    ],
)
def test_the_diagram_links_to_the_page(estimator, page, published):
    link = f"https://docs.example/stable/generated/{page}.html"
    assert f'href="{link}"' in estimator._repr_html_()


def test_without_an_address_there_is_no_link():
    assert _documented.documentation_url() == ""
    html = AnchorPipeline(cv=7)._repr_html_()
    assert "AnchorPipeline" in html and "href" not in html


@pytest.mark.parametrize(
    ("stated", "url"),
    [
        (["Source, https://a.b", "Documentation, https://c.d/e/"], "https://c.d/e"),
        (["Source, https://a.b"], ""),
        (None, ""),
    ],
)
def test_the_address_is_the_one_that_the_package_states(monkeypatch, stated, url):
    class Metadata:
        def get_all(self, name):
            assert name == "Project-URL"
            return stated

    monkeypatch.setattr(_documented, "metadata", lambda name: Metadata())
    _documented.documentation_url.cache_clear()
    assert _documented.documentation_url() == url
    _documented.documentation_url.cache_clear()
