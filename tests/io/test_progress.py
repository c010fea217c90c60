"""The bar while a large file is read."""

import io
import sys

import pytest
from pandas.testing import assert_frame_equal

from skanchor._cli import main
from skanchor.datasets import load_demo
from skanchor.io import _progress, read_battles


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    for name in ("NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()

    def watch():
        # Not sooner: between set-up and test pytest puts streams of its own.
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return watch


def write(path):
    table = load_demo().frame
    if path.suffix in (".parquet", ".feather"):
        getattr(table, f"to_{path.suffix[1:]}")(path)
    elif ".jsonl" in path.name:
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    "suffix",
    ["csv", "csv.gz", "csv.zip", "jsonl", "jsonl.bz2", "parquet", "feather"],
)
def test_bar_of_a_large_file(suffix, tmp_path, terminal, monkeypatch):
    path = write(tmp_path / f"b.{suffix}")
    stream = terminal()
    plain = read_battles(path, verbose=1)
    assert stream.getvalue() == ""
    monkeypatch.setattr(_progress, "LARGE", 1000)
    assert_frame_equal(read_battles(path, verbose=1), plain)
    assert "Reading" in stream.getvalue()


def test_bar_of_the_command_line(tmp_path, terminal, monkeypatch, capsys):
    path = write(tmp_path / "b.csv")
    monkeypatch.setattr(_progress, "LARGE", 1000)
    stream = terminal()
    assert main(["rank", str(path), "--set", "cv=2", "--set", "item_effects=none"]) == 0
    assert "Reading" in stream.getvalue()
    # Nobody watches.
    monkeypatch.setattr(sys, "stderr", silent := io.StringIO())
    assert main(["rank", str(path), "--set", "cv=2", "--set", "item_effects=none"]) == 0
    assert silent.getvalue() == ""
