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
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from skanchor._battles.comparisons import Comparisons
from skanchor._battles.labels import HUMAN, PEOPLE_LABELS, as_objects, factorize
from skanchor._text import first_five
from skanchor._typing import Array
from skanchor.warning_log import warn_of_data

CLEAR = (0.0, 0.5, 1.0)
"""Outcomes that are not graded."""

DISTINCT = 0.1
"""Share of rows with features of their own from which equal ones are no chance."""

MANY_EQUAL = 0.01
"""Share of rows that equal an earlier one from which on it is no chance."""

_BEYOND_CHANCE = 3.0
"""Standard errors by which verdicts against the majority of people must outnumber
verdicts that agree with it."""

_ONE_JUDGE, _SHARED = 0.8, 50
"""Cohen's kappa above which judges agree like runs of one judge, and verdicts on the
same prompt and models from which on it says so."""

_FEW_KINDS = 10
"""Different rows of a judge, below which another has the same by chance."""

_FEW, _MANY = 0.01, 0.1
"""Shares of graded verdicts up to which rows are not graded, from which they are."""

_ENOUGH = 20
"""New rows of a judge from which their share is looked at."""

_EXPECTED = 7.0
"""Graded verdicts to expect among rows, so that none is no chance: e^-7 = 0.0009."""

_PEOPLE = re.compile(
    rf"({PEOPLE_LABELS}|"
    r"human ?(votes?|voters?|annotators?|raters?|evaluators?|experts?|panel|majority)"
    r")( ?\d+)?"
)
"""Labels of judges that mean people, those of several people among them."""


def check_table(
    frame: nw.DataFrame[Any] | None,
    X: Comparisons,
    y: Array,
    weight: Array,
    *,
    grouped: bool,
) -> None:
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
    _warn_of_alike_labels("model", X.models, X.appearances(X.is_usable))
    verdicts = np.bincount(X.judge[X.judge >= 0], minlength=len(X.judges))
    # People first, whatever the number of their votes.
    judges = as_objects([HUMAN, *X.judges.tolist()])
    _warn_of_alike_labels("judge", judges, np.append(len(X) + 1, verdicts))
    people = [label for label in X.judges.tolist() if _means_people(label)]
    if people:
        warn_of_data(
            "people-as-judges",
            people,
            f"Judges {people[:5]} have labels of people, but count as LLM judges: "
            f"only {HUMAN!r} marks human rows. Give people's rows that label.",
        )
    itself = np.flatnonzero((X.left == X.right) & (weight > 0))
    if len(itself):
        # Models that appear in such rows only are lost from the ranking.
        others = X.appearances(X.is_usable & (weight > 0))
        shown = np.unique(X.left[itself])
        lost = X.models[shown[others[shown] == 0]].tolist()
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
    kind: str, labels: NDArray[Any], n_rows: NDArray[np.intp]
) -> None:
    """Warn of labels that are spelled nearly alike; the usual one comes first."""
    spelled: dict[str, list[str]] = {}
    for label in labels[np.argsort(-n_rows, kind="stable")].tolist():
        if isinstance(label, str):
            spelled.setdefault(_spelling(label), []).append(label)
    groups = [alike for alike in spelled.values() if len(alike) > 1]
    if groups:
        names = {label: alike[0] for alike in groups for label in alike[1:]}
        mark = f"; only {HUMAN!r} marks human rows" * (kind == "judge")
        listed = ", ".join(map(str, groups[:5])) + " and more" * (len(groups) > 5)
        warn_of_data(
            f"look-alike-{kind}s",
            [label for alike in groups for label in alike],
            f"The {kind}s {listed} differ in case, blanks, separators or "
            f"invisible letters alone, and each counts as a {kind} of its own{mark}. "
            f"Give those that are one the same name: X = X.replace({names}), or under "
            f"[{kind}s] in the mapping of a file.",
        )


def _warn_of_copies(
    frame: nw.DataFrame[Any], X: Comparisons, y: Array, weight: Array
) -> None:
    """Warn of rows that repeat an earlier one, also with the two sides swapped.

    Rows of different prompts are no copies. Without prompts the features stand for
    them, where they tell rows apart.
    """
    has_prompts, rows = "prompt_id" in frame.columns, X.is_usable & (weight > 0)
    # Rows with the sides swapped agree once all have the smaller model code first.
    turned, (pair, preference) = X.left > X.right, _oriented(X, y)
    verdicts = pair, preference, X.judge, np.where(turned, -X.order, X.order)
    # By what tells rows apart; prompts, where there are any, come first.
    codes = [
        factorize(frame[name], f"Column {name!r}")[0]
        for name in ("prompt_id", "rater", "turn")
        if name in frame.columns
    ]

    def features() -> Iterator[Array]:
        for sides in zip(X.features_left.T, X.features_right.T, strict=True):
            yield np.where(turned, *sides[::-1])
            yield np.where(turned, *sides)

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
        what = "prompt_id, models" if has_prompts else "models"
        warn_of_data(
            "copied-rows" if has_prompts else "equal-rows",
            (),
            f"Rows that are copies of earlier ones (same {what}, judge, verdict and "
            f"features): {len(copies)}, the first is row {copies[0]}. Drop those that "
            "were written twice, which make errors too short. Votes of several people "
            "are told apart by a column 'rater'; repeated ratings and verdicts of "
            "pooled judges are no copies, and stay in groups by prompt.",
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


# ----------------------------------------------------------------------------- judges
def _oriented(X: Comparisons, y: Array) -> tuple[NDArray[np.intp], Array]:
    """Number of the two models of each row, and preference for the smaller code."""
    low, high = np.minimum(X.left, X.right), np.maximum(X.left, X.right)
    return low * len(X.models) + high, np.where(X.left > X.right, 0.5 - y, y - 0.5)


def warn_of_contradicting_judges(
    X: Comparisons, y: Array, weight: Array, times: Array
) -> None:
    """Warn of judges whose outcomes may be coded the other way round.

    These are judges whose verdicts contradict the majority of people on the same two
    models more often than chance explains.

    Parameters
    ----------
    X : Comparisons
        The battles.
    y, weight : ndarray of shape (n_rows,)
        Outcomes and row weights.
    times : ndarray of shape (n_rows,)
        How many equal rows each stands for.
    """
    rows, (pair, preference) = X.is_usable & (weight > 0), _oriented(X, y)
    votes = np.flatnonzero(rows & X.is_human)
    at = np.flatnonzero(rows & ~X.is_human)
    # The majority of people in each pair, then +, - or 0 for each verdict: it agrees
    # with that majority, contradicts it, or one of the two is undecided.
    sums = np.bincount(pair[votes], (weight * preference)[votes], len(X.models) ** 2)
    agreement = np.sign(preference[at] * sums[pair[at]])
    decided, balance = (
        np.bincount(X.judge[at], times[at] * values, len(X.judges))
        for values in (agreement != 0, agreement)
    )
    # For verdicts that are independent of the majority, disagreements minus agreements
    # have mean zero and standard deviation sqrt(decided).
    for code in np.flatnonzero(-balance > _BEYOND_CHANCE * np.sqrt(decided)):
        judge, share = X.judges[code], 0.5 + 0.5 * balance[code] / decided[code]
        warn_of_data(
            "reversed-judge",
            [judge],
            f"Judge {judge!r} sides with people in {share:.0%} of its "
            f"{decided[code]:.0f} verdicts on pairs of models that both decided. Its "
            "outcomes may be coded the other way round.",
        )


def warn_of_copied_judges(X: Comparisons, y: Array, times: Array) -> None:
    """Warn of judges whose rows are the same, as of one judge under two names.

    Without prompts to compare verdicts on, the verdicts on each pair of models must be
    the same in number and order. Where rows are counted these are totals, so that as
    few as may be equal by chance say nothing.

    Parameters
    ----------
    X : Comparisons
        The battles.
    y, times : ndarray of shape (n_rows,)
        Outcomes, and how many equal rows each stands for.
    """
    same: dict[Any, list[Any]] = {}
    for code, judge in enumerate(X.judges.tolist()):
        cut = X.by_judge(code)
        number = times[cut.rows]
        if len(cut) >= _FEW_KINDS and number.sum() >= _SHARED:
            columns = cut.left, cut.right, cut.order, y[cut.rows], number
            # Hashes in place of the columns, which would be copied for each judge.
            key = tuple(hash(column.tobytes()) for column in columns)
            same.setdefault(key, []).append(judge)
    for names in same.values():
        if len(names) > 1:
            warn_of_data(
                "copied-judge",
                names,
                f"Judges {first_five(names)} gave the same verdicts on the same "
                "models, row by row, and are perhaps one judge under several names: "
                "errors are then too short. Keep one of them.",
            )


def warn_of_runs(X: Comparisons, y: Array, groups: NDArray[np.intp]) -> None:
    """Warn of judges that agree on the same prompts like runs of one judge.

    Parameters
    ----------
    X : Comparisons
        The battles.
    y : ndarray of shape (n_rows,)
        Outcomes.
    groups : ndarray of shape (n_rows,)
        Prompt of each row.
    """
    pair, preference = _oriented(X, y)
    rows, n = np.flatnonzero(X.is_usable & ~X.is_human), len(X.judges)
    key = pd.factorize(groups[rows] * len(X.models) ** 2 + pair[rows])[0]
    judge = X.judge[rows]
    # Of several verdicts of a judge on one prompt and pair the first counts.
    first = ~pd.Series(key * n + judge).duplicated().to_numpy()
    key, judge = key[first], judge[first]
    verdict = np.sign(preference[rows[first]]).astype(np.intp) + 1
    # How often two judges met, by what either said: shape (3, n, 3, n).
    shape = 3 * n, int(key.max(initial=-1)) + 1
    answers = csr_array((np.ones(len(key)), (verdict * n + judge, key)), shape)
    met = (answers @ answers.T).toarray().reshape(3, n, 3, n)
    shared = met.sum(axis=(0, 2))
    total = np.maximum(shared, 1.0)
    agreed = np.einsum("sisj->ij", met) / total
    # How often each judge says so, on what it shares with the other.
    rates = met.sum(axis=2) / total
    by_chance = np.einsum("sij,sji->ij", rates, rates)
    kappa = (agreed - by_chance) / np.maximum(1.0 - by_chance, 1e-9)
    alike = (kappa > _ONE_JUDGE) & (shared >= _SHARED)
    np.fill_diagonal(alike, False)
    _, part = connected_components(csr_array(alike.astype(np.int8)), directed=False)
    for code in np.flatnonzero(np.bincount(part) > 1):
        at = np.flatnonzero(part == code)
        names, least = X.judges[at].tolist(), kappa[at][alike[at]].min()
        warn_of_data(
            "runs-of-one-judge",
            names,
            f"Judges {first_five(names)} agree on the same prompts and models like "
            f"runs of one judge (Cohen's kappa {least:.2f} or more) and tell little "
            "more than one. Fit them under one name, all judges by pool.",
        )


# ------------------------------------------------------------------------------ grades
def graded_verdicts(
    X: Comparisons, y: Array, times: Array, counts: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Share of graded verdicts, between a win and a tie, and number of verdicts.

    Parameters
    ----------
    X : Comparisons
        The battles.
    y, times : ndarray of shape (n_rows,)
        Outcomes, and how many equal rows each stands for.
    counts : ndarray of shape (n_rows,)
        Which rows count; those of people do not.

    Returns
    -------
    shares, numbers : ndarray of shape (2, n_judges)
        Those on historical models alone, then those on new ones.
    """
    at = np.flatnonzero(counts & ~X.is_human)
    cell, size = X.involves_new[at] * len(X.judges) + X.judge[at], 2 * len(X.judges)
    graded, numbers = (
        np.bincount(cell, times[at] * values, size).reshape(2, -1)
        for values in (~np.isin(y[at], CLEAR), 1.0)
    )
    return graded / np.maximum(numbers, 1.0), numbers.astype(np.float64)


def graded_in_part(shares: Array, numbers: Array) -> NDArray[np.bool_]:
    """Which judges graded the verdicts on one kind of models alone.

    The arguments are those that :func:`graded_verdicts` returns. The result, of shape
    (2, n_judges), says who graded those on historical models, and those on new ones.
    """
    in_part = (numbers[1] >= _ENOUGH) & (shares > _MANY) & (shares[::-1] < _FEW)
    # Of few rows, none may be graded by chance.
    return np.asarray(in_part & (numbers[::-1] * shares > _EXPECTED))


def warn_of_other_grades(judges: NDArray[Any], shares: Array, numbers: Array) -> None:
    """Warn of judges who graded the verdicts on old models or on new ones alone.

    The sensitivity of a judge is that of its historical verdicts. The arguments are
    labels, and what :func:`graded_verdicts` returns.
    """
    kinds = ["historical", "new"]
    for is_graded, graded in zip(
        graded_in_part(shares, numbers), shares * numbers, strict=True
    ):
        names = judges[is_graded].tolist()
        if names:
            warn_of_data(
                "graded-verdicts",
                names,
                f"Verdicts of judges {names[:5]} on {kinds[0]} models are graded "
                f"({graded[is_graded].sum():.0f} of them lie between a win and a tie), "
                f"those on {kinds[1]} models are not: unless grades are probabilities "
                "of a win, scores of new models are too close to the mean or too far "
                "from it. Give both in the same kind.",
            )
        kinds.reverse()
