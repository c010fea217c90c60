"""Tables of a record that are made when they are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any, TypeVar

from skanchor._plain_state import PlainState

Record = TypeVar("Record")


class _Recipe(partial):
    """What makes a table."""


def made_when_read(function: Callable[..., Any], *args: Any) -> Any:
    """In place of a table, the function that makes it and what that takes.

    Parameters
    ----------
    function : callable
        Makes the table.
    *args
        What it takes.

    Returns
    -------
    object
        For a field of a class under :func:`with_lazy_tables`.
    """
    return _Recipe(function, *args)


class _LazyField:
    """Field that holds a table, or what makes it once it is read."""

    def __init__(self, name: str):
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        table = vars(instance)[self._name]
        if isinstance(table, _Recipe):
            table = vars(instance)[self._name] = table()
        return table

    def __set__(self, instance: Any, table: Any) -> None:
        vars(instance)[self._name] = table


def with_lazy_tables(*names: str) -> Callable[[type[Record]], type[Record]]:
    """Decorate a dataclass, some fields of which may be made when they are read.

    Parameters
    ----------
    *names : str
        The fields.

    Returns
    -------
    callable
        Takes the class and returns it.
    """

    def decorate(cls: type[Record]) -> type[Record]:
        for name in names:
            setattr(cls, name, _LazyField(name))
        return cls

    return decorate


class WithTables(PlainState):
    """A record with such fields; a copy for another process has all tables made."""

    def settle(self) -> None:
        """Make all tables, and let go what they are made from."""
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, WithTables):
                value.settle()

    def __getstate__(self) -> dict[str, Any]:
        self.settle()
        return super().__getstate__()
