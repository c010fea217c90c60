"""``skanchor rank``: a pipeline is made as the flags say, fitted, and its result told.

Other commands make and fit their pipelines by the same functions.
"""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from functools import reduce
from io import BytesIO
from typing import TYPE_CHECKING, Any

from skanchor._cli.battles import Rows, check_files, load_rows
from skanchor._cli.output import PAGE, PICTURES, check_output, deliver
from skanchor._cli.streams import is_watched
from skanchor._cli.values import BadInputError, by_name

if TYPE_CHECKING:
    from skanchor.pipeline import AnchorPipeline


def rank(options: argparse.Namespace) -> None:
    check_flags(options, PAGE, *PICTURES)
    pipeline, rows = load(options)
    # The fit keeps its own warnings, of which many alike are printed in short.
    earlier = list(options.warned)
    deliver_ranking(pipeline.fit(**rows.arguments), options, earlier)


def deliver_ranking(
    fitted: Any, options: argparse.Namespace, earlier: Sequence[Warning]
) -> None:
    """Print or write a fitted pipeline, or models that a history has placed."""
    from skanchor.reports.facts import Facts
    from skanchor.reports.text import ranking

    facts = Facts(
        fitted,
        options.level,
        earlier=earlier,
        command=shlex.join(["skanchor", *options.typed]),
        scale=options.scale,
        anchor=None if options.anchor is None else dict([options.anchor]),
    )

    def special(suffix: str) -> str | bytes:
        if suffix == PAGE:
            from skanchor.reports.page import render_page

            return render_page(facts)

        import matplotlib

        # A backend that opens no window.
        matplotlib.use("agg")
        from skanchor.plotting import LeaderboardDisplay

        display: Any = LeaderboardDisplay.from_result(
            facts.result, facts.level, scale=facts.scale
        )
        content = BytesIO()
        display.figure_.savefig(content, format=suffix[1:], dpi=200)
        return content.getvalue()

    deliver(ranking(facts), options, special)


def check_flags(options: argparse.Namespace, *more_suffixes: str) -> None:
    """Refuse invalid flags of table, fit and output before any work."""
    check_files(options)
    if options.set:
        pipeline_of(options)
    check_output(options, *more_suffixes)


def load(options: argparse.Namespace) -> tuple[AnchorPipeline, Rows]:
    """Read the battles, and make the pipeline that the flags ask for."""
    rows = load_rows(options)
    pipeline = pipeline_of(
        options,
        weights=rows.weights,
        new_models=[] if options.no_new else options.new,
        n_jobs=options.n_jobs,
        verbose=int(is_watched()),
    )
    mix, column = pipeline.context_mix, pipeline.context
    if isinstance(mix, dict) and column in rows.X:
        # JSON has no keys but texts.
        labels = {str(one): one for one in rows.X[column].dropna().unique().tolist()}
        pipeline.context_mix = {labels.get(name, name): x for name, x in mix.items()}
    return pipeline, rows


def fit_rows(options: argparse.Namespace) -> AnchorPipeline:
    """Read the battles, and fit the pipeline to them."""
    pipeline, rows = load(options)
    return pipeline.fit(**rows.arguments)


def pipeline_of(options: argparse.Namespace, **parameters: Any) -> AnchorPipeline:
    """Unfitted pipeline with some parameters and those of ``--set``.

    A value of ``--set`` is JSON, or else text; its parameter's constraints decide.
    """
    from skanchor import AnchorPipeline

    pipeline = AnchorPipeline(random_state=0, **parameters)
    for name, text in by_name("--set", options.set).items():
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
        raise BadInputError(
            f"--set {name}: AnchorPipeline has no such parameter; "
            f"{near_names(name, parameters)}"
        ) from None
    if hasattr(owner, "_validate_params"):
        owner._validate_params()


def near_names(name: str, names: Collection[str]) -> str:
    """Names near to an unknown one, as a question, or else the known ones."""
    near = get_close_matches(name, names, 3, 0.5)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"known are {', '.join(list(names)[:20])}"
