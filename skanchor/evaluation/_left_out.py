"""Historical models left out in turn, placed as if they were new, and tested."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from skanchor._battles.labels import label_list, positions
from skanchor._checks import refuse_contexts
from skanchor._crossfit.parallel import run_plan
from skanchor._diagnostics.interval_check import IntervalCheck
from skanchor._estimators.btl import BTLRegressor
from skanchor._sample.row_rules import RowRules, treat_ties
from skanchor._sample.sample import Battles, Sample, warn_of_counts
from skanchor.evaluation._errors import DifferenceErrors
from skanchor.exceptions import BattlesError, DiagnosticWarning, located
from skanchor.metrics import insertion_rank
from skanchor.warning_log import WarningLog, unheard, warn_of_data, warn_of_parts


def leave_one_model_out(
    estimator: BaseEstimator,
    X: Battles,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | str | None = "auto",
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
        Row weights; what they mean is a setting of the estimator.
    groups : array-like of shape (n_rows,), str or None, default="auto"
        Groups of dependent rows, or the column that holds them.
        By default the values of ``prompt_id``, if they repeat; None treats
        rows as independent.
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
    study = _studied(estimator, X, y, sample_weight, groups)
    return _left_out(study, level, models, n_jobs, verbose)[0]


class _Study(NamedTuple):
    """Rows of models with a true score, and the fit of all their votes.

    Attributes
    ----------
    estimator : estimator
        Unfitted.
    table : table or None
        What the transformers of a scikit-learn pipeline are fitted to.
    sample : Sample
        The rows.
    human : BTLRegressor
        The fit of all votes.
    """

    estimator: Any
    table: Any
    sample: Sample
    human: BTLRegressor


def _studied(
    estimator: Any, X: Battles, y: Any, sample_weight: Any, groups: Any
) -> _Study:
    """Admit rows and fit their votes; leave out models whose score has no limit."""
    refuse_contexts(estimator, "leave_one_model_out")
    is_staged = isinstance(estimator, Pipeline)
    params = (estimator[-1] if is_staged else estimator).get_params()
    # Scores at equal style must be compared with human scores at equal style.
    bias = params.get("human_bias")
    bias = params.get("btl__bias") if bias is None else bias
    if is_staged and bias is not None:
        raise ValueError(
            "leave_one_model_out cannot fit human scores at equal style to a table "
            "whose features a Pipeline makes: transform the table first."
        )
    with WarningLog() as log:
        sample = Sample.from_battles(X, y, sample_weight, groups)
        rules = RowRules.of(estimator)
        if not rules.counts:
            warn_of_counts(sample)
        sample = treat_ties(sample, drop=rules.drops_ties)
        # A count of n stands for n rows, so that errors are those of the expanded
        # table.
        rows = sample.expanded() if rules.counts else sample
        human = BTLRegressor(bias=bias).fit_sample(rows)
        lost = human.models_[human.unbounded_].tolist()
        if lost:
            # Their bounded stand-ins for infinite scores would move the mean of the
            # others.
            warn_of_data(
                "no-true-score",
                lost,
                f"Models {lost} have no true score that is finite; they and their rows "
                "are left out.",
            )
            bounded = human.models_[~human.unbounded_]
            sample = sample.with_battles(sample.X.relabel(bounded, sample.X.judges))
            rows = sample.expanded() if rules.counts else sample
            with WarningLog():
                human = clone(human).fit_sample(rows)
    log.issue()
    return _Study(estimator, X if is_staged else None, sample, human)


def _left_out(
    study: _Study,
    level: float,
    models: Sequence[Hashable] | None,
    n_jobs: int | None,
    verbose: int,
    errors: DifferenceErrors | None = None,
    issued: Iterable[Warning] = (),
) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """Table of the models, a row each, and the parts of their errors.

    Warnings that have been issued already are not repeated.
    """
    voted = study.human.models_.tolist()
    models = voted if models is None else label_list("models", models)
    strangers = [model for model in models if model not in voted]
    if strangers:
        raise BattlesError(
            f"Models {strangers} have no human rows that give them a true score."
        )
    jobs, words = [(study, level, one, errors) for one in models], "models left out"
    done = run_plan(_row, jobs, n_jobs=n_jobs, verbose=verbose, description=words)
    rows, parts, warned = zip(*done, strict=True)
    # Fits of nearly the same rows warn of the same: each warning is issued once.
    with WarningLog() as log:
        by_model = dict(zip(models, warned, strict=True))
        warn_of_parts(by_model, "Leaving out models {}", issued)
    log.issue()
    return pd.DataFrame(list(rows), pd.Index(models, name="model")), list(parts)


def _row(
    study: _Study, level: float, model: Any, errors: DifferenceErrors | None
) -> tuple[dict[str, Any], dict[str, Any], list[Warning]]:
    """Row of the table of a model, parts of its error, and warnings."""
    sample, human, X = study.sample, study.human, study.sample.X
    voted = positions(X.models, human.models_) >= 0
    # All rows of models with votes but the votes on this one; its verdicts become
    # arrival rows. Code -1 of an unknown model reads the last entry.
    usable, code = np.append(voted, False), X.models.tolist().index(model)
    involved = (X.left == code) | (X.right == code)
    remaining = usable[X.left] & usable[X.right] & sample.counts
    at = np.flatnonzero(remaining & ~(X.is_human & involved))
    fitted, warned = _fitted(study, model, at)
    with WarningLog():
        # Human scores of the other models alone; the fit above has warned already.
        # Near a fit of nearly the same votes, no errors are estimated.
        votes = sample[at[X.is_human[at]]]
        reference = BTLRegressor(bias=human.bias).fit_sample(votes, human)
    # Of the K human scores, whose mean is zero, one less the mean of the others is
    # K / (K - 1) of itself.
    factor = len(human.models_) / (len(human.models_) - 1)
    row: dict[str, Any] = {
        "true_score": factor * human.scores_[model],
        "true_error": factor * human.standard_errors_[model],
    }
    if hasattr(fitted, "scores_"):
        row["score"] = float(fitted.scores_[model])
    if hasattr(fitted, "standard_errors_"):
        row["standard_error"] = fitted.standard_errors_[model]
    if hasattr(fitted, "conf_int"):
        row["low"], row["high"] = fitted.conf_int(level).loc[model]
        row["covered"] = bool(row["low"] <= row["true_score"] <= row["high"])
    if "standard_error" in row:
        # Other intervals, such as conformal ones, allow for the human error.
        error, quantile = row["standard_error"], ndtri(0.5 + level / 2.0)
        if 0 < error < np.inf:
            # That of the interval: half its width, in standard errors.
            quantile = (row["high"] - row["low"]) / 2.0 / error
        most = quantile * np.hypot(error, row["true_error"])
        row["compatible"] = bool(abs(row["score"] - row["true_score"]) <= most)
    row["true_rank"] = insertion_rank(human.scores_[model], human.scores_.drop(model))
    if "score" not in row:
        row["rank"] = int(fitted.ranks_[model])
    else:
        row["rank"] = insertion_rank(row["score"], reference.scores_)
        if hasattr(fitted, "result_"):
            fellows = fitted.result_.all_scores.drop(model)
            row["fitted_rank"] = insertion_rank(row["score"], fellows)
    if hasattr(fitted, "rank_sets"):
        sets = fitted.rank_sets(level).loc[model]
        row["rank_low"], row["rank_high"] = int(sets["low"]), int(sets["high"])
    parts = {}
    if errors is not None:
        parts = errors.parts(fitted, model, at, row["true_error"])
    return row, parts, warned


def _fitted(
    study: _Study, model: Any, rows: NDArray[np.intp]
) -> tuple[Any, list[Warning]]:
    """Estimator fitted to some rows with one new model, and its warnings."""
    chosen, fitted, step = study.sample[rows], clone(study.estimator), ""
    battles: Any = chosen.X.with_columns(named=True)
    if study.table is not None:
        # The transformers of a pipeline need the table itself; its last step gets
        # weights, groups and new models by prefixed names.
        battles, step = _safe_indexing(study.table, rows), f"{fitted.steps[-1][0]}__"
    if f"{step}new_models" in fitted.get_params():
        fitted.set_params(**{f"{step}new_models": [model]})
    with (
        warnings.catch_warnings(record=True) as issued,
        # The table returned here shows what a diagnostic could only suspect.
        unheard(DiagnosticWarning),
        located(f"Leaving out model {model!r}"),
    ):
        warnings.simplefilter("always")
        # Outcomes are encoded in [0, 1] by now, whatever their labels were.
        arguments = {"sample_weight": chosen.weight, "groups": chosen.row_groups}
        arguments = {step + name: values for name, values in arguments.items()}
        fitted.fit(battles, chosen.y, **arguments)
    warned = [one.message for one in issued if isinstance(one.message, Warning)]
    return fitted if study.table is None else fitted[-1], warned


def check_intervals(
    estimator: BaseEstimator,
    X: Battles,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | str | None = "auto",
    models: Sequence[Hashable] | None = None,
    level: float = 0.95,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> IntervalCheck:
    """Test the intervals of a method on models whose human scores are known.

    Treats each historical model in turn as if it were new, as
    :func:`leave_one_model_out` does. Four tests ask whether scores and human scores
    differ by more than their errors explain: the largest miss of any model, the miss of
    the best model, the direction of the misses from the best model to the worst, and
    the number of models whose two scores agree.

    Parameters
    ----------
    estimator : estimator
        A method with standard errors. A fitted ``AnchorPipeline`` is tested with the
        treatment of item effects that it reports; an unfitted one chooses anew for each
        model left out. The warnings of its fit are not repeated.
    X, y, sample_weight, groups, models, level, n_jobs, verbose
        As in :func:`leave_one_model_out`.

    Returns
    -------
    IntervalCheck

    Raises
    ------
    BattlesError
        If a named model has no human rows.
    TypeError
        If the estimator has no standard errors.

    Notes
    -----
    The errors of models left out are correlated, because they share votes, verdicts and
    item effects, and human scores have errors of their own. P-values come from the
    joint law of all differences, to first order: the influence of each row on score and
    human score, and the item effects, whose estimated variance has few degrees of
    freedom. For methods other than ``AnchorPipeline``, and where
    people have a bias, the differences are taken as uncorrelated.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.evaluation import check_intervals
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(2000, 200, n_models=6, random_state=0)
    >>> anchor = AnchorPipeline(cv=3, random_state=0).fit(data.X, data.y)
    >>> found = check_intervals(anchor, data.X, data.y)
    >>> found.n_models, bool(found.p_value > 0.01)
    (6, True)
    """
    treatment = getattr(estimator, "item_effects_", None)
    unfitted = clone(estimator)
    if treatment in ("none", "random"):
        # As the fitted pipeline reports. Fits of different models run in parallel, so
        # that each fit itself uses one core.
        unfitted.set_params(item_effects=treatment, n_jobs=None, verbose=0)
    study = _studied(unfitted, X, y, sample_weight, groups)
    errors = DifferenceErrors(study.sample, study.human, RowRules.of(unfitted).counts)
    issued = getattr(estimator, "warnings_", ())
    table, parts = _left_out(study, level, models, n_jobs, verbose, errors, issued)
    if "standard_error" not in table:
        raise TypeError(
            "Intervals can only be tested of a method with standard errors; use "
            "leave_one_model_out for one without."
        )
    # A score that is not determined has no parts, and is not tested.
    tested = [part for part in parts if part]
    if not tested or len(tested) < np.isfinite(table["standard_error"]).sum():
        return IntervalCheck.of(table, level=level, item_effects=treatment)
    none = {name: np.zeros_like(value) for name, value in tested[0].items()}
    rows, items = (
        [(part or none)[name] for part in parts] for name in ("row_parts", "item_parts")
    )
    df = float(np.median([part["item_df"] for part in tested]))
    return IntervalCheck.of(table, rows, items, df, level, treatment)
