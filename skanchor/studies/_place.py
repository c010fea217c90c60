"""What a method says of the new models of a draw: scores, intervals, ranks."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from skanchor._anchor import AnchorPipeline
from skanchor._ranking import RankOnlyEstimator
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
from skanchor.bootstrap import bootstrap
from skanchor.history import AnchorHistory
from skanchor.metrics import insertion_rank
from skanchor.results import AnchorResult
from skanchor.studies._draws import Drawn
from skanchor.studies._experiment import StudyMethod

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


def place(
    methods: Sequence[StudyMethod], drawn: Drawn, n_resamples: int
) -> Iterator[tuple[StudyMethod, pd.DataFrame | str, float]]:
    """Place the new models of a draw by every method.

    Parameters
    ----------
    methods : sequence of StudyMethod
        The methods.
    drawn : Drawn
        Battles, with the truth.
    n_resamples : int
        Refits for intervals by resampling, which all methods share.

    Yields
    ------
    method : StudyMethod
        One of the methods.
    placed : DataFrame or str
        By new model: ``score``, ``rank`` among the historical models by the human votes
        alone, and where there are such ``low``, ``high``, ``rank_low``, ``rank_high``,
        and parts of the variance. The name of the error where the fit was refused.
    seconds : float
        Processor seconds; refits count for the first method that has them.
    """
    refits, spent = _refits(methods, drawn, n_resamples)
    for method in methods:
        start = time.process_time()
        try:
            with warnings.catch_warnings():
                # A study counts what happens, and tests that reject by chance are part
                # of it.
                warnings.simplefilter("ignore")
                placed: pd.DataFrame | str = _placed(method, drawn, refits)
        except ValueError as error:
            placed = type(error).__name__
        seconds = time.process_time() - start
        if method.is_refitted:
            seconds, spent = seconds + spent, 0.0
        yield method, placed, seconds


def _refits(
    methods: Sequence[StudyMethod], drawn: Drawn, n_resamples: int
) -> tuple[Mapping[str, Any], float]:
    """Refits of all methods that need them, by name; processor seconds."""
    chosen = {m.name: m.estimator for m in methods if m.is_refitted}
    if not chosen:
        return {}, 0.0
    if drawn.apart:
        raise ValueError(
            "Intervals from refits need new models that are analysed together: set "
            "intervals of the methods to None."
        )
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = bootstrap(
            chosen, drawn.data.X, drawn.data.y, groups=None,
            n_resamples=n_resamples, random_state=drawn.seed,
        )  # fmt: skip
    return found, time.process_time() - start


def _placed(
    method: StudyMethod, drawn: Drawn, refits: Mapping[str, Any]
) -> pd.DataFrame:
    """What one method says, by new model."""
    if method.is_refitted:
        found = refits[method.name]
        table = _of_result(found.estimator, found.estimator.result_, method)
        return _ranked(table.join(found.conf_int(0.95, method.intervals)), drawn)
    estimator = clone(method.estimator)
    if "random_state" in estimator.get_params(deep=False):
        estimator.set_params(random_state=drawn.seed)
    parts = [
        _of_result(estimator, result, method).loc[models]
        for models, result in _results(estimator, drawn)
    ]
    return _ranked(pd.concat(parts), drawn)


def _results(estimator: Any, drawn: Drawn) -> Iterator[tuple[list[str], Any]]:
    """Results of a method, and of which new models each is."""
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
        if "new_models" in estimator.get_params(deep=False):
            # Some of them may have votes.
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


def _of_result(estimator: Any, result: Any, method: StudyMethod) -> pd.DataFrame:
    """Table of a result, by new model."""
    table = pd.DataFrame({"rank": result.ranks})
    if not isinstance(estimator, RankOnlyEstimator):
        table["score"] = result.scores
    if method.intervals == "own":
        table = table.join(result.conf_int())
    if method.rank_sets is not None:
        sets = result.rank_sets(method=method.rank_sets)
        table["rank_low"], table["rank_high"] = sets["low"], sets["high"]
    if isinstance(result, AnchorResult):
        table["variance"] = result.standard_errors**2
        table = table.join(result.variance[["human", "judge", "cross"]])
    return table


def _ranked(table: pd.DataFrame, drawn: Drawn) -> pd.DataFrame:
    """Ranks of scores among the human scores of the historical models."""
    if "score" in table:
        known = drawn.human_scores.dropna()
        table["rank"] = [
            insertion_rank(score, known) if np.isfinite(score) else np.nan
            for score in table["score"]
        ]
    return table
