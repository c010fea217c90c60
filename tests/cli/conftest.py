"""What the tests of the command line share."""

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
    """Run a command; give its exit code, output and lines on stderr."""

    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        streams = capsys.readouterr()
        return code, streams.out, streams.err.splitlines()

    return call
