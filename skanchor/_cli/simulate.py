"""``skanchor simulate``: the paper's simulation studies."""

from __future__ import annotations

import argparse
import hashlib
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from skanchor._cli.command import (
    BadInputError,
    Command,
    Flags,
    require_at_least,
    require_known,
)
from skanchor._cli.method import check_jobs
from skanchor._cli.output import add_file, add_force, check_file, check_suffix
from skanchor._cli.resume import FinishedParts, open_parts
from skanchor._cli.streams import check_stdout, is_watched, print_result

if TYPE_CHECKING:
    import pandas as pd

    from skanchor.studies import Experiment, Unit

_ALL = "all"
_JOURNAL = ".journal"
"""Suffix of the file beside the output that stores draws until all are finished."""


def _add_arguments(flags: Flags) -> None:
    flags.value(
        "experiment",
        "EXPERIMENT",
        f"name of an experiment, or {_ALL}; --list shows them",
        nargs="?",
    )
    flags.switch(
        "--list",
        "show the experiments, or the one that is named, and how long they take",
    )
    flags.value(
        "--replications",
        "N",
        "draws of each cell (default: 500 as in the paper, 100 with networks)",
        type=int,
    )
    flags.switch(
        "--short", "two draws of each cell and 20 refits where there are 500: a trial"
    )
    flags.value(
        "--methods",
        "NAME",
        "methods of the experiment (default: all of them)",
        nargs="+",
    )
    flags.value("--jobs", "N", "draws in parallel (-1: all cores)", type=int)
    add_file(
        flags,
        "write all rows to FILE.parquet, one for each draw, cell and method; until all "
        f"are finished, draws are stored in FILE.parquet{_JOURNAL}",
    )
    flags.switch("--resume", "go on from the draws of the output and of its journal")
    add_force(flags)


def _simulate(options: argparse.Namespace) -> None:
    _check_study_flags(options)
    experiments = _chosen(options)
    if options.list:
        print_result("".join(_described(experiments, options.experiment is not None)))
        return
    from skanchor.studies import run_study, study_table

    done = _earlier(options, experiments)
    kept = _open_journal(options, experiments)
    done |= {_unit_of_part(name): part["rows"] for name, part in kept.parts.items()}
    try:
        for unit, rows in run_study(
            experiments,
            options.replications,
            done=done,
            n_jobs=options.jobs,
            verbose=int(is_watched()),
        ):
            done[unit] = rows
            kept.add(f"{unit.experiment}: {unit.cell}", str(unit.seed), {"rows": rows})
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(_left(options, kept))
        raise
    table = study_table([row for rows in done.values() for row in rows], experiments)
    if options.output is not None:
        from skanchor.io import write_atomically

        write_atomically(options.output, table.to_parquet(index=False))
        os.unlink(options.output + _JOURNAL)
    print_result(_summary_text(table, experiments))


# ----------------------------------------------------------------------------- flags
def _check_study_flags(options: argparse.Namespace) -> None:
    """Refuse flags before any work."""
    check_stdout()
    if options.experiment is None and not options.list:
        raise BadInputError(
            "name an experiment, or all",
            ("to see what there is", ["simulate", "--list"]),
        )
    idle = ("replications", "jobs", "output", "resume", "force")
    given = [f"--{name}" for name in idle if getattr(options, name)]
    if options.list and given:
        raise BadInputError(f"--list runs nothing, so that it takes no {given[0]}")
    require_at_least("--replications", options.replications, 1)
    if options.short and options.replications is not None:
        raise BadInputError("--short sets the replications; drop one of the two")
    check_jobs(options)
    if options.output is None:
        if options.resume:
            raise BadInputError("--resume goes on from a file: name it by --output")
        return
    if options.output == "-":
        raise BadInputError("--output -: rows go to a file; name one in .parquet")
    check_suffix(options.output, (".parquet",), ".parquet")
    if options.resume:
        if options.force:
            raise BadInputError("--resume and --force contradict each other")
        return
    check_file(options)
    journal = options.output + _JOURNAL
    if os.path.exists(journal):
        if not options.force:
            raise BadInputError(
                f"{journal} holds the draws of a run that was stopped; go on with "
                "--resume, or begin again with --force"
            )
        os.unlink(journal)


def _chosen(options: argparse.Namespace) -> list[Experiment]:
    """The experiments that are asked for, with the methods that are named."""
    from skanchor.studies import EXPERIMENTS

    name = options.experiment
    if name in (None, _ALL):
        chosen = list(EXPERIMENTS.values())
    else:
        require_known("experiment", name, EXPERIMENTS, _ALL)
        chosen = [EXPERIMENTS[name]]
    if options.short:
        chosen = [each.short() for each in chosen]
    if options.methods:
        chosen = [each.only(tuple(options.methods)) for each in chosen]
    return chosen


# ----------------------------------------------------------------------------- files
def _open_journal(
    options: argparse.Namespace, experiments: Sequence[Experiment]
) -> FinishedParts:
    """Draws of the journal, which is begun where there is none."""
    from skanchor.studies import study_key

    keys = " ".join(study_key(each) for each in experiments)
    key = hashlib.sha256(keys.encode()).hexdigest()
    return open_parts(options.output and options.output + _JOURNAL, key)


def _unit_of_part(name: tuple[str, str]) -> Unit:
    """The draw that a part of the journal belongs to."""
    from skanchor.studies import Unit

    experiment, _, cell = name[0].partition(": ")
    return Unit(experiment, cell, int(name[1]))


def _earlier(
    options: argparse.Namespace, experiments: Sequence[Experiment]
) -> dict[Unit, list[dict[str, Any]]]:
    """Draws of an output that is there already."""
    if not options.resume or not os.path.exists(options.output):
        return {}
    import pandas as pd

    from skanchor.studies import finished_rows

    try:
        return finished_rows(pd.read_parquet(options.output), experiments)
    except ValueError as error:
        raise BadInputError(
            f"{options.output} does not let a run go on: {error}; name another file"
        ) from None


def _left(options: argparse.Namespace, kept: FinishedParts) -> str:
    """Where the finished draws of an interrupted run are."""
    if options.output is None:
        return "no draw was stored; --output names a file for them"
    return (
        f"draws are stored in {kept.path}: {len(kept.parts)}; to go on, give the same "
        "command with --resume"
    )


# ------------------------------------------------------------------------------ texts
def _described(experiments: Sequence[Experiment], in_full: bool) -> Iterator[str]:
    """Lines on the experiments: cells, time and, in full, methods and the reading."""
    import textwrap

    for each in experiments:
        minutes = each.seconds * each.replications / 60.0
        yield (
            f"{each.name}: {each.title}\n"
            f"  cells: {len(each.cells)}, draws of each: {each.replications}, "
            f"methods: {len(each.methods)}; about {minutes:.0f} processor minutes\n"
        )
        for cell in each.cells:
            yield f"    {cell.name} ({cell.seconds:.2g} s a draw)\n"
        if in_full:
            yield f"  methods: {'; '.join(m.name for m in each.methods)}\n"
            yield textwrap.fill(each.reading, 79, initial_indent="  ",
                                subsequent_indent="  ") + "\n"  # fmt: skip


def _summary_text(table: pd.DataFrame, experiments: Sequence[Experiment]) -> str:
    """Measures of every experiment, with Monte-Carlo errors in brackets."""
    from skanchor.studies import summarize_study

    texts = []
    for each in experiments:
        rows = table[table["experiment"] == each.name]
        found = summarize_study(rows, each.measures)
        shown = found[["draws"]].astype(str)
        for name in each.measures:
            values, errors = found[name], found[f"{name}_error"]
            shown[name.replace("_", " ")] = [
                "" if value != value else f"{value:.4g} ({error:.1g})"
                for value, error in zip(values, errors, strict=True)
            ]
        texts.append(f"{each.name}: {each.title}\n{shown.to_string()}\n")
    return "\n".join(texts)


SIMULATE = Command(
    name="simulate",
    help="run the paper's simulation studies",
    description="Draw battles with known scores, have methods place the new models, "
    "and measure errors, intervals and ranks, with Monte-Carlo errors in brackets.",
    examples=(
        ("see the experiments, and how long they take", "--list"),
        ("one of them, on two cores", "shift --jobs 2 -o shift.parquet"),
        ("go on where it was stopped", "shift --jobs 2 -o shift.parquet --resume"),
        ("try all of them, in minutes", "all --short"),
    ),
    arguments=(_add_arguments,),
    run=_simulate,
)
