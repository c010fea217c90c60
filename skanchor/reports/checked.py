"""The check of the intervals as a table, and as a section of a report."""

from __future__ import annotations

from skanchor._diagnostics import IntervalCheck
from skanchor.reports.answers import percent
from skanchor.reports.document import Block, Points, Section, Table, Text
from skanchor.reports.tables import table_of
from skanchor.reports.verdict import interval_verdict

# Columns of the table: heading, and number of decimals or kind of the cells.
_COLUMNS: dict[str, tuple[str, int | str]] = {
    "true_score": ("by votes", 2),
    "score": ("by judges", 2),
    "z": ("miss in s.e.", 1),
    "p_adjusted": ("adjusted p", 3),
    "compatible": ("agrees", "yes"),
    "low": ("low", 2),
    "high": ("high", 2),
    "true_rank": ("rank by votes", 0),
    "rank": ("by judges", 0),
    "rank_low": ("from", 0),
    "rank_high": ("to", 0),
}

_TREATED = {"none": "left out", "random": "taken as random"}


def check_table(check: IntervalCheck) -> Table:
    """Lay out the models that were left out.

    Parameters
    ----------
    check : IntervalCheck
        Result of :func:`skanchor.evaluation.check_intervals`.

    Returns
    -------
    Table
        One row for each model.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.evaluation import check_intervals
    >>> from skanchor.reports import check_table
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(2000, 200, n_models=6, random_state=0)
    >>> anchor = AnchorPipeline(cv=3, random_state=0).fit(data.X, data.y)
    >>> check = check_intervals(anchor, data.X, data.y)
    >>> len(check_table(check).rows)
    6
    """
    return table_of(
        check.table,
        "Each historical model in turn, placed without its votes",
        _COLUMNS,
        name="check-table",
    )


def check_notes(check: IntervalCheck) -> list[str]:
    """Say how the table is to be read, and which intervals were tested.

    Parameters
    ----------
    check : IntervalCheck
        Result of :func:`skanchor.evaluation.check_intervals`.

    Returns
    -------
    list of str
        Sentences.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.evaluation import check_intervals
    >>> from skanchor.reports import check_notes
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(2000, 200, n_models=6, random_state=0)
    >>> anchor = AnchorPipeline(cv=3, random_state=0).fit(data.X, data.y)
    >>> check = check_intervals(anchor, data.X, data.y)
    >>> print(check_notes(check)[1])
    Ranks are among the other models with votes; from and to bound the rank set.
    """
    notes = [
        "The miss is the score by judges less that by votes, in standard errors of "
        "this difference; its p-value is adjusted for all models. A model agrees if "
        "its scores differ by no more than their errors allow at "
        f"{percent(check.level)}.",
        "Ranks are among the other models with votes; from and to bound the rank set.",
    ]
    if check.item_effects is not None:
        notes.append(
            "All fits have the settings of the ranking: item effects are "
            f"{_TREATED[check.item_effects]}."
        )
    return notes


def check_section(check: IntervalCheck) -> Section:
    """Section of a report about the check.

    Parameters
    ----------
    check : IntervalCheck
        Result of :func:`skanchor.evaluation.check_intervals`.

    Returns
    -------
    Section

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.evaluation import check_intervals
    >>> from skanchor.reports import check_section
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(2000, 200, n_models=6, random_state=0)
    >>> anchor = AnchorPipeline(cv=3, random_state=0).fit(data.X, data.y)
    >>> check = check_intervals(anchor, data.X, data.y)
    >>> check_section(check).title
    'Check on models whose votes are known'
    """
    verdict = interval_verdict(check)
    blocks: list[Block] = [
        Text(verdict.statement),
        Points([(finding, "") for finding in verdict.findings]),
        check_table(check),
        Text(" ".join(check_notes(check)), is_note=True),
    ]
    if verdict.advice:
        blocks.insert(2, Text(verdict.advice))
    return Section("check", "Check on models whose votes are known", blocks)
