"""``skanchor history``: fit a history once, and place new models with its file."""

from __future__ import annotations

import argparse
import json
import os
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from skanchor._cli.battles import NO_GROUPS, Rows, check_files, load_rows
from skanchor._cli.fit import pipeline_of
from skanchor._cli.output import (
    FORMS,
    check_file,
    check_output,
    is_same_file,
    json_text,
)
from skanchor._cli.rank import deliver_ranking
from skanchor._cli.signals import raise_if_stopped
from skanchor._cli.streams import check_stdout, is_watched, print_line, print_result
from skanchor._cli.values import BadInputError, by_name, refuse_typed

if TYPE_CHECKING:
    import pandas as pd

    from skanchor.history import AnchorHistory
    from skanchor.results import AnchorResult

_NAMED = 5
"""Largest number of models that a message names."""

# Flags of files that do not go with a folder of Parquet files.
_OF_TABLES = (
    *("--mapping", "--from", "--labels", "--encoding", "--drop-invalid"),
    *("--without", "--pool", "--text-columns"),
)


# ---------------------------------------------------------------------------- actions
def build(options: argparse.Namespace) -> None:
    check_files(options)
    pipeline_of(options)
    if options.output is None:
        raise BadInputError("--output names the file to write the history to")
    prints = _checked_fingerprints(options, options.battles)
    if any(map(os.path.isdir, options.battles)):
        history = _build_from_folder(options, prints)
    elif options.n_jobs:
        raise BadInputError("--n-jobs goes with a folder of Parquet files")
    else:
        rows = load_rows(options, _voted)

        from skanchor.history import AnchorHistory

        pipeline = pipeline_of(options, weights=rows.weights)
        history = AnchorHistory(pipeline).fit(**rows.arguments, fingerprints=prints)
    raise_if_stopped()
    history.save(options.output, overwrite=options.force)


def _build_from_folder(
    options: argparse.Namespace, fingerprints: dict[str, str] | None
) -> AnchorHistory:
    """Fit a history from Parquet files that are read in batches."""
    refuse_typed(
        options,
        _OF_TABLES,
        "does not go with a folder, whose columns are read as they are; prepare them "
        "in the files, or name the files one by one",
    )
    names = options.groups or []
    if len(options.battles) > 1 or len(names) > 1:
        raise BadInputError("a folder stands alone, with one column of --groups")

    from skanchor._battles import HUMAN
    from skanchor.large import fit_history, open_dataset

    anchor = pipeline_of(options, weights=options.weights or "importance")
    anchor.set_params(n_jobs=options.n_jobs, verbose=int(is_watched()))
    opened = open_dataset(options.battles[0])
    renames = by_name("--columns", options.columns)
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
        features=options.features,
        sample_weight=None if options.weights is None else "count",
        groups=groups[0] if groups else "auto",
        fingerprints=fingerprints,
    )


def place(options: argparse.Namespace) -> None:
    check_files(options)
    check_output(options, FORMS, options.history)
    prints = _fingerprints(options.fingerprints)
    history = _load_history(options.history)
    rows = load_rows(options)
    history = _weighing(history, rows)
    result = history.place(**rows.arguments, fingerprints=prints)
    deliver_ranking(PlacedByHistory(history, result), options)


def update(options: argparse.Namespace) -> None:
    check_files(options)
    if options.output is None:
        # The history itself is replaced.
        options.output, options.force = options.history, True
    past = options.past or []
    prints = _checked_fingerprints(options, [*options.battles, *past])
    from skanchor.io.atomic import locked

    is_replaced = is_same_file(options.output, options.history)
    # Another update of the same file would be lost.
    with locked(options.history) if is_replaced else nullcontext():
        history = _load_history(options.history)
        seen = history.checksum_ if is_replaced else b""
        rows = load_rows(options)
        # Rows that the history was built from are read with the same flags.
        options.battles = past
        past_rows = load_rows(options, _voted) if past else None
        history = _weighing(history, rows, past_rows)
        more: dict[str, Any] = {"fingerprints": prints}
        if past_rows is not None:
            more["past"] = tuple(past_rows.arguments.values())
        if options.promote is None:
            history.update(**rows.arguments, **more)
        else:
            history.promote(options.promote, **rows.arguments, **more)
        raise_if_stopped()
        history.save(options.output, overwrite=options.force, replaces=seen)
    what = {"counts": "counts of rows that it has stored", "rows": "all rows"}
    print_line(f"the history was fitted again from {what[history.updated_from_]}")


def show(options: argparse.Namespace) -> None:
    check_stdout()
    facts = _facts(_load_history(options.history), options.history)
    if options.json:
        print_result(json_text(facts))
        return
    from skanchor.reports.text import render_text

    print_result(render_text("history", facts=facts))


# -------------------------------------------------------------------------- details
def _load_history(path: str) -> AnchorHistory:
    from skanchor.history import AnchorHistory

    return AnchorHistory.load(path)


def _weighing(
    history: AnchorHistory, rows: Rows, past: Rows | None = None
) -> AnchorHistory:
    """The history, for which the weights of added rows mean what they mean there."""
    from sklearn.base import clone

    from skanchor.history import AnchorHistory

    # A file has the settings of its history.
    assert history.anchor is not None
    known, meaning = history.anchor.weights, rows.weights
    tables = [rows] if past is None else [rows, past]
    if meaning == known or all(one.sample_weight is None for one in tables):
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
    names = ", ".join(map(str, new[:_NAMED])) + ", ..." * (len(new) > _NAMED)
    print_line(
        f"{late.sum()} rows of models without human votes ({names}) are no history and "
        "are left out; skanchor history place places them"
    )
    return X[~late].reset_index(drop=True), y[~late].reset_index(drop=True)


def _checked_fingerprints(
    options: argparse.Namespace, inputs: list[str]
) -> dict[str, str] | None:
    """Fingerprints of the judges; refuse an output that would be one of the inputs."""
    check_file(options, *inputs, *filter(None, [options.fingerprints]))
    return _fingerprints(options.fingerprints)


def _fingerprints(path: str | None) -> dict[str, str] | None:
    """Fingerprint of each judge, read from the file of ``--fingerprints``."""
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
