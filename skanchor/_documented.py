"""The link from an estimator's HTML representation to its place in the docs."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata

__all__ = ["DocumentedMixin", "documentation_url"]

PAGE = "/api{suffix}#{place}"
"""The page of public names, under the address of the documentation."""

_TOGETHER = frozenset({"baselines"})
"""Packages whose estimators have one place together."""


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
    """Links the HTML representation of an estimator to its place in ``docs/api.md``.

    scikit-learn reads the attributes. Without an address of the documentation in the
    metadata of the package there is no link, so that none leads nowhere. The address is
    that of the folder ``docs``, as pages or in a repository.
    """

    _doc_link_module = "skanchor"

    @property
    def _doc_link_template(self) -> str:
        url = documentation_url()
        return url + PAGE if url else ""

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        """What the template needs."""
        _, package, *_ = type(self).__module__.split(".")
        url = documentation_url()
        # A site is built from Markdown, a repository holds it.
        in_repository = "/blob/" in url or "/tree/" in url
        return {
            "suffix": ".md" if in_repository else ".html",
            "place": package if package in _TOGETHER else type(self).__name__,
        }
