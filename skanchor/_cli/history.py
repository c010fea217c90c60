"""``skanchor history``: fit a history once, and place new models with its file."""

from __future__ import annotations

import argparse
import os
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skanchor._cli.battles import Rows, check_files, find_unvoted, load_rows
from skanchor._cli.output import check_file, check_output, is_same_file, json_text
from skanchor._cli.rank import deliver_ranking, pipeline_of
from skanchor._cli.streams import (
    check_stdout,
    print_line,
    print_result,
    raise_if_stopped,
)
from skanchor._cli.values import BadInputError

if TYPE_CHECKING:
    import pandas as pd

    from skanchor.history import AnchorHistory
    from skanchor.results import AnchorResult


@dataclass(frozen=True, slots=True)
class PlacedByHistory:
    """A placement with the attributes that reports read of a fitted pipeline."""

    result_: AnchorResult
    item_effects_: str


# ---------------------------------------------------------------------------- actions
def build(options: argparse.Namespace) -> None:
    check_files(options)
    pipeline_of(options)
    if options.output is None:
        raise BadInputError("--output names the file to write the history to")
    check_file(options, *options.battles)
    rows = load_rows(options, _voted)

    from skanchor.history import AnchorHistory

    # Rows without weights are one each, which is a number of rows.
    is_weighted = rows.arguments["sample_weight"] is not None
    pipeline = pipeline_of(
        options, weights=rows.weights if is_weighted else "frequency"
    )
    history = AnchorHistory(pipeline).fit(**rows.arguments)
    raise_if_stopped()
    history.save(options.output, overwrite=options.force)


def place(options: argparse.Namespace) -> None:
    check_files(options)
    check_output(options, inputs=[options.history])
    history = _load(options.history)
    rows = load_rows(options)
    _check_weights(history, rows)
    result = history.place(**rows.arguments)
    placed = PlacedByHistory(result, history.item_effects_)
    deliver_ranking(placed, options, options.warned)


def update(options: argparse.Namespace) -> None:
    check_files(options)
    if options.output is None:
        # The history itself is replaced.
        options.output, options.force = options.history, True
    past = options.past or []
    check_file(options, *options.battles, *past)
    from skanchor.io.atomic import locked

    is_replaced = is_same_file(options.output, options.history)
    # Another update of the same file would be lost.
    with locked(options.history) if is_replaced else nullcontext():
        history = _load(options.history)
        seen = history.checksum_ if is_replaced else b""
        tables: list[Rows] = [load_rows(options)]
        more: dict[str, Any] = {}
        if past:
            # Rows that the history was built from are read with the same flags.
            options.battles = past
            tables.append(load_rows(options, _voted))
            names = ("X", "y", "sample_weight", "groups")
            more["past"] = tuple(tables[1].arguments[name] for name in names)
        _check_weights(history, *tables)
        more |= tables[0].arguments
        if options.promote is None:
            history.update(**more)
        else:
            history.promote(options.promote, **more)
        raise_if_stopped()
        history.save(options.output, overwrite=options.force, replaces=seen)
    what = {"counts": "counts of rows that it has stored", "rows": "all rows"}
    print_line(f"the history was fitted again from {what[history.updated_from_]}")


def show(options: argparse.Namespace) -> None:
    check_stdout()
    history = _load(options.history)
    state = history.state_
    facts = {
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
        "bytes": os.path.getsize(options.history),
    }
    if options.json:
        from skanchor.reports.record import as_json_value

        print_result(json_text(as_json_value(facts)))
    else:
        from skanchor.reports.text import render_text

        print_result(render_text("history", facts=facts))


# -------------------------------------------------------------------------- details
def _load(path: str) -> AnchorHistory:
    from skanchor.history import AnchorHistory

    return AnchorHistory.load(path)


def _check_weights(history: AnchorHistory, *tables: Rows) -> None:
    """Refuse counts of added rows that the history would take for something else."""
    # A file has the settings of its history.
    assert history.anchor is not None
    weights = history.anchor.weights
    for table in tables:
        if table.arguments["sample_weight"] is not None and table.weights != weights:
            raise BadInputError(
                f"the history was built with --weights {weights}, so that the counts "
                f"of added rows cannot have the meaning {table.weights}: build it "
                f"again with --weights {table.weights}, or add these rows with "
                f"--weights {weights}"
            )


def _voted(X: pd.DataFrame, y: Any) -> tuple[pd.DataFrame, Any]:
    """Rows between models with human votes; print which models are left out."""
    from skanchor._text import first_five

    new, is_new = find_unvoted(X)
    if not new or is_new.all():
        return X, y
    print_line(
        f"rows of models without human votes {first_five(new)} are no history and "
        f"are left out: {is_new.sum()}; skanchor history place places them"
    )
    return X[~is_new].reset_index(drop=True), y[~is_new].reset_index(drop=True)
