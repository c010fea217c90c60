"""``skanchor rank``: rank the new models of a battles table."""

from __future__ import annotations

import argparse

from skanchor.cli.command import BadInputError, Command
from skanchor.cli.output import add_output, check_output, deliver
from skanchor.cli.streams import is_watched
from skanchor.cli.table import (
    add_table,
    check_table,
    groups_of,
    load_battles,
    weights_of,
)

__all__ = ["RANK"]


# ---------------------------------------------------------------------------- flags
def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_table(parser)
    _add_method(parser)
    _add_scale(parser)
    add_output(parser)


def _add_method(parser: argparse.ArgumentParser) -> None:
    """Add how the models are ranked."""
    parser.add_argument(
        "--level",
        type=float,
        default=0.95,
        help="level of intervals and rank sets (default: %(default)s)",
    )
    parser.add_argument(
        "--folds", type=int, default=10, help="folds (default: %(default)s)"
    )
    parser.add_argument(
        "--groups",
        action="append",
        metavar="COLUMN,...",
        help="column whose equal values mark dependent rows, such as prompt_id; of "
        "several, rows that share a value in any of them",
    )
    parser.add_argument(
        "--weights",
        choices=["importance", "frequency"],
        help="what column count is: numbers of equal rows (frequency), or importance "
        "(default: not used, but frequency where the file is a table of wins)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the folds (default: %(default)s)"
    )
    parser.add_argument(
        "--position-effect",
        action=argparse.BooleanOptionalAction,
        default="auto",
        help="whether each judge may favour the side shown first (default: wherever "
        "its rows can show that)",
    )
    parser.add_argument(
        "--item-effects",
        choices=["auto", "none", "random", "conservative"],
        default="auto",
        help="whether judges deviate from models beyond score and features: auto lets "
        "a test decide, random takes such deviations into account, conservative even "
        "more of them, none leaves them out (default: %(default)s)",
    )
    parser.add_argument(
        "--historical-fit",
        choices=["joint", "two-step"],
        default="joint",
        help="what decides the scores of models with votes: two-step takes votes "
        "alone, joint votes and verdicts together, which needs far fewer votes "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="folds fitted in parallel (-1: all cores)"
    )


def _add_scale(parser: argparse.ArgumentParser) -> None:
    """Add what verdicts say of score differences, and what ties do."""
    parser.add_argument(
        "--judge-scale",
        choices=["straight", "curved"],
        default="straight",
        help="curved allows for judges that lapse, or tell models that are far apart "
        "less or more sharply than close ones (default: %(default)s)",
    )
    parser.add_argument(
        "--ties",
        choices=["half", "drop"],
        default="half",
        help="what becomes of ties: half a win for either side, or left out, which "
        "gives the scores of decided votes (default: %(default)s)",
    )


# ------------------------------------------------------------------------------ run
def _rank(options: argparse.Namespace) -> None:
    _check(options)
    X, y, counted = load_battles(options)
    meaning, weight = weights_of(X, options, counted)

    from skanchor import AnchorPipeline, JudgeCalibrator, RieszDebiaser

    pipeline = AnchorPipeline(
        calibrator=JudgeCalibrator(position_effect=options.position_effect),
        debiaser=RieszDebiaser("calibrator", judge_scale=options.judge_scale),
        cv=options.folds,
        new_models=[] if options.no_new else options.new,
        item_effects=options.item_effects,
        historical_fit=options.historical_fit,
        n_jobs=options.jobs,
        random_state=options.seed,
        verbose=int(is_watched()),
        weights=meaning,
        ties=options.ties,
    )
    pipeline.fit(X, y, sample_weight=weight, groups=groups_of(X, options))
    deliver(pipeline, options)


def _check(options: argparse.Namespace) -> None:
    """Refuse what can be refused before any work."""
    check_table(options)
    if not 0.0 < options.level < 1.0:
        raise BadInputError(
            f"--level must lie strictly between 0 and 1, got {options.level:g}"
        )
    if options.folds < 2:
        raise BadInputError(f"--folds must be at least 2, got {options.folds}")
    if not 0 <= options.seed < 2**32:
        raise BadInputError(f"--seed must be in 0 ... 2**32 - 1, got {options.seed}")
    if options.jobs == 0:
        raise BadInputError("--jobs must not be 0; use -1 for all cores")
    check_output(options, inputs=options.battles)


RANK = Command(
    name="rank",
    help="rank the new models of a battles table",
    description="Rank the models of a battles table: those with human votes, and "
    "the new ones, which only judges have compared.",
    add_arguments=_add_arguments,
    run=_rank,
)
