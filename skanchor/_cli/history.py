"""``skanchor history``: fit a history once, and place new models with its file."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Command, Flags
from skanchor._cli.fit import (
    add_dependence,
    add_jobs,
    add_level,
    add_set,
    check_fit,
    pipeline_of,
)
from skanchor._cli.output import (
    add_file,
    add_force,
    add_json,
    add_output,
    check_file,
    check_output,
    deliver,
    is_same_file,
    json_text,
)
from skanchor._cli.rank import add_scale, ranking_output, scale_of
from skanchor._cli.signals import raise_if_stopped
from skanchor._cli.streams import check_stdout, is_watched, print_line, print_result
from skanchor._cli.table import (
    NO_GROUPS,
    add_table,
    check_table,
    column_renames,
    feature_choice,
    flags_of_files,
    group_names,
    load_rows,
    values_of,
)

if TYPE_CHECKING:
    import pandas as pd

    from skanchor.history import AnchorHistory
    from skanchor.results import AnchorResult

_NAMED = 5
"""Largest number of models that a message names."""


# ---------------------------------------------------------------------------- flags
def _add_arguments(flags: Flags) -> None:
    parser: Any = flags.container
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, (help_, add, _) in _ACTIONS.items():
        usage = f"skanchor history {name} ... [flags]"
        made = actions.add_parser(
            name,
            prog=f"skanchor history {name}",
            usage=usage,
            help=help_,
            description=help_,
        )
        add(replace(flags, container=made))


def _add_build(flags: Flags) -> None:
    add_table(flags)
    add_dependence(flags)
    add_set(flags)
    _add_fingerprints(flags)
    add_jobs(flags)
    add_file(flags, "file to write it to", required=True)
    add_force(flags)


def _add_place(flags: Flags) -> None:
    _add_history(flags)
    add_table(flags)
    add_dependence(flags)
    _add_fingerprints(flags)
    add_level(flags)
    add_scale(flags)
    add_output(flags)


def _add_update(flags: Flags) -> None:
    _add_history(flags)
    add_table(flags)
    add_dependence(flags)
    _add_fingerprints(flags)
    flags.value(
        "--past",
        "FILE",
        "all battles of the history; needed with features, groups or weights",
        nargs="+",
    )
    flags.value("--promote", "MODEL", "a model that was new, on which people vote now")
    add_file(flags, "file to write it to (default: the history itself)")
    add_force(flags)


def _add_show(flags: Flags) -> None:
    _add_history(flags)
    add_json(flags)


def _add_fingerprints(flags: Flags) -> None:
    """Add the flag of the fingerprints, by which changed judges are recognised."""
    flags.value(
        "--fingerprints",
        "FILE",
        "JSON with a text for each judge: if it changes, the judge has changed",
    )


def _add_history(flags: Flags) -> None:
    """Add the argument that names the file of a history."""
    flags.value("history", "HISTORY", "file that skanchor history build has written")


# ------------------------------------------------------------------------------ run
def _history(options: argparse.Namespace) -> None:
    _, _, run = _ACTIONS[options.action]
    run(options)


def _build(options: argparse.Namespace) -> None:
    check_table(options)
    check_fit(options)
    check_file(options, _read_files(options))
    prints = _fingerprints(options)
    if any(map(os.path.isdir, options.battles)):
        history = _build_from_folder(options, prints)
    elif options.n_jobs:
        raise BadInputError("--n-jobs goes with a folder of Parquet files")
    else:
        meaning, rows = load_rows(options, _voted)

        from skanchor.history import AnchorHistory

        history = AnchorHistory(pipeline_of(options, meaning)).fit(*rows, prints)
    raise_if_stopped()
    history.save(options.output, overwrite=options.force)


def _build_from_folder(
    options: argparse.Namespace, fingerprints: dict[str, str] | None
) -> AnchorHistory:
    """Fit a history from Parquet files that are read in batches."""
    refused = {
        **flags_of_files(options),
        "--columns": None,
        "--human": None,
        **values_of(options, "without", "pool", "text-columns"),
    }
    for flag, value in refused.items():
        if value:
            raise BadInputError(
                f"{flag} does not go with a folder, whose columns are read as they "
                "are; prepare them in the files, or name the files one by one"
            )
    if len(options.battles) > 1 or len(group_names(options)) > 1:
        raise BadInputError("a folder stands alone, with one column of --groups")

    from skanchor._battles import HUMAN
    from skanchor.large import fit_history, open_dataset

    anchor = pipeline_of(options, options.weights or "importance")
    anchor.set_params(n_jobs=options.n_jobs, verbose=int(is_watched()))
    opened = open_dataset(options.battles[0])
    names, renames = group_names(options), column_renames(options)
    if "judge" not in {renames.get(name, name) for name in opened.schema.names}:
        raise BadInputError(
            f"{options.battles[0]}: there is no column judge that says who decided; "
            "name it, as in --columns annotator=judge"
        )
    groups = [None if one == NO_GROUPS else renames.get(one, one) for one in names]
    return fit_history(
        opened,
        anchor,
        columns=renames,
        human=options.human or HUMAN,
        features=feature_choice(options),
        sample_weight=None if options.weights is None else "count",
        groups=groups[0] if groups else "auto",
        fingerprints=fingerprints,
    )


def _place(options: argparse.Namespace) -> None:
    scale_of(options)
    check_table(options)
    options.set = None
    check_fit(options)
    check_output(options)
    prints = _fingerprints(options)
    history = _load_history(options.history)
    meaning, rows = load_rows(options, None)
    history = _weighing(history, meaning, rows)
    placed = PlacedByHistory(history, history.place(*rows, fingerprints=prints))
    deliver(ranking_output(placed, options), options)


def _update(options: argparse.Namespace) -> None:
    check_table(options)
    if options.output is None:
        # The history itself is replaced.
        options.output, options.force = options.history, True
    check_file(options, [*_read_files(options), *(options.past or ())])
    from skanchor.io.atomic import locked

    is_replaced = is_same_file(options.output, options.history)
    # Another update of the same file would be lost.
    with locked(options.history) if is_replaced else nullcontext():
        prints = _fingerprints(options)
        history = _load_history(options.history)
        seen = history.checksum_ if is_replaced else b""
        meaning, rows = load_rows(options, None)
        past = _past(options)
        history = _weighing(history, meaning, rows, past)
        if options.promote is None:
            history.update(*rows, prints, past=past)
        else:
            history.promote(options.promote, *rows, prints, past=past)
        raise_if_stopped()
        history.save(options.output, overwrite=options.force, replaces=seen)
    what = {"counts": "counts of rows that it has stored", "rows": "all rows"}
    print_line(f"the history was fitted again from {what[history.updated_from_]}")


def _show(options: argparse.Namespace) -> None:
    check_stdout()
    facts = _facts(_load_history(options.history), options.history)
    if options.json:
        print_result(json_text(facts))
        return
    from skanchor.reports.page import render_text

    print_result(render_text("history", facts=facts))


# -------------------------------------------------------------------------- details
def _load_history(path: str) -> AnchorHistory:
    from skanchor.history import AnchorHistory

    return AnchorHistory.load(path)


def _weighing(
    history: AnchorHistory, meaning: str, *tables: tuple[Any, ...] | None
) -> AnchorHistory:
    """The history, for which the weights of added rows mean what they mean there.

    ``tables`` are arguments of a fit: X, y, weights and groups.
    """
    from sklearn.base import clone

    from skanchor.history import AnchorHistory

    # A file has the settings of its history.
    assert history.anchor is not None
    known = history.anchor.weights
    if meaning == known or all(rows is None or rows[2] is None for rows in tables):
        return history
    if meaning == "frequency" and history.state_.unit == 1.0:
        # Its rows weigh one each, which are numbers of rows, too.
        anchor = clone(history.anchor).set_params(weights=meaning)
        return AnchorHistory.from_state(history.state_, anchor)
    raise BadInputError(
        f"the history was built with --weights {known}, so that the counts of added "
        f"rows cannot have the meaning {meaning}: build it again with --weights "
        f"{meaning}, or add these rows with --weights {known}"
    )


def _read_files(options: argparse.Namespace) -> list[str]:
    """Files that a command reads, and so must not overwrite."""
    known = (*options.battles, options.fingerprints)
    return [path for path in known if path is not None]


def _facts(history: AnchorHistory, path: str) -> dict[str, Any]:
    """Facts about a history that ``skanchor history show`` prints."""
    state = history.state_
    return {
        "models": history.models_.tolist(),
        "models_left_out": state.lost.tolist(),
        "judges": history.judges_.tolist(),
        "fingerprints": {str(k): str(v) for k, v in history.fingerprints_.items()},
        "features": history.features_.tolist(),
        **state.facts,
        "folds": list(state.repeats),
        "item_effects": history.item_effects_,
        "groups": state.n_groups,
        "updated_from": "rows" if state.counts is None else "counts",
        "bytes": os.path.getsize(path),
    }


def _voted(X: pd.DataFrame, y: Any) -> tuple[pd.DataFrame, Any]:
    """Rows between models with human votes; print which models are left out."""
    from skanchor._battles import Comparisons
    from skanchor.warning_log import WarningLog

    with WarningLog():
        # These warnings are dropped: the fit encodes the table again and warns itself.
        encoded = Comparisons.from_battles(X)
    votes = encoded.appearances(encoded.is_human & encoded.is_usable)
    new = encoded.models[votes == 0].tolist()
    if not new or not votes.any():
        return X, y
    late = encoded.with_columns(new_models=tuple(new)).involves_new
    names = ", ".join(map(str, new[:_NAMED])) + (", ..." if len(new) > _NAMED else "")
    print_line(
        f"{late.sum()} rows of models without human votes ({names}) are no history and "
        "are left out; skanchor history place places them"
    )
    return X[~late].reset_index(drop=True), y[~late].reset_index(drop=True)


def _past(options: argparse.Namespace) -> tuple[Any, ...] | None:
    """Rows of ``--past``, which the history was built from, as arguments of a fit."""
    if options.past is None:
        return None
    # Read with the same flags as the new rows.
    flags = argparse.Namespace(**vars(options))
    flags.battles = options.past
    _, rows = load_rows(flags, _voted)
    return rows


def _fingerprints(options: argparse.Namespace) -> dict[str, str] | None:
    """Fingerprint of each judge, read from the file of ``--fingerprints``."""
    path = options.fingerprints
    if path is None:
        return None
    with open(path, encoding="utf-8") as file:
        try:
            found = json.load(file)
        except ValueError as error:
            raise BadInputError(f"--fingerprints {path}: {error}") from None
    if not isinstance(found, dict) or not all(
        isinstance(text, str) for text in found.values()
    ):
        raise BadInputError(f"--fingerprints {path} must hold a text for each judge")
    return found


class PlacedByHistory:
    """A placement with the attributes that reports read of a fitted pipeline."""

    def __init__(self, history: AnchorHistory, result: AnchorResult):
        self.result_ = result
        self.item_effects_ = history.item_effects_


_ACTIONS: dict[str, tuple[str, Callable[[Flags], None], Callable[[Any], None]]] = {
    "build": ("fit the models with votes, and write a file", _add_build, _build),
    "place": ("place the new models of a table by the file", _add_place, _place),
    "update": ("add rows of models with votes to the file", _add_update, _update),
    "show": ("say what the file holds", _add_show, _show),
}
"""Help of each action, what adds its arguments, and what runs it."""

HISTORY = Command(
    name="history",
    help="fit the models with votes once, and place new models by the file",
    more="The size of the file does not depend on the number of rows.",
    examples=(
        ("fit it once", "build battles.csv -o arena.history"),
        ("from files larger than memory", "build battles/ -o arena.history"),
        ("place a new model by its verdicts", "place arena.history new.csv"),
        ("what it holds", "show arena.history"),
    ),
    arguments=_add_arguments,
    run=_history,
)
