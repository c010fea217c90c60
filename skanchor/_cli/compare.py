"""``skanchor compare``: several methods compared on one table."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from skanchor._cli.battles import Rows
from skanchor._cli.check import left_out_settings, load_judged
from skanchor._cli.fit import check_flags
from skanchor._cli.output import deliver
from skanchor._cli.values import BadInputError, by_name

if TYPE_CHECKING:
    import pandas as pd

    from skanchor.pipeline import AnchorPipeline
    from skanchor.reports.text import Readout

ANCHOR = "AnchorPipeline"
# They need true scores, votes on the new models, or another method, which a table of
# battles does not have.
NEEDING_MORE = ("Oracle", "HumanOnly", "ConformalRanking")
_DEFAULT = (ANCHOR, "JointBTL", "ScalarJudge", "DirectScore", "HistoricalPPI")
_SHARED = ("new_models", "ties", "weights", "calibrator")
"""Parameters of the pipeline that other methods get."""


def compare(options: argparse.Namespace) -> None:
    check_flags(options)
    chosen = options.methods or list(_DEFAULT)
    by_name("--methods", [(name, None) for name in chosen])
    _check_settings(chosen, options)
    pipeline, rows = load_judged(options)

    from skanchor.baselines import BASELINES
    from skanchor.evaluation import leave_one_model_out

    if "all" in chosen:
        chosen = [ANCHOR, *(name for name in BASELINES if name not in NEEDING_MORE)]

    new: dict[str, dict[str, str]] = {}
    accuracy: dict[str, dict[str, float]] = {}
    for name in chosen:
        method = _method(name, pipeline, options.n_resamples)
        # Without new models, methods are compared on historical models only.
        new[name] = {} if options.no_new else _ranks(method, rows, options.level)
        left_out = leave_one_model_out(method, **left_out_settings(rows, options))
        accuracy[name] = _accuracy(left_out)
    deliver(_readout(accuracy, new, options.n_resamples), options)


def _check_settings(chosen: Sequence[str], options: argparse.Namespace) -> None:
    """Refuse settings that none of the methods reads."""
    settings = by_name("--set", options.set)
    unread = [name for name in settings if name.split("__")[0] not in _SHARED]
    if not {ANCHOR, "all"} & set(chosen) and unread:
        raise BadInputError(
            f"{', '.join(chosen)} would not read --set {', '.join(unread)}: leave that "
            f"out, or name {ANCHOR}, too"
        )


def _method(name: str, pipeline: AnchorPipeline, n_resamples: int | None) -> Any:
    """Make a method with the settings that it shares with the pipeline.

    With ``n_resamples``, methods that have scores but no intervals get intervals from
    refits.
    """
    if name == ANCHOR:
        return pipeline
    from skanchor._estimators.btl import BTLRegressor
    from skanchor.baselines import BASELINES
    from skanchor.results.estimators import RankingEstimator, RankOnlyEstimator

    method: Any = BASELINES[name]().set_params(
        btl=BTLRegressor(weights=pipeline.weights, ties=pipeline.ties),
        new_models=pipeline.new_models,
    )
    if pipeline.calibrator is not None and "calibrator" in method.get_params(False):
        method.set_params(calibrator=pipeline.calibrator)
    if n_resamples is None or isinstance(method, (RankingEstimator, RankOnlyEstimator)):
        return method
    from skanchor.bootstrap import Bootstrapped

    return Bootstrapped(
        method,
        n_resamples,
        random_state=pipeline.random_state,
        new_models=pipeline.new_models,
        weights=pipeline.weights,
    )


def _ranks(method: Any, rows: Rows, level: float) -> dict[str, str]:
    """Rank that a method gives each new model, with the rank set if it has one."""
    from sklearn.base import clone

    from skanchor.exceptions import DiagnosticWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiagnosticWarning)
        fitted = clone(method).fit(**rows.arguments)
    ranks = {str(model): str(rank) for model, rank in fitted.ranks_.items()}
    if hasattr(fitted, "rank_sets"):
        for model, row in fitted.rank_sets(level).iterrows():
            ranks[str(model)] += f" ({row['low']}-{row['high']})"
    return ranks


def _accuracy(left_out: pd.DataFrame) -> dict[str, float]:
    """Measures of the accuracy of a method on the models left out."""
    from skanchor import metrics

    true, rank = left_out["true_rank"], left_out["rank"]
    found = {
        "models": len(left_out),
        "rank_error": metrics.insertion_mae(true, rank),
        "largest_rank_error": int((true - rank).abs().max()),
        "exact": metrics.exact_insertion_rate(true, rank),
    }
    if "fitted_rank" in left_out:
        found["own_rank_error"] = metrics.insertion_mae(true, left_out["fitted_rank"])
    if "score" in left_out:
        found["rmse"] = metrics.rmse(left_out["true_score"], left_out["score"])
        found["spearman"] = metrics.spearman(left_out["true_score"], left_out["score"])
    if "compatible" in left_out:
        found["held"] = float(left_out["covered"].mean())
        found["compatible"] = float(left_out["compatible"].mean())
        found["width"] = metrics.interval_width(left_out["low"], left_out["high"])
    return found


def _readout(
    accuracy: dict[str, Any], new: dict[str, dict[str, str]], refits: int | None
) -> Readout:
    """Accuracies of the methods, and ranks of the new models."""
    import pandas as pd

    from skanchor.reports.tables import Table, table_of
    from skanchor.reports.text import Readout

    table = pd.DataFrame.from_dict(accuracy, "index").rename_axis("method")
    ranks = pd.DataFrame.from_dict(new, "index").rename_axis("Method")
    tables = [table_of("methods", table, "On models with votes, each left out in turn")]
    if len(ranks.columns):
        caption = "Where each method places the new models (rank set)"
        words = [False] * (1 + len(ranks.columns))
        tables.append(Table("ranks", caption, ranks.reset_index(), words))
    methods = [
        {"method": name, **found, "new_models": new[name]}
        for name, found in accuracy.items()
    ]
    record = {"methods": methods, "bootstrap": refits}
    return Readout(
        "compare", table.join(ranks), record, tables, values={"refits": refits}
    )
