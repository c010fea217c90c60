"""Judges chosen by how much history they have, anew for each model left out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor.exceptions import BattlesError
from skanchor.sample import Sample


def check_judge_number(number: Any, sample: Sample) -> None:
    """Refuse a number of judges that is no number, or more than there are.

    Parameters
    ----------
    number : int or None
        Number of judges to choose; None for all.
    sample : Sample
        All rows.

    Raises
    ------
    BattlesError
        If there are fewer judges.
    """
    if number is None:
        return
    if not isinstance(number, (int, np.integer)) or number is True or number < 1:
        raise ValueError(f"judges_by_history must be at least 1, got {number!r}.")
    judges = len(sample.X.judges)
    if number > judges:
        raise BattlesError(
            f"judges_by_history={number} asks for more judges than there are: {judges}."
        )


def with_most_history(
    sample: Sample, history: NDArray[np.bool_], number: int
) -> NDArray[np.bool_]:
    """Mask of the rows of people, and of the judges with the most history.

    Parameters
    ----------
    sample : Sample
        All rows.
    history : ndarray of shape (n_rows,)
        Rows among models with votes other than the one that is left out.
    number : int
        Number of judges. They are those with the most historical verdicts; of equal
        ones, those with the most prompts, where rows have groups.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    X = sample.X
    judges = np.arange(len(X.judges))
    verdicts = np.array([(history & (X.judge == m)).sum() for m in judges])
    prompts = verdicts
    if isinstance(sample.groups, np.ndarray):
        prompts = np.array(
            [len(np.unique(sample.groups[history & (X.judge == m)])) for m in judges]
        )
    # ``lexsort`` sorts by the last key first, and leaves equal judges in their order.
    chosen = np.lexsort((-prompts, -verdicts))[:number]
    return np.asarray(X.is_human | np.isin(X.judge, chosen))
