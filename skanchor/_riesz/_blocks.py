"""The Riesz system before it is solved: the information of each source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add

import numpy as np

from skanchor._comparisons import Comparisons
from skanchor._numerics.information import JudgeBlock, judge_block
from skanchor._numerics.linalg import covariance_factor
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.system import RieszProblem
from skanchor._riesz._evidence import Evidence
from skanchor._riesz._learners import NO_BIAS, WeightLearner
from skanchor.exceptions import BattlesError


def riesz_problem(
    X: Comparisons,
    people: JudgeBlock,
) -> RieszProblem:
    """The system of the parameters that rows carry, before the judges' blocks.

    Parameters
    ----------
    X : Comparisons
        Rows, or none, that carry the plug-in.
    people : JudgeBlock
        Information of the human rows, as :func:`people_block` adds it up.

    Returns
    -------
    RieszProblem

    Raises
    ------
    BattlesError
        If X carries no scores.
    """
    if X.scores is None or np.isnan(X.scores).all():
        raise BattlesError(
            "These comparisons carry no scores; transform them with fitted "
            "BTLRegressor, JudgeCalibrator and ArrivalScorer first."
        )
    n_judges = len(X.judges)
    # Where each kind of parameter lies: scores, sensitivities, position effects, and
    # deviations where item effects are integrated out. With contexts the deviations of
    # a model are the same in all of them: its items have one owner.
    factor = None
    if X.item_covariance is not None:
        # L with L L' = Sigma_u: the system has standardised deviations v with u = L v.
        factor = covariance_factor(X.item_covariance)
    layout = X.rows.layout(
        owned=True,
        positions=(X.position_effects is not None,) * n_judges,
        has_deviations=factor is not None,
        n_effects=None if factor is None else factor.shape[1],
    )
    slopes = np.zeros(n_judges) if X.sensitivities is None else X.sensitivities
    return RieszProblem(layout, slopes, factor, people)


def people_block(
    evidence: Sequence[Evidence], human: WeightLearner = NO_BIAS
) -> JudgeBlock:
    """Information of the human rows: by item, or as a judge's if people have a bias.

    Parameters
    ----------
    evidence : sequence of Evidence
        Training rows, or stored sums of them.
    human : WeightLearner
        Of people; with a span.

    Returns
    -------
    JudgeBlock
    """
    found = [one.information(PEOPLE, human) for one in evidence]
    known = reduce(add, (one for one in found if one is not None))
    return judge_block(known, human.learner, human.ridge)


def judge_blocks(
    evidence: Sequence[Evidence], learners: Sequence[WeightLearner]
) -> Iterator[JudgeBlock | None]:
    """Information of the judges, one at a time; None where no span tells it.

    Parameters
    ----------
    evidence : sequence of Evidence
        Training rows, or stored sums of them.
    learners : sequence of WeightLearner
        By judge.

    Yields
    ------
    JudgeBlock or None
    """
    for m, learner in enumerate(learners):
        found = [one.information(m, learner) for one in evidence if learner.has_span]
        known = [one for one in found if one is not None]
        if not known:
            yield None
        else:
            total = reduce(add, known)
            yield judge_block(total, learner.learner, learner.ridge)
