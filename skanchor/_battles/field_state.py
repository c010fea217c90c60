"""Pickled state of dataclasses that keep what they have computed."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


class FieldState:
    """Mixin of dataclasses: the pickled state has the fields alone.

    Cached properties are left out; they are computed again when needed.
    """

    def __getstate__(self) -> dict[str, Any]:
        of: Any = self
        return {field.name: getattr(self, field.name) for field in fields(of)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
