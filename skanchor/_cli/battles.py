"""The battles of a command: files are read, and become the rows of a fit."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from skanchor._battles import HUMAN, Comparisons, decide_roles, split_battles
from skanchor._cli.parser import BadInputError
from skanchor.datasets import load_demo
from skanchor.exceptions import DataWarning
from skanchor.warning_log import WarningLog, warn

_SHORT_CUTS = ("--columns", "--labels", "--human")
_READING = ("--from", "--encoding", "--drop-invalid", *_SHORT_CUTS)

NO_GROUPS = "none"
"""In place of a column of groups: rows are independent."""


# ----------------------------------------------------------------------------- files
def read_mapping(options: argparse.Namespace) -> tuple[Any, Any]:
    """Read the files of a command, and what their table is taken for: a Mapping."""
    # Slow to import, and the bundled table is read without.
    from skanchor.io import Mapping
    from skanchor.io._words import ROLES_OF_COLUMNS
    from skanchor.io.reading import read_tables

    from_file = Mapping.from_toml(options.mapping) if options.mapping else None
    tools = options.tools or ["auto" if from_file is None else from_file.format]
    table = read_tables(
        options.battles,
        tools[0] if len(tools) == 1 else tools,
        options.encoding,
        options.drop_invalid,
        flags=_repeated_flags(options),
    )
    if from_file is not None:
        return table, from_file.edited(source=table.source)
    # Other names with a side are those of features.
    roles = {
        name: f"keep as {role}"
        if role.endswith(("_a", "_b")) and role not in ROLES_OF_COLUMNS
        else role
        for name, role in options.columns.items()
    }
    return table, Mapping.propose(
        table, columns=roles, labels=options.labels, human=options.human
    )


def _repeated_flags(options: argparse.Namespace) -> list[str]:
    """Flags of reading as they were typed, those that edit what is proposed last."""
    flags: list[tuple[bool, str]] = []
    flag = ""
    for word in options.typed:
        if word.startswith("-") and word != "-":
            flag = word.partition("=")[0]
        if flag in _READING and word not in options.battles:
            flags.append((flag in _SHORT_CUTS, word))
    return [word for _, word in sorted(flags, key=lambda one: one[0])]


def load_rows(
    options: argparse.Namespace, read: tuple[Any, Any] | None = None
) -> dict[str, Any]:
    """Read the battles of a command: arguments of a fit.

    ``read`` is what :func:`read_mapping` has returned, if it was called already.
    """
    X: Any
    counts = None
    if options.demo:
        X, y = load_demo(return_X_y=True)
    else:
        table, mapping = read or read_mapping(options)
        X, y, counts = mapping.apply(table)
    renamed = dict(X.attrs.get("renamed", {}))
    X, y = split_battles(
        _with_text_features(X.assign(winner=y), options.text_columns),
        without=options.without,
        pool=options.pool,
        features=options.features,
    )
    if options.hide_votes_of:
        keep = _without_votes(X, list(dict.fromkeys(options.hide_votes_of)))
        X, y = X[keep].reset_index(drop=True), y[keep].reset_index(drop=True)
    X.attrs["renamed"] = renamed
    # Rows of a table of wins are counted.
    weight = None
    if counts is not None or options.weights is not None:
        if "count" not in X:
            raise BadInputError(
                "--weights: there is no column count; name one, as in --columns n=count"
            )
        weight = X["count"]
    groups = None
    if options.groups != NO_GROUPS or NO_GROUPS in X:
        groups = renamed.get(options.groups, options.groups) or "auto"
    return {"X": X, "y": y, "sample_weight": weight, "groups": groups}


def _with_text_features(table: Any, names: list[str] | None) -> Any:
    """Replace pairs of text columns by features of their texts."""
    if names is None:
        return table
    if len(names) % 2 or not names:
        raise BadInputError(
            "--text-columns takes pairs of columns, as in response_a,response_b; got "
            f"{','.join(names)!r}"
        )
    from skanchor.features import ResponseFeatures

    pairs = list(zip(names[::2], names[1::2], strict=True))
    return ResponseFeatures(columns=pairs).fit_transform(table)


def _without_votes(X: pd.DataFrame, models: list[str]) -> pd.Series:
    """Rows without the human rows of some models, as a dry run of new ones."""
    is_human = X.get("judge", pd.Series(HUMAN, X.index)) == HUMAN
    hidden = is_human & False
    for model in models:
        plays = (X["model_a"] == model) | (X["model_b"] == model)
        if not (plays & is_human).any() or not (plays & ~is_human).any():
            raise BadInputError(
                f"--hide-votes-of {model}: it has no human rows to hide, or no rows of "
                "judges that would place it"
            )
        hidden |= plays & is_human
    text = f"A dry run: {hidden.sum()} human rows of {', '.join(models)} are left out."
    warn(DataWarning(text, code="hidden-votes", subject=models))
    return ~hidden


# ------------------------------------------------------------------------------ rows
def find_unvoted(X: Any) -> tuple[list[Any], Any]:
    """Models without human rows, and which rows of a table involve one."""
    with WarningLog():
        # These warnings are dropped: the fit encodes the table again and warns itself.
        encoded = decide_roles(Comparisons.from_battles(X), np.ones(len(X)), None)
    return encoded.models[encoded.is_new].tolist(), encoded.involves_new


def typed_label(labels: Iterable[Any], name: str | None) -> Any:
    """Label of the table that was typed; as typed where it has none."""
    return {str(label): label for label in labels}.get(str(name), name)
