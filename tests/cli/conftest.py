"""What the tests of the command line share."""

import contextlib
import io

import pytest
from offers import offers

from skanchor import AnchorPipeline
from skanchor._cli import main
from skanchor.datasets import load_demo

RANKING = ("rank", "compare", "inspect")
OTHER_FLAGS = {"models": "--rename-models"}


@pytest.fixture(scope="session")
def battles(tmp_path_factory):
    """The demo table as a file."""
    path = tmp_path_factory.mktemp("cli") / "battles.csv"
    load_demo().frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def anchor():
    """The demo table as ``rank --set cv=2`` fits it."""
    X, y = load_demo(return_X_y=True)
    return AnchorPipeline(cv=2, random_state=0).fit(X, y)


@pytest.fixture(scope="session")
def whole(battles):
    """Exit code, output and lines on stderr of ranking the demo table in two folds."""
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as err,
    ):
        code = main(["rank", str(battles), "--set", "cv=2"])
    return code, out.getvalue(), err.getvalue().splitlines()


def escaped(pair):
    """Pair OLD=NEW that is one part of a list, whatever commas its name holds."""
    name, _, _ = pair.rpartition("=")
    return pair.replace(",", "\\,") if "=" in name else pair


def with_arguments(words, arguments):
    """Words of a command with the flags that an error offers as arguments."""
    words = list(words)
    for name, value in arguments.items():
        flag = OTHER_FLAGS.get(name, "--" + name.replace("_", "-"))
        if isinstance(value, dict):
            # These replace what was said of the same names.
            while flag in words:
                at = words.index(flag)
                pairs = [pair.rpartition("=") for pair in words[at + 1].split(",")]
                value = {
                    **{
                        old: new
                        for old, _, new in pairs
                        if not (flag == "--columns" and new in value.values())
                    },
                    **value,
                }
                del words[at : at + 2]
            pairs = [escaped(f"{old}={new}") for old, new in value.items()]
            words += [f"{flag}={pair}" for pair in pairs]
        elif value is True:
            words.append(flag)
        elif isinstance(value, str):
            words += [flag, value]
        else:
            words += [flag, ",".join(value)] if name == "ratings" else [flag, *value]
    votes_alone = arguments.get("all_human") or (
        "ratings" in arguments and arguments.get("human") == arguments["ratings"]
    )
    if votes_alone and words[0] in RANKING and not {"--new", "--no-new"} & {*words}:
        words.append("--no-new")
    return words


@pytest.fixture
def run(capsys):
    """Run a command; give its exit code, output and lines on stderr.

    ``run.offered`` has what an error offers: each case in which it helps, and the words
    of the command with it.
    """

    def call(*arguments):
        words = [str(argument) for argument in arguments]
        code = main(words)
        streams = capsys.readouterr()
        lines = streams.err.splitlines()
        errors = [line for line in lines if line.startswith("skanchor: error: ")]
        call.offered = [
            (case, with_arguments(words, more))
            for line in errors
            for case, more in offers(line)
        ]
        return code, streams.out, lines

    return call
