"""Flags of contexts: the column of the kinds of prompts, and their mix."""

from __future__ import annotations

import argparse
import math
from typing import Any

from skanchor._cli.command import BadInputError, Flags
from skanchor._cli.pairs import numbers_of


def add_contexts(flags: Flags) -> None:
    """Add the flags of the column of the contexts and of their mix."""
    flags.value(
        "--context",
        "COLUMN",
        "column with the kind of each prompt: models then have a score for "
        "each kind, judges are calibrated once for all",
    )
    flags.lists(
        "--context-mix",
        "KIND=SHARE,...",
        "share of each kind in the scores that are shown, as in "
        "coding=80,chat=20; shares are divided by their sum (default: all alike)",
    )


def check_contexts(options: argparse.Namespace) -> None:
    """Refuse a family beside contexts, and a mix without column or share."""
    if options.context is not None and getattr(options, "family", None):
        raise BadInputError(
            "--family does not go with --context: leave one of the two out, or rank "
            "the rows of each context by themselves"
        )
    if not options.context_mix:
        return
    if options.context is None:
        raise BadInputError(
            "--context-mix goes with --context, the column that it mixes"
        )
    _shares(options.context_mix)


def contexts_of(
    X: Any, options: argparse.Namespace
) -> tuple[str | None, dict[Any, float] | None]:
    """Column of the contexts, and their mix by the labels of the table.

    Parameters
    ----------
    X : DataFrame
        The battles.
    options : Namespace
        Flags of a command, which need not have those of contexts.

    Returns
    -------
    column : str or None
    mix : dict of label to float, or None
    """
    from skanchor._cli.pairs import column_called

    if getattr(options, "context", None) is None:
        return None, None
    column = column_called(X.columns, options.context)
    if column is None:
        raise BadInputError(f"--context: there is no column {options.context}")
    if not options.context_mix:
        return column, None
    labels = {str(label): label for label in X[column].dropna().unique().tolist()}
    shares = _shares(options.context_mix)
    unknown = [name for name in shares if name not in labels]
    if unknown:
        raise BadInputError(
            f"--context-mix names {', '.join(unknown[:5])}; column {column} holds "
            f"{', '.join(list(labels)[:10])}"
        )
    return column, {labels[name]: share for name, share in shares.items()}


def _shares(given: list[str]) -> dict[str, float]:
    """Share of each kind, from the values of ``--context-mix``; they sum to one."""
    takes = "--context-mix takes KIND=SHARE,... with shares of zero or more"
    pairs = ",".join(given).split(",")
    shares = numbers_of(pairs, takes, lambda share: 0.0 <= share < math.inf)
    total = sum(shares.values())
    if not 0.0 < total < math.inf:
        raise BadInputError(f"the shares of --context-mix sum to {total:g}")
    return {name: share / total for name, share in shares.items()}
