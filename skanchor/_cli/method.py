"""Flags of how the models are ranked, and the pipeline that they ask for."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from skanchor._cli.command import (
    BadInputError,
    Flags,
    require_at_least,
)
from skanchor._cli.contexts import contexts_of
from skanchor._cli.output import check_output
from skanchor._cli.streams import is_watched
from skanchor._cli.table import check_table, load_rows

if TYPE_CHECKING:
    from skanchor._anchor import AnchorPipeline


# ---------------------------------------------------------------------------- flags
DEFAULT_LEVEL = 0.95
"""Confidence level without ``--level``."""


def add_method(flags: Flags) -> None:
    """Add the flags of level, dependent rows, ranking and jobs."""
    add_level(flags)
    add_dependence(flags)
    add_ranking(flags)
    add_jobs(flags)


def add_jobs(flags: Flags) -> None:
    """Add the flag of the number of jobs."""
    flags.value("--n-jobs", "N", "folds fitted in parallel (-1: all cores)", type=int)


def add_level(flags: Flags) -> None:
    """Add the flag of the confidence level."""
    says = "level of intervals and rank sets"
    flags.number("--level", "LEVEL", says, DEFAULT_LEVEL)


def add_dependence(flags: Flags) -> None:
    """Add the flags of groups of dependent rows and of weights."""
    flags.value(
        "--groups",
        "COLUMN,...",
        "column whose equal values mark dependent rows; of several, rows that "
        "share a value in any of them; none for independent rows (default: prompt_id, "
        "where its values repeat, and errors by rater, too, where raters are many)",
        action="append",
    )
    flags.container.add_argument(
        "--weights",
        choices=["importance", "frequency"],
        help="how to use the column count: as numbers of equal rows (frequency), or as "
        "importance (default: not used, except in a table of wins, where it is "
        "frequency)",
    )


def add_ranking(flags: Flags) -> None:
    """Add the flags of how the models are ranked."""
    flags.number("--cv", "FOLDS", "folds", 10)
    flags.number("--random-state", "SEED", "seed of the folds", 0)
    flags.container.add_argument(
        "--position-effect",
        action=argparse.BooleanOptionalAction,
        default="auto",
        help="whether each judge may favour the side shown first (default: if its rows "
        "can show that)",
    )
    flags.choice(
        "--item-effects",
        ["auto", "none", "random"],
        "whether intervals allow for judges that like or dislike single models: auto "
        "lets a test decide, random allows for it, none does not",
    )
    flags.value(
        "--item-prior",
        "SD,DF",
        "prior of how much judges like or dislike single models: a standard "
        "deviation in judge logits, and its degrees of freedom; with fewer than five "
        "models that have votes, intervals depend on it (default: 0.3,2)",
    )
    flags.choice(
        "--historical-fit",
        ["joint", "two-step"],
        "what decides the scores of models with votes: two-step takes votes alone, "
        "joint votes and verdicts together, which needs far fewer votes",
    )
    flags.choice(
        "--ties",
        ["half", "drop"],
        "whether ties count as half a win for either side, or are left out; the "
        "scores are then those of decided votes",
    )
    flags.choice(
        "--style",
        ["ignored", "controlled"],
        "what to do if people like some features of responses, such as length: "
        "controlled compares models at equal features, which needs features in human "
        "rows",
    )


def check_flags(
    options: argparse.Namespace, further: Mapping[str, str] | None = None
) -> None:
    """Refuse invalid flags of the table, the method and the output before any work.

    ``further`` are suffixes that the output may have beside those of all tables.
    """
    check_table(options)
    check_method(options)
    check_output(options, inputs=options.battles, further=further)


def check_method(options: argparse.Namespace) -> None:
    """Refuse invalid flags of the method before any work."""
    check_level_flag(options)
    check_fold_flags(options)
    read_item_prior(options)
    check_jobs(options)


def check_jobs(options: argparse.Namespace) -> None:
    """Refuse a number of jobs that is none."""
    if options.n_jobs == 0:
        raise BadInputError("--n-jobs must not be 0; use -1 for all cores")


def read_item_prior(options: argparse.Namespace) -> tuple[float, float]:
    """Prior of the item effects; that of the pipeline where none is given."""
    from skanchor import AnchorPipeline
    from skanchor._treatments import read_prior

    if options.item_prior is None:
        return AnchorPipeline().item_prior
    try:
        sd, df = map(float, options.item_prior.split(","))
        read_prior((sd, df))
    except ValueError:
        raise BadInputError(
            "--item-prior must be a standard deviation and a number of degrees of "
            f"freedom, both above zero, such as 0.3,2, got {options.item_prior!r}"
        ) from None
    return sd, df


def check_level_flag(options: argparse.Namespace) -> None:
    """Refuse an invalid level; some commands have no flag of it."""
    if "level" in options and not 0.0 < options.level < 1.0:
        raise BadInputError(
            f"--level must lie strictly between 0 and 1, got {options.level:g}"
        )


def refuse_level(options: argparse.Namespace, where: str) -> None:
    """Refuse a level where no interval is computed, which ``where`` names."""
    if options.level != DEFAULT_LEVEL:
        raise BadInputError(f"--level does not go with {where}, which has no interval")


def check_fold_flags(options: argparse.Namespace) -> None:
    """Refuse an invalid number of folds or seed."""
    require_at_least("--cv", options.cv, 2)
    if not 0 <= options.random_state < 2**32:
        raise BadInputError(
            f"--random-state must be in 0 ... 2**32 - 1, got {options.random_state}"
        )


def flags_of_method(
    options: argparse.Namespace, *more: Callable[[Flags], None]
) -> list[str]:
    """Flags of the ranking that the user typed, whatever their values.

    Parameters
    ----------
    options : Namespace
        Parsed arguments, with those that were typed in ``typed``.
    *more : callable
        Functions that add further flags to look for.

    Returns
    -------
    list of str
        Full names of the flags, such as ``["--ties"]``.
    """
    parser = argparse.ArgumentParser(add_help=False)
    for add in (add_ranking, add_jobs, *more):
        add(Flags(parser))
    # Typed flags without a value after "=". argparse accepts shortened names, so that
    # a typed one may be the beginning of a flag.
    typed = [each.partition("=")[0] for each in options.typed if each[:2] == "--"]
    found = []
    for name in vars(parser.parse_args([])):
        flag = "--" + name.replace("_", "-")
        forms = flag, flag.replace("--", "--no-", 1)
        if any(form.startswith(each) for each in typed if each[2:] for form in forms):
            found.append(flag)
    return found


# ------------------------------------------------------------------------------ use
@dataclass(frozen=True, slots=True)
class Task:
    """A pipeline and the rows to fit it on.

    Attributes
    ----------
    pipeline : AnchorPipeline
        Unfitted pipeline with the settings of the flags.
    X, y, weight, groups
        Arguments of its ``fit``.
    """

    pipeline: AnchorPipeline
    X: Any
    y: Any
    weight: Any
    groups: Any

    @property
    def rows(self) -> dict[str, Any]:
        """Rows as arguments of a fit."""
        more = {"sample_weight": self.weight, "groups": self.groups}
        return {"X": self.X, "y": self.y, **more}


def load_task(options: argparse.Namespace) -> Task:
    """Read the battles, and make the pipeline that the flags ask for."""
    meaning, rows = load_rows(options, None)
    pipeline = pipeline_of(options, meaning)
    context, mix = contexts_of(rows[0], options)
    pipeline.set_params(
        context=context,
        context_mix=mix,
        new_models=[] if options.no_new else options.new,
        n_jobs=options.n_jobs,
        verbose=int(is_watched()),
    )
    return Task(pipeline, *rows)


def pipeline_of(
    options: argparse.Namespace, meaning: Literal["importance", "frequency"]
) -> AnchorPipeline:
    """Unfitted pipeline that the flags of the ranking ask for.

    ``meaning`` is the meaning of row weights.
    """
    from skanchor import AnchorPipeline, JudgeCalibrator

    position_effect = options.position_effect
    # None means a stage with its default settings.
    return AnchorPipeline(
        calibrator=None
        if position_effect == "auto"
        else JudgeCalibrator(position_effect=position_effect),
        cv=options.cv,
        item_effects=options.item_effects,
        item_prior=read_item_prior(options),
        historical_fit=options.historical_fit,
        human_bias=None if options.style == "ignored" else "linear",
        random_state=options.random_state,
        weights=meaning,
        ties=options.ties,
    )


def fit_method(options: argparse.Namespace) -> AnchorPipeline:
    """Read the battles, and fit the pipeline to them."""
    task = load_task(options)
    return task.pipeline.fit(**task.rows)
