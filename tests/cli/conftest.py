"""What the tests of the command line share."""

import shlex

import pytest

from skanchor._cli import main
from skanchor.datasets import load_demo


@pytest.fixture(scope="session")
def battles(tmp_path_factory):
    """The demo table as a file."""
    path = tmp_path_factory.mktemp("cli") / "battles.csv"
    load_demo().frame.to_csv(path, index=False)
    return path


@pytest.fixture
def run(capsys):
    """Run a command; give its exit code, output and lines on stderr.

    Commands that are printed below an error are not among the lines: ``run.offered``
    has them, each with the case in which it helps and its words.
    """

    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        streams = capsys.readouterr()
        lines, case, call.offered = [], "", []
        for line in streams.err.splitlines():
            if line.startswith("  skanchor "):
                call.offered.append((case, shlex.split(line)[1:]))
                case = ""
            elif line.startswith("skanchor: ") or not line.endswith(":"):
                lines.append(line)
            else:
                case = line
        return code, streams.out, lines

    return call
