"""Warnings of tables that are probably wrong: each names its rows, and what helps."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles.comparisons import Comparisons
from skanchor._battles.labels import HUMAN, PEOPLE_LABELS, factorize
from skanchor._typing import Array
from skanchor.warning_log import warn_of_data

DISTINCT = 0.1
"""Share of rows with features of their own from which equal ones are no chance."""

MANY_EQUAL = 0.01
"""Share of rows that equal an earlier one from which on it is no chance."""

_PEOPLE = re.compile(
    rf"({PEOPLE_LABELS}|"
    r"human ?(votes?|voters?|annotators?|raters?|evaluators?|experts?|panel|majority)"
    r")( ?\d+)?"
)
"""Labels of judges that mean people, those of several people among them."""


def check_table(
    frame: nw.DataFrame[Any] | None, X: Comparisons, y: Array, weight: Array, *,
    grouped: bool,
) -> None:  # fmt: skip
    """Warn of labels and rows that are probably mistakes in the table.

    Parameters
    ----------
    frame : DataFrame or None
        The table; some of its columns are not part of the encoded rows.
    X : Comparisons
        The encoded rows.
    y, weight : ndarray of shape (n_rows,)
        Outcomes and row weights.
    grouped : bool
        Whether groups say which rows depend on each other.
    """
    _warn_of_alike_labels("model", X.models.tolist(), (X.left, X.right))
    # The code -1 of people is the last label.
    _warn_of_alike_labels("judge", [*X.judges.tolist(), HUMAN], (X.judge,))
    people = [label for label in X.judges.tolist() if _means_people(label)]
    if people:
        warn_of_data(
            "people-as-judges",
            people,
            f"Judges {people[:5]} have labels of people, but count as LLM judges: "
            f"only {HUMAN!r} marks human rows. Give people's rows that label.",
        )
    # All codes of a table that has just been read are known.
    itself = np.flatnonzero(~X.is_usable & (weight > 0))
    if len(itself):
        others = X.appearances(X.is_usable & (weight > 0))
        # Models that appear in such rows only are lost from the ranking.
        lost = X.models[np.setdiff1d(X.left[itself], np.flatnonzero(others))].tolist()
        warn_of_data(
            "self-comparisons",
            lost,
            "Rows that compare a model with itself are ignored: "
            f"{len(itself)}, the first is row {itself[0]}."
            + (f" Models {lost} appear in no other row." if lost else ""),
        )
    # Without prompts, copies of one group do no harm, and without features no row tells
    # a copy from another verdict.
    if frame is not None and (
        "prompt_id" in frame.columns or (X.feature_names and not grouped)
    ):
        _warn_of_copies(frame, X, y, weight)


def _spelling(label: str) -> str:
    """What is left of a label without case, blanks, separators, invisible letters."""
    # Composed and full-width letters become plain ones.
    text = unicodedata.normalize("NFKC", label).casefold()
    visible = "".join(char for char in text if unicodedata.category(char) != "Cf")
    # Digits stay apart: 3.5 is not 35.
    return re.sub(r"[\s\-_./:]+", "-", visible.strip())


def _means_people(label: Any) -> bool:
    """Whether a label means people; spellings of "human" are warned of as such."""
    if not isinstance(label, str) or _spelling(label) == HUMAN:
        return False
    return bool(_PEOPLE.fullmatch(re.sub(r"[\W_]+", " ", _spelling(label)).strip()))


def _warn_of_alike_labels(
    kind: str, labels: list[Any], codes: tuple[NDArray[np.intp], ...]
) -> None:
    """Warn of labels that are spelled nearly alike, given the codes of the rows."""
    spelled: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            spelled.setdefault(_spelling(label), []).append(label)
    groups = [alike for alike in spelled.values() if len(alike) > 1]
    if not groups:
        return
    # The usual one comes first, and that of people whatever the number of their votes.
    rows = np.concatenate(codes)
    n_rows = np.bincount(np.where(rows < 0, len(labels) - 1, rows))
    for alike in groups:
        alike.sort(key=lambda one: (one != HUMAN, -n_rows[labels.index(one)]))
    names = {label: alike[0] for alike in groups for label in alike[1:]}
    listed = ", ".join(map(str, groups[:5])) + " and more" * (len(groups) > 5)
    warn_of_data(
        f"look-alike-{kind}s",
        [label for alike in groups for label in alike],
        f"The {kind}s {listed} differ in case, blanks, separators or invisible letters "
        f"alone, and each counts as a {kind} of its own. Give those that are one the "
        f"same name: X = X.replace({names}), or under [{kind}s] in the mapping of a "
        "file.",
    )


# ------------------------------------------------------------------------------ copies
def oriented(X: Comparisons, y: Array) -> tuple[NDArray[np.intp], Array]:
    """Number of the two models of each row, and preference for the smaller code."""
    low, high = np.minimum(X.left, X.right), np.maximum(X.left, X.right)
    return low * len(X.models) + high, np.where(X.left > X.right, 0.5 - y, y - 0.5)


def _warn_of_copies(
    frame: nw.DataFrame[Any], X: Comparisons, y: Array, weight: Array
) -> None:
    """Warn of rows that repeat an earlier one, also with the two sides swapped.

    Rows of different prompts are no copies. Without prompts the features stand for
    them, where they tell rows apart.
    """
    has_prompts, rows = "prompt_id" in frame.columns, X.is_usable & (weight > 0)
    # By what tells rows apart; prompts, where there are any, come first.
    codes = [
        factorize(frame[name], f"Column {name!r}")[0]
        for name in ("prompt_id", "rater", "turn")
        if name in frame.columns
    ]
    # Rows with the sides swapped agree once all have the smaller model code first.
    turned = X.left > X.right
    verdicts = *oriented(X, y), X.judge, np.where(turned, -X.order, X.order)

    def features() -> Iterator[Array]:
        for left, right in zip(X.features_left.T, X.features_right.T, strict=True):
            yield np.where(turned, right, left)
            yield np.where(turned, left, right)

    # Rows without a prompt, or without features, may be of different ones.
    if has_prompts:
        rows &= codes[0] >= 0
    elif not X.features_complete:
        rows &= np.isfinite(X.features_left + X.features_right).all(axis=1)
    at = np.flatnonzero(rows)
    if not has_prompts and len(_copies(at, features())) > (1.0 - DISTINCT) * len(at):
        return
    copies = _copies(at, chain(codes, verdicts, features()))
    if len(copies) and (has_prompts or len(copies) > MANY_EQUAL * len(at)):
        warn_of_data(
            "copied-rows" if has_prompts else "equal-rows",
            (),
            "Rows that are copies of earlier ones (same prompt_id if there is one, "
            f"models, judge, verdict and features): {len(copies)}, the first is row "
            f"{copies[0]}. Drop those that were written twice, which make errors too "
            "short; tell several people apart by a column 'rater'.",
        )


def _copies(
    rows: NDArray[np.intp], columns: Iterable[NDArray[Any]]
) -> NDArray[np.intp]:
    """Those of the rows that equal an earlier one in all columns."""
    marks = np.zeros(len(rows), dtype=np.uint64)
    for column in columns:
        if not len(rows):
            break
        # A zero has two signs, which a sum with zero makes one.
        values = column[rows] + column.dtype.type(0)
        marks = marks * np.uint64(31) + pd.util.hash_array(values)
        # Most rows differ from all others in the first columns already.
        again = pd.Series(marks).duplicated(keep=False).to_numpy()
        rows, marks = rows[again], marks[again]
    return rows[pd.Series(marks).duplicated().to_numpy()]
