"""Fetched tables equal the tidy ones; files are checked; nothing goes out unasked."""

import hashlib
import os
from functools import cache
from pathlib import Path

import pandas as pd
import pooch
import pytest
import requests

from skanchor.datasets import fetch, fetch_arena, fetch_llmfao, fetch_mt_bench
from skanchor.datasets.fetch import published_files, read_json_lines

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
    monkeypatch.setattr(fetch, "files", lambda package: tmp_path)
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
    result = fetched(name)
    pd.testing.assert_frame_equal(result.frame, tidy)
    assert "Source: github.com" in result.DESCR or "Source: labels" in result.DESCR
    assert result.feature_names == [c for c in tidy.columns if c != "winner"]
    X, y = FETCHERS[name](return_X_y=True, as_frame=False)
    assert X.shape == (len(tidy), len(tidy.columns) - 1) and len(y) == len(tidy)
    # Paths of this machine do not go with the table.
    assert not result.frame.attrs


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
    assert [row["a"] for row in read_json_lines(path)] == ["one\u2028line", 2]
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
