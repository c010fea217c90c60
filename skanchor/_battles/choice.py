"""The user's choice of features, applied before the table is encoded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals.stable.v2 as nw

from skanchor._battles.features import feature_kind, stems_of
from skanchor._battles.suspects import declared
from skanchor.exceptions import BattlesError


def choose_features(
    frame: nw.DataFrame[Any],
    features: Iterable[str] | None,
    drop_features: Iterable[str] | None,
) -> nw.DataFrame[Any]:
    """Keep the pairs of columns that the user has chosen as features.

    Parameters
    ----------
    frame : DataFrame
        A battles table with standard names.
    features : iterable of str or None
        Names of the pairs to use; the other pairs of numbers are dropped. A pair whose
        name suggests the outcome is renamed to ``feature_<name>``, so that it is used
        although estimators leave such names out.
    drop_features : iterable of str or None
        Names of the pairs not to use.

    Returns
    -------
    DataFrame

    Raises
    ------
    BattlesError
        If both are given, if a pair does not exist, or if one to use holds text.
    """
    if features is None and drop_features is None:
        return frame
    if features is not None and drop_features is not None:
        raise BattlesError("Give the features to use or those to drop, not both.")
    pairs, half = stems_of(frame)
    named = _names(features if drop_features is None else drop_features, pairs)
    if drop_features is not None:
        return frame.drop(_chosen_columns(named))
    for name in named:
        if feature_kind(frame[f"{name}_a"]) == "text":
            raise BattlesError(
                f"Columns {name}_a and {name}_b hold text, not numbers; "
                "skanchor.features makes features of it."
            )
    # Pairs of text stay in the table: they are never features, but texts may be needed.
    others = [
        name
        for name in pairs
        if name not in named and feature_kind(frame[f"{name}_a"]) != "text"
    ]
    # Half pairs are dropped with the others; otherwise they would be refused later.
    columns = _chosen_columns(named)
    standard = _chosen_columns(map(declared, named))
    return frame.drop(_chosen_columns(others) + half).rename(
        dict(zip(columns, standard, strict=True))
    )


def _names(given: Any, pairs: list[str]) -> list[str]:
    """Distinct names as a list; raise if one of them is not a pair of columns."""
    names = [given] if isinstance(given, str) else list(dict.fromkeys(given))
    absent = [name for name in names if name not in pairs]
    if absent:
        raise BattlesError(
            f"There are no columns <name>_a and <name>_b for the features {absent}; "
            f"there are for {pairs[:20]}."
        )
    return names


def _chosen_columns(names: Iterable[str]) -> list[str]:
    return [name + side for name in names for side in ("_a", "_b")]
