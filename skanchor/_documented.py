"""The link from an estimator's HTML representation to its place in the docs."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata

PAGE = "/api{suffix}#{place}"
"""The page of public names, under the address of the documentation."""

_TOGETHER = frozenset({"baselines"})
"""Packages whose estimators share one section of the page."""


@cache
def documentation_url() -> str:
    """Address of the documentation in the metadata of the package, or ""."""
    try:
        stated = metadata("skanchor").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    # Each line is "label, address".
    for line in stated:
        label, _, url = str(line).partition(",")
        if label.strip().lower() == "documentation":
            return url.strip().rstrip("/")
    return ""


class DocumentedMixin:
    """Links the HTML representation of an estimator to its section in ``docs/api.md``.

    scikit-learn reads the attributes. If the metadata of the package has no address of
    the documentation, there is no link. The address is that of the folder ``docs``,
    either as a website or in a repository.
    """

    _doc_link_module = "skanchor"

    @property
    def _doc_link_template(self) -> str:
        url = documentation_url()
        return url + PAGE if url else ""

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        """Values of the fields of `PAGE` for this estimator."""
        _, package, *_ = type(self).__module__.split(".")
        url = documentation_url()
        # A website has HTML pages, a repository the Markdown that they are made from.
        in_repository = "/blob/" in url or "/tree/" in url
        return {
            "suffix": ".md" if in_repository else ".html",
            "place": package if package in _TOGETHER else type(self).__name__,
        }
