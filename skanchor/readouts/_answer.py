"""``Answer``: a table, and what it says in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """A table, and what it says in sentences.

    Attributes
    ----------
    table : DataFrame
        The numbers; the method that returns them says which.
    sentences : tuple of str
        The same in words.
    details : dict
        What else belongs to the answer; each is an attribute, too.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> answer = anchor.worth()
    >>> answer.table.columns.tolist()
    ['verdicts', 'replaces', 'alone', 'next_verdict', 'never_more']
    >>> print(answer.sentences[0])
    The 114 verdicts of judge-alpha on ivory-lynx do the work of 153 human votes beside the other judges (alone: 160 human votes). One more is worth 1.3 human votes, and alone no number of them is worth more than 5,160 human votes.
    """  # noqa: E501

    table: pd.DataFrame
    sentences: tuple[str, ...]
    details: Mapping[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        if name == "details" or name not in self.details:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")
        return self.details[name]

    def __repr__(self) -> str:
        shown = self.table.to_string(float_format="{:.4g}".format)
        return "\n".join([shown, "", *self.sentences])

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the ``rows`` of the table, and the details.

        Returns
        -------
        dict
            Tables are lists of records; those by statement are left out.
        """
        plain: dict[str, Any] = {"rows": records_of(self.table)}
        for name, value in self.details.items():
            if not isinstance(value, dict):
                is_table = isinstance(value, pd.DataFrame)
                plain[name] = records_of(value) if is_table else value
        return plain


def records_of(table: pd.DataFrame) -> Any:
    """Rows of a table as dicts, its index included."""
    return table.reset_index().to_dict("records")


def table_by(names: list[str], rows: dict[Any, dict[str, Any]]) -> pd.DataFrame:
    """Table of rows by the keys of a dict, whose levels have names."""
    table = pd.DataFrame.from_dict(rows, orient="index")
    if len(names) == 1:
        return table.rename_axis(names[0])
    table.index = pd.MultiIndex.from_tuples(list(rows), names=names)
    return table
