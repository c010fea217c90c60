"""Pickles that name the version of skanchor that wrote them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, SupportsIndex

from skanchor.exceptions import VersionWarning


class VersionedPickle:
    """Mixin: another version of skanchor warns before it reads the pickle."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        reduced: Any = super().__reduce_ex__(protocol)
        make, arguments, *state = reduced
        return (_begin, (_this_version(), make, arguments), *state)


@cache
def _this_version() -> str:
    """Version of the installed package, or "" for a source tree that is not."""
    try:
        return version("skanchor")
    except PackageNotFoundError:
        return ""


def _begin(written_by: str, make: Callable[..., Any], arguments: Any) -> Any:
    """Make the object that the state of a pickle will fill.

    Pickle calls this before it reads the state. So the warning comes first even where
    the state names a class that this version no longer has.
    """
    if written_by != _this_version():
        warnings.warn(
            VersionWarning(
                f"This pickle was written by skanchor {written_by}, and you use "
                f"skanchor {_this_version()}. It may fail to load, or give wrong "
                "results. Fit again. AnchorHistory.save writes files that later "
                "versions read.",
                code="other-version",
            ),
            stacklevel=2,
        )
    return make(*arguments)
