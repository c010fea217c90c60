"""Flags of a fit: level, dependent rows, weights, and any parameter of the pipeline."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal

from skanchor._cli.command import BadInputError, Flags, near_names
from skanchor._cli.output import FORMS, check_output
from skanchor._cli.streams import is_watched
from skanchor._cli.table import check_table, load_rows

if TYPE_CHECKING:
    from skanchor.pipeline import AnchorPipeline

DEFAULT_LEVEL = 0.95
"""Confidence level without ``--level``."""


# ---------------------------------------------------------------------------- flags
def add_fit(flags: Flags) -> None:
    """Add the flags of level, dependent rows, parameters and jobs."""
    group = flags.group("ranking")
    add_level(group)
    add_dependence(group)
    add_set(group)
    add_jobs(group)


def add_jobs(flags: Flags) -> None:
    """Add the flag of the number of jobs."""
    flags.value("--n-jobs", "N", "fits in parallel (-1: all cores)", type=int)


def add_level(flags: Flags) -> None:
    """Add the flag of the confidence level."""
    flags.number("--level", "LEVEL", "of intervals and rank sets", DEFAULT_LEVEL)


def add_dependence(flags: Flags) -> None:
    """Add the flags of groups of dependent rows and of weights."""
    flags.value(
        "--groups",
        "COLUMN,...",
        "columns whose equal values mark dependent rows, or none (default: prompt_id)",
        action="append",
    )
    flags.value(
        "--weights",
        "MEANING",
        "of the column count: frequency (equal rows) or importance",
        choices=["importance", "frequency"],
    )


def add_set(flags: Flags) -> None:
    """Add the flag of the pipeline's parameters."""
    flags.names(
        "--set",
        "NAME=VALUE",
        "any parameter of skanchor.AnchorPipeline, as in cv=5, ties=drop, "
        "item_effects=random or calibrator__position_effect=false",
    )


# --------------------------------------------------------------------------- checks
def check_flags(options: argparse.Namespace, known: Iterable[str] = FORMS) -> None:
    """Refuse invalid flags of table, fit and output before any work.

    ``known`` are the suffixes that the output may have.
    """
    check_table(options)
    check_fit(options)
    check_output(options, known)


def check_fit(options: argparse.Namespace) -> None:
    """Refuse invalid flags of the fit before any work."""
    if "level" in options and not 0.0 < options.level < 1.0:
        raise BadInputError(
            f"--level must lie strictly between 0 and 1, got {options.level:g}"
        )
    if getattr(options, "n_jobs", None) == 0:
        raise BadInputError("--n-jobs must not be 0; use -1 for all cores")
    if options.set:
        pipeline_of(options)


def refuse_level(options: argparse.Namespace, where: str) -> None:
    """Refuse a level where no interval is computed, which ``where`` names."""
    if options.level != DEFAULT_LEVEL:
        raise BadInputError(f"--level does not go with {where}, which has no interval")


# ------------------------------------------------------------------------------ use
@dataclass(frozen=True, slots=True)
class Task:
    """An unfitted pipeline with the settings of the flags, and its rows."""

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
    pipeline = pipeline_of(
        options,
        weights=meaning,
        new_models=[] if options.no_new else options.new,
        n_jobs=options.n_jobs,
        verbose=int(is_watched()),
    )
    mix, column = pipeline.context_mix, pipeline.context
    if isinstance(mix, dict) and column in rows[0]:
        # JSON has no keys but texts.
        labels = {str(one): one for one in rows[0][column].dropna().unique().tolist()}
        pipeline.context_mix = {labels.get(name, name): x for name, x in mix.items()}
    return Task(pipeline, *rows)


def fit_rows(options: argparse.Namespace) -> AnchorPipeline:
    """Read the battles, and fit the pipeline to them."""
    task = load_task(options)
    return task.pipeline.fit(**task.rows)


def settings_of(options: argparse.Namespace) -> dict[str, str]:
    """Texts of ``--set`` by the names of the parameters."""
    settings: dict[str, str] = {}
    for pair in options.set or ():
        name, equals, text = pair.partition("=")
        if not name or not equals:
            raise BadInputError(f"--set takes NAME=VALUE, got {pair!r}")
        if name in settings:
            raise BadInputError(f"--set has {name} twice")
        settings[name] = text
    return settings


def pipeline_of(
    options: argparse.Namespace,
    weights: Literal["importance", "frequency"] = "importance",
    **parameters: Any,
) -> AnchorPipeline:
    """Unfitted pipeline with some parameters and those of ``--set``.

    A value of ``--set`` is JSON, or else text; its parameter's constraints decide.
    """
    from skanchor import AnchorPipeline

    pipeline = AnchorPipeline(random_state=0, weights=weights, **parameters)
    for name, text in settings_of(options).items():
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        try:
            _set(pipeline, name, value)
        except ValueError as error:
            try:
                # A column may have a number as its name.
                _set(pipeline, name, text)
            except ValueError:
                raise BadInputError(f"--set {name}={text}: {error}") from None
    return pipeline


def _set(pipeline: AnchorPipeline, name: str, value: Any) -> None:
    """Set a parameter; raise ValueError if its constraints refuse the value."""
    try:
        pipeline.set_params(**{name: value})
        *parts, _ = name.split("__")
        owner = reduce(getattr, parts, pipeline)
    except (ValueError, AttributeError):
        names = list(pipeline.get_params(deep=False))
        for part in pipeline._stands_for:
            stage = pipeline._part(part)
            if stage is not None:
                names += [f"{part}__{nested}" for nested in stage.get_params()]
        raise BadInputError(
            f"--set {name}: AnchorPipeline has no such parameter; "
            f"{near_names(name, names)}"
        ) from None
    if hasattr(owner, "_validate_params"):
        owner._validate_params()
