"""``skanchor rank``: a pipeline is made as the flags say, fitted, and its result told.

Other commands make and fit their pipelines by the same functions.
"""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from functools import reduce
from io import BytesIO
from typing import Any

from skanchor._cli.battles import load_rows
from skanchor._cli.output import deliver
from skanchor._cli.parser import BadInputError
from skanchor._cli.streams import is_watched
from skanchor.pipeline import AnchorPipeline
from skanchor.reports.facts import Facts
from skanchor.reports.readout import ranking


def rank(options: argparse.Namespace) -> None:
    pipeline, rows = load(options)
    # The fit keeps its own warnings, of which many alike are printed in short.
    earlier = list(options.warned)
    deliver_ranking(pipeline.fit(**rows), options, earlier)


def deliver_ranking(
    fitted: Any, options: argparse.Namespace, earlier: Sequence[Warning]
) -> None:
    """Print or write a fitted pipeline, or models that a history has placed."""
    facts = Facts(
        fitted,
        options.level,
        earlier=earlier,
        command=shlex.join(["skanchor", *options.typed]),
        scale=options.scale,
        anchor=None if options.anchor is None else dict([options.anchor]),
    )

    def page() -> str:
        from skanchor.reports.page import render_page

        return render_page(facts)

    def picture() -> bytes:
        import matplotlib

        # A backend that opens no window.
        matplotlib.use("agg")
        from skanchor.plotting import LeaderboardDisplay

        display: Any = LeaderboardDisplay.from_result(
            facts.result, facts.level, scale=facts.scale
        )
        content = BytesIO()
        form = options.output[-3:].lower()
        display.figure_.savefig(content, format=form, dpi=200)
        return content.getvalue()

    pictures = dict.fromkeys((".png", ".svg", ".pdf"), picture)
    deliver(ranking(facts), options, {".html": page, **pictures})


def load(options: argparse.Namespace) -> tuple[AnchorPipeline, dict[str, Any]]:
    """Make the pipeline that the flags ask for, and read the battles."""
    pipeline = pipeline_of(
        options,
        new_models=[] if options.no_new else options.new,
        n_jobs=options.n_jobs,
        verbose=int(is_watched()),
    )
    rows = load_rows(options)
    if rows["sample_weight"] is not None and "weights" not in options.set:
        pipeline.weights = options.weights or "frequency"
    mix, column = pipeline.context_mix, pipeline.context
    if isinstance(mix, dict) and column in rows["X"]:
        # JSON has no keys but texts.
        labels = {str(one): one for one in rows["X"][column].dropna().unique().tolist()}
        pipeline.context_mix = {labels.get(name, name): x for name, x in mix.items()}
    return pipeline, rows


def fit_rows(options: argparse.Namespace) -> AnchorPipeline:
    """Read the battles, and fit the pipeline to them."""
    pipeline, rows = load(options)
    return pipeline.fit(**rows)


def pipeline_of(options: argparse.Namespace, **parameters: Any) -> AnchorPipeline:
    """Unfitted pipeline with some parameters and those of ``--set``.

    A value of ``--set`` is JSON, or else text; its parameter's constraints decide.
    """
    pipeline = AnchorPipeline(random_state=0, **parameters)
    for name, text in options.set.items():
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        try:
            _set(pipeline, name, value)
        except ValueError as error:
            raise BadInputError(f"--set {name}={text}: {error}") from None
    return pipeline


def _set(pipeline: AnchorPipeline, name: str, value: Any) -> None:
    """Set a parameter; raise ValueError if its constraints refuse the value."""
    try:
        pipeline.set_params(**{name: value})
        *parts, _ = name.split("__")
        owner = reduce(getattr, parts, pipeline)
    except (ValueError, AttributeError):
        parameters = list(pipeline.get_params(deep=False))
        for part in pipeline._stands_for:
            stage = pipeline._part(part)
            if stage is not None:
                parameters += [f"{part}__{nested}" for nested in stage.get_params()]
        near = get_close_matches(name, parameters, 3, 0.5)
        listed = f"did you mean {' or '.join(near)}?"
        if not near:
            listed = f"known are {', '.join(parameters[:20])}"
        raise BadInputError(
            f"--set {name}: AnchorPipeline has no such parameter; {listed}"
        ) from None
    if hasattr(owner, "_validate_params"):
        owner._validate_params()
