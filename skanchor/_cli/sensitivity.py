"""``skanchor sensitivity``: what an unrecorded favour, or few rows, would change."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Command, Flags, refuse_given
from skanchor._cli.contexts import add_contexts, check_contexts
from skanchor._cli.fragility import OF_ROWS, add_rows, check_rows, fragility_forms
from skanchor._cli.method import add_method, check_flags, fit_method
from skanchor._cli.output import Forms, add_output, deliver
from skanchor._cli.table import add_table

if TYPE_CHECKING:
    import pandas as pd

    from skanchor._anchor import AnchorPipeline
    from skanchor.reports.document import Table


def _add_arguments(flags: Flags) -> None:
    flags.value(
        "--gamma",
        "SIZE",
        "show intervals and rank sets that allow for favours up to each SIZE, in "
        "judge logits (default: how large a favour undoes each statement)",
        nargs="+",
        type=float,
    )
    flags.choice(
        "--kind",
        ["favour", "family"],
        "favour: of the new model, the same in all rows of a judge; family: of all "
        "models of --family alike",
    )
    flags.names("--favouring", "JUDGE", "judges that may have a favour (default: all)")
    flags.names(
        "--family",
        "MODEL",
        "with --kind family: the models that judges may like together",
    )


def _run_sensitivity(options: argparse.Namespace) -> None:
    if (options.kind == "family") != (options.family is not None):
        raise BadInputError("--kind family and --family go together")
    if options.gamma is not None and not all(0 <= one < 1e9 for one in options.gamma):
        raise BadInputError("--gamma must be finite and not negative")
    if options.rows is None:
        refuse_given(options, OF_ROWS, "goes with --rows")
    else:
        idle = ("--gamma", "--family", "--favouring")
        refuse_given(options, idle, "does not go with --rows")
        check_rows(options)
    check_flags(options)
    check_contexts(options)
    make_forms = _favour_forms if options.rows is None else fragility_forms
    deliver(make_forms(options), options)


def _favour_forms(options: argparse.Namespace) -> Forms:
    """Fit, and say how large favours change what is said of the new models."""
    from skanchor.reports.favours import breakdown_table
    from skanchor.reports.records import SCHEMA_VERSION, benchmarks_json
    from skanchor.reports.tables import table_of

    anchor = fit_method(options)
    chosen: dict[str, Any] = {
        "kind": options.kind,
        "judges": options.favouring,
        "family": options.family,
        "level": options.level,
    }
    broken = anchor.breakdown(**chosen)
    sizes = [] if options.gamma is None else options.gamma
    widened = anchor.sensitivity(sizes, **chosen).table if sizes else None

    def records(table: pd.DataFrame | None) -> list[Any]:
        return [] if table is None else table.reset_index().to_dict("records")

    frame = broken if widened is None else widened
    frame = frame.reset_index().set_index("model")
    models = broken.index.unique("model")
    if widened is not None:
        caption = "Differences and ranks that allow for favours"
        table = table_of(frame, caption, _SENSITIVITY)
    elif len(models) == 1:
        table = breakdown_table(broken.loc[models[0]], models[0], options.level)
    else:
        table = table_of(frame, "Unrecorded favours", _BREAKDOWN)
    return Forms.of(
        table,
        frame,
        {
            "schema_version": SCHEMA_VERSION,
            "level": options.level,
            "kind": options.kind,
            "breakdown": records(broken),
            "sensitivity": records(widened),
            "benchmarks": benchmarks_json(anchor.benchmarks()),
        },
        _NOTE[options.kind],
        lines=_sentences(anchor, options),
        tables=_tables(anchor, broken, widened, options),
    )


_BREAKDOWN: dict[str, tuple[str, int | str]] = {
    "opponent": ("opponent", "text"),
    "difference": ("difference", 2),
    "gamma_interval": ("in doubt from", 2),
    "gamma_sign": ("turned from", 2),
    "weakest_judge": ("weakest judge", "text"),
    "weakest_gamma": ("by it alone", 2),
}
_SENSITIVITY: dict[str, tuple[str, int | str]] = {
    "opponent": ("opponent", "text"),
    "gamma": ("favour", 2),
    "low": ("low", 2),
    "high": ("high", 2),
    "rank_low": ("best rank", 0),
    "rank_high": ("worst rank", 0),
}


def _sentences(anchor: AnchorPipeline, options: argparse.Namespace) -> Iterator[str]:
    """Sentences on favours of single models by any judge, empty lines between them."""
    from skanchor.reports.favours import IN_FULL, change_lines

    if options.kind == "favour" and options.favouring is None:
        lines = change_lines(anchor, options.level, IN_FULL)
        yield from ["\n\n".join(lines)] if lines else []


def _tables(
    anchor: AnchorPipeline,
    broken: pd.DataFrame,
    widened: pd.DataFrame | None,
    options: argparse.Namespace,
) -> Iterator[tuple[Any, Table]]:
    """Tables for a screen, with their titles."""
    from skanchor.reports.favours import IN_FULL, breakdown_table, change_table
    from skanchor.reports.tables import table_of
    from skanchor.results import new_by_score

    known = broken["gamma_sign"].notna().groupby(level="model").any()
    models = [model for model in new_by_score(anchor.result_) if known[model]]
    plain = options.kind == "favour" and options.favouring is None
    if plain and len(models) > IN_FULL and widened is None:
        # The numbers of each opponent are in the files and in the JSON.
        yield "", change_table(anchor, options.level)
        models = []
    for model in models:
        if widened is None:
            yield model, breakdown_table(broken.loc[model], model, options.level)
        else:
            own = widened.loc[model].reset_index().set_index("opponent")
            yield model, table_of(own, str(model), _SENSITIVITY)


_NOTE = {
    "favour": "Favours are in judge logits, on all verdicts of a judge on the new "
    "model, each judge with its worst sign. To first order; now: in doubt without any "
    "favour.",
    "family": "In judge logits, for all models of the family alike.",
}

SENSITIVITY = Command(
    name="sensitivity",
    help="see how large a favour of judges, or how few rows, change the ranking",
    description="Rank the new models, and say how large a favour of the judges that no "
    "column records must be to change what the ranking says about them, and compare "
    "it with favours that are recorded. With --rows it says how few votes or verdicts "
    "would have to be dropped to change it; refits without these rows confirm it.",
    examples=(
        ("what would undo the ranking", "battles.csv"),
        (
            "what still holds for favours up to two sizes, as JSON",
            "battles.csv --gamma 0.1 0.2 --json",
        ),
        (
            "one judge may like a family of models",
            "battles.csv --kind family --family owl owl-mini --favouring gpt-4",
        ),
        ("how few rows change an order", "battles.csv --rows"),
        (
            "which votes to look at, for one opponent",
            "battles.csv --rows human --opponent gpt-4 -o votes.json",
        ),
        (
            "whether one prompt puts a difference in doubt, within five minutes",
            "battles.csv --rows --goal interval --by group --max-seconds 300",
        ),
    ),
    arguments=(
        add_table,
        add_method,
        add_contexts,
        _add_arguments,
        add_rows,
        add_output,
    ),
    run=_run_sensitivity,
)
