"""``skanchor history``: fit a history once, and place new models with its file."""

from __future__ import annotations

import argparse
import os
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from skanchor._cli.battles import find_unvoted, load_rows
from skanchor._cli.output import deliver, is_same_file
from skanchor._cli.parser import BadInputError
from skanchor._cli.rank import deliver_ranking, pipeline_of
from skanchor._cli.streams import print_line, raise_if_stopped
from skanchor._text import first_five
from skanchor.history import AnchorHistory
from skanchor.io.atomic import locked
from skanchor.reports.readout import Readout
from skanchor.results import AnchorResult


@dataclass(frozen=True, slots=True)
class PlacedByHistory:
    """A placement with the attributes that reports read of a fitted pipeline."""

    result_: AnchorResult
    item_effects_: str


# ---------------------------------------------------------------------------- actions
def build(options: argparse.Namespace) -> None:
    # Rows without weights are one each, which is a number of rows.
    pipeline = pipeline_of(options, weights=options.weights or "frequency")
    history = AnchorHistory(pipeline).fit(**_voted(load_rows(options)))
    raise_if_stopped()
    history.save(options.output, overwrite=options.force)


def place(options: argparse.Namespace) -> None:
    history = AnchorHistory.load(options.history)
    rows = load_rows(options)
    _check_weights(history, options, rows)
    placed = PlacedByHistory(history.place(**rows), history.item_effects_)
    deliver_ranking(placed, options, options.warned)


def update(options: argparse.Namespace) -> None:
    is_replaced = is_same_file(options.output, options.history)
    # Another update of the same file would be lost.
    with locked(options.history) if is_replaced else nullcontext():
        history = AnchorHistory.load(options.history)
        seen = history.checksum_ if is_replaced else b""
        rows, past = load_rows(options), {}
        if options.past:
            # Rows that the history was built from are read with the same flags.
            options.battles = options.past
            past = _voted(load_rows(options))
        _check_weights(history, options, rows, past)
        more: dict[str, Any] = {**rows, "past": tuple(past.values()) or None}
        if options.promote is None:
            history.update(**more)
        else:
            history.promote(options.promote, **more)
        raise_if_stopped()
        history.save(options.output, overwrite=options.force, replaces=seen)
    what = {"counts": "counts of rows that it has stored", "rows": "all rows"}
    print_line(f"the history was fitted again from {what[history.updated_from_]}")


def show(options: argparse.Namespace) -> None:
    history = AnchorHistory.load(options.history)
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
    deliver(Readout("history", facts, values={"facts": facts}), options)


# -------------------------------------------------------------------------- details
def _check_weights(
    history: AnchorHistory, options: argparse.Namespace, *tables: dict[str, Any]
) -> None:
    """Refuse counts of added rows that the history would take for something else."""
    # A file has the settings of its history.
    assert history.anchor is not None
    weights, added = history.anchor.weights, options.weights or "frequency"
    is_weighted = any(rows.get("sample_weight") is not None for rows in tables)
    if is_weighted and added != weights:
        raise BadInputError(
            f"the history was built with --weights {weights}, so that the counts of "
            f"added rows cannot have the meaning {added}: build it again with "
            f"--weights {added}, or add these rows with --weights {weights}"
        )


def _voted(rows: dict[str, Any]) -> dict[str, Any]:
    """Rows between models with human votes; print which models are left out."""
    new, is_new = find_unvoted(rows["X"])
    if not new or is_new.all():
        return rows
    print_line(
        f"rows of models without human votes {first_five(new)} are no history and "
        f"are left out: {is_new.sum()}; skanchor history place places them"
    )
    X = rows["X"][~is_new].reset_index(drop=True)
    weight = None if rows["sample_weight"] is None else X["count"]
    y = rows["y"][~is_new].reset_index(drop=True)
    return {"X": X, "y": y, "sample_weight": weight, "groups": rows["groups"]}
