"""The link from an estimator's HTML representation to its page in the reference."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, metadata


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
    """Links the HTML representation of an estimator to its page in the reference.

    scikit-learn reads the attributes. If the metadata of the package has no address of
    the documentation, there is no link.
    """

    _doc_link_module = "skanchor"

    @property
    def _doc_link_template(self) -> str:
        url = documentation_url()
        return f"{url}/generated/{{path}}.html" if url else ""

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        """Value of the field of the template: the public path of the class."""
        name = type(self).__name__
        package, inner, *_ = type(self).__module__.split(".")
        # What the package itself offers has its page there alone.
        is_at_top = name in import_module(package).__all__
        return {
            "path": f"{package}.{name}" if is_at_top else f"{package}.{inner}.{name}"
        }
