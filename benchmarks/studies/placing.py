"""What a method says of the new models of a draw, and the row that measures it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from drawn import Drawn
from sklearn.base import BaseEstimator, clone
from threadpoolctl import threadpool_limits

from skanchor import AnchorHistory, AnchorPipeline
from skanchor.baselines import (
    DirectScore,
    HistoricalPPI,
    HistoricalPPR,
    HumanOnly,
    LogisticJudge,
    MeanShift,
    Oracle,
    PooledLLM,
    ScalarJudge,
)
from skanchor.metrics import insertion_rank
from skanchor.results import AnchorResult

ONE_BY_ONE = (
    DirectScore,
    HistoricalPPI,
    HistoricalPPR,
    LogisticJudge,
    MeanShift,
    Oracle,
    PooledLLM,
    ScalarJudge,
)
"""Methods whose score of a new model does not depend on other new models.

They place any number of them at once as if each were alone, so that one fit of the
history serves all.
"""

RANK_ONLY = (HistoricalPPR, LogisticJudge)
"""Methods whose scores are not on the scale of the others."""


@dataclass(frozen=True)
class Method:
    """A method of a study.

    Attributes
    ----------
    name : str
        Name in the table.
    estimator : estimator
        Unfitted. Its ``random_state`` becomes the seed of the draw; `Oracle` gets the
        truth, and `HumanOnly` the extra votes on the new models.
    has_intervals : bool
        Whether its intervals are measured.
    """

    name: str
    estimator: BaseEstimator
    has_intervals: bool = False


def measure_draw(
    draw: Callable[[Mapping[str, Any], int], Drawn],
    settings: Mapping[str, Any],
    methods: Sequence[Method],
    seed: int,
    versions: str,
) -> list[dict[str, Any]]:
    """Draw a cell once, and return a row for each method.

    ``versions`` are only part of the key by which joblib stores the rows.

    Measures are means over the new models: ``error`` of the score and its square in
    logits, whether the interval covers, its width; ranks from the true insertion rank,
    whether there are none; the variance and its parts. ``failed`` names the error of a
    fit that was refused.
    """
    rows = []
    # One thread everywhere: sums by several threads differ in their last digits.
    with threadpool_limits(limits=1), warnings.catch_warnings():
        # A study counts what happens; tests that reject by chance are part of it.
        warnings.simplefilter("ignore")
        drawn = draw(settings, seed)
        for method in methods:
            start = time.process_time()
            try:
                row = _measured(method, drawn)
            except ValueError as error:
                row = {"failed": type(error).__name__}
            row |= {"method": method.name, "seed": seed}
            rows.append(row | {"seconds": time.process_time() - start})
    return rows


def _measured(method: Method, drawn: Drawn) -> dict[str, Any]:
    parts = [
        _of_result(method, result).loc[models]
        for models, result in _fits(method, drawn)
    ]
    placed = pd.concat(parts).reindex(drawn.new_models)
    if "score" in placed:
        # Among the scores by people's votes, which are the same for all methods.
        human_scores = drawn.human_scores.dropna()
        placed["rank"] = [
            insertion_rank(score, human_scores) if np.isfinite(score) else np.nan
            for score in placed["score"]
        ]
    if "low" in placed and not np.isfinite(placed[["low", "high"]]).all(axis=None):
        return {"failed": "undetermined"}
    means = _means(placed, drawn)
    return {"failed": ""} | {
        name: float(np.mean(np.asarray(values, dtype=float)))
        for name, values in means.items()
    }


def _means(placed: pd.DataFrame, drawn: Drawn) -> dict[str, Any]:
    """What measures are means of: arrays with an entry for each new model."""
    true, true_rank = drawn.data.truth.new_scores, drawn.true_ranks
    off = (placed["rank"] - true_rank).abs()
    values: dict[str, Any] = {"displaced": off, "exact": off == 0}
    if "score" in placed:
        error = placed["score"] - true
        values |= {"error": error, "squared_error": error**2}
    if "low" in placed:
        values["covered"] = (placed["low"] <= true) & (true <= placed["high"])
        values["width"] = placed["high"] - placed["low"]
    if "variance" in placed:
        parts = ("variance", "human", "judge", "cross")
        values |= {name: placed[name] for name in parts}
        values["lower_bound"] = drawn.lower_bounds
    return values


def _fits(method: Method, drawn: Drawn) -> Iterator[tuple[list[str], Any]]:
    """Results of a method, and of which new models each is."""
    estimator = clone(method.estimator)
    parameters = estimator.get_params(deep=False)
    if "random_state" in parameters:
        estimator.set_params(random_state=drawn.seed)
    new = drawn.new_models
    alone = [[model] for model in new]
    if isinstance(estimator, Oracle):
        estimator.set_params(truth=drawn.data.truth)
    if isinstance(estimator, HumanOnly):
        # Two scores of one fit would share its votes.
        for models in alone if drawn.apart else [new]:
            estimator.set_params(new_models=models)
            yield models, clone(estimator).fit(*drawn.with_votes(models)).result_
    elif not drawn.apart or isinstance(estimator, ONE_BY_ONE):
        if "new_models" in parameters:
            # New models may have votes.
            estimator.set_params(new_models=new)
        yield new, estimator.fit(drawn.data.X, drawn.data.y).result_
    elif isinstance(estimator, AnchorPipeline):
        history = AnchorHistory(estimator).fit(*drawn.rows(drawn.is_history))
        for models in alone:
            yield models, history.place(*drawn.rows(drawn.rows_with[models[0]]))
    else:
        for models in alone:
            mask = drawn.is_history | drawn.rows_with[models[0]]
            yield models, clone(estimator).fit(*drawn.rows(mask)).result_


def _of_result(method: Method, result: Any) -> pd.DataFrame:
    """Table of a result, by new model."""
    table = pd.DataFrame({"rank": result.ranks})
    if not isinstance(method.estimator, RANK_ONLY):
        table["score"] = result.scores
    if method.has_intervals:
        table = table.join(result.conf_int())
    if isinstance(result, AnchorResult):
        table["variance"] = result.standard_errors**2
        table = table.join(result.variance[["human", "judge", "cross"]])
    return table
