"""Names of learners: the learner of each name, and the one that each judge gets.

This module imports the learners, and no learner imports it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.utils._param_validation import HasMethods

from skanchor.bias._auto import CANDIDATES, AutoBias
from skanchor.bias.protocol import HOW_TO_WRAP, BiasLearner, named_learner

LEARNERS: dict[str, type] = {**CANDIDATES, "auto": AutoBias}


class _LearnerMethods(HasMethods):
    """The methods of a learner, and how other estimators become one."""

    def __str__(self) -> str:
        return f"{super().__str__()} ({HOW_TO_WRAP.rstrip('.')})"


# Names are checked by make_learner, the one place that knows them.
ONE_LEARNER: list[Any] = [
    str,
    _LearnerMethods(["fit", "contrast", "set_params"]),
]
LEARNER_CONSTRAINT: list[Any] = [*ONE_LEARNER, dict]


def make_learner(bias: Any) -> BiasLearner:
    """Turn the name of a learner into a learner; return a learner unchanged.

    Parameters
    ----------
    bias : {"linear", "network", "boosted", "auto"} or learner
        Name or learner.

    Returns
    -------
    BiasLearner
        A new, unfitted one for a name.

    Examples
    --------
    >>> from skanchor.bias import make_learner
    >>> make_learner("linear")
    LinearBias()
    """
    return named_learner(bias, LEARNERS)


def learner_for(bias: Any, judge: Any) -> BiasLearner:
    """Pick the learner of one judge from a name, a learner or a dict by judge.

    Parameters
    ----------
    bias : str, learner or dict
        As the parameter ``bias`` of :class:`skanchor.JudgeCalibrator`.
    judge : hashable
        Label of the judge.

    Returns
    -------
    BiasLearner
    """
    if isinstance(bias, Mapping):
        if judge not in bias:
            raise ValueError(
                f"The dict of bias learners has no entry for judge {judge!r}; it has "
                f"{list(bias)}."
            )
        bias = bias[judge]
    return make_learner(bias)
