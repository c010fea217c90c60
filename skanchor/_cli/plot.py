"""``skanchor plot``: rank the models, and draw one display into a file."""

from __future__ import annotations

import argparse
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import BadInputError, Command, Flags, require_package
from skanchor._cli.method import (
    Task,
    add_method,
    check_method,
    load_task,
    refuse_level,
)
from skanchor._cli.output import add_file, add_force, check_file, check_suffix, write
from skanchor._cli.plans import add_budget, add_costs, check_budget, costs_of
from skanchor._cli.table import add_table, check_table

if TYPE_CHECKING:
    from skanchor._anchor import AnchorPipeline

_KINDS = {
    "leaderboard": ("LeaderboardDisplay", "scores with intervals"),
    "ranks": ("RankSetDisplay", "rank sets as strips"),
    "contrasts": ("ContrastDisplay", "a new model against every other"),
    "funnel": (
        "FunnelDisplay",
        "an interval against the unrecorded favour that it allows for",
    ),
    "cost": (
        "CostDisplay",
        "half width of an interval against what further rows cost",
    ),
    "judges": ("JudgeDisplay", "sensitivities and position effects"),
    "bias": ("BiasDisplay", "what judges favour, by feature"),
    "deviations": (
        "ItemDeviationDisplay",
        "by how much each judge overrates each model",
    ),
    "variance": ("VarianceDisplay", "what the uncertainty comes from"),
    "calibration": ("JudgeCalibrationDisplay", "whether judges decide as predicted"),
    "overlap": ("FeatureOverlapDisplay", "features of new and of old models"),
    "check": ("LeftOutDisplay", "models left out: estimate against votes"),
}
"""Display and description of each kind of plot."""
_OF_A_MODEL = ("contrasts", "funnel", "cost")
_WITHOUT_LEVEL = ("variance", "overlap")
_SUFFIXES = (".png", ".svg", ".pdf")


def _add_arguments(flags: Flags) -> None:
    flags.value(
        "kind",
        "KIND",
        "; ".join(f"{kind}: {what}" for kind, (_, what) in _KINDS.items()),
        choices=tuple(_KINDS),
    )
    add_table(flags)
    add_method(flags)
    flags.value(
        "--model",
        "NAME",
        "the new model to show in contrasts, funnel (default: the best of them) "
        "and cost (default: the first of them)",
    )
    add_costs(flags)
    add_budget(flags)
    add_file(flags, f"where to draw: {', '.join(_SUFFIXES)}")


def _plot(options: argparse.Namespace) -> None:
    check_table(options)
    check_method(options)
    if options.output is None:
        raise BadInputError(f"give a file to draw into, as in -o {options.kind}.png")
    check_suffix(options.output, _SUFFIXES, ", ".join(_SUFFIXES))
    if options.model is not None and options.kind not in _OF_A_MODEL:
        raise BadInputError("--model goes with contrasts, funnel and cost")
    if options.kind in _WITHOUT_LEVEL:
        refuse_level(options, options.kind)
    if options.kind == "cost":
        check_budget(options)
    elif options.costs or options.budget is not None:
        raise BadInputError("--budget and --costs go with cost")
    require_package(
        "matplotlib", "plots need matplotlib (pip install 'skanchor[plot]')"
    )
    check_file(options, inputs=options.battles)
    task = load_task(options)

    import matplotlib

    # A backend that opens no window.
    matplotlib.use("agg")
    figure = _draw(task, options).figure_
    content = BytesIO()
    figure.savefig(content, format=Path(options.output).suffix[1:].lower(), dpi=200)
    write(content.getvalue(), options)


def _draw(task: Task, options: argparse.Namespace) -> Any:
    """Fit the pipeline, and draw the display that was asked for."""
    from skanchor import plotting

    display: Any = getattr(plotting, _KINDS[options.kind][0])
    level = options.level
    if options.kind == "check":
        # This display fits the pipeline itself, once for each model left out.
        return display.from_estimator(task.pipeline, **task.rows, level=level)
    anchor: AnchorPipeline = task.pipeline.fit(**task.rows)
    if options.kind in _OF_A_MODEL:
        if options.model is not None and options.model not in anchor.new_models_:
            raise BadInputError(f"--model {options.model}: is none of the new models")
        if options.kind == "cost":
            costs = costs_of(options, anchor.judges_)
            return display.from_estimator(
                anchor, options.budget, costs, options.model, level
            )
        return display.from_estimator(anchor, options.model, level=level)
    if options.kind in _WITHOUT_LEVEL:
        return display.from_estimator(anchor)
    return display.from_estimator(anchor, level=level)


PLOT = Command(
    name="plot",
    help="rank, and draw a plot into a file",
    description="Rank the models of a battles table, and draw one of these: "
    + "; ".join(f"{kind} ({what})" for kind, (_, what) in _KINDS.items())
    + ".",
    examples=(
        ("the leaderboard with intervals", "leaderboard battles.csv -o board.png"),
        (
            "what money buys",
            "cost battles.csv --budget 50 --costs human=1 judges=0.02 -o cost.png",
        ),
        (
            "one new model against all others",
            "contrasts battles.csv --model owl -o owl.svg",
        ),
        ("try it on a bundled table", "judges --demo -o judges.pdf"),
    ),
    arguments=(_add_arguments, add_force),
    run=_plot,
)
