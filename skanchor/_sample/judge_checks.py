"""Warnings of judges whose verdicts are probably not what they seem to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from skanchor._battles.checks import oriented
from skanchor._sample.sample import Sample
from skanchor._text import first_five
from skanchor._typing import Array
from skanchor.warning_log import warn_of_data

CLEAR = (0.0, 0.5, 1.0)
"""Outcomes that are not graded."""

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


def check_judges(sample: Sample) -> None:
    """Warn of judges that contradict people, of one under several names, and of grades.

    The sample is that of all rows, in their roles.
    """
    _warn_of_contradicting_judges(sample)
    if len(sample.X.judges) > 1:
        if sample.groups is None:
            _warn_of_copied_judges(sample)
        else:
            _warn_of_runs(sample, sample.groups)
    warn_of_other_grades(sample.X.judges, *graded_verdicts(sample))


def _warn_of_contradicting_judges(sample: Sample) -> None:
    """Warn of judges whose outcomes may be coded the other way round.

    These are judges whose verdicts contradict the majority of people on the same two
    models more often than chance explains.
    """
    X, (pair, preference) = sample.X, oriented(sample.X, sample.y)
    votes = np.flatnonzero(sample.counts & X.is_human)
    # The majority of people in each pair, then +, - or 0 for each verdict: it agrees
    # with that majority, contradicts it, or one of the two is undecided.
    weighted = (sample.weight * preference)[votes]
    majority = np.bincount(pair[votes], weighted, len(X.models) ** 2)
    agreement = np.sign(preference * majority[pair])
    decided = sample.by_source(sample.counts, agreement != 0)[1:]
    balance = sample.by_source(sample.counts, agreement)[1:]
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


def _warn_of_copied_judges(sample: Sample) -> None:
    """Warn of judges whose rows are the same, as of one judge under two names.

    Without prompts to compare verdicts on, the verdicts on each pair of models must be
    the same in number and order. Where rows are counted these are totals, so that as
    few as may be equal by chance say nothing.
    """
    same: dict[Any, list[Any]] = {}
    for code, judge in enumerate(sample.X.judges.tolist()):
        cut = sample.X.by_judge(code)
        number = sample.multiplicity[cut.rows]
        if len(cut) >= _FEW_KINDS and number.sum() >= _SHARED:
            columns = cut.left, cut.right, cut.order, sample.y[cut.rows], number
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


def _warn_of_runs(sample: Sample, groups: NDArray[np.intp]) -> None:
    """Warn of judges that agree on the same prompts like runs of one judge."""
    X, (pair, preference) = sample.X, oriented(sample.X, sample.y)
    rows, n = np.flatnonzero(X.is_usable & ~X.is_human), len(X.judges)
    prompt = pd.factorize(groups[rows])[0]
    key = pd.factorize(prompt * len(X.models) ** 2 + pair[rows])[0]
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
def graded_verdicts(sample: Sample) -> tuple[Array, Array]:
    """Share of graded verdicts, between a win and a tie, and number of verdicts.

    Returns
    -------
    shares, numbers : ndarray of shape (2, n_judges)
        Those on historical models alone, then those on new ones.
    """
    is_graded, involves_new = ~np.isin(sample.y, CLEAR), sample.X.involves_new
    verdicts = sample.counts & ~sample.X.is_human
    graded, numbers = (
        np.array(
            [
                sample.by_source(verdicts & (involves_new == is_new), values)[1:]
                for is_new in (False, True)
            ]
        )
        for values in (is_graded, 1.0)
    )
    return graded / np.maximum(numbers, 1.0), numbers


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
    kinds = ("historical", "new")
    in_part = graded_in_part(shares, numbers)
    for kind, other, is_graded in zip(kinds, kinds[::-1], in_part, strict=True):
        names = judges[is_graded].tolist()
        if names:
            warn_of_data(
                "graded-verdicts",
                names,
                f"Verdicts of judges {names[:5]} on {kind} models are graded (between "
                f"a win and a tie), those on {other} models are not: unless grades are "
                "probabilities of a win, scores of new models are too close to the "
                "mean or too far from it. Give both in the same kind.",
            )
