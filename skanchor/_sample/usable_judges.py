"""Judges whose rows say nothing of the models: those without history, or separated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from skanchor._battles import Comparisons, usable_features
from skanchor._model.logistic import fit_logistic
from skanchor._model.separation import separation_of
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.bias.protocol import span_names
from skanchor.bias.registry import learner_for
from skanchor.exceptions import BattlesError, DataWarning, SeparationWarning
from skanchor.warning_log import warn

MANY_JUDGES = 5
"""Judges left out beyond which one warning tells of all."""

ROWS_PER_PARAMETER = 5
"""Historical rows of a judge for its sensitivity and each feature; with fewer its bias
may be anything, and its one-step corrections harm the scores of all models."""

PILOT_ROWS = 2000
"""Rows of a judge that are looked at first: what separates all separates these."""

SEVERAL_JUDGES, ROWS_OF_SENSITIVITY = 5, 60
"""Judges, and historical rows of each, below which one sensitivity for all of them is
as good as one for each, or better: see docs/item_effects.md."""


def warn_of_thin_judges(sample: Sample) -> None:
    """Warn of several judges with too few historical rows to learn what each is worth.

    Parameters
    ----------
    sample : Sample
        Rows in their roles.
    """
    history = _JudgeHistory.of(sample)
    if len(history.judges) < SEVERAL_JUDGES:
        return
    middle = int(np.median([n for _, n, _ in history.judges]))
    if middle < ROWS_OF_SENSITIVITY:
        warn(
            DataWarning(
                f"The {len(history.judges):,} judges have {middle} verdicts each on "
                f"historical models, in the median. Fewer than {ROWS_OF_SENSITIVITY} "
                "hardly show the sensitivity of a judge, so intervals are likely "
                "very wide. If they are alike, such as seeds or prompts of one "
                "model, fit them as one: pool='judges'.",
                code="thin-judges",
                subject=[judge for judge, _, _ in history.judges],
            )
        )


def leave_out_judges(sample: Sample) -> Sample:
    """Leave out judges without history; refuse new models that nothing else places."""
    history = _JudgeHistory.of(sample)
    unused = history.with_fewer_rows_than(1)
    history.warn_of(unused, 1)
    battles = _without_judges(sample.X, unused)
    if unused and not len(battles.judges):
        raise BattlesError(
            f"Judges {unused} have no row between two models with human votes, "
            "so no judge can be calibrated."
        )
    lost = _unplaced(battles, sample.weight)
    if lost:
        why = f" ({unused} have no historical row)" if unused else ""
        raise BattlesError(
            f"New model {lost[0]!r} has no comparison by a calibrated judge{why}. "
            "Add some by a judge that has compared old models, too."
        )
    used = battles.is_usable & ~battles.is_human & (sample.weight > 0)
    return sample.with_battles(usable_features(battles, used))


def leave_out_little_history(sample: Sample) -> Sample:
    """Leave out judges with too little history, where others place every new model."""
    X = sample.X
    needed = ROWS_PER_PARAMETER * (1 + X.features_left.shape[1])
    history = _JudgeHistory.of(sample)
    few = history.with_fewer_rows_than(needed)
    battles = _without_judges(X, few)
    if not few or not len(battles.judges) or _unplaced(battles, sample.weight):
        return sample
    history.warn_of(few, needed)
    return sample.with_battles(battles)


@dataclass(frozen=True, slots=True)
class FeatureSeparation:
    """What settles the verdicts of a judge.

    Attributes
    ----------
    judge : hashable
        Label.
    columns : list of str
        Names of the features that separate the verdicts.
    alone : bool
        Whether each of them does so alone.
    """

    judge: Any
    columns: list[str]
    alone: bool


def feature_separated_judges(sample: Sample, bias: Any) -> list[FeatureSeparation]:
    """Judges half of whose historical verdicts features separate, or more.

    Their bias has no finite fit, and beside it their sensitivity has none: where a fit
    stops on its way to infinity is rounding, and so is what such rows then say of the
    models. That there is such a way is a matter of the features alone, and needs no
    score. Columns with a ridge have none.

    Parameters
    ----------
    sample : Sample
        Rows in their roles.
    bias : str, learner or dict
        As the parameter of :class:`skanchor.JudgeCalibrator`.

    Returns
    -------
    list of FeatureSeparation
    """
    X, found = sample.X, []
    for m, judge in enumerate(X.judges.tolist() if X.feature_names else ()):
        learner: Any = clone(learner_for(bias, judge))
        cut = X.by_judge(m)
        historical = X.is_historical_judge_row[cut.rows] & X.is_usable[cut.rows]
        used = np.flatnonzero(historical & (sample.weight[cut.rows] > 0))
        if not (hasattr(learner, "fit_span") and len(used)):
            continue
        rows, weight = cut.rows[used], np.ones(len(used))
        pairs, y = cut.pairs[used], sample.y[rows]
        learner.fit_span(pairs, weight)
        # A ridge keeps coefficients finite: only columns without one can separate.
        free = np.flatnonzero(learner.ridge(pairs, weight) == 0.0)
        some = np.arange(0, len(used), -(-len(used) // PILOT_ROWS))
        columns = learner.span(pairs[some])[:, free]
        # The fit by features alone, which is fast, tells whether there may be no end.
        if not len(free) or fit_logistic(columns, y[some], weight[some]).converged:
            continue
        span = learner.span(pairs)
        split = separation_of(span[:, free], y, sample.multiplicity_of(rows))
        if len(split.columns) and 2 * split.n_rows >= sample.number(rows):
            names = span_names(learner, tuple(X.feature_names), span.shape[1])
            separating = [names[free[k]] for k in split.columns]
            found.append(FeatureSeparation(judge, separating, split.alone))
    return found


def leave_out_feature_separated(
    sample: Sample, bias: Any, n_rows: Mapping[Any, int] | None = None
) -> Sample:
    """Leave out judges whose verdicts features settle, whatever the models.

    Parameters
    ----------
    sample : Sample
        Rows in their roles.
    bias : str, learner or dict
        Of the judges' calibrator.
    n_rows : mapping of label to int, optional
        By judge the number of all rows, where the sample holds some of them.

    Returns
    -------
    Sample

    Raises
    ------
    BattlesError
        If no other judge places a new model, or none is left.
    """
    X = sample.X
    separated = feature_separated_judges(sample, bias)
    if not separated:
        return sample
    kept = _without_judges(X, [found.judge for found in separated])
    lost = _unplaced(kept, sample.weight)
    if lost or not len(kept.judges):
        what = f"places new model {lost[0]!r}" if lost else "is left"
        raise BattlesError(
            f"{_separated_by(separated[0])}, whatever the models, and no other judge "
            f"{what}. {_against_features(separated[0])}"
        )
    for found in separated:
        own = X.by_judge(X.judges.tolist().index(found.judge)).rows
        n = sample.number(own[sample.weight[own] > 0])
        n = n if n_rows is None else int(n_rows[found.judge])
        warn(
            SeparationWarning(
                f"{_separated_by(found)}: no finite fit exists, and its rows say "
                f"almost nothing about the models. All {n} are left out. This happens "
                f"if a feature is made from the outcome. {_against_features(found)}",
                code="separated-by-features",
                subject=[found.judge],
            )
        )
    return sample.with_battles(kept)


def _separated_by(found: FeatureSeparation) -> str:
    """Say what separates the verdicts of a judge."""
    what = ", ".join(f"feature {name!r}" for name in found.columns[:MANY_JUDGES])
    if not found.alone:
        n = len(found.columns)
        what = f"a combination of {n} columns, among them {what}"
    return f"The verdicts of judge {found.judge!r} are separated by {what}"


def _against_features(found: FeatureSeparation) -> str:
    """Say what to do about them."""
    feature = "the feature (drop_features) or " if found.alone else ""
    return (
        f"Drop {feature}the judge (without=[{found.judge!r}]), or set a ridge penalty, "
        "such as LinearBias(alpha=0.01)."
    )


def _unplaced(X: Comparisons, weight: Array) -> list[Any]:
    """New models that are in no usable row of positive weight."""
    seen = X.appearances(X.is_usable & (weight > 0)) > 0
    return X.models[X.is_new & ~seen].tolist()


@dataclass(frozen=True, slots=True)
class _JudgeHistory:
    """Each judge, how many historical rows it has, and how many rows."""

    judges: list[tuple[Any, int, int]]

    @classmethod
    def of(cls, sample: Sample) -> _JudgeHistory:
        X = sample.X
        rows = sample.counts & (X.judge >= 0)
        historical, every = (
            np.bincount(X.judge[which], sample.multiplicity_of(which), len(X.judges))
            .astype(int)
            .tolist()
            for which in (rows & ~X.involves_new, rows)
        )
        return cls(list(zip(X.judges.tolist(), historical, every, strict=True)))

    def with_fewer_rows_than(self, needed: int) -> list[Any]:
        """Judges with too few historical rows."""
        return [judge for judge, n, _ in self.judges if n < needed]

    def warn_of(self, left_out: list[Any], needed: int) -> None:
        """Warn of the judges whose rows are left out: one by one if they are few."""
        lost = set(left_out)
        known = [each for each in self.judges if each[0] in lost]
        if len(known) > MANY_JUDGES:
            listed = ", ".join(repr(judge) for judge, _, _ in known[:MANY_JUDGES])
            what = "no historical row" if needed == 1 else "fewer historical rows"
            why = "" if needed == 1 else f" than the {needed} that features ask for"
            warn(
                DataWarning(
                    f"{len(known)} judges have {what} to calibrate them{why}: {listed} "
                    f"and {len(known) - MANY_JUDGES} more; their "
                    f"{sum(every for _, _, every in known)} rows are left out.",
                    code="uncalibrated-judge",
                    subject=[judge for judge, _, _ in known],
                )
            )
            return
        for judge, n, every in known:
            what = "no historical row" if n == 0 else f"{n} historical rows"
            why = f", fewer than the {needed} that its features ask for" if n else ""
            warn(
                DataWarning(
                    f"Judge {judge!r} has {what} to calibrate it{why}; its {every} "
                    "rows are left out.",
                    code="uncalibrated-judge",
                    subject=[judge],
                )
            )


def _without_judges(X: Comparisons, judges: list[Any]) -> Comparisons:
    """The rows, those of these judges unusable."""
    if not judges:
        return X
    keep = np.array([judge not in judges for judge in X.judges.tolist()], dtype=bool)
    return X.relabel(X.models, X.judges[keep])
