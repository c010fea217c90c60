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
_LISTED = 20


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
        features = encoded.feature_names
        name, weight = _name(groups), _name(weights)
        frame = None if isinstance(table, Comparisons) else as_frame(table)
        if frame is None or not encoded.named:
            # Without column names nothing can be listed as ignored.
            return cls(features, (), name, weight)
        used = set(_declared_columns(features))
        # Groups that join several columns are named "first, second".
        used |= {weight or "", *(name or "").split(", ")}
        ignored = tuple(
            column
            for column in frame.columns
            if column not in used and column not in _READ
        )
        all_human = "judge" not in frame.columns
        return cls(features, ignored, name, weight, all_human=all_human)

    @property
    def may_name_judges(self) -> list[str]:
        """Columns beside those of the table that may say who judged."""
        return [name for name in self.ignored if "judge" in name.casefold()]

    def with_context(self, name: str) -> Inputs:
        """Return the record with a column noted as that of the contexts.

        Parameters
        ----------
        name : str
            The column.

        Returns
        -------
        Inputs
        """
        ignored = tuple(column for column in self.ignored if column != name)
        return replace(self, ignored=ignored, context=name)

    def without_features(self) -> Inputs:
        """Return the record of a method without features: their columns are ignored.

        Returns
        -------
        Inputs
        """
        return replace(
            self,
            features=(),
            ignored=(*self.ignored, *_declared_columns(self.features)),
        )

    def __str__(self) -> str:
        features = (
            f"Features: {_shortened(self.features)}."
            if self.features
            else "Features: none; a judge's taste for kinds of responses is not "
            "corrected."
        )
        ignored = f"Columns ignored: {_shortened(self.ignored) or 'none'}."
        groups = (
            f"Groups: {self.groups}."
            if self.groups is not None
            else "Groups: none; rows count as independent."
        )
        lines = [features, ignored, groups]
        if self.all_human:
            lines.append(
                "Judges: none; without a column 'judge' all rows count as human votes."
            )
        if self.by_rater:
            lines.append(
                f"Raters: {self.n_raters}; errors are by rater, too, crossed with "
                + ("prompts." if self.groups else "rows.")
            )
        elif self.n_raters:
            lines.append(
                f"Raters: {self.n_raters}; errors do not allow for raters who differ."
            )
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
            lines.append(
                f"Contexts: {self.context}; the scores mix {_shortened(parts)}."
            )
        return "\n".join(lines)


def _name(given: Any) -> str | None:
    """Name of a column that was given by name or as a series; else "an array"."""
    if given is None or isinstance(given, str):
        return given
    name = getattr(given, "name", None)
    return "an array" if name is None else str(name)


def _declared_columns(features: Sequence[str]) -> list[str]:
    return [declared(stem) + side for stem in features for side in ("_a", "_b")]


def _shortened(names: Sequence[str]) -> str:
    """Join names by commas; of many, list the first ones and count the others."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
