"""``skanchor compare``: several methods compared on one table."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from skanchor._cli.check import add_models, left_out_settings, load_judged
from skanchor._cli.command import BadInputError, Command, Flags, near_names
from skanchor._cli.fit import Task, add_fit, check_flags, settings_of
from skanchor._cli.output import Output, add_output, deliver
from skanchor._cli.table import add_table

if TYPE_CHECKING:
    import pandas as pd

LEAST_RESAMPLES = 20
"""Smallest number of refits from which intervals are computed."""

ANCHOR = "AnchorPipeline"
# Listed here, since importing the methods is slow. Baselines that need true scores or
# votes on the new models are left out: a table of battles does not have them.
METHODS = (
    *(ANCHOR, "JointBTL", "PooledLLM", "ScalarJudge", "MeanShift", "PerJudgeBTL"),
    *("DirectScore", "IPWOnly", "HistoricalPPI", "HistoricalPPR", "LogisticJudge"),
    *("JointMLE", "JudgeArenaElo", "JudgeAwareBTL", "SoftElo"),
)
"""Names of the methods."""

_DEFAULT = (ANCHOR, "JointBTL", "ScalarJudge", "DirectScore", "HistoricalPPI")
_SHARED = ("new_models", "ties", "weights", "calibrator")
"""Parameters of the pipeline that other methods get."""


def _compare(options: argparse.Namespace) -> None:
    check_flags(options)
    names = options.methods or list(_DEFAULT)
    names = list(METHODS) if names == ["all"] else names
    _check_methods(names, options)
    task = load_judged(options)

    from skanchor.evaluation import leave_one_model_out

    new: dict[str, dict[str, str]] = {}
    accuracy: dict[str, dict[str, float]] = {}
    for name in names:
        method = _method(name, task, options.n_resamples)
        # Without new models, methods are compared on historical models only.
        new[name] = {} if options.no_new else _ranks(method, task, options.level)
        left_out = leave_one_model_out(method, **left_out_settings(task, options))
        accuracy[name] = _accuracy(left_out)
    deliver(_output(accuracy, new, options.n_resamples), options)


def _check_methods(names: Sequence[str], options: argparse.Namespace) -> None:
    """Refuse unknown names, names that occur twice, and settings that none reads."""
    for name in names:
        if name not in METHODS:
            raise BadInputError(
                f"there is no method {name!r}; {near_names(name, METHODS)}"
            )
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise BadInputError(f"{twice[0]} is named twice")
    unread = [
        name for name in settings_of(options) if name.split("__")[0] not in _SHARED
    ]
    if ANCHOR not in names and unread:
        raise BadInputError(
            f"{', '.join(names)} would not read --set {', '.join(unread)}: leave that "
            f"out, or name {ANCHOR}, too"
        )
    if options.n_resamples is not None and options.n_resamples < LEAST_RESAMPLES:
        raise BadInputError(
            f"--n-resamples must be at least {LEAST_RESAMPLES}, got "
            f"{options.n_resamples}: limits need more refits"
        )


def _method(name: str, task: Task, n_resamples: int | None) -> Any:
    """Make a method with the settings that it shares with the pipeline.

    With ``n_resamples``, methods that have scores but no intervals get intervals from
    refits.
    """
    pipeline = task.pipeline
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


def _ranks(method: Any, task: Task, level: float) -> dict[str, str]:
    """Rank that a method gives each new model, with the rank set if it has one."""
    from sklearn.base import clone

    from skanchor.exceptions import DiagnosticWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiagnosticWarning)
        fitted = clone(method).fit(**task.rows)
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


def _output(
    accuracy: dict[str, Any], new: dict[str, dict[str, str]], refits: int | None
) -> Output:
    """Forms of the accuracies of the methods, and of the ranks of new models."""
    import pandas as pd

    from skanchor.reports.tables import Cell, Heading, Table, label, table_of, word

    table = pd.DataFrame.from_dict(accuracy, "index").rename_axis("method")
    ranks = pd.DataFrame.from_dict(new, "index").rename_axis("method")
    tables = [
        ("On models with votes, each left out in turn", table_of("methods", table))
    ]
    if len(ranks.columns):
        headings = [Heading("", "Method", False)]
        headings += [Heading(str(name), label(name), False) for name in ranks]
        rows: list[list[Cell]] = [
            [word(name), *map(word, row)]
            for name, row in zip(ranks.index, ranks.to_numpy(), strict=True)
        ]
        shown = Table("ranks", "Ranks of the new models", headings, rows)
        tables.append(("Where each method places the new models (rank set)", shown))
    record = {
        "methods": [
            {"method": name, **found, "new_models": new[name]}
            for name, found in accuracy.items()
        ],
        "bootstrap": refits,
    }
    return Output.of("compare", table.join(ranks), record, tables, refits=refits)


def _add_arguments(flags: Flags) -> None:
    add_table(flags)
    add_fit(flags)
    group = flags.group("methods")
    group.names("--methods", "NAME", f"of {', '.join(METHODS)}, or all")
    group.value(
        "--n-resamples",
        "N",
        "refits that give intervals to methods that have none, as in 200",
        type=int,
    )
    add_models(group)
    add_output(flags)


COMPARE = Command(
    name="compare",
    help="compare methods by models whose votes are known",
    more="Each method places every model with votes in turn without them.",
    examples=(
        ("ANCHOR and simpler methods", "battles.csv"),
        ("two of them", "battles.csv --methods AnchorPipeline SoftElo"),
        ("every method", "battles.csv --methods all --n-jobs -1"),
    ),
    arguments=_add_arguments,
    run=_compare,
)
