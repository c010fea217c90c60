"""``skanchor history build FOLDER``: fit on Parquet files larger than memory."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from skanchor._cli.command import BadInputError, Flags
from skanchor._cli.method import check_jobs, pipeline_of
from skanchor._cli.streams import is_watched
from skanchor._cli.table import (
    NO_GROUPS,
    column_renames,
    feature_choice,
    flags_of_files,
    group_names,
    values_of,
)

if TYPE_CHECKING:
    from skanchor.history import AnchorHistory


def add_jobs(flags: Flags) -> None:
    """Add the flag of reading batches in parallel."""
    flags.value(
        "--n-jobs",
        "N",
        "for a folder of Parquet files: batches read in parallel (-1: all cores)",
        type=int,
    )


def is_folder(options: argparse.Namespace) -> bool:
    """Whether battles are a folder; refuse flags that its batches cannot follow.

    Parameters
    ----------
    options : Namespace
        Flags of ``skanchor history build``.

    Returns
    -------
    bool
    """
    if not any(map(os.path.isdir, options.battles)):
        if options.n_jobs:
            raise BadInputError("--n-jobs goes with a folder of Parquet files")
        return False
    check_jobs(options)
    refused = {
        **flags_of_files(options),
        "--columns": None,
        "--human": None,
        **values_of(options, "hide-votes-of", "without", "pool"),
        "--text-columns": options.text_columns,
    }
    for flag, given in refused.items():
        if given:
            raise BadInputError(
                f"{flag} does not go with a folder, whose columns are read as they "
                "are; prepare them in the files, or name the files one by one"
            )
    if len(options.battles) > 1 or len(group_names(options)) > 1:
        raise BadInputError("a folder stands alone, with one column of --groups")
    return True


def build_from_folder(
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
