"""Flags of how the models are ranked, and the pipeline that they ask for."""

from __future__ import annotations

import argparse
import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from skanchor._cli.command import BadInputError, Flags
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
    """Add the flags of how the models are ranked: parameters of AnchorPipeline."""
    flags.number("--cv", "FOLDS", "folds", 10)
    flags.number("--random-state", "SEED", "seed of the folds", 0)
    flags.choice(
        "--item-effects",
        ["auto", "none", "random"],
        "whether intervals allow for judges that like or dislike single models: auto "
        "lets a test decide, random allows for it, none does not",
    )
    flags.choice(
        "--ties",
        ["half", "drop"],
        "whether ties count as half a win for either side, or are left out; the "
        "scores are then those of decided votes",
    )
    flags.value(
        "--human-bias",
        "LEARNER",
        "compare models at equal features, such as length, which people may like: "
        "linear, network, boosted or auto; needs features in human rows",
    )
    flags.names(
        "--set",
        "NAME=VALUE",
        "any parameter of AnchorPipeline by its name in Python, as in "
        "historical_fit=two-step, 'item_prior=[0.5, 8]' or "
        "calibrator__position_effect=false (JSON, or else text)",
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
    check_jobs(options)
    check_settings(options)


def check_settings(options: argparse.Namespace) -> None:
    """Refuse what the pipeline does not take, by its own constraints."""
    pipeline_of(options, "importance")._validate_params()


def check_jobs(options: argparse.Namespace) -> None:
    """Refuse a number of jobs that is none."""
    if options.n_jobs == 0:
        raise BadInputError("--n-jobs must not be 0; use -1 for all cores")


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


def settings_of(options: argparse.Namespace) -> dict[str, Any]:
    """Parameters of ``--set``: JSON where their text is that, and else text."""
    settings: dict[str, Any] = {}
    for pair in options.set or ():
        name, equals, text = pair.partition("=")
        if not name or not equals:
            raise BadInputError(f"--set takes NAME=VALUE, got {pair!r}")
        if name in settings:
            raise BadInputError(f"--set has {name} twice")
        try:
            settings[name] = json.loads(text)
        except ValueError:
            settings[name] = text
    return settings


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
    context, mix = contexts_of(rows[0], options)
    pipeline = pipeline_of(
        options,
        meaning,
        context=context,
        context_mix=mix,
        new_models=[] if options.no_new else options.new,
        n_jobs=options.n_jobs,
        verbose=int(is_watched()),
    )
    return Task(pipeline, *rows)


def pipeline_of(
    options: argparse.Namespace,
    meaning: Literal["importance", "frequency"],
    **parameters: Any,
) -> AnchorPipeline:
    """Unfitted pipeline that the flags of the ranking ask for.

    Parameters
    ----------
    options : Namespace
        Flags of the ranking. Those of ``--set`` are set last.
    meaning : {"importance", "frequency"}
        Meaning of row weights.
    **parameters : dict
        Further parameters of the pipeline.

    Returns
    -------
    AnchorPipeline
    """
    from skanchor import AnchorPipeline

    pipeline = AnchorPipeline(
        cv=options.cv,
        item_effects=options.item_effects,
        human_bias=options.human_bias,
        random_state=options.random_state,
        weights=meaning,
        ties=options.ties,
        **parameters,
    )
    for name, value in settings_of(options).items():
        try:
            pipeline.set_params(**{name: value})
        except (ValueError, AttributeError):
            raise BadInputError(_no_parameter(name, pipeline)) from None
    return pipeline


def _no_parameter(name: str, pipeline: AnchorPipeline) -> str:
    """Message on a name that no parameter has, with names that are near to it."""
    names = list(pipeline.get_params(deep=False))
    for part in pipeline._stands_for:
        stage = pipeline._part(part)
        if stage is not None:
            names += [f"{part}__{nested}" for nested in stage.get_params()]
    near = difflib.get_close_matches(name, names, 3, 0.6)
    listed = f"did you mean {' or '.join(near)}?" if near else ", ".join(names[:20])
    return f"--set {name}: AnchorPipeline has no such parameter; {listed}"


def fit_method(options: argparse.Namespace) -> AnchorPipeline:
    """Read the battles, and fit the pipeline to them."""
    task = load_task(options)
    return task.pipeline.fit(**task.rows)
