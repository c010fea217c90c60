"""``skanchor history``: fit a history once, and place new models with its file."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Command, Flags
from skanchor._cli.history_folder import add_jobs, build_from_folder, is_folder
from skanchor._cli.layout import add_layout, board_forms, check_layout
from skanchor._cli.method import (
    add_dependence,
    add_level,
    add_ranking,
    check_level_flag,
    check_settings,
    pipeline_of,
)
from skanchor._cli.output import (
    add_force,
    add_json,
    add_output,
    check_file,
    check_output,
    deliver,
    is_same_file,
)
from skanchor._cli.streams import check_stdout, print_line, print_result
from skanchor._cli.table import add_table, check_table, load_rows
from skanchor._text import printable

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
    for name, (help_, arguments, _) in _ACTIONS.items():
        own = actions.add_parser(name, help=help_, description=help_)
        for add in arguments:
            add(Flags(own))


def _add_written(flags: Flags) -> None:
    flags.value("-o --output", "HISTORY", "file to write it to", required=True)


def _add_update(flags: Flags) -> None:
    flags.value(
        "--past",
        "FILE",
        "all battles that the history was built from; needed only with features, "
        "groups or weights",
        nargs="+",
    )
    flags.value(
        "-o --output",
        "HISTORY",
        "file to write it to (default: the history itself, which is replaced "
        "when the new one is complete)",
    )


def _add_promoted(flags: Flags) -> None:
    flags.value("model", "MODEL", "the model")


def _add_fingerprints(flags: Flags) -> None:
    """Add the flag of the fingerprints, by which changed judges are recognised."""
    flags.value(
        "--fingerprints",
        "FILE",
        "JSON file with a text for each judge, such as the version of its model "
        "and a hash of its prompt: if the text changes, the judge has changed",
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
    check_settings(options)
    check_file(options, inputs=_read_files(options))
    _refuse_new(options, "--new and --no-new go with skanchor rank")
    prints = _fingerprints(options)
    if is_folder(options):
        history = build_from_folder(options, prints)
        history.save(options.output, overwrite=options.force)
        return
    meaning, rows = load_rows(options, _voted)

    from skanchor.history import AnchorHistory

    history = AnchorHistory(pipeline_of(options, meaning)).fit(*rows, prints)
    history.save(options.output, overwrite=options.force)


def _place(options: argparse.Namespace) -> None:
    check_layout(options)
    check_table(options)
    _refuse_new(
        options,
        "--new and --no-new do not go with a history: it places all models that it "
        "does not hold",
    )
    check_level_flag(options)
    check_output(options, inputs=[*options.battles, options.history])
    prints = _fingerprints(options)
    history = _load_history(options.history)
    meaning, rows = load_rows(options, None)
    history = _weighing(history, meaning, rows)
    placed = PlacedByHistory(history, history.place(*rows, fingerprints=prints))
    deliver(board_forms(placed, options), options)


def _update(options: argparse.Namespace) -> None:
    """Run ``skanchor history update`` and ``skanchor history promote``."""
    check_table(options)
    _refuse_new(
        options,
        "--new and --no-new do not go with skanchor history "
        f"{options.action}, which adds historical rows",
    )
    if options.output is None:
        # The history itself is replaced.
        options.output, options.force = options.history, True
    check_file(options, inputs=[*_read_files(options), *(options.past or ())])
    from skanchor.io.atomic import locked

    is_replaced = is_same_file(options.output, options.history)
    # Another update of the same file would be lost.
    with locked(options.history) if is_replaced else nullcontext():
        history = _updated(options, is_replaced)
    what = {"counts": "counts of rows that it has stored", "rows": "all rows"}
    print_line(f"the history was fitted again from {what[history.updated_from_]}")


def _updated(options: argparse.Namespace, is_replaced: bool) -> AnchorHistory:
    """Read a history and rows, add the rows, and write it."""
    prints = _fingerprints(options)
    history = _load_history(options.history)
    seen = history.checksum_ if is_replaced else b""
    meaning, rows = load_rows(options, None)
    past = _past(options)
    history = _weighing(history, meaning, rows, past)
    if options.action == "promote":
        history.promote(options.model, *rows, prints, past=past)
    else:
        history.update(*rows, prints, past=past)
    history.save(options.output, overwrite=options.force, replaces=seen)
    return history


def _show(options: argparse.Namespace) -> None:
    check_stdout()
    facts = _facts(_load_history(options.history), options.history)
    if options.json:
        print_result(json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
        return
    lines = []
    for name, value in facts.items():
        if name == "groups":
            value = "rows are independent" if value is None else f"{value} of rows"
        if isinstance(value, dict):
            value = [f"{key} ({one})" for key, one in value.items()]
        if isinstance(value, list):
            shown = f"{len(value)}: {', '.join(map(str, value))}" if value else "none"
            value = shown
        line = f"{name.replace('_', ' ')}: {value}"
        lines.append(printable(line).replace("\n", "\\n"))
    print_result("\n".join(lines) + "\n")


# -------------------------------------------------------------------------- details
def _refuse_new(options: argparse.Namespace, why: str) -> None:
    """Refuse the flags of new models in commands that do not use them."""
    if options.new or options.no_new:
        raise BadInputError(why)


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
        "groups": None if state.groups is None else len(state.groups.codes),
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
    own = argparse.Namespace(**vars(options))
    own.battles = options.past
    _, rows = load_rows(own, _voted)
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
        isinstance(each, str) for each in found.values()
    ):
        raise BadInputError(f"--fingerprints {path} must hold a text for each judge")
    return found


class PlacedByHistory:
    """A placement with the attributes that reports read of a fitted pipeline."""

    def __init__(self, history: AnchorHistory, result: AnchorResult):
        self.result_ = result
        self.item_effects_ = history.item_effects_


_ROWS = (add_table, add_dependence, _add_fingerprints)
_UPDATED = (_add_history, *_ROWS, _add_update, add_force)
_ACTIONS: dict[str, tuple[str, tuple[Any, ...], Callable[[Any], None]]] = {
    "build": (
        "fit a history, and write it to a file",
        (
            add_table,
            add_dependence,
            add_ranking,
            _add_fingerprints,
            add_jobs,
            _add_written,
            add_force,
        ),
        _build,
    ),
    "place": (
        "place the new models of a table by a history",
        (_add_history, *_ROWS, add_level, add_layout, add_output),
        _place,
    ),
    "update": ("add historical rows to a history", _UPDATED, _update),
    "promote": (
        "make a new model historical once people have voted on it",
        (_add_promoted, *_UPDATED),
        _update,
    ),
    "show": ("say what a history holds", (_add_history, add_json), _show),
}
"""Help of each action, functions that add its arguments, and the one that runs it."""

HISTORY = Command(
    name="history",
    help="fit a history once, and place new models by it",
    description="Fit the models with human votes once, store the result in a file "
    "whose size does not depend on the number of rows, and place new models by it "
    "as they come.",
    examples=(
        (
            "fit the models that people have voted on, once",
            "build battles.csv --output arena.history",
        ),
        (
            "fit them from a folder of Parquet files that memory does not hold",
            "build battles/ --output arena.history",
        ),
        ("place a new model by its verdicts", "place arena.history new.csv"),
        ("what the file holds", "show arena.history"),
    ),
    arguments=(_add_arguments,),
    run=_history,
)
