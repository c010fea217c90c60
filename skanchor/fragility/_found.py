"""``Fragility``: how few rows change each statement, which they are, and in words."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

STATUS = {
    "confirmed": "a refit confirms it",
    "not confirmed": "refits did not confirm it",
    "not fragile": "no allowed number of rows is enough",
    "fit fails first": "the fit fails before the statement changes",
    "first order": "no refit confirms it",
    "stopped": "the search was stopped before a refit confirmed it",
}
"""Outcome of each search, in words."""


@dataclass(frozen=True, eq=False, repr=False)
class Fragility:
    """How few rows change the statements about new models, if they are dropped.

    Attributes
    ----------
    table : DataFrame
        By ``model`` and ``opponent``. A unit is a row or a group of rows.

        - ``difference``: score of the model minus that of the opponent, in logits.
        - ``t``: the difference over its standard error.
        - ``side``: 1 if the statement "the model is better" changes, -1 if it is "the
          model is worse".
        - ``gains``: True if the statement becomes significant, False if it ceases to
          be.
        - ``allowed``: number of units that may be dropped (verdicts, votes, groups).
        - ``first_order``, ``re_solved``, ``k``: how many units suffice, by their
          influence, with Riesz weights solved again, and by refits. Infinite means more
          than may be dropped, NaN that this was not searched for. If no refit confirms
          a number, ``k`` equals ``re_solved``.
        - ``share``: k over ``allowed``.
        - ``confirmed``: whether a refit confirms k.
        - ``status``: one of ``STATUS``.
        - ``after``: the difference in the refit.
        - ``anew``: the difference in a refit that also estimates the covariance of item
          effects again, and ``anew_confirmed``, whether this refit changes the
          statement, too.
    goal, source, by : str
        The request: the goal, which rows may be dropped, and the unit.
    dropped : dict of (model, opponent) to DataFrame
        The ``k`` units, indexed by row number of the table: ``model_a``, ``model_b``,
        ``judge``, ``outcome`` and ``count``, the number of equal rows.
    paths : dict of (model, opponent) to DataFrame
        The number of ``dropped`` units, the remaining ``difference``, and ``by``, which
        is "re-solved" or "refit".
    finished : bool
        False if the search was stopped, by its time limit or by Ctrl-C.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> found = anchor.fragility(X, y, "cedar-fox", model="ivory-lynx", rows="arrival")
    >>> found.table["confirmed"].tolist()
    [True]
    """

    table: pd.DataFrame
    goal: str
    source: str
    by: str
    dropped: dict[tuple[Any, Any], pd.DataFrame]
    paths: dict[tuple[Any, Any], pd.DataFrame]
    finished: bool = True

    def rows(self, model: Hashable, opponent: Hashable | None = None) -> pd.DataFrame:
        """Rows whose loss changes the statement about a model and an opponent.

        Parameters
        ----------
        model : label
            A new model.
        opponent : label, optional
            None means the one that needs the fewest rows.

        Returns
        -------
        DataFrame
            As in ``dropped``; empty where no number of rows was found.
        """
        return self.dropped[self.key(model, opponent)]

    def path(self, model: Hashable, opponent: Hashable | None = None) -> pd.DataFrame:
        """Remaining difference after each number of dropped units.

        Parameters
        ----------
        model, opponent : label
            As in :meth:`rows`.

        Returns
        -------
        DataFrame
            As in ``paths``.
        """
        return self.paths[self.key(model, opponent)]

    def cells(self, model: Hashable, opponent: Hashable | None = None) -> pd.DataFrame:
        """Rows of :meth:`rows` by models, judge and outcome, with their number.

        Parameters
        ----------
        model, opponent : label
            As in :meth:`rows`.

        Returns
        -------
        DataFrame
            ``model_a``, ``model_b``, ``judge``, ``outcome``, ``count``, most first.
        """
        columns = ["model_a", "model_b", "judge", "outcome"]
        found = self.rows(model, opponent).groupby(columns, sort=True)["count"].sum()
        return found.sort_values(ascending=False, kind="stable").reset_index()

    def key(self, model: Hashable, opponent: Hashable | None = None) -> tuple[Any, Any]:
        """Statement on a model and an opponent, as in the index of ``table``.

        Parameters
        ----------
        model, opponent : label
            As in :meth:`rows`.

        Returns
        -------
        tuple of (model, opponent)

        Raises
        ------
        KeyError
            If this statement was not asked for.
        """
        if opponent is None:
            keys = [key for key in self.table.index if key[0] == model]
            if keys:
                number = self.table.loc[keys, "k"].fillna(np.inf)
                found: tuple[Any, Any] = number.idxmin()
                return found
        elif (model, opponent) in self.dropped:
            return model, opponent
        raise KeyError(
            f"There is no statement on {model!r} and {opponent!r}; there are "
            f"{self.table.index.tolist()[:5]}."
        )

    # -------------------------------------------------------------------------- words
    def lines(self) -> list[str]:
        """Return the result in sentences."""
        return list(self._sentences())

    def __repr__(self) -> str:
        shown = self.table.drop(columns=["side", "gains"]).round(3)
        return "\n".join([repr(shown), "", *self.lines()])

    def _sentences(self) -> Iterator[str]:
        for row in self.to_dict():
            what, status, k = self._change(row), row["status"], row["k"]
            of_all = f"of the {row['allowed']:,} {self._units(row)}"
            # Verbs of ``what`` are in the third person: "puts it above".
            plain = what.replace("s ", " ", 1)
            if status == "confirmed":
                share = f"({100 * row['share']:.2g} %)"
                yield f"Dropping {k:,.0f} {of_all} {share} {what}."
                if np.isfinite(row["anew"]) and not row["anew_confirmed"]:
                    yield (
                        "They are not enough in a refit that also estimates the "
                        "covariance of the item effects again: the difference is then "
                        f"{row['anew']:+.2f}."
                    )
            elif status == "not confirmed" or (status == "stopped" and k < np.inf):
                yield (
                    f"With weights solved again, dropping {k:,.0f} {of_all} {what}; "
                    f"{STATUS[status]}."
                )
            elif status in ("first order", "stopped"):
                number = row["first_order"]
                how = f"dropping {number:,.0f} {of_all} {what}"
                if np.isinf(number):
                    how = f"dropping rows does not {plain}"
                yield f"By influence alone, {how}; {STATUS[status]}."
            elif status == "fit fails first":
                yield f"The fit fails before the loss of {self._units(row)} {what}."
            else:
                most = "25 %" if self.source == "arrival" else "10 %"
                also = ""
                if self.source == "any" and self.by == "row":
                    also = f" (25 % of the verdicts on {row['model']})"
                yield f"Dropping up to {most} {of_all}{also} does not {plain}."

    def _units(self, row: dict[str, Any]) -> str:
        """Name of the units of a statement."""
        if self.by == "group":
            return "groups of rows"
        return {
            "any": "rows",
            "human": "human votes",
            "arrival": f"verdicts on {row['model']}",
            "history": "verdicts on historical models",
        }[self.source]

    def _change(self, row: dict[str, Any]) -> str:
        """What changes, in words that follow a number of rows."""
        model, opponent = row["model"], row["opponent"]
        up = row["side"] > 0
        if self.goal == "sign":
            return f"puts {model} {'below' if up else 'above'} {opponent}"
        claim = f"{model} is {'better' if up else 'worse'} than {opponent}"
        if row["gains"]:
            return f"makes it significant that {claim}"
        return f"leaves it open whether {claim}"

    def to_dict(self) -> list[dict[str, Any]]:
        """Return plain data: the rows of the table."""
        rows = self.table.reset_index().to_dict("records")
        return [{str(name): value for name, value in row.items()} for row in rows]
