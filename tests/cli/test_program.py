"""The program around its commands: version, interrupts, pipes."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from skanchor import AnchorPipeline


def test_version_and_help(run):
    assert run("--version") == (0, f"skanchor {version('skanchor')}\n", [])
    code, out, _ = run("rank", "--help")
    assert code == 0
    assert "--position-effect" in out


def test_interrupt(run, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(AnchorPipeline, "fit", interrupt)
    code, out, err = run("rank", "--demo")
    assert (code, out, err) == (130, "", ["skanchor: interrupted"])


def test_console_script_into_a_closed_pipe(tmp_path):
    script = Path(sys.executable).with_name("skanchor")
    if not script.exists():
        pytest.skip("the console script is not installed beside this Python")
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [script, "rank", "--demo", "--folds", "2"]
    done = subprocess.run(command, capture_output=True, env=environment, check=True)
    assert b"* ivory-lynx" in done.stdout
    assert b"----" in done.stdout
    assert done.stderr == b""
    reader, writer = os.pipe()
    os.close(reader)
    module = [sys.executable, "-m", "skanchor", "rank", "--demo", "--folds", "2"]
    done = subprocess.run(module, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")
