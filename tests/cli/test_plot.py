"""``skanchor plot`` draws into files."""

import pytest

pytest.importorskip("matplotlib")
FAST = ["--cv", "2"]
STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF-"}


@pytest.mark.parametrize(
    ("kind", "suffix", "flags"),
    [
        ("leaderboard", "png", []),
        ("ranks", "svg", []),
        ("contrasts", "svg", ["--model", "jade-finch"]),
        ("cost", "svg", ["--budget", "20", "--costs", "judges=0.1"]),
        ("judges", "pdf", []),
        ("bias", "svg", []),
        ("variance", "svg", []),
        ("calibration", "svg", []),
        ("overlap", "svg", []),
        ("deviations", "svg", ["--item-effects", "random"]),
        ("check", "svg", []),
    ],
)
def test_each_kind_is_drawn(run, tmp_path, kind, suffix, flags):
    path = tmp_path / f"plot.{suffix}"
    assert run("plot", kind, "--demo", *FAST, *flags, "-o", path) == (0, "", [])
    assert path.read_bytes().startswith(STARTS[suffix])


def test_a_model_that_is_not_new_is_named(run, tmp_path):
    flags = ["--model", "owl", "-o", tmp_path / "x.png"]
    code, out, err = run("plot", "contrasts", "--demo", *FAST, *flags)
    assert (code, out) == (2, "") and "--model owl: is none of the new models" in err[0]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["cost"], "--budget takes the money available"),
        (["cost", "--budget", "5"], "--costs takes the price of a row"),
        (["ranks", "--budget", "5"], "--budget and --costs go with cost"),
        (["ranks", "--model", "owl"], "--model goes with contrasts, funnel and cost"),
    ],
)
def test_flags_of_other_kinds(run, tmp_path, flags, said):
    kind, *rest = flags
    code, out, err = run("plot", kind, "--demo", *rest, "-o", tmp_path / "x.png")
    assert (code, out) == (2, "") and said in err[0]


def test_what_cannot_be_drawn_is_told(run, tmp_path):
    flags = ["--item-effects", "none", "-o", tmp_path / "x.png"]
    code, out, err = run("plot", "deviations", "--demo", *FAST, *flags)
    assert (code, out, len(err)) == (2, "", 1)
    assert "leaves item effects out" in err[0]
    assert err[0].endswith("Fit with item_effects='random'.")
