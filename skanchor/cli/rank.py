"""``skanchor rank``: rank the new models of a battles table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from skanchor.anchor import AnchorPipeline

__all__ = [
    "RANK",
    "add_dependence",
    "add_fingerprints",
    "add_level",
    "add_method",
    "check_level",
    "check_method",
    "pipeline_of",
]


# ---------------------------------------------------------------------------- flags
def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_table(parser)
    add_level(parser)
    add_dependence(parser)
    add_method(parser)
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="folds fitted in parallel (-1: all cores)"
    )
    parser.add_argument(
        "--history",
        metavar="HISTORY",
        help="place the new models by a history that skanchor history build has "
        "written; FILE then holds their rows, and the method is that of the history",
    )
    add_fingerprints(parser)
    add_output(parser)


def add_level(parser: argparse.ArgumentParser) -> None:
    """Add the level of what is reported."""
    parser.add_argument(
        "--level",
        type=float,
        default=0.95,
        help="level of intervals and rank sets (default: %(default)s)",
    )


def add_dependence(parser: argparse.ArgumentParser) -> None:
    """Add what tells dependent rows, and what weighs them."""
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


def add_fingerprints(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fingerprints",
        metavar="FILE",
        help="JSON file with a text by judge that changes when the judge does, as the "
        "version of its model and a hash of its prompt",
    )


def add_method(parser: argparse.ArgumentParser) -> None:
    """Add how the models are ranked."""
    parser.add_argument(
        "--folds", type=int, default=10, help="folds (default: %(default)s)"
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


# ------------------------------------------------------------------------------ run
def _rank(options: argparse.Namespace) -> None:
    _check(options)
    if options.history is not None:
        from skanchor.cli.history import place

        place(options)
        return
    X, y, counted = load_battles(options)
    meaning, weight = weights_of(X, options, counted)
    pipeline = pipeline_of(options, meaning)
    pipeline.set_params(
        new_models=[] if options.no_new else options.new,
        n_jobs=options.jobs,
        verbose=int(is_watched()),
    )
    pipeline.fit(X, y, sample_weight=weight, groups=groups_of(X, options))
    deliver(pipeline, options)


def pipeline_of(options: argparse.Namespace, meaning: str) -> AnchorPipeline:
    """The pipeline that the flags ask for."""
    from skanchor import AnchorPipeline, JudgeCalibrator

    return AnchorPipeline(
        calibrator=JudgeCalibrator(position_effect=options.position_effect),
        cv=options.folds,
        item_effects=options.item_effects,
        historical_fit=options.historical_fit,
        random_state=options.seed,
        weights=meaning,
    )


def _check(options: argparse.Namespace) -> None:
    """Refuse what can be refused before any work."""
    check_table(options)
    check_level(options)
    check_method(options)
    if options.fingerprints is not None and options.history is None:
        raise BadInputError("--fingerprints goes with --history")
    if options.jobs == 0:
        raise BadInputError("--jobs must not be 0; use -1 for all cores")
    check_output(options, inputs=options.battles)


def check_level(options: argparse.Namespace) -> None:
    """Refuse a level that is none."""
    if not 0.0 < options.level < 1.0:
        raise BadInputError(
            f"--level must lie strictly between 0 and 1, got {options.level:g}"
        )


def check_method(options: argparse.Namespace) -> None:
    """Refuse folds and seeds that are none."""
    if options.folds < 2:
        raise BadInputError(f"--folds must be at least 2, got {options.folds}")
    if not 0 <= options.seed < 2**32:
        raise BadInputError(f"--seed must be in 0 ... 2**32 - 1, got {options.seed}")


RANK = Command(
    name="rank",
    help="rank the new models of a battles table",
    description="Rank the models of a battles table: those with human votes, and "
    "the new ones, which only judges have compared.",
    add_arguments=_add_arguments,
    run=_rank,
)
