"""Judges whose rows say nothing of the models: those without history, or separated."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from skanchor._battles import Comparisons, usable_features
from skanchor._model.logistic import Separation, fit_logistic, separation_of
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.bias.protocol import span_names
from skanchor.bias.registry import learner_for
from skanchor.exceptions import BattlesError, DataWarning, SeparationWarning
from skanchor.warning_log import warn

ROWS_PER_PARAMETER = 5
"""Historical rows of a judge for its sensitivity and each feature; with fewer its bias
may be anything, and its one-step corrections harm the scores of all models."""

PILOT_ROWS = 2000
"""Rows of a judge that are looked at first: what separates all separates these."""

SEVERAL_JUDGES, ROWS_OF_SENSITIVITY = 5, 60
"""Judges, and historical rows of each, below which one sensitivity for all of them is
as good as one for each, or better: see docs/evidence/coverage.md."""


def leave_out_judges(sample: Sample, *, by_parameters: bool = False) -> Sample:
    """Leave out judges without history; refuse new models that nothing else places.

    With ``by_parameters`` those that have fewer historical rows than their features
    ask for are left out, too, unless no other judge places some new model.
    """
    X, n_rows, needed = sample.X, _rows_by_judge(sample), 1
    if by_parameters:
        needed = ROWS_PER_PARAMETER * (1 + X.features_left.shape[1])
    n_old = _rows_by_judge(sample, historical=True)
    few = [judge for judge, n in n_old.items() if n < needed]
    kept = _without_judges(X, few)
    lost = _unplaced(kept, sample.weight)
    if by_parameters and (not few or not len(kept.judges) or lost):
        return sample
    for judge in few:
        warn(
            DataWarning(
                f"Judge {judge!r} has {n_old[judge]} historical rows, fewer than the "
                f"{needed} that calibrate it; its {n_rows[judge]} rows are left out.",
                code="uncalibrated-judge",
                subject=[judge],
            )
        )
    if few and not len(kept.judges):
        raise BattlesError(
            f"Judges {few} have no row between two models with human votes, "
            "so no judge can be calibrated."
        )
    if lost:
        why = f" ({few} have no historical row)" if few else ""
        raise BattlesError(
            f"New model {lost[0]!r} has no comparison by a calibrated judge{why}. "
            "Add some by a judge that has compared old models, too."
        )
    used = kept.is_usable & ~kept.is_human & (sample.weight > 0)
    return sample.with_battles(usable_features(kept, used))


def warn_of_thin_judges(sample: Sample) -> None:
    """Warn of several judges with too few historical rows for a sensitivity each."""
    n_old = _rows_by_judge(sample, historical=True)
    if len(n_old) < SEVERAL_JUDGES:
        return
    middle = int(np.median([*n_old.values()]))
    if middle < ROWS_OF_SENSITIVITY:
        warn(
            DataWarning(
                f"The {len(n_old):,} judges have {middle} verdicts each on "
                f"historical models, in the median. Fewer than {ROWS_OF_SENSITIVITY} "
                "hardly show the sensitivity of a judge, so intervals are likely "
                "very wide. If they are alike, such as seeds or prompts of one "
                "model, fit them as one: pool='judges'.",
                code="thin-judges",
                subject=n_old,
            )
        )


def leave_out_feature_separated(sample: Sample, bias: Any) -> Sample:
    """Leave out judges whose verdicts features settle, whatever the models.

    Their bias has no finite fit, and beside it their sensitivity has none: where a fit
    stops on its way to infinity is rounding, and so is what such rows then say of the
    models. That there is such a way is a matter of the features alone, and needs no
    score.

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
    X, separating = sample.X, {}
    for m, judge in enumerate(X.judges.tolist() if X.feature_names else ()):
        columns = _separating_features(sample, m, clone(learner_for(bias, judge)))
        if columns:
            separating[judge] = columns
    if not separating:
        return sample
    kept = _without_judges(X, separating)
    lost = _unplaced(kept, sample.weight)
    n_rows = _rows_by_judge(sample)
    for judge, columns in separating.items():
        fault = f"The verdicts of judge {judge!r} are separated by {columns}"
        advice = (
            f"Drop features (drop_features) or the judge (without=[{judge!r}]), or set "
            "a ridge penalty, such as LinearBias(alpha=0.01)."
        )
        if lost or not len(kept.judges):
            what = f"places new model {lost[0]!r}" if lost else "is left"
            raise BattlesError(
                f"{fault}, whatever the models, and no other judge {what}. {advice}"
            )
        warn(
            SeparationWarning(
                f"{fault}: no finite fit exists, and its rows say almost nothing "
                f"about the models. All {n_rows[judge]} are left out. This happens if "
                f"a feature is made from the outcome. {advice}",
                code="separated-by-features",
                subject=[judge],
            )
        )
    return sample.with_battles(kept)


def _separating_features(sample: Sample, m: int, learner: Any) -> str:
    """Columns that separate half of a judge's historical verdicts; "" if none do."""
    X = sample.X
    cut = X.by_judge(m)
    used = np.flatnonzero(~X.involves_new[cut.rows] & sample.counts[cut.rows])
    if not (hasattr(learner, "fit_span") and len(used)):
        return ""
    rows, weight = cut.rows[used], np.ones(len(used))
    pairs, y = cut.pairs[used], sample.y[rows]
    learner.fit_span(pairs, weight)
    # A ridge keeps coefficients finite: only columns without one can separate.
    free = np.flatnonzero(learner.ridge(pairs, weight) == 0.0)
    some = np.arange(0, len(used), -(-len(used) // PILOT_ROWS))
    columns = learner.span(pairs[some])[:, free]
    # The fit by features alone, which is fast, tells whether there may be no end.
    if not len(free) or fit_logistic(columns, y[some], weight[some]).converged:
        return ""
    span = learner.span(pairs)
    split = separation_of(span[:, free], y, sample.times[rows])
    if not len(split.columns) or 2 * split.n_rows < sample.number(rows):
        return ""
    names = span_names(learner, tuple(X.feature_names), span.shape[1])
    return separating_columns(split, [f"feature {names[k]!r}" for k in free])


def separating_columns(split: Separation, names: Sequence[str]) -> str:
    """Name the columns that separate verdicts, given the names of all of them."""
    found = ", ".join(names[k] for k in split.columns[:5])
    if split.alone:
        return found
    return f"a combination of {len(split.columns)} columns, among them {found}"


def _unplaced(X: Comparisons, weight: Array) -> list[Any]:
    """New models that are in no usable row of positive weight."""
    seen = X.appearances(X.is_usable & (weight > 0)) > 0
    return X.models[X.is_new & ~seen].tolist()


def _rows_by_judge(sample: Sample, *, historical: bool = False) -> dict[Any, int]:
    """Number of rows of the table by each judge, of all or of the historical ones."""
    X = sample.X
    rows = sample.counts & (X.judge >= 0)
    if historical:
        rows &= ~X.involves_new
    times = sample.times[rows]
    numbers = np.bincount(X.judge[rows], times, len(X.judges)).astype(int)
    return dict(zip(X.judges.tolist(), numbers.tolist(), strict=True))


def _without_judges(X: Comparisons, judges: Collection[Any]) -> Comparisons:
    """The rows, those of these judges unusable."""
    if not judges:
        return X
    keep = np.array([judge not in judges for judge in X.judges.tolist()], dtype=bool)
    return X.relabel(X.models, X.judges[keep])
