"""Tables of a result that are made when they are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pandas as pd

__all__ = ["LazyTable", "WithTables"]


class LazyTable:
    """Field of a dataclass that holds a table, or what makes it once it is read."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> pd.DataFrame:
        if instance is None:
            # To a dataclass this says that the field has no default.
            raise AttributeError(self._name)
        table = vars(instance)[self._name]
        if not isinstance(table, pd.DataFrame):
            table = vars(instance)[self._name] = table()
        return table

    def __set__(
        self, instance: Any, table: pd.DataFrame | Callable[[], pd.DataFrame]
    ) -> None:
        vars(instance)[self._name] = table


class WithTables:
    """What has such fields; a copy for another process has all tables made."""

    def settle(self) -> None:
        """Make all tables, and let go what they are made from."""
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, WithTables):
                value.settle()

    def __getstate__(self) -> dict[str, Any]:
        self.settle()
        return dict(vars(self))
