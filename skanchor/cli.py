"""The command line: ``skanchor rank``."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from skanchor.anchor import AnchorPipeline

__all__ = ["main"]

# What messages written for Python call things, and what they are called here.
_SPELLINGS = (
    ("split_battles(table, columns={given: standard})", "--columns given=standard"),
    ("pass new_models=[]", "give --no-new"),
    ("Name the models to treat as new in new_models", "Name new models with --new"),
    (
        "are not in new_models. Add them to new_models",
        "are not named by --new. Add them",
    ),
    ("new_models names", "--new names"),
    ("; give an array with one group per row instead", ""),
    ("groups names the column", "--groups names the column"),
    ("ame them in new_models", "ame them with --new"),
    ("set position_effect=True", "give --position-effect"),
    ("split_battles(table, human=...)", "--human"),
    # Advice for which the command line has no flag.
    (": y.mask(y == X['model_a'], 'model_a').mask(y == X['model_b'], 'model_b')", ""),
    ("Convert them: y.astype(float)", "Write them as numbers"),
    (", or set BTLRegressor(alpha=0.01)", ""),
    (", drop one, or set disconnected='warn'", " or drop one"),
    (" or set alpha > 0", ""),
    (
        ", use fewer folds, or set a ridge penalty such as LinearBias(alpha=0.01)",
        " or use fewer folds",
    ),
    (
        "Set a ridge penalty, such as LinearBias(alpha=0.01), or drop the judge",
        "Drop the judge or the feature",
    ),
    (" Set a ridge penalty, such as LinearBias(alpha=0.01).", ""),
    ("n_splits", "--folds"),
)
# What is written under a suffix.
_OUTPUTS = {
    "": "text",
    ".txt": "text",
    ".json": "json",
    ".csv": "separated",
    ".tsv": "separated",
    ".parquet": "parquet",
}
_BROKEN_PIPE = 141  # as a shell reports a program that SIGPIPE ended


class _BadInputError(Exception):
    """Bad input whose message is ready for the reader."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Report in one line, where argparse would print the usage too."""
        raise _BadInputError(f"{message} (see {self.prog} --help)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code: 0, or 2 on bad input."""
    try:
        return _run(argv)
    except SystemExit as stop:  # --help and --version
        return int(stop.code or 0)
    except KeyboardInterrupt:
        print("skanchor: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _drop_stdout()
        return _BROKEN_PIPE


def _run(argv: Sequence[str] | None) -> int:
    try:
        options = _parser().parse_args(argv)
        with warnings.catch_warnings():
            _show_own_warnings()
            _rank(options)
    except BrokenPipeError:
        raise
    except _BadInputError as error:
        return _fail(str(error))
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        return _fail(f"{where}{error.strerror or error}")
    except KeyError as error:
        return _fail(f"{error.args[0]!r} is missing" if error.args else "missing key")
    except (ValueError, TypeError, MemoryError) as error:
        return _fail(_translated(str(error) or type(error).__name__))
    except Exception as error:
        # Of pyarrow's errors not all are ValueErrors; its import is too slow for above.
        if type(error).__module__.partition(".")[0] != "pyarrow":
            raise
        return _fail(str(error))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="skanchor",
        description="Rank new language models on the human scale from LLM judges.",
    )
    parser.add_argument("--version", action=_Version)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    rank = commands.add_parser(
        "rank",
        help="rank the new models of a battles table",
        description="Rank the models of a battles table: those with human votes, and "
        "the new ones, which only judges have compared.",
        epilog="Exit code: 0 on success, 2 with a one-line cause on bad input.",
    )
    rank.add_argument(
        "battles",
        nargs="?",
        metavar="BATTLES",
        help="table of battles: .csv, .tsv, .jsonl (each also .gz) or .parquet",
    )
    rank.add_argument(
        "--demo", action="store_true", help="use the bundled (simulated) table instead"
    )
    new = rank.add_mutually_exclusive_group()
    new.add_argument(
        "--new",
        nargs="+",
        action="extend",
        metavar="MODEL",
        help="new models (default: those without human rows)",
    )
    new.add_argument(
        "--no-new",
        action="store_true",
        help="take no model as new: rank the models by their human rows",
    )
    rank.add_argument(
        "--human",
        nargs="+",
        action="extend",
        metavar="LABEL",
        help="what marks the human rows in column judge (default: human)",
    )
    rank.add_argument(
        "--level",
        type=float,
        default=0.95,
        help="level of intervals and rank sets (default: %(default)s)",
    )
    rank.add_argument(
        "--folds", type=int, default=10, help="folds (default: %(default)s)"
    )
    rank.add_argument(
        "--groups",
        metavar="COLUMN",
        help="column whose equal values mark dependent rows, such as prompt_id",
    )
    rank.add_argument(
        "--seed", type=int, default=0, help="seed of the folds (default: %(default)s)"
    )
    rank.add_argument(
        "--columns",
        action="append",
        default=[],
        metavar="OLD=NEW,...",
        help="rename columns of the table, as in left=model_a,right=model_b",
    )
    rank.add_argument(
        "--position-effect",
        action="store_true",
        help="let each judge favour the side shown first",
    )
    rank.add_argument(
        "--item-effects",
        choices=["auto", "none", "random", "conservative"],
        default="auto",
        help="whether judges deviate from models beyond score and features: auto lets "
        "a test decide, random takes such deviations into account, conservative even "
        "more of them, none leaves them out (default: %(default)s)",
    )
    rank.add_argument(
        "--jobs", type=int, metavar="N", help="folds fitted in parallel (-1: all cores)"
    )
    rank.add_argument(
        "--json", action="store_true", help="print JSON with all that is known"
    )
    rank.add_argument(
        "--output",
        metavar="FILE",
        help="write to FILE, not to the screen: JSON where FILE ends in .json, the "
        "leaderboard as a table in .csv, .tsv or .parquet, text in .txt or no suffix",
    )
    return parser


class _Version(argparse.Action):
    """Print the version; asks for it only when wanted."""

    def __init__(self, option_strings: Sequence[str], dest: str):
        super().__init__(option_strings, dest, nargs=0, help="print the version")

    def __call__(self, parser: argparse.ArgumentParser, *args: Any) -> NoReturn:
        from importlib.metadata import version

        print(f"skanchor {version('skanchor')}")
        parser.exit()


# ---------------------------------------------------------------------------- rank
def _rank(options: argparse.Namespace) -> None:
    _check(options)
    renames = _renames(options.columns)
    table = _load(options, renames)

    from skanchor import AnchorPipeline, JudgeCalibrator, split_battles
    from skanchor.comparisons import HUMAN

    X, y = split_battles(table, columns=renames, human=options.human or HUMAN)
    pipeline = AnchorPipeline(
        calibrator=JudgeCalibrator(position_effect=options.position_effect),
        cv=options.folds,
        new_models=[] if options.no_new else options.new,
        item_effects=options.item_effects,
        n_jobs=options.jobs,
        random_state=options.seed,
        verbose=int(sys.stderr.isatty()),
    )
    groups = renames.get(options.groups, options.groups)
    pipeline.fit(X, y, groups=groups)
    _deliver(pipeline, options)


def _check(options: argparse.Namespace) -> None:
    """Refuse what can be refused before any work."""
    if options.demo and options.battles is not None:
        raise _BadInputError("give either BATTLES or --demo, not both")
    if not options.demo and options.battles is None:
        raise _BadInputError(
            "give a file of BATTLES, or --demo"
            + "".join(
                f" (BATTLES goes before --{flag})"
                for flag in ("new", "human")
                if getattr(options, flag)
            )
        )
    if not 0.0 < options.level < 1.0:
        raise _BadInputError(
            f"--level must lie strictly between 0 and 1, got {options.level:g}"
        )
    if options.folds < 2:
        raise _BadInputError(f"--folds must be at least 2, got {options.folds}")
    if not 0 <= options.seed < 2**32:
        raise _BadInputError(f"--seed must be in 0 ... 2**32 - 1, got {options.seed}")
    if options.jobs == 0:
        raise _BadInputError("--jobs must not be 0; use -1 for all cores")
    if options.output is not None:
        if _suffix(options) not in _OUTPUTS:
            raise _BadInputError(
                f"--output {options.output}: unknown format; known are .json, .csv, "
                ".tsv, .parquet and .txt (text, as without a suffix)"
            )
        if options.json and _suffix(options) not in (".json", ""):
            raise _BadInputError(
                f"--json does not go with --output {options.output}; drop one, or "
                "choose a name that ends in .json"
            )
        folder = Path(options.output).parent
        if os.path.isdir(options.output):
            raise _BadInputError(f"{options.output}: is a directory")
        if not folder.is_dir():
            raise _BadInputError(f"{options.output}: there is no directory {folder}")


def _renames(given: list[str]) -> dict[str, str]:
    renames: dict[str, str] = {}
    for pair in ",".join(given).split(",") if given else []:
        old, equals, new = (part.strip() for part in pair.partition("="))
        if not (old and equals and new):
            raise _BadInputError(f"--columns takes OLD=NEW,..., got {pair!r}")
        if old in renames or new in renames.values():
            raise _BadInputError(
                f"--columns has {old if old in renames else new} twice"
            )
        renames[old] = new
    return renames


def _load(options: argparse.Namespace, renames: dict[str, str]) -> Any:
    if options.demo:
        from skanchor.datasets import load_demo

        demo: Any = load_demo()
        return demo.frame
    from skanchor.io import read_battles

    labels = ("model_a", "model_b", "judge", "prompt_id")
    ids = [old for old, new in renames.items() if new in labels]
    if options.groups is not None:
        ids += [options.groups]
        ids += [old for old, new in renames.items() if new == options.groups]
    return read_battles(options.battles, ids=ids)


def _deliver(pipeline: AnchorPipeline, options: argparse.Namespace) -> None:
    """Print the result, or write it where --output says."""
    from skanchor.io import write_atomically
    from skanchor.report import leaderboard_text, render, result_json

    board = pipeline.leaderboard(options.level)
    content: str | bytes
    kind = "json" if options.json else _OUTPUTS[_suffix(options)]
    if kind == "json":
        import json

        result = result_json(pipeline, options.level)
        content = json.dumps(result, indent=2, allow_nan=False) + "\n"
    elif kind == "separated":
        separator = "\t" if _suffix(options) == ".tsv" else ","
        content = board.rename_axis("model").to_csv(sep=separator, lineterminator="\n")
    elif kind == "parquet":
        content = board.rename_axis("model").reset_index().to_parquet(index=False)
    elif options.output is None and sys.stdout.isatty():
        from rich.console import Console

        content = render(
            leaderboard_text(board, options.level),
            width=Console().width,
            terminal=True,
        )
    else:
        content = render(leaderboard_text(board, options.level))
    if options.output is not None:
        write_atomically(options.output, content)
    else:
        assert isinstance(content, str)
        _print(content)


def _suffix(options: argparse.Namespace) -> str:
    return Path(options.output).suffix.lower() if options.output is not None else ""


# ------------------------------------------------------------------------- streams
def _print(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    # A terminal that lacks a letter must not break on a model's name.
    if "\u2500".encode(encoding, "ignore") == b"":
        text = text.replace("\u2500", "-")
    text = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            _drop_stdout()
            raise OSError(error.errno, error.strerror, "standard output") from error
        raise


def _drop_stdout() -> None:
    """Keep the interpreter from flushing once more into a stream that is gone."""
    try:
        stdout = sys.stdout.fileno()
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout)
    except (OSError, ValueError):
        pass


def _show_own_warnings() -> None:
    """Print warnings about data and fit in one line each, leave out all others."""
    from skanchor.exceptions import ConvergenceWarning, SkanchorWarning

    def show(message: Warning | str, *args: Any, **kwargs: Any) -> None:
        text = _line(_translated(str(message)))
        print(f"skanchor: warning: {text}", file=sys.stderr)

    warnings.simplefilter("ignore")
    for category in (SkanchorWarning, ConvergenceWarning):
        warnings.simplefilter("always", category)
    warnings.showwarning = show


def _fail(message: str) -> int:
    print(f"skanchor: error: {_line(message)}", file=sys.stderr)
    return 2


def _translated(message: str) -> str:
    for python, here in _SPELLINGS:
        message = message.replace(python, here)
    return message


def _line(message: str) -> str:
    return " ".join(message.split())
