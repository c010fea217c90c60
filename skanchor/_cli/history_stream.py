"""``skanchor history build --stream``: fit on Parquet files larger than memory."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Flags
from skanchor._cli.method import check_jobs, pipeline_of
from skanchor._cli.streams import is_watched, print_line
from skanchor._cli.table import (
    NO_GROUPS,
    check_judges,
    column_renames,
    feature_choice,
    flags_of_files,
    group_names,
    values_of,
)

if TYPE_CHECKING:
    from skanchor.history import AnchorHistory

PARQUET = (".parquet", ".pq")


def add_stream(flags: Flags) -> None:
    """Add the flags of reading the battles in batches."""
    flags.switch(
        "--stream",
        "read Parquet files, or a folder of them, in batches, several times: for "
        "battles that do not fit into memory",
    )
    flags.value(
        "--n-jobs",
        "N",
        "with --stream: batches read in parallel (-1: all cores)",
        type=int,
    )


def check_stream(options: argparse.Namespace) -> None:
    """Refuse flags that a stream cannot follow, before anything is read.

    Parameters
    ----------
    options : Namespace
        Flags of ``skanchor history build``.
    """
    if not options.stream:
        if options.n_jobs:
            raise BadInputError("--n-jobs goes with --stream")
        return
    check_jobs(options)
    refused = {
        "--demo": options.demo,
        **flags_of_files(options),
        **values_of(options, "hide-votes-of", "judges", "without", "pool"),
        "--text-columns": options.text_columns,
    }
    for flag, given in refused.items():
        if given:
            raise BadInputError(
                f"{flag} does not go with --stream, which reads columns as they are; "
                "prepare them in the files, or build without --stream"
            )
    if len(group_names(options)) > 1:
        raise BadInputError(
            "--stream takes one column of --groups: which rows several columns join "
            "needs all rows; build without --stream"
        )
    for path in options.battles:
        if "://" not in path and not os.path.isdir(path):
            if not path.endswith(PARQUET):
                raise BadInputError(
                    f"--stream reads Parquet files and folders of them, not {path}"
                )
            if not os.path.exists(path):
                raise BadInputError(f"there is no file {path}")
    if len(options.battles) > 1 and not all(map(os.path.isfile, options.battles)):
        raise BadInputError("--stream takes one folder or URL, or several files")


def _group_column(options: argparse.Namespace) -> str | None:
    """Column of the groups, as StreamOptions has it."""
    names, renames = group_names(options), column_renames(options)
    if not names:
        return "auto"
    return None if names == [NO_GROUPS] else renames.get(names[0], names[0])


def build_from_stream(
    options: argparse.Namespace, fingerprints: dict[str, str] | None
) -> AnchorHistory:
    """Fit a history from files that are read in batches.

    Parameters
    ----------
    options : Namespace
        Flags of ``skanchor history build``.
    fingerprints : dict or None
        Fingerprint of each judge.

    Returns
    -------
    AnchorHistory
    """
    from skanchor._comparisons import HUMAN
    from skanchor.streaming import StreamOptions, open_data, stream_history

    features, dropped = feature_choice(options)
    how = StreamOptions(
        columns=column_renames(options),
        features=features,
        drop_features=dropped,
        human=options.human or HUMAN,
        weight=None if options.weights is None else "count",
        groups=_group_column(options),
    )
    anchor = pipeline_of(options, options.weights or "importance")
    anchor.set_params(n_jobs=options.n_jobs, verbose=int(is_watched()))
    data: Any = options.battles if len(options.battles) > 1 else options.battles[0]
    schema = open_data(data).schema()
    if schema is not None:
        check_judges(options, list(schema.names))
    found = stream_history(data, anchor, options=how, fingerprints=fingerprints)
    print_line(f"{found.n_rows} rows were read {len(found.passes)} times")
    return found.history
