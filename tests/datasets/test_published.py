"""Fetched tables equal the tidy ones; files are checked; nothing goes out unasked."""

import csv
import hashlib
import json
import os
from functools import cache
from pathlib import Path

import pandas as pd
import pooch
import pytest
import requests

from skanchor.datasets import fetch_arena, fetch_llmfao, fetch_mt_bench, published
from skanchor.datasets.published import published_files

FETCHERS = {"arena": fetch_arena, "mt_bench": fetch_mt_bench, "llmfao": fetch_llmfao}


@cache
def fetched(name):
    """What a fetcher returns, read once."""
    return FETCHERS[name]()


CONTENT = b'{"a": "one\xe2\x80\xa8line"}\n\n{"a": 2}\n'
SHA256 = hashlib.sha256(CONTENT).hexdigest()
ADDRESS = "https://example.org/x.jsonl"


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Whatever reaches for the network fails, unless a test says what it gives."""

    def refuse(store, name):
        raise requests.ConnectionError(name)

    monkeypatch.setattr(pooch.Pooch, "fetch", refuse)


@pytest.fixture
def small(monkeypatch, tmp_path):
    """The folder of a set of one file, and a function that finds the file."""
    (tmp_path / "data").mkdir()
    registry = tmp_path / "data" / "registry.txt"
    registry.write_text(f"small/x.jsonl sha256:{SHA256} {ADDRESS}\n")
    monkeypatch.setattr(published, "files", lambda package: tmp_path)
    monkeypatch.delenv("SKANCHOR_DATA_MIRROR", raising=False)
    monkeypatch.setenv("SKANCHOR_DATA", str(tmp_path / "home"))
    return tmp_path / "home" / "small"


@pytest.mark.parametrize("name", FETCHERS)
def test_fetched_table_equals_the_tidy_one(name):
    mirror = os.environ.get("SKANCHOR_DATA_MIRROR", "")
    path = Path(mirror).parent / "tidy" / f"{name}.csv.gz"
    if not mirror or not path.exists():
        pytest.skip("SKANCHOR_DATA_MIRROR does not lead to the tidy tables")
    # Models may be called "NA"; only a rater can be missing.
    tidy = pd.read_csv(path, keep_default_na=False, na_values={"rater": [""]})
    found = fetched(name)
    pd.testing.assert_frame_equal(found.frame, tidy)
    assert "Source: github.com" in found.DESCR or "Source: labels" in found.DESCR
    assert found.feature_names == [c for c in tidy.columns if c != "winner"]
    X, y = FETCHERS[name](return_X_y=True, as_frame=False)
    assert X.shape == (len(tidy), len(tidy.columns) - 1) and len(y) == len(tidy)


def by_json(folder, name):
    with open(folder / name, encoding="utf-8") as file:
        return list(map(json.loads, file))


def both_and_best(row):
    best = row["winner"]
    best = "tie" if best.startswith("tie") else row[best]
    return row["model_a"], row["model_b"], best


def arena_votes(folder):
    judges = ["human", "gpt-4-0125-preview", "claude-3-opus-20240229", "gpt-3.5-turbo"]
    for judge in judges:
        for row in by_json(folder, f"{judge}.json"):
            yield row["num"], *both_and_best(row), judge, None


def mt_bench_votes(folder):
    for name, judge in (("human.jsonl", "human"), ("gpt4_pair.jsonl", "gpt-4")):
        for row in by_json(folder, name):
            prompt = "{question_id}_t{turn}".format_map(row)
            rater = row["judge"] if judge == "human" else None
            yield prompt, *both_and_best(row), judge, rater


def llmfao_votes(folder):
    names = {row["model"]: row["name"] for row in by_json(folder, "results.jsonl")}
    slugs = {row["id"]: row["slug"] for row in by_json(folder, "prompts.jsonl")}
    judges = {"crowd": "human", "gpt3": "gpt-3.5-turbo-instruct", "gpt4": "gpt-4"}
    for stem, judge in judges.items():
        with open(folder / f"{stem}-comparisons.csv", newline="") as file:
            for row in csv.DictReader(file):
                prompt, both = slugs[int(row["prompt"])], (row["left"], row["right"])
                # The models are also known by their numbers, in no order.
                assert {names[int(row[f"model_{x}"])] for x in "xy"} == set(both)
                best = {"left": both[0], "right": both[1], "tie": "tie"}[row["winner"]]
                rater = f"w{row['worker']}" if "worker" in row else None
                yield prompt, *both, best, judge, rater


@pytest.mark.parametrize("votes", [arena_votes, mt_bench_votes, llmfao_votes])
def test_the_model_that_won_in_the_files_is_the_winner(votes):
    mirror = os.environ.get("SKANCHOR_DATA_MIRROR")
    if not mirror:
        pytest.skip("SKANCHOR_DATA_MIRROR does not point at the published files")
    name = votes.__name__.removesuffix("_votes")
    # Other code than the readers', and models by name instead of sides.
    due = list(votes(Path(mirror, name)))
    frame = fetched(name).frame
    best = frame["model_a"].where(frame["winner"] == "model_a", frame["model_b"])
    best = best.mask(frame["winner"] == "tie", "tie")
    raters = frame["rater"] if "rater" in frame else pd.Series(index=frame.index)
    columns = [frame["prompt_id"], frame["model_a"], frame["model_b"], best]
    columns += [frame["judge"], raters.astype(object).where(raters.notna(), None)]
    assert list(zip(*columns, strict=True)) == due
    assert frame["winner"].isin(["model_a", "model_b", "tie"]).all()
    # Paths of this machine do not go with the table.
    assert not frame.attrs


@pytest.mark.parametrize("fetch", [fetch_mt_bench, fetch_llmfao])
def test_texts_are_those_that_the_features_count(fetch):
    if not os.environ.get("SKANCHOR_DATA_MIRROR"):
        pytest.skip("SKANCHOR_DATA_MIRROR does not point at the published files")
    frame = fetch(with_texts=True).frame
    for side in "ab":
        assert (frame[f"response_{side}"].str.len() == frame[f"n_chars_{side}"]).all()
    assert frame["prompt"].str.len().gt(0).all()


def test_file_is_fetched_once_and_kept(small, monkeypatch):
    calls = []

    def fetch(store, name):
        calls.append(name)
        small.mkdir(parents=True, exist_ok=True)
        (small / "x.jsonl").write_bytes(CONTENT)

    monkeypatch.setattr(pooch.Pooch, "fetch", fetch)
    for _ in range(2):
        (path,) = published_files("small").values()
    assert path == small / "x.jsonl" and calls == ["small/x.jsonl"]
    assert [row["a"] for row in published.read_json_lines(path)] == ["one\u2028line", 2]
    # Damaged files are fetched anew.
    path.write_bytes(CONTENT[:5])
    published_files("small")
    assert len(calls) == 2


def test_no_network_is_told_with_what_to_do(small):
    with pytest.raises(OSError, match="could not be fetched") as caught:
        published_files("small")
    for part in (ADDRESS, "SKANCHOR_DATA_MIRROR", "small/x.jsonl", SHA256):
        assert part in str(caught.value)
    with pytest.raises(OSError, match="download_if_missing=True"):
        published_files("small", download_if_missing=False)


def test_mirror_is_read_where_it_is(small, monkeypatch, tmp_path):
    monkeypatch.setenv("SKANCHOR_DATA_MIRROR", str(tmp_path))
    with pytest.raises(OSError, match=r"small/x\.jsonl is not there, or not the publ"):
        published_files("small")
    (path := tmp_path / "small" / "x.jsonl").parent.mkdir()
    path.write_bytes(b"other")
    with pytest.raises(OSError, match="not the published file"):
        published_files("small")
    path.write_bytes(CONTENT)
    assert published_files("small") == {"x.jsonl": path}


def test_the_folder_of_the_user_is_read(small, monkeypatch, tmp_path):
    (path := tmp_path / "mine" / "small" / "x.jsonl").parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    assert published_files("small", tmp_path / "mine") == {"x.jsonl": path}
