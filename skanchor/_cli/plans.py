"""``skanchor worth``, ``outlook`` and ``design``: what to buy next, and why."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Command
from skanchor._cli.method import add_method, check_flags, fit_method
from skanchor._cli.output import Forms, add_output, deliver
from skanchor._cli.table import add_table, typed_label

if TYPE_CHECKING:
    import pandas as pd

    from skanchor._anchor import AnchorPipeline
    from skanchor.reports import Table

__all__ = ["DESIGN", "OUTLOOK", "WORTH", "add_costs", "check_budget", "costs_of"]


# -------------------------------------------------------------------------- flags
def add_costs(parser: argparse.ArgumentParser, *, budget: bool) -> None:
    """Add the flags of prices and, where asked for, of a budget."""
    parser.add_argument(
        "--cost",
        nargs="+",
        action="extend",
        default=[],
        metavar="SOURCE=PRICE",
        help="price of a row: of a vote as human=1, of a judge's verdict as "
        "gpt-4=0.02, of all other judges' as judges=0.05",
    )
    if budget:
        parser.add_argument(
            "--budget", type=float, metavar="SUM", help="the money to spend"
        )


def check_budget(options: argparse.Namespace) -> None:
    """Refuse a budget or prices that are none; both must be given."""
    if options.budget is None or not 0.0 < options.budget < math.inf:
        raise BadInputError("--budget takes the money available, a number above zero")
    if not options.cost:
        raise BadInputError(
            "--cost takes the price of a row, as in --cost human=1 judges=0.05"
        )
    _prices(options.cost)


def costs_of(options: argparse.Namespace, judges: Iterable[Any]) -> dict[Any, float]:
    """Prices of ``--cost`` by the labels of the table."""
    labels = {str(judge): judge for judge in judges}
    return {labels.get(name, name): price for name, price in _prices(options.cost)}


def _prices(given: list[str]) -> list[tuple[str, float]]:
    found: dict[str, float] = {}
    for pair in given:
        name, _, number = (part.strip() for part in pair.rpartition("="))
        try:
            price = float(number)
        except ValueError:
            price = math.nan
        if not name or not 0.0 < price < math.inf:
            raise BadInputError(
                f"--cost takes SOURCE=PRICE with prices above zero, got {pair!r}"
            )
        if name in found:
            raise BadInputError(f"--cost has {name} twice")
        found[name] = price
    return list(found.items())


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model", metavar="NAME", help="the new model (default: all of them)"
    )


def _fit_for_plans(options: argparse.Namespace) -> AnchorPipeline:
    """Check the flags that all have, and fit."""
    check_flags(options)
    return fit_method(options)


# ----------------------------------------------------------------------- commands
def _add_worth(parser: argparse.ArgumentParser) -> None:
    add_table(parser)
    add_method(parser)
    add_costs(parser, budget=False)
    _add_model(parser)
    add_output(parser)


def _run_worth(options: argparse.Namespace) -> None:
    _prices(options.cost)
    anchor = _fit_for_plans(options)
    costs = costs_of(options, anchor.judges_) if options.cost else None
    found = anchor.worth(costs, typed_label(anchor.new_models_, options.model))

    def tables() -> list[tuple[Any, Table]]:
        from skanchor.reports import worth_table

        models = found.table.index.unique("model")
        return [(model, worth_table(found, model)) for model in models]

    def table() -> Table:
        from skanchor.reports import worth_table

        return worth_table(found)

    deliver(
        _plan_forms(
            found.lines,
            tables,
            lambda: {"worth": found.to_dict()},
            lambda: found.table.reset_index().set_index("model"),
            table,
            _WORTH_NOTE,
        ),
        options,
    )


def _add_outlook(parser: argparse.ArgumentParser) -> None:
    add_table(parser)
    add_method(parser)
    parser.add_argument(
        "--widths",
        nargs="+",
        type=float,
        metavar="WIDTH",
        help="half widths in logits (default: 3/4, 1/2 and 1/4 of the present ones)",
    )
    _add_model(parser)
    add_output(parser)


def _outlook(options: argparse.Namespace) -> None:
    given = options.widths
    if given is not None and not all(0.0 < one < math.inf for one in given):
        raise BadInputError("--widths takes half widths in logits, above zero")
    anchor = _fit_for_plans(options)
    model = typed_label(anchor.new_models_, options.model)
    found = anchor.outlook(given, model, options.level)

    def tables() -> list[tuple[Any, Table]]:
        from skanchor.reports import outlook_table

        models = found.table.index.unique("model")
        return [(model, outlook_table(found, model)) for model in models]

    def table() -> Table:
        from skanchor.reports import outlook_table

        return outlook_table(found)

    deliver(
        _plan_forms(
            found.lines,
            tables,
            found.to_dict,
            lambda: found.table.reset_index().set_index("model"),
            table,
            _OUTLOOK_NOTE,
        ),
        options,
    )


def _add_design(parser: argparse.ArgumentParser) -> None:
    add_table(parser)
    add_method(parser)
    add_costs(parser, budget=True)
    parser.add_argument(
        "--targets",
        choices=["scores", "neighbours"],
        default="scores",
        help="what should become more precise: the scores of the new models, or their "
        "differences to the models next in rank (default: %(default)s)",
    )
    parser.add_argument(
        "--difference",
        nargs=2,
        action="append",
        metavar=("MODEL", "OTHER"),
        help="make this difference more precise instead; may be given repeatedly",
    )
    parser.add_argument(
        "--floor",
        type=float,
        metavar="SHARE",
        help="smallest share of each judge in the spending on verdicts "
        "(default: 0.1 with item effects, else 0)",
    )
    add_output(parser)


def _design(options: argparse.Namespace) -> None:
    check_budget(options)
    if options.difference and options.targets != "scores":
        raise BadInputError("--difference does not go with --targets")
    anchor = _fit_for_plans(options)
    targets: Any = options.targets
    if options.difference:
        known = anchor.models_
        targets = [
            (typed_label(known, a), typed_label(known, b))
            for a, b in options.difference
        ]
    found = anchor.design(
        options.budget,
        costs_of(options, anchor.judges_),
        targets,
        floor=options.floor,
        level=options.level,
    )

    def tables() -> list[tuple[Any, Table]]:
        from skanchor.reports import design_table, separation_table

        models = found.separation.index.unique("model")
        return [
            ("What to buy", design_table(found)),
            *(
                (f"Separated from {model}?", separation_table(found, model))
                for model in models
            ),
        ]

    def table() -> Table:
        from skanchor.reports import design_table

        return design_table(found)

    note = _PILOT_NOTE if found.is_pilot else _DESIGN_NOTE
    deliver(
        _plan_forms(
            found.lines, tables, found.to_dict, lambda: found.table, table, note
        ),
        options,
    )


def _plan_forms(
    lines: Callable[[], list[str]],
    tables: Callable[[], list[tuple[Any, Table]]],
    record: Callable[[], dict[str, Any]],
    frame: Callable[[], pd.DataFrame],
    table: Callable[[], Table],
    note: str,
) -> Forms:
    """Forms of sentences with tables; ``tables`` have a title each."""

    def text() -> Any:
        from rich.console import Group
        from rich.text import Text

        from skanchor.reports import table_text

        parts: list[Any] = [Text(line) for line in lines()]
        for title, shown in tables():
            if shown.rows:
                parts += [Text(""), Text(str(title), style="bold"), table_text(shown)]
        return Group(*parts, Text(""), Text(note, style="dim"))

    def json() -> dict[str, Any]:
        from skanchor.reports import SCHEMA_VERSION, as_json_value

        found: dict[str, Any] = as_json_value(
            {"schema_version": SCHEMA_VERSION, **record()}
        )
        return found

    return Forms(text, json, frame, table)


_WORTH_NOTE = (
    "In human votes on the new model. replace: the votes that would make up for the "
    "loss of these verdicts, with the other judges; alone: the worth of the verdicts "
    "without other judges; one more: the worth of the next verdict; never more: the "
    "limit for any number of this judge's verdicts, without other judges."
)
_OUTLOOK_NOTE = (
    "Further rows on the new model until its interval is the score ± the half width. "
    "Votes are divided evenly over the old models, verdicts evenly over judges and old "
    "models; of each: equal numbers of votes and verdicts."
)
_DESIGN_NOTE = (
    "gain: the decrease of the targets' variance by the first of these rows. then: the "
    "probability that the interval of the difference excludes zero with these rows; "
    "models that are clearly apart are left out."
)
_PILOT_NOTE = "About five verdicts for each old model are enough to plan by."

WORTH = Command(
    name="worth",
    help="see how many human votes the verdicts are worth",
    description="Rank the new models, and say how many human votes on them are worth "
    "as much as each judge's verdicts, what one more verdict is worth, and the most "
    "that any number of verdicts can be worth.",
    examples=(
        ("what the judges are worth", "skanchor worth battles.csv"),
        (
            "what a replaced vote costs in verdicts",
            "skanchor worth battles.csv --cost gpt-4=0.02 judges=0.001",
        ),
    ),
    add_arguments=_add_worth,
    run=_run_worth,
)

OUTLOOK = Command(
    name="outlook",
    help="see how many more rows an interval of a given width needs",
    description="Rank the new models, and say how many more votes, or verdicts, their "
    "intervals need to have some half widths, or that no number is enough.",
    examples=(
        ("to a half and a quarter of today's width", "skanchor outlook battles.csv"),
        (
            "to half widths in logits, as JSON",
            "skanchor outlook battles.csv --widths 0.2 0.1 --json",
        ),
    ),
    add_arguments=_add_outlook,
    run=_outlook,
)

DESIGN = Command(
    name="design",
    help="see what to buy next, within a budget",
    description="Rank the new models, and spend a budget on votes and verdicts where "
    "it lowers their errors most: by whom, and against which old models. Without a new "
    "model (--no-new) it plans a pilot study.",
    examples=(
        (
            "votes at 1, verdicts of all judges at 0.02",
            "skanchor design battles.csv --budget 50 --cost human=1 judges=0.02",
        ),
        (
            "to separate the new models from those next in rank",
            "skanchor design battles.csv --budget 50 --cost human=1 judges=0.02 "
            "--targets neighbours",
        ),
        (
            "a list to hand to those who collect the rows",
            "skanchor design battles.csv --budget 50 --cost gpt-4=0.02 -o list.csv",
        ),
    ),
    add_arguments=_add_design,
    run=_design,
)
