"""The battles of a command: files are read, and become the rows of a fit."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from skanchor._cli.values import BadInputError, by_name, refuse_typed

if TYPE_CHECKING:
    from skanchor.io import Mapping
    from skanchor.io._tables import Table

_SHORT_CUTS = ("--columns", "--labels", "--human")
_READING = ("--from", "--encoding", "--drop-invalid", *_SHORT_CUTS)

NO_GROUPS = "none"
"""In place of a column of groups: rows are independent."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Arguments of a fit, X, y, sample_weight and groups, and what weights mean."""

    arguments: dict[str, Any]
    weights: Literal["importance", "frequency"]

    @property
    def X(self) -> Any:  # noqa: N802
        """The table."""
        return self.arguments["X"]


# ---------------------------------------------------------------------------- checks
def check_files(options: argparse.Namespace) -> None:
    """Refuse flags of files that contradict each other, before any file is read."""
    if options.demo and options.battles:
        raise BadInputError("give either FILE or --demo, not both")
    if options.demo:
        why = "goes with a FILE, not with --demo"
        refuse_typed(options, ["--mapping", *_READING], why)
    elif not options.battles:
        raise BadInputError(
            "give a FILE of battles, or --demo; a FILE goes before flags that take "
            "several values, such as --new"
        )
    if options.no_new:
        refuse_typed(options, ["--new", "--new-models"], "does not go with --no-new")
    if options.mapping:
        why = f"edits what is proposed; write it into {options.mapping}"
        refuse_typed(options, _SHORT_CUTS, why)


# ----------------------------------------------------------------------------- files
def read_mapping(options: argparse.Namespace) -> tuple[Table, Mapping]:
    """Read the files of a command, and what their table is taken for."""
    from skanchor.io import Mapping
    from skanchor.io._words import ROLES_OF_COLUMNS
    from skanchor.io.reading import read_tables

    from_file = Mapping.from_toml(options.mapping) if options.mapping else None
    tools = options.tools or ["auto" if from_file is None else from_file.format]
    renames = by_name("--columns", options.columns)
    labels = by_name("--labels", options.labels)
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
        for name, role in renames.items()
    }
    mapping = Mapping.propose(table, columns=roles, labels=labels, human=options.human)
    return table, mapping


def _repeated_flags(options: argparse.Namespace) -> list[str]:
    """Flags of reading as they were typed, those that edit what is proposed last."""
    flags: list[list[str]] = []
    is_repeated = False
    for word in options.typed:
        if word.startswith("-") and word != "-":
            is_repeated = word.partition("=")[0] in _READING
            flags += [[]] * is_repeated
        if is_repeated and word not in options.battles:
            flags[-1] = [*flags[-1], word]
    flags.sort(key=lambda words: words[0].startswith(_SHORT_CUTS))
    return [word for words in flags for word in words]


def read_table(
    options: argparse.Namespace, read: tuple[Table, Mapping] | None = None
) -> tuple[Any, Any, Any]:
    """Read the battles of a command: the table, its outcomes, and counts or None.

    ``read`` is what :func:`read_mapping` has returned, if it was called already.
    """
    from skanchor._battles import split_battles

    if options.demo:
        from skanchor.datasets import load_demo

        demo: Any = load_demo()
        X, y, counts = demo.data, demo.target, None
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
    return X, y, None if counts is None else X["count"]


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


def _without_votes(X: Any, models: list[str]) -> Any:
    """Rows without the human rows of some models, as a dry run of new ones."""
    from skanchor._battles import HUMAN
    from skanchor.exceptions import DataWarning
    from skanchor.warning_log import warn

    is_human = X["judge"] == HUMAN if "judge" in X else X["model_a"].notna()
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
    import numpy as np

    from skanchor._battles import Comparisons, decide_roles
    from skanchor.warning_log import WarningLog

    with WarningLog():
        # These warnings are dropped: the fit encodes the table again and warns itself.
        encoded = decide_roles(Comparisons.from_battles(X), np.ones(len(X)), None)
    return encoded.models[encoded.is_new].tolist(), encoded.involves_new


def load_rows(
    options: argparse.Namespace,
    chosen: Callable[[Any, Any], tuple[Any, Any]] | None = None,
    read: tuple[Table, Mapping] | None = None,
) -> Rows:
    """Read the battles; return the rows that ``chosen`` keeps, or all of them."""
    X, y, counts = read_table(options, read)
    if chosen is not None:
        X, y = chosen(X, y)
    rows = {"X": X, "y": y, "groups": groups_of(X, options.groups)}
    if options.weights is None and counts is None:
        return Rows(rows | {"sample_weight": None}, "importance")
    if "count" not in X:
        raise BadInputError(
            "--weights: there is no column count; name one, as in --columns n=count"
        )
    rows["sample_weight"] = X["count"]
    return Rows(rows, options.weights or "frequency")


def groups_of(X: Any, name: str | None) -> str | None:
    """Groups of dependent rows: a column, by its name in the file, "auto" or None."""
    if name == NO_GROUPS and name not in X:
        return None
    return X.attrs.get("renamed", {}).get(name, name) or "auto"


def typed_label(labels: Iterable[Any], name: str | None) -> Any:
    """Label of the table that was typed; as typed where it has none."""
    return {str(label): label for label in labels}.get(str(name), name)
