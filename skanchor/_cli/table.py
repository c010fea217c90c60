"""The battles of a command: flags of files, columns, roles and features."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any, Literal

from skanchor._cli.command import BadInputError, Flags
from skanchor._cli.pairs import levels_of, pairs_of
from skanchor._cli.streams import is_watched


# ---------------------------------------------------------------------------- flags
def add_table(flags: Flags) -> None:
    """Add the flags of files, columns, roles of models and judges, and features."""
    flags = flags.group("files", of_files=True)
    _add_files(flags)
    _add_meanings(flags)
    _add_roles(flags)
    _add_feature_choice(flags)


def _add_files(flags: Flags) -> None:
    flags.value(
        "battles",
        "FILE",
        "battles: .csv, .tsv, .jsonl (each also .gz, .bz2, .zst, .zip), .parquet, "
        ".feather, or - for standard input; several files become one table, and the "
        "name of a file is its judge if it has no column judge; files above 50 MB show "
        "a progress bar",
        nargs="*",
    )
    flags.switch("--demo", "use the bundled (simulated) table instead")
    flags.value(
        "--from",
        "FORMAT,...",
        "tool that wrote the files, such as alpaca_eval or arena_hard, or table; "
        "one for all, or one for each (default: auto, recognised by the columns)",
        dest="tools",
        default="auto",
    )
    flags.value(
        "--file-format",
        "SUFFIX",
        "csv, jsonl, ... if the name of a file does not show it",
        dest="file_format",
    )
    flags.value(
        "--encoding",
        "ENCODING",
        "encoding of text other than UTF-8 and UTF-16, as in latin-1",
    )


def _add_meanings(flags: Flags) -> None:
    """Add the flags of the meaning of columns and outcomes."""
    flags.lists(
        "--columns",
        "OLD=NEW,...",
        "rename columns of the table, as in left=model_a,right=model_b (usual "
        "names are recognised without it)",
    )
    flags.lists(
        "--labels",
        "OLD=NEW,...",
        "what outcomes mean, as in left=model_a,right=model_b,draw=tie (usual "
        "ones are recognised without it)",
    )
    flags.lists(
        "--rename-models",
        "OLD=NEW,...",
        "other names of models and judges, as in GPT-4=gpt-4, if both are names "
        "of one model",
    )
    flags.lists(
        "--levels",
        "VERDICT=NUMBER,...",
        "what graded verdicts are worth to the first side, as in 'A>B=1,B>A=0'; "
        "for numbers, the two ends of their scale, as in 1=1,7=0",
    )
    flags.number(
        "--tie-margin", "GAP", "ratings that differ by this much or less are a tie", 0.0
    )
    flags.lists(
        "--ratings",
        "COLUMN,...",
        "columns of ratings or verdicts, one for each rater, of a table with a "
        "row for each response of a model to a prompt, or for each pair of models",
    )
    flags.switch(
        "--drop-invalid",
        "leave out rows whose verdict is empty or failed, and lines that cannot "
        "be read, and count them",
    )


def _add_roles(flags: Flags) -> None:
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
    people = flags.exclusive()
    people.names(
        "--human",
        "LABEL",
        "what marks the human rows in column judge, also as a pattern such as "
        "'expert_*' (default: human)",
    )
    people.switch(
        "--all-human", "all rows are human votes, where there is no column judge"
    )
    people.names(
        "--judges",
        "LABEL",
        "the judges, also as patterns; all other labels are people's",
    )
    flags.names(
        "--without", "LABEL", "judges, also as patterns, whose rows are left out"
    )
    flags.value(
        "--pool",
        "NAME",
        "fit all judges as one of this name, if they are alike or have few rows each",
    )
    flags.names(
        "--judge",
        "NAME",
        "the judge of files without a column judge, or one for each file",
    )


def _add_feature_choice(flags: Flags) -> None:
    flags.value(
        "--text-columns",
        "A,B",
        "columns with the texts of the two responses, as in response_a,response_b: "
        "what they look like makes the features",
    )
    features = flags.exclusive()
    features.value(
        "--features",
        "NAME,...",
        "response features to use, as in length for columns length_a and length_b "
        "(default: all pairs of numbers, but those that may hold the outcome)",
    )
    features.value("--drop-features", "NAME,...", "response features not to use")


# ------------------------------------------------------------------------------ use
# Flags that take several values, and so also a FILE that comes after them.
_MANY_VALUES = (
    *("new", "hide_votes_of", "human", "judges", "without", "judge"),
    *("set", "costs", "widths"),
)
_OF_FILES = (
    "encoding labels rename-models judge levels tie-margin ratings drop-invalid".split()
)
"""Flags of how files are read, but those whose options have other names."""


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
    if options.battles.count("-") > 1:
        raise BadInputError("standard input (-) is given twice")
    pairs_of("--columns", options.columns)
    pairs_of("--labels", options.labels)
    pairs_of("--rename-models", options.rename_models)
    levels_of(options.levels)
    if not options.tie_margin >= 0.0:
        raise BadInputError(
            f"--tie-margin must not be negative, got {options.tie_margin:g}"
        )


def flags_of_files(options: argparse.Namespace) -> dict[str, Any]:
    """Values of the flags of how files are read, false where a flag is not given."""
    others = {"--from": options.tools != "auto", "--file-format": options.file_format}
    return {**others, **values_of(options, *_OF_FILES)}


def values_of(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Values of some flags, by the flags."""
    return {f"--{name}": getattr(options, name.replace("-", "_")) for name in names}


def column_renames(options: argparse.Namespace) -> dict[str, str]:
    """New names of columns, by their old names."""
    return pairs_of("--columns", options.columns)


def feature_choice(
    options: argparse.Namespace,
) -> tuple[list[str] | None, list[str] | None]:
    """Features to use, and features not to use; None where a flag is not given."""
    return _split_names(options.features), _split_names(options.drop_features)


def load_battles(options: argparse.Namespace) -> tuple[Any, Any, bool]:
    """Read the battles.

    Returns the table, its outcomes, and whether its rows are counts of comparisons.
    """
    renames = pairs_of("--columns", options.columns)
    counted = False
    if options.demo:
        from skanchor.datasets import load_demo

        demo: Any = load_demo()
        table = demo.frame
    else:
        from skanchor.io.joined import COUNTED
        from skanchor.io.reading import read_given

        tools = _split_names(options.tools)
        given = {
            "path": options.battles,
            "format": None if tools == ["auto"] else tools,
            "file_format": options.file_format,
            "encoding": options.encoding,
            "columns": renames,
            "labels": pairs_of("--labels", options.labels),
            "models": pairs_of("--rename-models", options.rename_models),
            "judge": options.judge,
            "levels": levels_of(options.levels),
            "tie_margin": options.tie_margin,
            "ratings": _split_names(",".join(options.ratings)),
            "drop_invalid": options.drop_invalid,
        }
        # Only codes are needed: it is fitted, and not shown.
        table = read_given(given, group_names(options), int(is_watched()), codes=True)
        counted = COUNTED in table.attrs["formats"].values()
        if table.empty:
            raise BadInputError(
                f"{', '.join(options.battles)}: there are names of columns, but no "
                "battles; give a file with a row for each comparison"
            )

    from skanchor._battles import HUMAN
    from skanchor._cli.texts import with_text_features
    from skanchor.io import judge_columns, split_battles

    renames = renames if options.demo else {}
    if options.all_human and "judge" not in table and "rater" not in table:
        renames = {name: "rater" for name in judge_columns(table)[:1]}
    check_judges(options, list(table.columns), table)
    X, y = split_battles(
        with_text_features(table, options.text_columns),
        columns=renames,
        human=options.human or HUMAN,
        judges=options.judges,
        without=options.without,
        pool=options.pool,
        features=_split_names(options.features),
        drop_features=_split_names(options.drop_features),
    )
    if options.hide_votes_of:
        X, y = _without_votes(X, y, options.hide_votes_of)
    return X, y, counted


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


class NoJudgesError(BadInputError):
    """No column says which rows are people's, and which are judges'."""


def check_judges(
    options: argparse.Namespace, columns: list[str], table: Any = None
) -> None:
    """Refuse to take all rows for human votes unless the user says that they are.

    Parameters
    ----------
    options : Namespace
        Flags of a command that reads battles.
    columns : list of str
        Columns of the table.
    table : DataFrame, optional
        The table. Not given of a folder, whose columns have their exact names.
    """
    if "judge" in {*columns, *column_renames(options).values()}:
        if options.all_human:
            raise BadInputError(
                "--all-human: there is a column judge; leave the flag out, or name the "
                "human labels with --human"
            )
        return
    from skanchor.io import Case, who_columns

    # A column that may name judges or people is asked about by `split_battles`.
    asked = table is not None and bool(who_columns(columns))
    if options.all_human or asked:
        return
    rows = "all rows" if table is None else f"all {len(table)} rows"
    people = Case({"all_human": True}, "If people gave these outcomes")
    # Labels of people and LLMs say more than the lack of a column judge.
    cases = sorted([people, *_cases_by_value(columns, table)], key=_names_no_people)
    advice = list(map(str, cases))
    if options.battles and table is not None:
        advice.append("If one LLM judge gave them, add a file of people's votes.")
    raise NoJudgesError(
        f"{' '.join(options.battles)}: there is no column judge, so that {rows} would "
        f"count as human votes. {' '.join(advice)}"
    )


def _names_no_people(case: Any) -> bool:
    """Whether a case leaves open which labels of a column are people's."""
    return {*case.arguments}.isdisjoint(("human", "judges"))


def _cases_by_value(columns: list[str], table: Any) -> list[Any]:
    """Cases of each column that may name the judges, by its name or its labels."""
    from skanchor.io import (
        Case,
        judge_cases,
        judge_columns,
        judges_by_value,
        partial_labels,
    )
    from skanchor.io.generic import few_labelled

    by_value = {} if table is None else judges_by_value(table)
    others = [] if table is None else few_labelled(table)
    by_name = [*judge_columns(columns), *(n for n in columns if n == "rater")]
    cases = []
    for name in dict.fromkeys([*by_name, *by_value, *others]):
        found = []
        if name in by_value:
            partial = partial_labels(table, name)
            found = judge_cases(name, by_value[name], partial)
        plain = Case({"columns": {name: "judge"}}, f"If {name!r} names the judges")
        cases += found or [plain]
    return cases


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
    from skanchor.io.generic import column_called

    renames = pairs_of("--columns", options.columns)
    names = [renames.get(name, name) for name in group_names(options)]
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
    X, y, counted = load_battles(options)
    if chosen is not None:
        X, y = chosen(X, y)
    meaning, weight = weights_of(X, options, counted)
    return meaning, (X, y, weight, groups_of(X, options))


def weights_of(
    X: Any, options: argparse.Namespace, counted: bool
) -> tuple[Literal["importance", "frequency"], Any]:
    """Meaning of the weights, and the weights of the rows, or None."""
    from skanchor.io.generic import column_called

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
