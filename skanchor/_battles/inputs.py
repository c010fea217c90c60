"""Record of which columns of a table a fit has read, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from skanchor._battles.comparisons import Comparisons
from skanchor._battles.features import declared
from skanchor._battles.table import as_frame

# Columns that are read without being features: `rater` tells copies of a battle from
# votes of several people, `both_bad` marks ties to count.
_READ = ("model_a", "model_b", "judge", "shown_first", "rater", "both_bad")
_SHOWN = 20


@dataclass(frozen=True)
class Inputs:
    """Record of which columns of a table a fit has read, and how.

    ``str`` describes it in three lines, and one more each for a table without judges,
    for raters, weights, ties, style and contexts, where there are any.

    Attributes
    ----------
    features : tuple of str
        Names of the response features in use.
    ignored : tuple of str
        Columns that are not used.
    groups : str or None
        Name of the column or array that groups dependent rows; None without groups.
    weights : str or None
        Name of the column or array of row weights; None without weights.
    counted : bool
        Whether a weight is a number of equal rows.
    ties : {"half", "drop"}
        How ties are treated: as half a win for each side, or left out.
    n_ties, n_both_bad : int
        Number of tied rows, and how many of them call both responses bad.
    style_controlled : bool
        Whether a bias of people is fitted, so that scores compare models at equal
        features.
    context : str or None
        Name of the column of contexts; None without contexts.
    mix : tuple of (label, float)
        Share of each context in the reported scores; empty without contexts.
    n_raters : int
        Number of people who voted, where the column ``rater`` names them, some vote
        repeatedly, and groups are the default; else zero.
    by_rater : bool
        Whether errors allow for votes of one rater that depend on each other.
    all_human : bool
        Whether all rows count as human because the table has no column ``judge``.
    """

    features: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    groups: str | None = None
    weights: str | None = None
    counted: bool = False
    ties: str = "half"
    n_ties: int = 0
    n_both_bad: int = 0
    style_controlled: bool = False
    context: str | None = None
    mix: tuple[tuple[Any, float], ...] = ()
    n_raters: int = 0
    by_rater: bool = False
    all_human: bool = False

    @classmethod
    def of(
        cls, table: Any, encoded: Comparisons, groups: Any, weights: Any = None
    ) -> Inputs:
        """Compare a table with its encoded rows to find what was read.

        Parameters
        ----------
        table : battles table, array or Comparisons
            The table as the user gave it.
        encoded : Comparisons
            Its encoded rows.
        groups : array-like, str or None
            Groups as the user gave them.
        weights : array-like or None
            Weights as the user gave them.

        Returns
        -------
        Inputs
        """
        record = cls(encoded.feature_names, (), _name(groups), _name(weights))
        frame = None if isinstance(table, Comparisons) else as_frame(table)
        if frame is None or not encoded.named:
            # Without column names nothing can be listed as ignored.
            return record
        # Groups that join several columns are named "first, second".
        used = {record.weights, *(record.groups or "").split(", "), *_READ}
        used |= set(_columns_of(record.features))
        ignored = tuple(column for column in frame.columns if column not in used)
        return replace(record, ignored=ignored, all_human="judge" not in frame.columns)

    def with_context(self, name: str) -> Inputs:
        """Return the record with a column noted as that of the contexts."""
        ignored = tuple(column for column in self.ignored if column != name)
        return replace(self, ignored=ignored, context=name)

    def without_features(self) -> Inputs:
        """Return the record of a method without features: their columns are ignored."""
        ignored = (*self.ignored, *_columns_of(self.features))
        return replace(self, features=(), ignored=ignored)

    def __str__(self) -> str:
        none = "none; a judge's taste for kinds of responses is not corrected"
        lines = [
            f"Features: {_listed(self.features) or none}.",
            f"Columns ignored: {_listed(self.ignored) or 'none'}.",
            f"Groups: {self.groups or 'none; rows count as independent'}.",
        ]
        if self.all_human:
            lines.append(
                "Judges: none; without a column 'judge' all rows count as human votes."
            )
        if self.n_raters:
            errors = "errors do not allow for raters who differ"
            if self.by_rater:
                beside = "prompts" if self.groups else "rows"
                errors = f"errors are by rater, too, crossed with {beside}"
            lines.append(f"Raters: {self.n_raters}; {errors}.")
        if self.weights is not None:
            meaning = "numbers of equal rows" if self.counted else "importance"
            lines.append(f"Weights: {self.weights}, {meaning}.")
        if self.n_ties:
            bad = f" ({self.n_both_bad} of them both bad)" if self.n_both_bad else ""
            fate = {
                "half": "each half a win for either side",
                "drop": "left out: scores are those of decided votes",
            }
            lines.append(f"Ties: {self.n_ties} rows{bad}, {fate[self.ties]}.")
        if self.style_controlled:
            lines.append("Style: controlled; scores compare models at equal features.")
        if self.mix:
            parts = [f"{share:.3g} {name}" for name, share in self.mix]
            lines.append(f"Contexts: {self.context}; the scores mix {_listed(parts)}.")
        return "\n".join(lines)


def _name(given: Any) -> str | None:
    """Name of a column that was given by name or as a series; else "an array"."""
    if given is None or isinstance(given, str):
        return given
    name = getattr(given, "name", None)
    return "an array" if name is None else str(name)


def _columns_of(features: Sequence[str]) -> list[str]:
    return [declared(stem) + side for stem in features for side in ("_a", "_b")]


def _listed(names: Sequence[str]) -> str:
    """Join names by commas; of many, list the first ones and count the others."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
