"""The battles of a command: flags of files, columns, roles and features."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

from skanchor._cli.command import BadInputError, Flags
from skanchor._cli.pairs import column_called, pairs_of

if TYPE_CHECKING:
    from skanchor.io import Mapping
    from skanchor.io._tables import Table


# ---------------------------------------------------------------------------- flags
def add_table(flags: Flags) -> None:
    """Add the flags of files, columns, roles of models and judges, and features."""
    flags = flags.group("files", of_files=True)
    _add_files(flags)
    _add_roles(flags)
    flags.value(
        "--text-columns",
        "A,B",
        "columns with the texts of the two responses, as in response_a,response_b: "
        "what they look like makes the features",
    )
    flags.value(
        "--features",
        "NAME,...",
        "response features to use, as in length for columns length_a and length_b "
        "(default: all pairs of numbers, but those that may hold the outcome)",
    )


def _add_files(flags: Flags) -> None:
    flags.value(
        "battles",
        "FILE",
        "battles: CSV, JSON Lines, JSON, Parquet or Feather, text also packed by gzip, "
        "zstd or zip, or - for standard input; several files become one table",
        nargs="*",
    )
    flags.switch("--demo", "use the bundled (simulated) table instead")
    flags.value(
        "--mapping",
        "FILE",
        "what columns, outcomes and judges mean, as skanchor inspect -o writes it",
    )
    flags.value(
        "--from",
        "FORMAT,...",
        "tool that wrote the files, such as alpaca_eval or arena_hard, or table; "
        "one for all, or one for each (default: auto, recognised by the columns)",
        dest="tools",
        default="auto",
    )
    flags.lists(
        "--columns",
        "NAME=ROLE,...",
        "roles of columns, as in left=model_a,right=model_b,who=judge, or new names",
    )
    flags.lists(
        "--labels",
        "VALUE=MEANING,...",
        "what outcomes mean, as in 0=model_b,1=model_a,hm=tie,x=failed,'A>B=0.9'",
    )
    flags.value("--encoding", "NAME", "encoding of text other than UTF-8 and UTF-16")
    flags.switch(
        "--drop-invalid",
        "leave out rows whose verdict is empty or failed, and lines that cannot "
        "be read, and count them",
    )


def _add_roles(flags: Flags) -> None:
    flags.names(
        "--human",
        "LABEL",
        "labels of people among the judges, also as a pattern such as 'expert_*'; all "
        "others are judges ('*': all are people)",
    )
    new = flags.exclusive()
    says = "new models (default: those without human rows)"
    new.names("--new --new-models", "MODEL", says)
    new.switch("--no-new", "take no model as new: rank the models by their human rows")
    flags.names(
        "--hide-votes-of",
        "MODEL",
        "a dry run: leave out the human rows of models whose votes are known, so "
        "that they are placed as new ones",
    )
    flags.names(
        "--without", "LABEL", "judges, also as patterns, whose rows are left out"
    )
    flags.value(
        "--pool",
        "NAME",
        "fit all judges as one of this name, if they are alike or have few rows each",
    )


# ------------------------------------------------------------------------------ use
# Flags that take several values, and so also a FILE that comes after them.
_MANY_VALUES = ("new", "hide_votes_of", "human", "without", "set", "costs", "widths")
_SHORT_CUTS = ("columns", "labels", "human")


def check_table(options: argparse.Namespace) -> None:
    """Refuse invalid flags before any file is read."""
    if options.demo and options.battles:
        raise BadInputError("give either FILE or --demo, not both")
    idle = [flag for flag, value in flags_of_files(options).items() if value]
    if options.demo and idle:
        raise BadInputError(f"{idle[0]} goes with a FILE, not with --demo")
    if not options.demo and not options.battles:
        greedy = [name for name in _MANY_VALUES if getattr(options, name, None)]
        raise BadInputError(
            "give a FILE of battles, or --demo"
            + "".join(f" (FILE goes before --{n.replace('_', '-')})" for n in greedy)
        )
    pairs_of("--columns", options.columns)
    pairs_of("--labels", options.labels)
    edits = [name for name in _SHORT_CUTS if getattr(options, name)]
    if options.mapping and edits:
        raise BadInputError(
            f"--{edits[0]} edits what is proposed; write it into {options.mapping}"
        )


def flags_of_files(options: argparse.Namespace) -> dict[str, Any]:
    """Values of the flags of how files are read, false where a flag is not given."""
    others = {"--from": options.tools != "auto", "--mapping": options.mapping}
    names = ("encoding", "columns", "labels", "human", "drop-invalid")
    return {**others, **values_of(options, *names)}


def values_of(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Values of some flags, by the flags."""
    return {f"--{name}": getattr(options, name.replace("-", "_")) for name in names}


def column_renames(options: argparse.Namespace) -> dict[str, str]:
    """New names of columns, by their old names."""
    return pairs_of("--columns", options.columns)


def feature_choice(options: argparse.Namespace) -> list[str] | None:
    """Features to use; None without the flag."""
    return _split_names(options.features)


def read_mapping(options: argparse.Namespace) -> tuple[Table, Mapping]:
    """Read the files of a command, and what their table is taken for."""
    from skanchor.io import Mapping
    from skanchor.io._layouts import ROLES_OF_COLUMNS
    from skanchor.io.reading import read_tables

    told = Mapping.from_toml(options.mapping) if options.mapping else None
    tools = _split_names(options.tools) or ["auto"]
    if told is not None and options.tools == "auto":
        tools = [told.format]
    table = read_tables(
        options.battles,
        tools[0] if len(tools) == 1 else tools,
        options.encoding,
        options.drop_invalid,
        coded=True,
        flags=_typed_short_cuts(options),
    )
    if told is not None:
        return table, told.of(table.source)
    columns = {}
    for old, new in column_renames(options).items():
        name = column_called(table.frame.columns, old)
        if name is None:
            raise BadInputError(
                f"--columns: there is no column {old} among "
                f"{', '.join(map(str, table.frame.columns[:20]))}"
            )
        columns[name] = new if new in ROLES_OF_COLUMNS else f"keep as {new}"
    labels = pairs_of("--labels", options.labels)
    return table, Mapping.of_table(table, columns, labels, options.human)


def _typed_short_cuts(options: argparse.Namespace) -> list[str]:
    """Flags that change what is proposed, as they are repeated in a command."""
    found = ["--from", options.tools] if options.tools != "auto" else []
    found += ["--encoding", options.encoding] if options.encoding else []
    found += ["--drop-invalid"] if options.drop_invalid else []
    for name in ("columns", "labels"):
        found += [f"--{name}={one}" for one in getattr(options, name)]
    return found + (["--human", *options.human] if options.human else [])


def read_table(options: argparse.Namespace) -> tuple[Any, Any, Any]:
    """Read the battles of a command: the table, its outcomes, and counts or None."""
    from skanchor._battles import split_table
    from skanchor._cli.texts import with_text_features

    if options.demo:
        from skanchor.datasets import load_demo

        demo: Any = load_demo()
        X, y, counts = demo.data, demo.target, None
    else:
        table, mapping = read_mapping(options)
        X, y, counts = mapping.built(table)
    renamed = dict(X.attrs.get("renamed", {}))
    X, y = split_table(
        with_text_features(X.assign(winner=y), options.text_columns),
        without=options.without,
        pool=options.pool,
        features=feature_choice(options),
    )
    if options.hide_votes_of:
        X, y = _without_votes(X, y, options.hide_votes_of)
    X.attrs["renamed"] = renamed
    return X, y, None if counts is None else X["count"]


def _without_votes(X: Any, y: Any, models: list[str]) -> tuple[Any, Any]:
    """Leave out the human rows of some models, as a dry run of new ones."""
    from skanchor._battles import HUMAN
    from skanchor.exceptions import DataWarning
    from skanchor.warning_log import warn

    is_human = X["judge"] == HUMAN if "judge" in X else X["model_a"].notna()
    hidden = is_human & False
    for model in dict.fromkeys(models):
        plays = (X["model_a"] == model) | (X["model_b"] == model)
        if not (plays & is_human).any():
            known = "no human rows" if plays.any() else "no rows"
            raise BadInputError(f"--hide-votes-of {model}: it has {known} to hide")
        if not (plays & ~is_human).any():
            raise BadInputError(
                f"--hide-votes-of {model}: no judge has compared it, so nothing would "
                "be left to place it by"
            )
        hidden |= plays & is_human
    warn(
        DataWarning(
            f"A dry run: {hidden.sum()} human rows of "
            f"{', '.join(dict.fromkeys(models))} are left out.",
            code="hidden-votes",
            subject=dict.fromkeys(models),
        )
    )
    return X[~hidden].reset_index(drop=True), y[~hidden].reset_index(drop=True)


def _split_names(given: str | None) -> list[str] | None:
    """Names of a list that is separated by commas."""
    if given is None:
        return None
    return [name for part in given.split(",") if (name := part.strip())]


NO_GROUPS = "none"
"""In place of a column of groups: rows are independent."""


def groups_of(X: Any, options: argparse.Namespace) -> Any:
    """Groups of dependent rows: None, "auto", the name of a column, or codes.

    With several columns, rows that share a value in any of them are in one group.
    """
    from skanchor._battles import join_groups

    renamed = X.attrs.get("renamed", {})
    names = [renamed.get(name, name) for name in group_names(options)]
    names = [column_called(X.columns, name) or name for name in names]
    if not names:
        return "auto"
    if names == [NO_GROUPS] and NO_GROUPS not in X.columns:
        return None
    if len(names) < 2:
        return names[0]
    import pandas as pd

    # The name of the series is shown under the leaderboard.
    groups = pd.Series(join_groups(X, names), name=", ".join(names))
    if len(groups) > 1 and groups.nunique() == 1:
        raise BadInputError(
            f"--groups {','.join(names)}: shared values connect all rows; "
            "name fewer columns"
        )
    return groups


def load_rows(
    options: argparse.Namespace, chosen: Callable[[Any, Any], tuple[Any, Any]] | None
) -> tuple[Literal["importance", "frequency"], tuple[Any, Any, Any, Any]]:
    """Read the battles; return what weights mean, and the arguments of a fit.

    These are X, y, weights and groups of the rows that ``chosen`` keeps, or of all.
    """
    X, y, counts = read_table(options)
    if chosen is not None:
        X, y = chosen(X, y)
    meaning, weight = weights_of(X, options, counts is not None)
    return meaning, (X, y, weight, groups_of(X, options))


def weights_of(
    X: Any, options: argparse.Namespace, counted: bool
) -> tuple[Literal["importance", "frequency"], Any]:
    """Meaning of the weights, and the weights of the rows, or None."""
    if options.weights is None and not counted:
        return "importance", None
    name = column_called(X.columns, "count")
    if name is None:
        raise BadInputError(
            "--weights: there is no column count; name one, as in --columns n=count"
        )
    return options.weights or "frequency", X[name]


def group_names(options: argparse.Namespace) -> list[str]:
    """Names of the columns of groups, as the user typed them."""
    return _split_names(",".join(options.groups or [])) or []


def typed_label(known: Iterable[Any], name: str | None) -> Any:
    """Label of the table that was typed; as typed where it has none."""
    return {str(label): label for label in known}.get(str(name), name)
