"""Historical models left out in turn, and placed as if they were new."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from skanchor._btl import BTLRegressor
from skanchor._comparisons import label_list
from skanchor._contexts import refuse_contexts
from skanchor._folds import run_plan
from skanchor._row_rules import RowRules, treat_ties
from skanchor._typing import Array
from skanchor.evaluation._errors import DifferenceErrors
from skanchor.exceptions import (
    BattlesError,
    DataWarning,
    DiagnosticWarning,
    located,
)
from skanchor.metrics import insertion_rank
from skanchor.sample import Battles, Sample, warn_of_counts
from skanchor.warning_log import WarningLog, unheard, warn, warn_of_parts


def leave_one_model_out(
    estimator: BaseEstimator,
    X: Battles,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | str | None = "auto",
    weights: Literal["importance", "frequency"] | None = None,
    models: Sequence[Hashable] | None = None,
    level: float = 0.95,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> pd.DataFrame:
    """Treat each historical model in turn as if it were new, without its human rows.

    The true score is that of a BTL fit to all human rows, re-centred over the other
    models; its error allows for dependent rows if groups are given. Rows of models
    without any human row are left out throughout.

    Parameters
    ----------
    estimator : estimator
        Anything with ``fit``, ``scores_`` and optionally ``standard_errors_``,
        ``conf_int`` and ``rank_sets``; or, without ``scores_``, with ``ranks_``. The
        table lacks the columns for which the estimator has no numbers. It may be the
        last step of a scikit-learn ``Pipeline``, whose transformers are then fitted
        again for each model left out.
    X : battles table or Comparisons
        One row per comparison.
    y : array-like of shape (n_rows,)
        Outcomes.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.
    groups : array-like of shape (n_rows,), str or None, default="auto"
        Groups of dependent rows, or the column that holds them.
        By default the values of ``prompt_id``, if they repeat; None treats
        rows as independent.
    weights : {"importance", "frequency"}, optional
        Meaning of ``sample_weight`` in the human fit; None means the meaning that it
        has for the estimator.
    models : sequence of labels, optional
        Models to leave out; None means all with human rows.
    level : float, default=0.95
        Confidence level.
    n_jobs : int, optional
        Models in parallel, as in joblib.
    verbose : int, default=0
        Shows a progress bar when positive.

    Returns
    -------
    DataFrame
        By model left out: ``true_score``, ``true_error`` (standard error of the human
        fit), ``score``, ``standard_error``, ``low``, ``high``, ``covered`` (whether the
        interval contains the human score), ``compatible`` (whether score and human
        score differ by no more than their combined error allows), ``true_rank`` and
        ``rank`` (insertion ranks among the human scores of the others),
        ``fitted_rank`` (insertion rank among the scores of the others in the fit
        itself, if it has them), ``rank_low``, ``rank_high``.

    Raises
    ------
    BattlesError
        If a named model has no human rows.

    Notes
    -----
    If the estimator has a human bias, its scores at equal style are compared with human
    scores at equal style, fitted with the same learner.

    The human score is itself an estimate. Intervals that contain people's preferences
    at ``level`` contain their noisy estimate less often. The share of ``covered`` is
    therefore below ``level`` unless the human error is small compared to the standard
    error, even for a valid method. For a valid method it is the share of
    ``compatible`` that is near ``level``: a model is compatible if
    ``|score - true_score|`` is at most z times ``hypot(standard_error, true_error)``,
    where z is the normal, t or bootstrap quantile of the method's own interval. With
    few models this share is above ``level``, because the votes between the other models
    enter both scores, which then differ by less.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.evaluation import leave_one_model_out
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> table = leave_one_model_out(
    ...     AnchorPipeline(random_state=0), data.X, data.y, models=["model-01"]
    ... )
    >>> bool(abs(table.score - table.true_score).iloc[0] < 0.5)
    True
    """
    done = models_left_out(
        estimator,
        X,
        y,
        sample_weight=sample_weight,
        groups=groups,
        weights=weights,
        models=models,
        level=level,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    return pd.DataFrame(list(done.values()), index=pd.Index(list(done), name="model"))


def models_left_out(
    estimator: BaseEstimator,
    X: Battles,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | str | None = "auto",
    weights: Literal["importance", "frequency"] | None = None,
    models: Sequence[Hashable] | None = None,
    with_errors: bool = False,
    issued: Iterable[Warning] = (),
    level: float = 0.95,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> dict[Any, dict[str, Any]]:
    """Rows of :func:`leave_one_model_out`, maybe with the parts of their errors.

    Parameters
    ----------
    estimator, X, y, sample_weight, groups, weights, models
        As in :func:`leave_one_model_out`.
    level, n_jobs, verbose
        As in :func:`leave_one_model_out`.
    with_errors : bool, default=False
        Whether rows have the parts of their errors, by which models are correlated:
        those of :meth:`skanchor.evaluation._errors.DifferenceErrors.parts`.
    issued : iterable of Warning, default=()
        Warnings of the fit of all rows, which are not issued again.

    Returns
    -------
    dict of dict
        By model left out, its row of the table.
    """
    refuse_contexts(estimator, "leave_one_model_out")
    with WarningLog() as log:
        sample = Sample.admit(X, y, sample_weight, groups)
        rules = RowRules.of(estimator)
        counted = rules.counts if weights is None else weights == "frequency"
        if not counted:
            warn_of_counts(sample)
        sample = treat_ties(sample, drop=rules.drops_ties)
        bias = _bias_of_truth(estimator)
        sample, human = _true_scores(sample, counted, bias)
    log.issue()
    battles = sample.X
    known = human.models_.tolist()
    models = known if models is None else label_list("models", models)
    strangers = [model for model in models if model not in known]
    if strangers:
        raise BattlesError(
            f"Models {strangers} have no human rows that give them a true score."
        )
    # Rows of two models with votes. Code -1 of an unknown model reads the last entry.
    with_votes = np.append([m in known for m in battles.models.tolist()], False)
    rows = with_votes[battles.left] & with_votes[battles.right] & sample.counts
    table = X if isinstance(estimator, Pipeline) else None
    errors = None
    if with_errors and counted == rules.counts:
        errors = DifferenceErrors(sample, human, counted)
    jobs = [
        (estimator, table, sample, rows, model, human, level, errors)
        for model in models
    ]
    done = run_plan(
        _place_left_out,
        jobs,
        n_jobs=n_jobs,
        verbose=verbose,
        description="models left out",
    )
    by_model = dict(zip(models, done, strict=True))
    # Fits of nearly the same rows warn of the same: each warning is issued once.
    with WarningLog() as log:
        found = {model: warned for model, (_, warned) in by_model.items()}
        warn_of_parts(found, "Leaving out models {}", issued)
    log.issue()
    return {model: row for model, (row, _) in by_model.items()}


def _place_left_out(
    estimator: Any,
    table: Any,
    sample: Sample,
    rows: NDArray[np.bool_],
    model: Any,
    human: BTLRegressor,
    level: float,
    errors: DifferenceErrors | None,
) -> tuple[dict[str, Any], list[Warning]]:
    """Row of the table for one model, ranked without its human rows, and warnings."""
    X = sample.X
    code = X.models.tolist().index(model)
    involved = (X.left == code) | (X.right == code)
    # All rows but the votes on this model; its verdicts become arrival rows.
    kept = rows & ~(X.is_human & involved)
    at = np.flatnonzero(kept)
    left = sample[at]
    # The transformers of a pipeline need the table itself; its last step gets weights,
    # groups and new models by prefixed names.
    battles = left.X.as_preferences() if table is None else _safe_indexing(table, at)
    step = "" if table is None else f"{estimator.steps[-1][0]}__"
    fitted = clone(estimator)
    if f"{step}new_models" in fitted.get_params():
        fitted.set_params(**{f"{step}new_models": [model]})
    extra: dict[str, Any] = {
        f"{step}sample_weight": left.weight,
        f"{step}groups": left.row_groups,
    }
    others = _without(human.scores_, model)
    with (
        warnings.catch_warnings(record=True) as issued,
        # The table returned here shows what a diagnostic could only suspect.
        unheard(DiagnosticWarning),
        located(f"Leaving out model {model!r}"),
    ):
        warnings.simplefilter("always")
        # Outcomes are encoded in [0, 1] by now, whatever their labels were.
        fitted.fit(battles, left.y, **extra)
    found = [each.message for each in issued if isinstance(each.message, Warning)]
    if table is not None:
        fitted = fitted[-1]
    with WarningLog():
        # Human scores of the other models alone; the fit above has warned already. Near
        # a fit of nearly the same votes, no errors are estimated.
        votes = sample[np.flatnonzero(kept & X.is_human)]
        reference = BTLRegressor(bias=human.bias).fit_sample(votes, human)
    result: dict[str, Any] = {
        "true_score": human.scores_[model] - others.mean(),
        "true_error": _centred_error(human, model),
    }
    if hasattr(fitted, "scores_"):
        result["score"] = float(fitted.scores_[model])
    if hasattr(fitted, "standard_errors_"):
        result["standard_error"] = fitted.standard_errors_[model]
    if hasattr(fitted, "conf_int"):
        interval = fitted.conf_int(level).loc[model]
        result["low"], result["high"] = interval["low"], interval["high"]
        result["covered"] = bool(
            result["low"] <= result["true_score"] <= result["high"]
        )
    if "standard_error" in result:
        # Other intervals, such as conformal ones, allow for the human error already.
        result["compatible"] = _compatible(level=level, **result)
    result["true_rank"] = insertion_rank(human.scores_[model], others)
    if "score" in result:
        result["rank"] = insertion_rank(result["score"], reference.scores_)
        if hasattr(fitted, "result_"):
            own = _without(fitted.result_.all_scores, model)
            result["fitted_rank"] = insertion_rank(result["score"], own)
    else:
        result["rank"] = int(fitted.ranks_[model])
    if hasattr(fitted, "rank_sets"):
        sets = fitted.rank_sets(level).loc[model]
        result["rank_low"], result["rank_high"] = int(sets["low"]), int(sets["high"])
    if errors is not None:
        result |= errors.parts(fitted, model, at, result["true_error"])
    return result, found


def _compatible(
    *,
    true_score: float,
    true_error: float,
    score: float,
    standard_error: float,
    low: float,
    high: float,
    level: float,
    **_: Any,
) -> bool:
    """Whether two scores differ by no more than their combined error allows."""
    if 0 < standard_error < np.inf:
        # The quantile of the interval: half its width, in standard errors.
        quantile = (high - low) / 2.0 / standard_error
    else:
        quantile = ndtri(0.5 + level / 2.0)
    error = np.hypot(standard_error, true_error)
    return bool(abs(score - true_score) <= quantile * error)


def _bias_of_truth(estimator: Any) -> Any:
    """Learner of people's bias to fit together with the true scores, None for none.

    Scores at equal style must be compared with human scores at equal style.
    """
    staged = isinstance(estimator, Pipeline)
    last = estimator.steps[-1][1] if staged else estimator
    params = last.get_params() if hasattr(last, "get_params") else {}
    bias = params.get("human_bias")
    if bias is None:
        bias = params.get("btl__bias")
    if bias is None:
        return None
    if staged:
        raise ValueError(
            "leave_one_model_out cannot fit human scores at equal style to a table "
            "whose features a Pipeline makes: transform the table first."
        )
    return bias


def _true_scores(
    sample: Sample, counted: bool, bias: Any
) -> tuple[Sample, BTLRegressor]:
    """BTL fit to all human rows, and the sample without models of infinite score."""
    human = _human_fit(sample, counted, bias)
    if human.unbounded_.any():
        # Their bounded stand-ins for infinite scores would move the mean of the others.
        without = human.models_[human.unbounded_].tolist()
        warn(
            DataWarning(
                f"Models {without} have no true score that is finite; they and their "
                "rows are left out.",
                code="no-true-score",
                subject=without,
            )
        )
        bounded = human.models_[~human.unbounded_]
        sample = sample.with_battles(sample.X.relabel(bounded, sample.X.judges))
        with WarningLog():
            human = _human_fit(sample, counted, bias)
    return sample, human


def _human_fit(sample: Sample, counted: bool, bias: Any) -> BTLRegressor:
    """BTL fit to the human rows, with errors that allow for groups and counts."""
    # A count of n stands for n rows, so that errors are those of the expanded table.
    rows = sample.expanded() if counted else sample
    return BTLRegressor(bias=bias).fit_sample(rows)


def _without(scores: pd.Series, model: Any) -> Array:
    """Scores of all other models, much faster than by ``drop``."""
    return np.delete(scores.to_numpy(), scores.index.get_loc(model))


def _centred_error(human: BTLRegressor, model: Any) -> float:
    """Standard error of a score after re-centring over the other models."""
    # Contrast l with 1 at the model and -1 / (K - 1) elsewhere: sqrt(l' C l).
    place = human.models_.tolist().index(model)
    size = len(human.models_)
    contrast = np.full(size, -1.0 / (size - 1))
    contrast[place] = 1.0
    return float(np.sqrt(contrast @ human.covariance_ @ contrast))
