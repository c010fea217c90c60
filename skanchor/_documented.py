"""The link from an estimator's HTML representation to its page in the documentation."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata

__all__ = ["DocumentedMixin", "documentation_url"]

PAGE = "/generated/{estimator_module}.{estimator_name}.html"
"""Where the page of an estimator lies under the address of the documentation."""


@cache
def documentation_url() -> str:
    """Address of the documentation that the installed package states, or nothing."""
    try:
        stated = metadata("skanchor").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    for line in stated:
        label, _, url = str(line).partition(",")
        if label.strip().lower() == "documentation":
            return url.strip().rstrip("/")
    return ""


class DocumentedMixin:
    """Links the HTML representation of an estimator to its page.

    scikit-learn reads the two attributes. Without an address of the documentation in
    the metadata of the package there is no link.
    """

    _doc_link_module = "skanchor"

    @property
    def _doc_link_template(self) -> str:
        url = documentation_url()
        return url + PAGE if url else ""
