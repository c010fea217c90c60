"""The program around its commands: version, interrupts, pipes."""

import ast
import csv
import io
import os
import re
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from joblib import Parallel, delayed

import skanchor
from skanchor import AnchorPipeline
from skanchor._cli.answers import NEEDING_MORE
from skanchor._cli.parser import described
from skanchor._cli.streams import print_result
from skanchor.baselines import BASELINES

# What the resource tracker of joblib's pool writes, and the line of code it quotes.
TRACKER = re.compile(rb"resource_tracker|^\s+warnings\.warn\(")


def test_version_and_help(run):
    assert run("--version") == (0, f"skanchor {version('skanchor')}\n", [])
    code, out, _ = run("rank", "--help")
    assert code == 0
    assert "--set NAME=VALUE" in out


def test_every_baseline_that_a_table_can_feed_is_a_method():
    flags = described()["commands"]["compare"]["methods"]
    reference = {"AnchorPipeline", "all", *BASELINES} - set(NEEDING_MORE)
    assert set(flags["--methods"]["choices"]) == reference, "see _cli/commands.toml"


def test_every_command_has_a_row_on_the_page():
    page = Path(__file__).parents[2] / "docs" / "command_line.md"
    if not page.exists():
        pytest.skip("needs the pages")
    text = page.read_text("utf-8")
    missing = [
        name for name in described()["commands"] if f"| `skanchor {name} " not in text
    ]
    assert not missing, f"give {missing} a row in docs/command_line.md"


with (Path(__file__).parent / "bad_flags.csv").open(newline="") as file:
    BAD_FLAGS = {row["command"]: row["message"] for row in csv.DictReader(file)}


@pytest.mark.parametrize("command", BAD_FLAGS)
def test_bad_flags_cost_one_line(run, command):
    code, out, (error,) = run(*command.split())
    assert (code, out) == (2, "") and error.startswith("skanchor: error: ")
    assert BAD_FLAGS[command] in error


PYTHON_ONLY = ("simulation", "baselines", "_battles/table.py", "features", "datasets",
               "_cli", "btl.py", "fitting.py")  # fmt: skip


def test_messages_speak_of_settings_as_flags_have_them():
    """No message that a command prints has a parameter as Python writes it."""
    package, strings = Path(skanchor.__file__).parent, {}
    for path in package.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        docs = {node.value for node in nodes if isinstance(node, ast.Expr)}
        texts = [
            node.value for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            and node not in docs
        ]  # fmt: skip
        written = re.compile(r"(?<!--set )(?<![\w-])[a-z_]+=['\[\dTFN{]")
        # A note is below a traceback, and in no line of a command.
        bad = [text for text in texts if written.search(text)
               and "SourceKFold" not in text and " \n" not in text]  # fmt: skip
        name = path.relative_to(package).as_posix()
        if bad and not any(part in name for part in PYTHON_ONLY):
            strings[name] = bad
    assert strings == {}


def test_interrupt(run, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(AnchorPipeline, "fit", interrupt)
    code, out, err = run("rank", "--demo")
    assert (code, out, err) == (130, "", ["skanchor: interrupted"])


def test_a_signal_ends_workers_and_all():
    # SIGTERM is sent to commands that build histories.
    if not hasattr(signal, "SIGHUP"):
        pytest.skip("this system has no such signal")
    # A fit that never ends, in a worker that inherits stdout; whoever has started the
    # tests may have made them deaf to a signal.
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        "from joblib import Parallel, delayed\n"
        "from skanchor import AnchorPipeline\n"
        "from skanchor._cli import main\n"
        "def fit(self, X, y, **params):\n"
        "    jobs = [delayed(print)('started', flush=True)]\n"
        "    jobs += [delayed(time.sleep)(1000)] * 2\n"
        "    Parallel(n_jobs=self.n_jobs)(jobs)\n"
        "AnchorPipeline.fit = fit\n"
        "sys.exit(main(['rank', '--demo', '--n-jobs', '2']))\n"
    )
    program = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert program.stdout.readline() == b"started\n"
    program.send_signal(signal.SIGHUP)
    # Ends when no process holds the pipe any more; the limit is for a hang alone.
    out, err = program.communicate(timeout=600)
    # The tracker of joblib's pool, another process, may say what it has cleaned up.
    lines = [line for line in err.splitlines() if not TRACKER.search(line)]
    assert (out, lines) == (b"", [b"skanchor: interrupted"])
    assert program.returncode == 128 + signal.SIGHUP


class Late:
    """An object whose finaliser meets a signal that asks the program to end."""

    def __del__(self):
        signal.raise_signal(signal.SIGTERM)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_inside_a_finaliser_ends_the_program_unwritten(
    run, monkeypatch, tmp_path
):
    fit = AnchorPipeline.fit

    def fit_late(self, *args, **rows):
        fitted = fit(self, *args, **rows)
        # Python drops what is raised inside.
        Late()
        return fitted

    monkeypatch.setattr(AnchorPipeline, "fit", fit_late)
    for flags in ([], ["-o", tmp_path / "board.csv"]):
        code, out, _ = run("rank", "--demo", "--set", "cv=2", *flags)
        assert (code, out) == (143, "")
    assert not list(tmp_path.iterdir())


def test_killed_worker(run, monkeypatch):
    def fit(self, X, y, **params):
        Parallel(n_jobs=2)([delayed(os.kill)(os.getppid(), 0), delayed(os._exit)(9)])

    monkeypatch.setattr(AnchorPipeline, "fit", fit)
    code, out, err = run("rank", "--demo", "--n-jobs", "2")
    assert (code, out, len(err)) == (2, "", 1)
    assert "a worker was killed, perhaps for want of memory" in err[0]


def test_closed_streams():
    # A command that is short, but loads a table and prints as the others do.
    inspect = f"{sys.executable} -m skanchor inspect --demo"
    closed = "skanchor: error: standard output is closed"
    for command, code, err in [
        (f"{inspect} >&-", 2, closed),
        (f"{inspect} >/dev/full", 2,
         "skanchor: error: standard output: No space left on device"),
        (f"{inspect} 2>&- >/dev/null", 0, ""),
        (f"{sys.executable} -m skanchor inspect - <&-", 2,
         "skanchor: error: standard input is closed"),
    ]:  # fmt: skip
        done = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (code, b""), command
        assert done.stderr.decode().strip() == err, command


def test_console_script_into_a_closed_pipe():
    script = Path(sys.executable).with_name("skanchor")
    if not script.exists():
        pytest.skip("the console script is not installed beside this Python")
    reader, writer = os.pipe()
    os.close(reader)
    command = [script, "inspect", "--demo"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_signs_that_an_encoding_lacks(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    print_result("score ±0.2 ─── modèle\n")
    assert raw.getvalue() == b"score +-0.2 --- mod\\xe8le\n"
