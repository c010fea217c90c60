"""The summary of a run as text: the lines below a leaderboard."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from skanchor._text import printable
from skanchor.reports.answers import best_lines
from skanchor.reports.summary import RunSummary
from skanchor.warning_log import in_short

_LISTED = 10
"""Largest number of judges that are listed one by one."""

_TREATED = {
    "none": "left out",
    "random": "taken into account",
}


def summary_lines(summary: RunSummary) -> list[str]:
    """Describe a run in lines of text.

    Parameters
    ----------
    summary : RunSummary
        Facts of the run, from :func:`summarize`.

    Returns
    -------
    list of str
        Data, judges and decisions, then warnings, then what is needed to repeat it.
    """
    lines = [
        *_best(summary),
        _rows(summary),
        *str(summary.inputs).splitlines(),
        *_judge_lines(summary),
        *_item_effects(summary),
        *_position_effects(summary),
        *_warnings(summary),
        *_again(summary),
    ]
    return [printable(line) for line in lines]


def _best(summary: RunSummary) -> list[str]:
    if summary.best.empty:
        return []
    head, names = best_lines(summary.best, summary.level)
    return [head, f"  {names}"]


def settings_lines(summary: RunSummary) -> list[str]:
    """Describe data, decisions and settings of a run, without judges and warnings.

    Parameters
    ----------
    summary : RunSummary
        Facts of the run, from :func:`summarize`.

    Returns
    -------
    list of str
        Lines; one that starts with a blank continues a list.
    """
    lines = [
        _rows(summary),
        *str(summary.inputs).splitlines(),
        *_item_effects(summary),
        *_position_effects(summary),
        *_again(summary),
    ]
    return [printable(line) for line in lines]


def _rows(summary: RunSummary) -> str:
    names = {
        "human": "human votes",
        "judge": "verdicts of judges",
        "historical": "verdicts on historical models",
        "arrival": "verdicts on new models",
        "unused": "not used",
    }
    parts = [
        f"{n} {names[kind]}" for kind, n in summary.rows.items() if n or kind == "human"
    ]
    text = f"Rows: {', '.join(parts)}"
    if summary.n_groups is not None:
        text += f"; {summary.n_groups} groups"
    return f"{text}."


def _judge_lines(summary: RunSummary) -> Iterator[str]:
    table = summary.judges
    # The judges of a stored history are known without their rows.
    if "rows" not in table:
        return
    yield f"Judges: {len(table)}."
    for judge, row in table.head(_LISTED).iterrows():
        share = row["ties"] / row["rows"] if row["rows"] else 0.0
        yield (
            f"  {judge}: {row['rows']} rows, {share:.0%} ties, sensitivity "
            f"{row['sensitivity']:.2f}."
        )
    if len(table) > _LISTED:
        yield f"  and {len(table) - _LISTED} more."


def _item_effects(summary: RunSummary) -> Iterator[str]:
    items = summary.item_effects
    if items is None:
        return
    # The test may have decided, or its p-value stands beside another reason.
    test = "" if items.reason.startswith("a test") else "a test for them has "
    p = "" if np.isnan(items.p_value) else f" ({test}p = {items.p_value:.2g})"
    reason = items.reason if items.reason.startswith("as ") else f"as {items.reason}"
    yield f"Item effects: {_TREATED[items.reported]}, {reason}{p}."


def _position_effects(summary: RunSummary) -> Iterator[str]:
    table = summary.judges
    if "has_position_effect" not in table:
        return
    on = table["has_position_effect"].astype(bool)
    if not on.any():
        yield "Position effects: off."
        return
    found = [
        f"{judge} {effect:+.2f}" for judge, effect in
        table.loc[on, "position_effect"].head(_LISTED).items()
    ]  # fmt: skip
    more = f" and {on.sum() - _LISTED} more" if on.sum() > _LISTED else ""
    off = table.index[~on].astype(str)[:_LISTED].tolist()
    text = f"Position effects: on, in judge logits {', '.join(found)}{more}"
    yield f"{text}; off for {', '.join(off)}." if off else f"{text}."


def _warnings(summary: RunSummary) -> Iterator[str]:
    found = list(summary.warnings)
    if not found:
        yield "Warnings: none."
        return
    listed = list(in_short(found))
    some = "; of many alike, five are listed" if listed != found else ""
    yield f"Warnings: {len(found)}{some}."
    for warning in listed:
        yield f"  - {' '.join(str(warning).split())}"


def _again(summary: RunSummary) -> Iterator[str]:
    """Settings that are not defaults, versions, and the hash of the input if known."""
    if summary.settings:
        given = [
            f"{name}={value}"
            for name, value in summary.settings.items()
            if value != summary.defaults.get(name)
        ]
        yield f"Settings: {', '.join(given) or 'all defaults'}."
    if summary.folds:
        yield f"Folds: {summary.folds}."
    found = [f"{name} {number}" for name, number in summary.versions.items()]
    yield f"Versions: {', '.join(found)}."
    if summary.input_hash is not None:
        yield f"Input: SHA-256 {summary.input_hash[:16]}..."
