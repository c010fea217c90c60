"""Judges whose rows say nothing of the models: those without history, or separated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from skanchor._battles import Comparisons, usable_features
from skanchor._model.logistic import fit_logistic, separation_of
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
as good as one for each, or better: see docs/evidence/coverage.md."""


def leave_out_judges(sample: Sample) -> Sample:
    """Leave out judges without history; refuse new models that nothing else places."""
    unused = _with_fewer_rows(sample, 1)
    _warn_of_left_out(sample, unused, 1)
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
    needed = ROWS_PER_PARAMETER * (1 + sample.X.features_left.shape[1])
    few = _with_fewer_rows(sample, needed)
    battles = _without_judges(sample.X, few)
    if not few or not len(battles.judges) or _unplaced(battles, sample.weight):
        return sample
    _warn_of_left_out(sample, few, needed)
    return sample.with_battles(battles)


def warn_of_thin_judges(sample: Sample) -> None:
    """Warn of several judges with too few historical rows for a sensitivity each."""
    judges = sample.X.judges.tolist()
    if len(judges) < SEVERAL_JUDGES:
        return
    middle = int(np.median(_rows_by_judge(sample, historical=True)))
    if middle < ROWS_OF_SENSITIVITY:
        warn(
            DataWarning(
                f"The {len(judges):,} judges have {middle} verdicts each on "
                f"historical models, in the median. Fewer than {ROWS_OF_SENSITIVITY} "
                "hardly show the sensitivity of a judge, so intervals are likely "
                "very wide. If they are alike, such as seeds or prompts of one "
                "model, fit them as one: pool='judges'.",
                code="thin-judges",
                subject=judges,
            )
        )


def leave_out_feature_separated(sample: Sample, bias: Any) -> Sample:
    """Leave out judges whose verdicts features settle, whatever the models.

    Parameters
    ----------
    sample : Sample
        Rows in their roles.
    bias : str, learner or dict
        Of the judges' calibrator.

    Returns
    -------
    Sample

    Raises
    ------
    BattlesError
        If no other judge places a new model, or none is left.
    """
    X = sample.X
    separated = list(_feature_separated(sample, bias))
    if not separated:
        return sample
    kept = _without_judges(X, [judge for judge, *_ in separated])
    lost = _unplaced(kept, sample.weight)
    if lost or not len(kept.judges):
        what = f"places new model {lost[0]!r}" if lost else "is left"
        _, fault, advice = separated[0]
        raise BattlesError(
            f"{fault}, whatever the models, and no other judge {what}. {advice}"
        )
    n_rows = _rows_by_judge(sample)
    for judge, fault, advice in separated:
        n = n_rows[X.judges.tolist().index(judge)]
        warn(
            SeparationWarning(
                f"{fault}: no finite fit exists, and its rows say almost nothing "
                f"about the models. All {n} are left out. This happens if a feature "
                f"is made from the outcome. {advice}",
                code="separated-by-features",
                subject=[judge],
            )
        )
    return sample.with_battles(kept)


def _feature_separated(sample: Sample, bias: Any) -> Iterator[tuple[Any, str, str]]:
    """Judges half of whose historical verdicts features separate, what, and advice.

    Their bias has no finite fit, and beside it their sensitivity has none: where a fit
    stops on its way to infinity is rounding, and so is what such rows then say of the
    models. That there is such a way is a matter of the features alone, and needs no
    score. Columns with a ridge have none.
    """
    X = sample.X
    for m, judge in enumerate(X.judges.tolist() if X.feature_names else ()):
        learner: Any = clone(learner_for(bias, judge))
        cut = X.by_judge(m)
        historical = ~X.involves_new[cut.rows] & sample.counts[cut.rows]
        used = np.flatnonzero(historical)
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
        if not len(split.columns) or 2 * split.n_rows < sample.number(rows):
            continue
        names = span_names(learner, tuple(X.feature_names), span.shape[1])
        names = [f"feature {names[free[k]]!r}" for k in split.columns]
        what, feature = (
            ", ".join(names[:MANY_JUDGES]),
            "the feature (drop_features) or ",
        )
        if not split.alone:
            what = f"a combination of {len(names)} columns, among them {what}"
            feature = ""
        yield (
            judge,
            f"The verdicts of judge {judge!r} are separated by {what}",
            f"Drop {feature}the judge (without=[{judge!r}]), or set a ridge penalty, "
            "such as LinearBias(alpha=0.01).",
        )


def _unplaced(X: Comparisons, weight: Array) -> list[Any]:
    """New models that are in no usable row of positive weight."""
    seen = X.appearances(X.is_usable & (weight > 0)) > 0
    return X.models[X.is_new & ~seen].tolist()


def _rows_by_judge(sample: Sample, *, historical: bool = False) -> list[int]:
    """Number of rows of the table by each judge, of all or of the historical ones."""
    X = sample.X
    rows = sample.counts & (X.judge >= 0)
    if historical:
        rows &= ~X.involves_new
    times = sample.multiplicity_of(rows)
    return np.bincount(X.judge[rows], times, len(X.judges)).astype(int).tolist()


def _with_fewer_rows(sample: Sample, needed: int) -> list[Any]:
    """Judges with fewer historical rows."""
    counts = _rows_by_judge(sample, historical=True)
    pairs = zip(sample.X.judges.tolist(), counts, strict=True)
    return [judge for judge, n in pairs if n < needed]


def _warn_of_left_out(sample: Sample, judges: list[Any], needed: int) -> None:
    """Warn of judges with too little history: one by one if they are few."""
    known = [
        (judge, n, n_rows)
        for judge, n, n_rows in zip(
            sample.X.judges.tolist(),
            _rows_by_judge(sample, historical=True),
            _rows_by_judge(sample),
            strict=True,
        )
        if judge in judges
    ]
    if len(known) > MANY_JUDGES:
        listed = ", ".join(map(repr, judges[:MANY_JUDGES]))
        what = "no historical row" if needed == 1 else "fewer historical rows"
        why = "" if needed == 1 else f" than the {needed} that features ask for"
        warn(
            DataWarning(
                f"{len(known)} judges have {what} to calibrate them{why}: {listed} "
                f"and {len(known) - MANY_JUDGES} more; their "
                f"{sum(n_rows for *_, n_rows in known)} rows are left out.",
                code="uncalibrated-judge",
                subject=judges,
            )
        )
        return
    for judge, n, n_rows in known:
        what = "no historical row" if n == 0 else f"{n} historical rows"
        why = f", fewer than the {needed} that its features ask for" if n else ""
        warn(
            DataWarning(
                f"Judge {judge!r} has {what} to calibrate it{why}; its {n_rows} "
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
