"""Pages in ``docs`` and the README: what they show is what happens.

Blocks run in their order, in an empty folder: Python blocks in one namespace, the
commands of console blocks as a terminal of 88 columns would show them. A text block
directly below a Python block is its output; lines below a command are those it prints.
``...`` stands for whatever is left out. What takes long stands below ``<!-- slow -->``.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
from importlib import import_module
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from skanchor._cli import main
from skanchor.datasets import load_demo
from skanchor.exceptions import DiagnosticWarning

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BLOCK = re.compile(
    r"^(<!-- slow -->\n)?```(python|console)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?",
    re.S | re.M,
)
# Pages with code, all of which runs. The page of formats names files of the reader.
PAGES = [
    "../README.md",
    *(
        page.relative_to(DOCS).as_posix()
        for page in sorted(DOCS.rglob("*.md"))
        if not {"generated", "auto_examples", "_build"} & {*page.parts}
        if page.name != "formats.md" and BLOCK.search(page.read_text("utf-8"))
    ),
]
# Pages that fetch real battles.
NEEDS_DATA = ["start.md"]
SAME = doctest.OutputChecker()
HOW = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def printed(work):
    """What a call prints, on either stream."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        work()
    return out.getvalue()


def check_output(shown, got, of):
    assert SAME.check_output(shown, got, HOW), f"{of}\nshown:\n{shown}\ngot:\n{got}"


def run_console(block):
    """Run the commands of a block, and compare what they print."""
    before, *parts = re.split(r"^\$ ", block, flags=re.M)
    assert not before and parts
    for part in parts:
        line, _, shown = part.partition("\n")
        program, *arguments = shlex.split(line)
        assert program == "skanchor", line
        got = printed(lambda words=arguments: main(words))
        if shown.strip():
            check_output(shown, got, line)


def run_page(page, with_slow=False):
    """Run the blocks of a page in this folder."""
    if page in NEEDS_DATA and not os.environ.get("SKANCHOR_DATA_MIRROR"):
        pytest.skip("SKANCHOR_DATA_MIRROR does not point at the published files")
    blocks = BLOCK.findall((DOCS / page).read_text("utf-8"))
    assert blocks
    reference = {}
    for slow, kind, code, shown in blocks:
        if slow and not with_slow:
            continue
        if kind == "console":
            run_console(code)
            continue
        got = printed(lambda code=code: exec(compile(code, page, "exec"), reference))
        if shown and "print(" in code and not shown.startswith("skanchor "):
            check_output(shown, got, code)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, and a terminal of 88 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "88")


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_a_page_run(page, here):
    run_page(page)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [p for p in PAGES if "<!-- slow -->" in (DOCS / p).read_text("utf-8")]
)
def test_slow_examples_of_a_page_run(page, here):
    run_page(page, with_slow=True)


# ------------------------------------------------------------- pictures of the guide
@pytest.fixture
def draw(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "pictures")
    module = import_module("draw")
    yield module
    plt.close("all")


def test_pictures_of_the_guide_show_what_the_text_says(draw):
    figure, hits = draw.coverage(n_draws=2)
    assert [ax.get_title() for ax in figure.axes] == [
        f"{name}:\n{count} of 2 hold" for name, count in hits.items()
    ]
    # new_models.md: two orders of the same table.
    with pytest.warns(DiagnosticWarning, match="One row carries"):
        _, anchor = draw.overlap()
    leaderboard = anchor.leaderboard()
    assert leaderboard.loc["model-02", "high"] > leaderboard.loc["model-06", "low"]
    assert (
        leaderboard.loc["model-06", "rank_high"]
        < leaderboard.loc["model-02", "rank_low"]
    )
    assert leaderboard.loc["model-01", "high"] < leaderboard.loc["model-10", "low"]
    assert (
        leaderboard.loc["model-01", "rank_low"]
        <= leaderboard.loc["model-10", "rank_high"]
    )
    assert len(draw.judges().axes[0].lines) == 5


@pytest.mark.slow
def test_intervals_of_the_guide_hold_as_often_as_it_says(draw):
    _, hits = draw.coverage()
    assert list(hits.values()) == [24, 38]


# ------------------------------------------------- "if your file has ..., write ..."
def votes_and_verdicts():
    """The demo table, and which of its rows are votes."""
    table = load_demo().frame
    return table, table["judge"] == "human"


def one_file(change):
    """The demo table, changed, as ``battles.csv``."""

    def write():
        table, votes = votes_and_verdicts()
        change(table, votes).to_csv("battles.csv", index=False)

    return write


def file_of_each_judge():
    table, votes = votes_and_verdicts()
    for name, rows in (("human", votes), ("gpt-4", table["judge"] == "judge-alpha")):
        table[rows].drop(columns="judge").to_csv(f"{name}.csv", index=False)


def file_of_wins():
    table, _ = votes_and_verdicts()
    table["wins_a"] = (table["winner"] == "model_a").astype(int)
    table["wins_b"] = (table["winner"] == "model_b").astype(int)
    cells = table.groupby(["model_a", "model_b", "judge"])[["wins_a", "wins_b"]]
    cells.sum().reset_index().to_csv("wins.csv", index=False)


def ratings(judge, prompts):
    """Ratings of the models of the demo by one judge, in the order of their names."""
    table, votes = votes_and_verdicts()
    models = sorted({*table["model_a"], *table["model_b"]})
    if judge == "human":
        models = sorted({*table.loc[votes, "model_a"], *table.loc[votes, "model_b"]})
    noise = np.random.default_rng(len(judge)).normal(size=(prompts, len(models)))
    scores = np.round(np.arange(len(models)) / 4 + noise, 1)
    rows = pd.DataFrame(scores, columns=models).melt(
        var_name="model", value_name="score", ignore_index=False
    )
    rows = rows.rename_axis("prompt_id").reset_index()
    return rows.astype({"prompt_id": str}).assign(judge=judge)


def file_of_ratings():
    both = pd.concat([ratings("human", 60), ratings("gpt-4", 60)])
    both.to_csv("ratings.csv", index=False)


def file_of_scores():
    ratings("gpt-4", 60).to_json("scores.jsonl", orient="records", lines=True)
    table, votes = votes_and_verdicts()
    table = table[votes].drop(columns=[*table.filter(regex="_[ab]$").columns[2:]])
    table.to_csv("human.csv", index=False)


SIDES = {"model_a": "x", "model_b": "y", "tie": "hm"}
FILES = {
    "the columns above": one_file(lambda table, votes: table),
    "columns with other names": one_file(
        lambda table, votes: table.rename(columns={"model_a": "red", "model_b": "blue"})
    ),
    "outcomes with other names, or of 0 and 1": one_file(
        lambda table, votes: table.assign(winner=table["winner"].map(SIDES))
    ),
    "people under other labels than `human`": one_file(
        lambda table, votes: table.assign(judge=table["judge"].where(~votes, "x_1"))
    ),
    "no column that says who decided": one_file(
        lambda table, votes: table[votes].drop(columns="judge")
    ),
    "much that is unclear": one_file(
        lambda table, votes: table.replace({"winner": {"tie": "hm"}})
    ),
    "votes on every model, and you want to test skanchor": one_file(
        lambda table, votes: table.replace({"cedar-fox": "owl"})
    ),
    "votes on every model, and nothing is new": one_file(
        lambda table, votes: table[
            ~table.isin(["ivory-lynx", "jade-finch"]).any(axis=1)
        ]
    ),
    "texts of the responses": one_file(
        lambda table, votes: table.assign(
            response_a=["word " * int(9 + n) for n in table["length_a"]],
            response_b=["word " * int(9 + n) for n in table["length_b"]],
        )
    ),
    "one file of votes and one for each judge": file_of_each_judge,
    "numbers of wins in place of single rows": file_of_wins,
    "ratings of single responses": file_of_ratings,
    "only scores of judges, no comparisons": file_of_scores,
}


def test_readme_says_what_to_write(here):
    text = (ROOT / "README.md").read_text("utf-8")
    table = text.partition("| if your file has")[2].partition("\n\n")[0]
    rows = {
        case: re.findall(r"`(skanchor [^`]+)`", write)
        for case, write in re.findall(r"^\| ([^|]+?) \| (.+) \|$", table, re.M)
        if "`skanchor" in write
    }
    # Formats of tools are read by the tests of `io`, each with files of its own.
    del rows["the format of a tool (AlpacaEval, Arena-Hard, MT-Bench, ...)"]
    assert list(rows) == list(FILES)
    for case, commands in rows.items():
        FILES[case]()
        for command in commands:
            if "--mapping" in command:
                edited = Path("battles.toml").read_text().replace('"?"', '"tie"')
                Path("battles.toml").write_text(edited)
            words, code = shlex.split(command)[1:], []
            words += ["--set", "cv=2"] if words[0] == "rank" else []
            words += ["--no-new"] if case.startswith("no column") else []
            got = printed(lambda words=words, code=code: code.append(main(words)))
            assert code == [0], f"{case}: {command}\n{got}"
