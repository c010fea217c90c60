"""``skanchor report``: rank the models, and write a report."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from skanchor._cli.check import check_of_task
from skanchor._cli.command import BadInputError, Command, Flags, require_package
from skanchor._cli.contexts import add_contexts, check_contexts
from skanchor._cli.layout import add_layout, check_layout, layout_of
from skanchor._cli.method import (
    add_method,
    check_method,
    fit_method,
    load_task,
)
from skanchor._cli.output import add_file, add_force, check_file, goes_to_file
from skanchor._cli.plans import add_budget, add_costs, check_budget, costs_of
from skanchor._cli.streams import check_stdout, print_result
from skanchor._cli.table import add_table, check_table

if TYPE_CHECKING:
    from skanchor._anchor import AnchorPipeline
    from skanchor.planning import Design

_SUFFIXES = (".html", ".htm", ".md", ".tex")
_HTML = (
    "a report in HTML needs jinja2 (pip install 'skanchor[report]'); .md and .tex need "
    "nothing"
)


def check_report(options: argparse.Namespace, flag: str) -> None:
    """Refuse a report that could not be written after the work.

    ``flag`` is the name of the flag that holds its path.
    """
    path = getattr(options, flag)
    suffix = Path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise BadInputError(
            f"--{flag} {path}: unknown format; a report ends in .html, .md (Markdown) "
            "or .tex (LaTeX)"
        )
    if suffix in (".html", ".htm"):
        require_package("jinja2", _HTML)
    if flag == "report" and options.output is not None:
        if Path(path).absolute() == Path(options.output).absolute():
            raise BadInputError("--report and --output name the same file")
    check_file(options, flag, inputs=options.battles)


def write_report(
    pipeline: AnchorPipeline, options: argparse.Namespace, path: str
) -> None:
    """Write a report in the format of the file's suffix."""
    from skanchor.io import write_atomically

    content = _content(pipeline, options, Path(path).suffix.lower())
    write_atomically(path, content, overwrite=options.force)


def _content(pipeline: AnchorPipeline, options: argparse.Namespace, suffix: str) -> str:
    """Text of the report in the format of a suffix."""
    from skanchor import reports

    render = {".md": reports.to_markdown, ".tex": reports.to_latex}.get(
        suffix, reports.to_html
    )
    document = reports.report_document(
        pipeline,
        options.level,
        summary=reports.summarize(pipeline, options.level, earlier=options.warned),
        command=shlex.join(["skanchor", *options.typed]),
        figures=render is reports.to_html,
        design=_design_for_budget(pipeline, options),
        **layout_of(options),
    )
    return render(document)


def _design_for_budget(
    pipeline: AnchorPipeline, options: argparse.Namespace
) -> Design | None:
    """What the budget buys, where one is given."""
    if getattr(options, "budget", None) is None:
        return None
    prices = costs_of(options, pipeline.judges_)
    return pipeline.design(options.budget, prices, level=options.level)


# -------------------------------------------------------------------------- command
def _add_arguments(flags: Flags) -> None:
    flags.switch(
        "--check",
        "test the intervals, too, as skanchor check does, and report what it "
        "finds; it takes as long as ranking once for each model",
    )
    add_file(
        flags,
        "where the report goes: .html (one page that needs no network), .md or .tex; "
        "without it HTML goes to standard output",
    )


def _report(options: argparse.Namespace) -> None:
    check_table(options)
    check_method(options)
    check_contexts(options)
    check_layout(options)
    if options.check and options.context is not None:
        raise BadInputError(
            "--check cannot test the intervals of a mix of contexts; leave out --check "
            "or --context"
        )
    if options.budget is not None or options.costs:
        check_budget(options)
    if goes_to_file(options):
        check_report(options, "output")
        write_report(_fitted(options), options, options.output)
        return
    check_stdout()
    require_package("jinja2", _HTML)
    print_result(_content(_fitted(options), options, ".html"))


def _fitted(options: argparse.Namespace) -> AnchorPipeline:
    """Fit the pipeline; with ``--check`` its diagnostics hold the check."""
    if not options.check:
        return fit_method(options)
    task = load_task(options)
    pipeline = task.pipeline.fit(**task.rows)
    result = pipeline.result_
    assert result.diagnostics is not None
    found = check_of_task(task, pipeline, options)
    checked = replace(result.diagnostics, check=found)
    pipeline.result_ = replace(result, diagnostics=checked)
    return pipeline


REPORT = Command(
    name="report",
    help="rank, and write a report",
    description="Write a report on the models of a battles table: the answer first, in "
    "plain words, then what to know before you rely on it, the leaderboard, the new "
    "models against every other, the judges, and how to make it again.",
    examples=(
        ("a page for the browser", "battles.csv -o report.html"),
        ("with tests of its intervals", "battles.csv --check -o r.html"),
        (
            "with the rows that a budget is best spent on",
            "battles.csv --budget 500 --costs human=1 judges=0.02 -o report.html",
        ),
        ("for a paper, or a repository", "battles.csv -o report.tex"),
        ("try it on a bundled table", "--demo -o report.html"),
    ),
    arguments=(
        add_table,
        add_method,
        add_contexts,
        add_layout,
        add_costs,
        add_budget,
        _add_arguments,
        add_force,
    ),
    run=_report,
)
