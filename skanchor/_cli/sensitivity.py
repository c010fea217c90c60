"""``skanchor sensitivity``: what an unrecorded favour of the judges would change."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Command
from skanchor._cli.contexts import add_contexts, check_mix_flag
from skanchor._cli.history import (
    add_fingerprints,
    placed_by_history,
    refuse_method,
)
from skanchor._cli.method import add_method, check_flags, fit_method
from skanchor._cli.output import Forms, add_output, deliver
from skanchor._cli.table import add_table

if TYPE_CHECKING:
    import pandas as pd

    from skanchor._anchor import AnchorPipeline
    from skanchor.results import AnchorResult

__all__ = ["SENSITIVITY"]

_SHAPES = ("favour", "drift", "family", "rowwise")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_table(parser)
    add_method(parser)
    add_contexts(parser)
    parser.add_argument(
        "--history",
        metavar="HISTORY",
        help="place the new models by a history that skanchor history build has "
        "written; FILE then holds their rows",
    )
    add_fingerprints(parser)
    parser.add_argument(
        "--gamma",
        nargs="+",
        type=float,
        metavar="SIZE",
        help="show intervals and rank sets that allow for favours up to each SIZE, in "
        "judge logits (default: how large a favour undoes each statement)",
    )
    parser.add_argument(
        "--shape",
        choices=_SHAPES,
        default="favour",
        help="favour: of the new model, the same in all rows of a judge; drift: of "
        "the judge's sensitivity since the historical rows, by a factor 1 + SIZE; "
        "family: of all models of --liked alike; rowwise: another one in each row "
        "(default: favour)",
    )
    parser.add_argument(
        "--favouring",
        nargs="+",
        action="extend",
        metavar="JUDGE",
        help="judges that may have a favour (default: all)",
    )
    parser.add_argument(
        "--liked",
        nargs="+",
        action="extend",
        metavar="MODEL",
        help="with --shape family: the models that judges may like together",
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="add breakdowns by refits, in which the favours are known, and the effect "
        "of leaving out a feature; takes the time of eight fits or more for each new "
        "model, and of one for each feature",
    )
    add_output(parser)


def _run_sensitivity(options: argparse.Namespace) -> None:
    if (options.shape == "family") != (options.liked is not None):
        raise BadInputError("--shape family and --liked go together")
    if options.gamma is not None and not all(0 <= one < 1e9 for one in options.gamma):
        raise BadInputError("--gamma must be finite and not negative")
    if options.exact and (options.shape == "rowwise" or options.gamma is not None):
        raise BadInputError(
            "--exact goes neither with --shape rowwise nor with --gamma"
        )
    deliver(_favour_forms(_fitted_or_placed(options), options), options)


def _fitted_or_placed(options: argparse.Namespace) -> AnchorPipeline | AnchorResult:
    """A fitted pipeline, or what a history says of the new models."""
    if options.history is None:
        if options.fingerprints is not None:
            raise BadInputError("--fingerprints goes with --history")
        check_flags(options)
        check_mix_flag(options)
        return fit_method(options)
    if options.exact or options.shape == "rowwise":
        raise BadInputError(
            "--exact and --shape rowwise need all rows, which --history does not hold"
        )
    if options.context is not None or options.mix:
        raise BadInputError("--context does not go with --history")
    refuse_method(options)
    return placed_by_history(options).result_


def _favour_forms(
    anchor: AnchorPipeline | AnchorResult, options: argparse.Namespace
) -> Forms:
    """Forms of breakdowns, and of what holds for favours of given sizes."""
    from skanchor.reports import (
        SCHEMA_VERSION,
        as_json_value,
        benchmarks_json,
        breakdown_table,
        table_of,
    )

    chosen: dict[str, Any] = {
        "shape": options.shape,
        "judges": options.favouring,
        "family": options.liked,
        "level": options.level,
    }
    more: dict[str, Any] = {"exact": True} if options.exact else {}
    broken = anchor.breakdown(**chosen, **more)
    omitted = _omitted(anchor) if options.exact else None
    sizes = [] if options.gamma is None else options.gamma
    widened = anchor.sensitivity(sizes, **chosen) if sizes else None

    def frame() -> pd.DataFrame:
        table = broken if widened is None else widened
        return table.reset_index().set_index("model")

    def record() -> dict[str, Any]:
        found: dict[str, Any] = as_json_value(
            {
                "schema_version": SCHEMA_VERSION,
                "level": options.level,
                "shape": options.shape,
                "breakdown": broken.reset_index().to_dict("records"),
                "sensitivity": []
                if widened is None
                else widened.reset_index().to_dict("records"),
                "benchmarks": benchmarks_json(anchor.benchmarks()),
                "omitted_features": []
                if omitted is None
                else omitted.reset_index().to_dict("records"),
            }
        )
        return found

    def table() -> Any:
        if widened is None:
            models = broken.index.unique("model")
            if len(models) == 1:
                return breakdown_table(broken.loc[models[0]], models[0], options.level)
            return table_of(frame(), "Unrecorded favours", _BREAKDOWN)
        return table_of(
            frame(), "Differences and ranks that allow for favours", _SENSITIVITY
        )

    return Forms(
        lambda: _favour_text(anchor, broken, widened, omitted, options),
        record,
        frame,
        table,
    )


def _omitted(anchor: Any) -> pd.DataFrame | None:
    """What leaving out features would do; None where there are none."""
    return anchor.omitted_features() if len(anchor.features_) else None


_BREAKDOWN: dict[str, tuple[str, int | str]] = {
    "opponent": ("opponent", "text"),
    "difference": ("difference", 2),
    "gamma_interval": ("in doubt from", 2),
    "gamma_sign": ("turned from", 2),
    "weakest_judge": ("weakest judge", "text"),
    "weakest_gamma": ("by it alone", 2),
    "exact_interval": ("doubt by refits", 2),
    "exact_sign": ("turned by refits", 2),
}
_OMITTED_CAPTION = "Favours that move a score as far as leaving out a feature does"
_OMITTED: dict[str, tuple[str, int | str]] = {
    "feature": ("left out", "text"),
    "score": ("score", 2),
    "shift": ("shift", 2),
    "gamma": ("favour", 2),
}
_SENSITIVITY: dict[str, tuple[str, int | str]] = {
    "opponent": ("opponent", "text"),
    "gamma": ("favour", 2),
    "low": ("low", 2),
    "high": ("high", 2),
    "rank_low": ("best rank", 0),
    "rank_high": ("worst rank", 0),
}


def _favour_text(
    anchor: AnchorPipeline | AnchorResult,
    broken: pd.DataFrame,
    widened: pd.DataFrame | None,
    omitted: pd.DataFrame | None,
    options: argparse.Namespace,
) -> Any:
    """Sentences, then tables, for a screen."""
    from rich.console import Group
    from rich.text import Text

    from skanchor.reports import (
        IN_FULL,
        breakdown_table,
        change_lines,
        change_table,
        table_of,
        table_text,
    )
    from skanchor.results import new_by_score

    parts: list[Any] = []
    known = broken["gamma_sign"].notna().groupby(level="model").any()
    result = getattr(anchor, "result_", anchor)
    models = [model for model in new_by_score(result) if known[model]]
    plain = options.shape == "favour" and options.favouring is None
    if plain:
        for line in change_lines(anchor, options.level, IN_FULL):
            parts += [Text(line), Text("")]
    if plain and len(models) > IN_FULL and widened is None:
        # The numbers of each opponent are in the files and in the JSON.
        parts += [table_text(change_table(anchor, options.level)), Text("")]
        models = []
    for model in models:
        if widened is None:
            parts.append(Text(f"{model}", style="bold"))
            parts.append(
                table_text(breakdown_table(broken.loc[model], model, options.level))
            )
        else:
            own = widened.loc[model].reset_index().set_index("opponent")
            shown = table_of(own, str(model), _SENSITIVITY)
            parts += [Text(f"{model}", style="bold"), table_text(shown)]
        parts.append(Text(""))
    if omitted is not None and options.shape != "drift":
        own = omitted.reset_index().set_index("model")
        shown = table_of(own, _OMITTED_CAPTION, _OMITTED)
        parts += [Text(_OMITTED_CAPTION, style="bold"), table_text(shown), Text("")]
    parts.append(Text(_NOTE[options.shape], style="dim"))
    return Group(*parts)


_LOGITS = (
    "Favours are in judge logits, on all verdicts of a judge on the new model, each "
    "judge with its worst sign. To first order; now: in doubt without any favour."
)
_NOTE = {
    "favour": _LOGITS,
    "rowwise": "In judge logits, in each verdict on the new model by itself.",
    "family": "In judge logits, for all models of the family alike.",
    "drift": "Changes of a judge's sensitivity on the rows of new models: 0.25 is a "
    "factor between 1 / 1.25 and 1.25.",
}

SENSITIVITY = Command(
    name="sensitivity",
    help="see how large an unrecorded favour of judges must be to change the ranking",
    description="Rank the new models, and say how large a favour of the judges that no "
    "column records must be to change what the ranking says about them, and compare "
    "it with favours that are recorded.",
    examples=(
        ("what would undo the ranking", "skanchor sensitivity battles.csv"),
        (
            "what still holds for favours up to two sizes, as JSON",
            "skanchor sensitivity battles.csv --gamma 0.1 0.2 --json",
        ),
        (
            "new models placed by a history",
            "skanchor sensitivity new.csv --history arena.history",
        ),
        (
            "judges may react more or less sharply than on the old models",
            "skanchor sensitivity battles.csv --shape drift",
        ),
        (
            "one judge may like a family of models",
            "skanchor sensitivity battles.csv --shape family --liked owl owl-mini "
            "--favouring gpt-4",
        ),
    ),
    add_arguments=_add_arguments,
    run=_run_sensitivity,
)
