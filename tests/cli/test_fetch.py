"""``skanchor fetch`` writes what ``skanchor rank`` reads."""

import os

import pytest

from skanchor.datasets import fetch_llmfao, fetch_mt_bench
from skanchor.io import read_battles

needs_mirror = pytest.mark.skipif(
    not os.environ.get("SKANCHOR_DATA_MIRROR"),
    reason="SKANCHOR_DATA_MIRROR does not point at the published files",
)


@needs_mirror
@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_written_table_reads_the_same(run, tmp_path, suffix):
    path = tmp_path / f"battles.{suffix}"
    code, out, err = run("fetch", "mt_bench", "--output", path)
    assert (code, out, err) == (0, "", [])
    frame, table = fetch_mt_bench().frame, read_battles(path)
    assert list(table) == list(frame)
    for name in ("prompt_id", "model_a", "judge", "winner", "n_words_b"):
        assert table[name].tolist() == frame[name].tolist()


@needs_mirror
def test_without_output_it_says_what_was_fetched(run):
    code, out, err = run("fetch", "llmfao")
    assert (code, out, err) == (0, fetch_llmfao().DESCR, [])


@needs_mirror
def test_texts(run, tmp_path):
    path = tmp_path / "battles.jsonl"
    assert run("fetch", "llmfao", "--texts", "--output", path)[0] == 0
    table = read_battles(path)
    assert table["response_a"].str.len().tolist() == table["n_chars_a"].tolist()


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (["nothing"], "invalid choice: 'nothing'"),
        (["arena", "--texts"], "--texts: arena comes without texts"),
        (["arena", "--output", "x.html"], "--output x.html: unknown format"),
        (["arena", "--output", "no/where.csv"], "there is no directory no"),
    ],
)
def test_bad_arguments(run, arguments, cause):
    code, out, err = run("fetch", *arguments)
    assert (code, out) == (2, "") and len(err) == 1 and cause in err[0]


def test_missing_file_of_a_mirror_is_named(run, monkeypatch, tmp_path):
    monkeypatch.setenv("SKANCHOR_DATA_MIRROR", str(tmp_path))
    code, out, err = run("fetch", "arena")
    assert (code, out) == (2, "")
    assert "arena/human.json is not there" in err[0]
