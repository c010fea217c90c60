"""How often intervals hold the truth: one registry of designs, and real tables.

``python benchmarks/coverage NAME ... [--draws 200] [--jobs 2]`` draws tables of the
designs, groups or patterns that are named (``--list`` shows them), fits each, and
prints a line for each design: the share of usable fits (finite limits); of these the
coverage, with its Monte-Carlo error in brackets and a star outside the 99.9 % binomial
bounds around .95; misses below and above the truth, bias, RMSE, median and mean width,
and how often item effects were random. Below it stand further measures of the design,
and the shares of draws with each code of a warning.

``--set NAME=VALUE`` changes parameters of the estimator (JSON where it is valid, else
text; ``a__b`` reaches nested ones), as ``--set item_effects=none``. ``--file`` stores
draws as lines of JSON, and a later call goes on where the file ends. ``--compare
OTHER`` compares the file with one of another version of the package, draw by draw:
``PYTHONPATH=PATH python benchmarks/coverage ...`` fits by the version in PATH.

``python benchmarks/coverage arena`` (or ``mt_bench``, ``llmfao``, or a battles file)
leaves each model with votes out in turn, and says how far methods place it from its
human score. Ties are dropped unless ``--keep-ties`` is set.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import left_out
from draws import compare, run, stored_rows, summary
from registry import GROUPS, names_of

COLUMNS = (
    "draws", "usable", "coverage", "below", "above", "bias", "rmse", "width",
    "mean width", "random",
)  # fmt: skip


def changes_of(pairs: list[str]) -> dict[str, Any]:
    """Parameters by name, from words such as ``cv=5``."""
    changes = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        try:
            changes[name] = json.loads(text)
        except json.JSONDecodeError:
            changes[name] = text
    return changes


def run_designs(names: list[str], options: argparse.Namespace) -> None:
    """Print the table of these designs, and their further measures."""
    seeds = range(options.first, options.first + options.draws)
    changes = changes_of(options.set)
    width = max(map(len, names), default=0)
    print("design".ljust(width), *(column.rjust(14) for column in COLUMNS))
    for name in names:
        rows = run(name, changes, seeds, options.jobs, options.file)
        line, further = summary(rows)
        cells = (line.get(column, "").rjust(14) for column in COLUMNS)
        print(name.ljust(width), *cells, flush=True)
        for what, value in further.items():
            print(f"    {what}: {value}", flush=True)


def main() -> None:
    """Run the designs, or the table, that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="show the designs")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE")
    parser.add_argument("--file", type=Path, help="file that stores draws")
    parser.add_argument("--compare", type=Path, metavar="OTHER")
    tables = parser.add_argument_group("real tables")
    tables.add_argument("--methods", nargs="+", choices=list(left_out.methods()))
    tables.add_argument("--keep-ties", action="store_true")
    tables.add_argument(
        "--features",
        choices=["none", "style", "counts", "embedding", "both"],
        default="counts",
    )
    tables.add_argument("--every", type=int, default=1, help="every Nth model")
    options = parser.parse_args()
    if options.list:
        for group, designs in GROUPS.items():
            print(group)
            for name, design in designs.items():
                print(f"  {group}/{name}: {design.sentence}")
        return
    if len(options.names) == 1:
        (name,) = options.names
        if name in left_out.TABLES or Path(name).is_file():
            left_out.run(name, changes_of(options.set), options)
            return
    try:
        names = names_of(options.names)
    except ValueError as error:
        parser.error(str(error))
    if options.compare is None and not names:
        parser.error("name a design, a group or a table; --list shows all")
    run_designs(names, options)
    if options.compare is not None:
        if options.file is None:
            parser.error("--compare compares the draws of --file")
        compared = compare(stored_rows(options.file), stored_rows(options.compare))
        print(compared.to_string())


if __name__ == "__main__":
    main()
