"""``skanchor rank``: rank the new models of a battles table."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from skanchor.cli.command import BadInputError, Command
from skanchor.cli.output import add_output, check_output, deliver
from skanchor.cli.texts import with_text_features

__all__ = ["RANK"]


# ---------------------------------------------------------------------------- flags
def _add_arguments(parser: argparse.ArgumentParser) -> None:
    _add_table(parser)
    _add_method(parser)
    add_output(parser)


def _add_table(parser: argparse.ArgumentParser) -> None:
    """Add what the rows are and who takes which part in them."""
    parser.add_argument(
        "battles",
        nargs="?",
        metavar="BATTLES",
        help="table of battles: .csv, .tsv, .jsonl (each also .gz) or .parquet",
    )
    parser.add_argument(
        "--demo", action="store_true", help="use the bundled (simulated) table instead"
    )
    new = parser.add_mutually_exclusive_group()
    new.add_argument(
        "--new",
        nargs="+",
        action="extend",
        metavar="MODEL",
        help="new models (default: those without human rows)",
    )
    new.add_argument(
        "--no-new",
        action="store_true",
        help="take no model as new: rank the models by their human rows",
    )
    parser.add_argument(
        "--human",
        nargs="+",
        action="extend",
        metavar="LABEL",
        help="what marks the human rows in column judge (default: human)",
    )
    parser.add_argument(
        "--text-columns",
        metavar="A,B",
        help="columns with the texts of the two responses, as in response_a,response_b:"
        " what they look like makes the features",
    )
    features = parser.add_mutually_exclusive_group()
    features.add_argument(
        "--features",
        metavar="NAME,...",
        help="response features to use, as in length for columns length_a and length_b "
        "(default: all pairs of numbers, but those that may hold the outcome)",
    )
    features.add_argument(
        "--drop-features", metavar="NAME,...", help="response features not to use"
    )


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
        metavar="COLUMN",
        help="column whose equal values mark dependent rows, such as prompt_id",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the folds (default: %(default)s)"
    )
    parser.add_argument(
        "--columns",
        action="append",
        default=[],
        metavar="OLD=NEW,...",
        help="rename columns of the table, as in left=model_a,right=model_b",
    )
    parser.add_argument(
        "--position-effect",
        action="store_true",
        help="let each judge favour the side shown first",
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
        "--jobs", type=int, metavar="N", help="folds fitted in parallel (-1: all cores)"
    )


# ------------------------------------------------------------------------------ run
def _rank(options: argparse.Namespace) -> None:
    _check(options)
    renames = _renames(options.columns)
    table = with_text_features(_load(options, renames), options.text_columns)

    from skanchor import AnchorPipeline, JudgeCalibrator, split_battles
    from skanchor.comparisons import HUMAN

    X, y = split_battles(
        table,
        columns=renames,
        human=options.human or HUMAN,
        features=_names(options.features),
        drop_features=_names(options.drop_features),
    )
    pipeline = AnchorPipeline(
        calibrator=JudgeCalibrator(position_effect=options.position_effect),
        cv=options.folds,
        new_models=[] if options.no_new else options.new,
        item_effects=options.item_effects,
        n_jobs=options.jobs,
        random_state=options.seed,
        verbose=int(sys.stderr.isatty()),
    )
    groups = renames.get(options.groups, options.groups)
    pipeline.fit(X, y, groups=groups)
    deliver(pipeline, options)


def _check(options: argparse.Namespace) -> None:
    """Refuse what can be refused before any work."""
    if options.demo and options.battles is not None:
        raise BadInputError("give either BATTLES or --demo, not both")
    if not options.demo and options.battles is None:
        raise BadInputError(
            "give a file of BATTLES, or --demo"
            + "".join(
                f" (BATTLES goes before --{flag})"
                for flag in ("new", "human")
                if getattr(options, flag)
            )
        )
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
    check_output(options)


def _renames(given: list[str]) -> dict[str, str]:
    renames: dict[str, str] = {}
    for pair in ",".join(given).split(",") if given else []:
        old, equals, new = (part.strip() for part in pair.partition("="))
        if not (old and equals and new):
            raise BadInputError(f"--columns takes OLD=NEW,..., got {pair!r}")
        if old in renames or new in renames.values():
            raise BadInputError(f"--columns has {old if old in renames else new} twice")
        renames[old] = new
    return renames


def _names(given: str | None) -> list[str] | None:
    if given is None:
        return None
    return [name for part in given.split(",") if (name := part.strip())]


def _load(options: argparse.Namespace, renames: dict[str, str]) -> Any:
    if options.demo:
        from skanchor.datasets import load_demo

        demo: Any = load_demo()
        return demo.frame
    from skanchor.io import read_battles

    labels = ("model_a", "model_b", "judge", "prompt_id")
    ids = [old for old, new in renames.items() if new in labels]
    if options.groups is not None:
        ids += [options.groups]
        ids += [old for old, new in renames.items() if new == options.groups]
    return read_battles(options.battles, ids=ids)


RANK = Command(
    name="rank",
    help="rank the new models of a battles table",
    description="Rank the models of a battles table: those with human votes, and "
    "the new ones, which only judges have compared.",
    add_arguments=_add_arguments,
    run=_rank,
)
