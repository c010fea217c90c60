"""What the tests of the command line share."""

import contextlib
import io

import pytest

from skanchor import AnchorPipeline
from skanchor._cli import main
from skanchor.datasets import load_demo


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


@pytest.fixture
def run(capsys):
    """Run a command; give its exit code, output and lines on stderr."""

    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        streams = capsys.readouterr()
        return code, streams.out, streams.err.splitlines()

    return call
