"""Columns of a table by the roles that a mapping gives them."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor.exceptions import BattlesError
from skanchor.io import _words as words
from skanchor.io._files import numbers_of
from skanchor.io._tables import FILE, Table

ROLES_OF_COLUMNS = {
    "model_a": "a model of each comparison; the side shown first, if no column says",
    "model_b": "the other model",
    "winner": "the outcome; several columns are several verdicts on the same pair",
    "winner_swapped": "the outcome of a second game that showed the models swapped",
    "loser": "the outcome, but about the side that lost",
    "better": "name of the model that won",
    "worse": "name of the model that lost",
    "judge": "who decided",
    "kind": "whether people or a judge decided",
    "rater": "which person decided",
    "verdict": "the outcome by the judge that the column is named after",
    "prompt_id": "rows that depend on each other",
    "battle": "the same for both rows of a comparison",
    "model": "the only model of a row",
    "result": "whether that model won",
    "score": "its score; a higher one is better",
    "rank": "its rank; a lower one is better",
    "score_a": "score of the first model",
    "score_b": "score of the second model",
    "rank_a": "rank of the first model",
    "rank_b": "rank of the second model",
    "wins_a": "comparisons that the first model won",
    "wins_b": "comparisons that the second model won",
    "ties": "comparisons that were ties",
    "tie": "whether the row is a tie, whatever its outcome says",
    "swapped": "whether the outcome is about the swapped order, and is turned round",
    "swapped_order": "whether model_b was shown first; outcomes are about the columns",
    "shown_first": "the side shown first, as model_a or model_b",
    "keep": "a further column: a feature, a context, a text",
    "ignored": "nothing",
    "?": "not known",
}
"""What a column of a mapping may be."""

DROPPED = "\0dropped"
"""Label of judges whose rows are left out."""

VALUES = {"model_a": 1.0, "model_b": 0.0, "tie": 0.5, "both_bad": 0.5}
"""Preferences for the first model that standard outcomes mean."""

_KINDS = words.words_of(words.KINDS)
_RESULTS = {"win": "model_a", "loss": "model_b"}


class Columns:
    """Columns of a table by the roles that a mapping gives them."""

    def __init__(self, table: Table, mapping: Any):
        self.table, self.mapping, self.frame = table, mapping, table.frame
        if FILE in mapping.columns and FILE not in self.frame:
            self.frame = self.frame.assign(**{FILE: table.stem})
        self.roles: dict[str, list[str]] = {}
        for name, one in mapping.columns.items():
            if name in self.frame:
                self.roles.setdefault(str(one.meaning), []).append(name)

    def error(self, what: str) -> BattlesError:
        """Error about the table."""
        return BattlesError(f"{self.table.files}: {what}")

    def named(self, role: str) -> list[str]:
        """Names of the columns of a role."""
        return self.roles.get(role, [])

    def filled(self, name: str) -> pd.Series:
        """Which cells of a column are not empty."""
        return self.frame[name].notna() & self.frame[name].ne("")

    def overlap(self, names: list[str]) -> bool:
        """Whether two columns are filled in the same row."""
        n = np.zeros(len(self.frame), dtype=int)
        for name in names if len(names) > 1 else ():
            n += self.filled(name)
        return bool((n > 1).any())

    def get(self, role: str) -> pd.Series:
        """Column of a role; of several, as of several files, the one that is filled."""
        first, *others = self.named(role)
        if self.overlap([first, *others]):
            names = " and ".join(map(repr, [first, *others]))
            raise self.error(f"columns {names} are both {role}; keep one.")
        column = self.frame[first]
        for name in others:
            filled = column.notna() & column.ne("")
            column = column.astype(object).where(filled, self.frame[name])
        return column

    # ------------------------------------------------------------------ models, judges
    def model(self, role: str) -> pd.Series:
        """Column of models, without blanks around their names."""
        names = self.mapping.models

        def name_of(label: Any) -> str | None:
            text = words.value_key(label).strip(words.BLANKS)
            return names.get(text, text) or None

        return relabelled(self.get(role), name_of)

    def common(self, judge: str | None = None) -> dict[str, Any]:
        """Judges, raters, prompts, orders shown and further columns.

        ``judge`` is the column whose name is the judge of all rows.
        """
        found: dict[str, Any] = {}
        if judge is not None:
            label = pd.Categorical.from_codes(
                np.zeros(len(self.frame), dtype=int), pd.Index([judge])
            )
            found |= self._judged(pd.Series(label, index=self.frame.index))
        elif self.named("judge"):
            found |= self._judged(self.get("judge"))
        else:
            raise self.error(
                f"no column has the role 'judge'; give it to {FILE!r} if the name of "
                "the file says who decided."
            )
        for role in ("rater", "prompt_id", "shown_first"):
            if self.named(role):
                found[role] = self.get(role)
        if self.named("swapped_order"):
            swapped = self.flags("swapped_order")
            found["shown_first"] = np.where(swapped, "model_b", "model_a")
        for role, names in self.roles.items():
            if role == "keep":
                found |= {name: self.frame[name] for name in names}
            elif role.startswith("keep as "):
                found[role.removeprefix("keep as ")] = self.frame[names[0]]
        return found

    def _judged(self, judge: pd.Series) -> dict[str, Any]:
        """Columns ``judge`` and, where people have names, ``rater``."""
        meant = relabelled(judge, self._who)
        if self.named("kind"):
            kind = relabelled(
                self.get("kind"),
                lambda cell: _KINDS.get(words.name_key(words.value_key(cell))),
            )
            if kind.isna().any():
                row = int(np.argmax(kind.isna()))
                raise self.error(
                    f"column {self.named('kind')[0]!r} says of row {row} neither "
                    "people nor a judge."
                )
            meant = meant.astype(object).mask(kind == "people", "human")
        human = meant == "human"
        found: dict[str, Any] = {"judge": meant}
        if (
            not self.named("rater")
            and FILE not in self.named("judge")
            and judge[human].nunique() > 1
        ):
            found["rater"] = judge.astype(object).where(human)
        return found

    def _who(self, label: Any) -> str | None:
        """Label of a judge in standard form."""
        text = words.value_key(label).strip(words.BLANKS)
        judges = self.mapping.judges
        patterns = (one for key, one in judges.items() if fnmatchcase(text, key))
        one = judges.get(text) or next(patterns, None)
        if not text:
            return None
        if one is None:
            raise self.error(
                f"the mapping does not say whether the judge {text!r} is a person or a "
                "judge; add it to [judges]."
            )
        known = {"people": "human", "drop": DROPPED, "judge": text}
        return known.get(one.meaning, str(one.meaning).removeprefix("judge: "))

    # ------------------------------------------------------------------ flags, numbers
    def flags(self, role: str) -> NDArray[np.bool_]:
        """Whether the column of a role says yes."""

        def known(cell: Any) -> bool:
            key = words.name_key(words.value_key(cell))
            if key not in words.YES | words.NO:
                raise self.error(
                    f"column {self.named(role)[0]!r} should say yes or no, and holds "
                    f"{cell!r}."
                )
            return key in words.YES

        codes, labels = pd.factorize(self.get(role))
        return np.array([*map(known, labels), False], dtype=bool)[codes]

    def numbers(self, name: str) -> pd.Series:
        """Numbers of a column; NaN where a cell is empty."""
        column = self.frame[name]
        if pd.api.types.is_string_dtype(column):
            numbers = numbers_of(column)
        else:
            numbers = pd.to_numeric(column, errors="coerce")
        if numbers is None or (numbers.isna() & self.filled(name)).any():
            raise self.error(f"column {name!r} should hold numbers, and does not.")
        return numbers.astype(float)

    # ------------------------------------------------------------------------ outcomes
    def verdicts(self, column: pd.Series, a: Any = None, b: Any = None) -> pd.Series:
        """Outcomes of a column as labels or numbers; null where there is no verdict."""
        codes, labels = pd.factorize(column)
        empty = bool((codes < 0).any())
        meanings = [self._meaning(label, column, codes == n)
                    for n, label in enumerate(labels)]  # fmt: skip
        meanings.append(self._meaning("", column, codes < 0) if empty else None)
        is_graded = self.mapping.scale is not None or any(
            isinstance(meaning, float) for meaning in meanings
        )
        mixed = is_graded and any(isinstance(meaning, str) for meaning in meanings)
        if list(labels) == meanings[:-1] and not empty and not mixed:
            return column.rename("winner")
        standard = VALUES if is_graded else {label: label for label in VALUES}
        known = [
            meaning if isinstance(meaning, float) else standard.get(meaning)
            for meaning in meanings
        ]
        values = np.array(known, dtype=float if is_graded else object)[codes]
        names = np.array([m == "its model" for m in meanings])[codes]
        if names.any():
            first, second = self._named_sides(column, names, a, b)
            values[names & second] = standard["model_b"]
            values[names & first] = standard["model_a"]
        if self.mapping.scale is not None:
            scaled = self._scaled(column)
            values = np.where(np.isnan(scaled), values, scaled)
        found = pd.Series(values, index=column.index, name="winner")
        return found if is_graded else found.astype("str").where(found.notna())

    def _meaning(self, label: Any, column: pd.Series, rows: NDArray[np.bool_]) -> Any:
        """Meaning of an outcome: a number, a standard label, "its model", "failed"."""
        text = words.outcome_key(label)
        one = self.mapping.outcomes.get(text)
        if one is not None:
            number = isinstance(one.meaning, (int, float))
            return float(one.meaning) if number else _RESULTS.get(
                one.meaning, one.meaning
            )  # fmt: skip
        if self.mapping.scale is not None and words.number_of(text) is not None:
            return None
        raise self.error(
            f"the mapping does not say what the outcome {text!r} of row "
            f"{int(np.argmax(rows))} in column {column.name!r} means; add it to "
            "[outcomes]."
        )

    def _named_sides(
        self, column: pd.Series, names: NDArray[np.bool_], a: Any, b: Any
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Rows whose outcome names the first model, and those that name the second."""

        def folded(of: pd.Series) -> NDArray[Any]:
            codes, labels = pd.factorize(of)
            keys = [words.outcome_key(label).casefold() for label in labels]
            return np.array([*keys, None], dtype=object)[codes]

        won = folded(column)
        first, second = won == folded(a), won == folded(b)
        strange = names & ~first & ~second
        if strange.any() and not self.table.drop_invalid:
            row = int(np.argmax(strange))
            raise self.error(
                f"the winner {column.iloc[row]!r} of row {row} is not compared there "
                f"({strange.sum()} such rows). Correct them, or leave them out with "
                "drop_invalid."
            )
        return first, second

    def _scaled(self, column: pd.Series) -> NDArray[np.float64]:
        """Preferences of numbers on a scale; NaN where a word stands."""
        scale = self.mapping.scale or {}
        texts = [words.outcome_key(cell) for cell in column]
        found = [
            np.nan if text in self.mapping.outcomes else words.number_of(text)
            for text in texts
        ]
        numbers = np.array(found, dtype=float)
        if "sign" in scale:
            towards = 1.0 if scale["sign"] == "model_a" else -1.0
            return 0.5 + np.sign(numbers) * towards / 2.0
        try:
            low, high = float(scale["model_b"]), float(scale["model_a"])
        except (KeyError, TypeError, ValueError):
            raise self.error(
                "the section [scale] needs the numbers model_a and model_b, or sign = "
                '"model_a".'
            ) from None
        worth = (numbers - low) / (high - low)
        outside = (worth < 0.0) | (worth > 1.0)
        if outside.any():
            row = int(np.argmax(outside))
            raise self.error(
                f"{column.iloc[row]!r} in row {row} lies outside the scale from "
                f"{low:g} to {high:g}."
            )
        return np.asarray(worth)


def relabelled(column: pd.Series, new: Callable[[Any], Any]) -> pd.Series:
    """Column with other labels; the same column if all labels are text already."""
    codes, labels = pd.factorize(column)
    found = [new(label) for label in labels]
    if found == list(labels):
        return column
    if not isinstance(column.dtype, pd.CategoricalDtype):
        texts = pd.array(found, dtype="str").take(codes, allow_fill=True)
        return pd.Series(texts, index=column.index, name=column.name)
    distinct = pd.Index(dict.fromkeys(one for one in found if one is not None))
    at = np.array([*distinct.get_indexer(found), -1])
    made = pd.Categorical.from_codes(at[codes], distinct)
    return pd.Series(made, index=column.index, name=column.name)


def as_text(column: pd.Series) -> pd.Series:
    """Column of text instead of categories."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column
    labels = pd.array(list(column.cat.categories), dtype="str")
    texts = labels.take(column.cat.codes.to_numpy(), allow_fill=True)
    return pd.Series(texts, index=column.index, name=column.name)
