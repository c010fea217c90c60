"""Judges that the scores separate: they have no finite sensitivity to fit jointly."""

from __future__ import annotations

from typing import Any

import numpy as np

from skanchor._judges import JudgeCalibrator
from skanchor._model.layout import PEOPLE
from skanchor._numerics.separation import separation_of
from skanchor._pipeline_fit import PipelineFit

RUNAWAY = 2.0
"""Times its sensitivity beside fixed scores, from which one on its bound is taken to
have run there, not to be held back by it."""


def _judges_on_a_bound(calibrator: JudgeCalibrator) -> frozenset[Any]:
    known = calibrator.sensitivities_
    at_bound = np.isin(known.to_numpy(np.float64), calibrator.sensitivity_bounds)
    return frozenset(known.index[at_bound]) if at_bound.any() else frozenset()


def runaway_judges(before: JudgeCalibrator, after: JudgeCalibrator) -> frozenset[Any]:
    """Judges whose sensitivity runs to its bound once scores bend to their verdicts.

    Where few verdicts speak against a judge, scores that make these models equal leave
    it without error: the larger its sensitivity, the smaller the differences that this
    takes.

    Parameters
    ----------
    before, after : JudgeCalibrator
        Fitted beside the scores of people's votes, and together with the scores.

    Returns
    -------
    frozenset of labels
    """
    at_bound = _judges_on_a_bound(after)
    if not at_bound:
        return at_bound
    was, known = before.sensitivities_, after.sensitivities_
    far = known.abs() >= RUNAWAY * was.reindex(known.index).abs()
    return at_bound.intersection(known.index[far & (known != 0.0)])


def separated_judges(known: PipelineFit, calibrator: JudgeCalibrator) -> frozenset[Any]:
    """Judges whose historical verdicts the score difference helps to separate.

    Only a judge whose sensitivity lies on its bound may be one.
    """
    at_bound = _judges_on_a_bound(calibrator)
    fit, judges = known.fit, known.sample.X.judges.tolist()
    found = []
    for rows in known.sources:
        if rows.is_new or rows.source == PEOPLE:
            continue
        judge = judges[rows.source - 1]
        if judge not in at_bound:
            continue
        columns = [rows.differences(fit.scores)[:, None], rows.span]
        if known.layout.positions[rows.source]:
            columns.append(rows.order[:, None])
        if 0 in separation_of(np.hstack(columns), rows.y).columns:
            found.append(judge)
    return frozenset(found)
