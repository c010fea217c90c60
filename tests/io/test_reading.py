"""Battles files: one table whatever the format."""

import gzip
import io
import json
import os
import warnings
from functools import partial
from threading import Thread

import numpy as np
import pandas as pd
import pytest
from pandas.arrays import ArrowExtensionArray
from pandas.testing import assert_frame_equal
from pyarrow.parquet import ParquetFile

from skanchor import BTLRegressor
from skanchor.datasets import load_demo
from skanchor.exceptions import AssumptionWarning, BattlesError, DataWarning
from skanchor.io import read_battles
from skanchor.io._coded import coded_text
from skanchor.io.reading import read_given
from skanchor.io.registry import FORMATS

# Whatever the columns.
read_table = partial(read_battles, format="table")


@pytest.fixture(scope="module")
def table():
    return load_demo().frame.head(300)


def write(table, path):
    """Write a table in the format that the name asks for."""
    name = path.name
    if name.endswith(".parquet"):
        table.to_parquet(path)
    elif ".jsonl" in name:
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_csv(path, index=False, sep="\t" if ".tsv" in name else ",")
    return path


@pytest.mark.parametrize(
    "suffix",
    ["csv", "csv.gz", "CSV", "tsv", "tsv.gz", "parquet", "jsonl", "jsonl.gz"],
)
def test_formats_agree(table, tmp_path, suffix):
    read = read_battles(write(table, tmp_path / f"battles.v2.{suffix}"))
    assert_frame_equal(read, table, check_dtype=False)
    assert read["length_a"].dtype == float


@pytest.mark.parametrize("suffix", ["csv", "tsv.gz", "jsonl"])
def test_odd_ids_keep_their_names(tmp_path, suffix):
    names = ["1", "01", "1.0", "NA", "null", "nan", "True", "a, b", 'q"', "两", " x"]
    table = pd.DataFrame({"model_a": names, "model_b": names[::-1], "judge": "human"})
    read = read_battles(write(table.assign(winner=1), tmp_path / f"b.{suffix}"))
    # Blanks around a name are no part of it.
    plain = [name.strip() for name in names]
    assert read["model_a"].tolist() == plain
    assert read["model_b"].tolist() == plain[::-1]
    assert read["winner"].tolist() == [1] * len(names)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_large_ids_beside_nulls_stay_apart(tmp_path, suffix):
    ids = [2**60 + 1, 2**60 + 2, None]
    table = pd.DataFrame({"prompt_id": pd.array(ids, "Int64"), "model_a": ids[0]})
    read = read_table(write(table, tmp_path / f"b.{suffix}"))
    assert read["prompt_id"].tolist()[:2] == [str(ids[0]), str(ids[1])]
    assert read["prompt_id"].isna().tolist() == [False, False, True]
    assert set(read["model_a"]) == {str(ids[0])}


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_numeric_ids_become_text_and_empty_cells_missing(tmp_path, suffix):
    table = pd.DataFrame({"model_a": [1, 2], "prompt_id": pd.array([7, None], "Int64")})
    read = read_table(write(table, tmp_path / f"b.{suffix}"))
    assert read["model_a"].tolist() == ["1", "2"]
    assert read["prompt_id"].isna().tolist() == [False, True]
    assert read["prompt_id"][0] == "7"


def test_ids_names_further_text_columns(tmp_path):
    path = tmp_path / "b.csv"
    path.write_text("left,n\n007,1\nNA,2\n")
    read = read_table(path, ids=["left"])
    assert read["left"].tolist() == ["007", "NA"]
    assert read["n"].tolist() == [1, 2]


def test_columns_of_a_csv_get_their_types(tmp_path):
    path = tmp_path / "b.csv"
    # A type guessed from the first block would fail on the last row.
    rows = ["1,,true,text,"] * 90_000 + ["2.5,NA,false,NA,model_b"]
    path.write_bytes(
        b"\xef\xbb\xbflen_a,len_b,flag,note,shown_first\n" + "\n".join(rows).encode()
    )
    read = read_table(path)
    assert read.columns[0] == "len_a"
    assert read["len_a"].iloc[-1] == 2.5
    assert read["len_b"].isna().all()
    assert read["flag"].tolist()[-2:] == [True, False]
    assert read["note"].iloc[-1] == "NA"
    assert read["shown_first"].isna().sum() == 90_000


def test_number_column_with_a_word_warns(tmp_path):
    path = tmp_path / "b.csv"
    path.write_text("len_a\n1\n2\nmany\n")
    with pytest.warns(DataWarning, match="row 2 holds 'many'"):
        read_table(path)


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("b.xlsx", b"", "a workbook, which.*csv.*jsonl.*parquet"),
        ("b", b"", "unknown format"),
        ("b.parquet.gz", b"", "unknown format"),
        ("b.csv", b"", "Empty CSV"),
        ("b.csv", b"a,b\n1\n", "Expected 2 columns, got 1"),
        ("b.csv", b"a,b\n\xff\xfe,1\n", "UTF8"),
        ("b.csv", b"a,a\n1,2\n", r"\['a'\] occur more than once"),
        ("b.csv.gz", b"a,b\n", "b.csv.gz"),
        ("b.csv.gz", gzip.compress(b"a,b\n1,2\n" * 999, mtime=0)[:-20], "b.csv.gz"),
        ("b.jsonl.gz", gzip.compress(b'{"a": 1}\n' * 999, mtime=0)[:-20], "Truncated"),
        ("b.jsonl.gz", b"no gzip", "inflate failed"),
        ("b.csv.zip", b"no zip", "no zip archive"),
        ("b.jsonl", b'{"a": 1}\n{"a"\n', "line 2"),
        ("b.jsonl", b"[1]", "record 1 is 1, not an object"),
        ("b.jsonl", b'{"model_a": [1]}\n{"model_a": [2]}\n', r"holds \[1\], a list"),
        (
            "b.json",
            b'{"a": {"0": "x"}, "b": []}',
            r"different rows.*orient='records', l",
        ),
        ("b.json", b'[["x", "y"]]', r"record 1 is .* not an object.*lines=True"),
        ("b.jsonl", b"\xff", "utf-8"),
        ("b.parquet", b"PAR1", "b.parquet"),
    ],
)
def test_bad_files_are_named(tmp_path, name, content, match):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BattlesError, match=match) as caught:
        read_table(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_file_that_cannot_be_opened(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_battles(tmp_path / "absent.csv")


def test_json_array_and_absent_keys(tmp_path):
    path = tmp_path / "b.json"
    path.write_text(json.dumps([{"model_a": "x"}, {"model_b": "y"}]))
    read = read_table(path)
    assert read["model_a"].isna().tolist() == [False, True]


def test_a_suffix_belongs_to_one_format():
    suffixes = [suffix for each in FORMATS for suffix in each.suffixes]
    assert len(set(suffixes)) == len(suffixes)
    assert all(suffix == suffix.lower() and suffix[0] == "." for suffix in suffixes)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"x": ' * 100_000])
def test_deep_nesting_is_refused(tmp_path, text):
    path = tmp_path / "b.jsonl"
    path.write_text(text)
    with pytest.raises(BattlesError, match="nested too deeply"):
        read_battles(path)


@pytest.mark.parametrize("form", ["{}\n{}\n", "[{}, {}]"])
def test_numbers_of_thousands_of_digits_are_refused(tmp_path, form):
    line = '{"model_a": "x", "model_b": "y", "winner": 1, "n": %s}'
    path = tmp_path / "b.jsonl"
    path.write_text(form.format(line % "1", line % ("9" * 5000)))
    with pytest.raises(BattlesError, match="number of more than 4300 digits") as raised:
        read_battles(path)
    assert "sys." not in str(raised.value)
    assert "line 2: it holds" in str(raised.value) or form[0] == "["


def test_a_name_of_megabytes_is_cut_in_messages(table):
    labels = table["winner"].astype(object)
    labels.iloc[0] = "x" * 3_000_000
    with pytest.raises(
        BattlesError, match=r"\['xxx.*x\.\.\.x.*first in row 0"
    ) as raised:
        BTLRegressor().fit(table.drop(columns="winner"), labels)
    assert len(str(raised.value)) < 1000


def test_labels_that_are_lists_are_refused(tmp_path):
    path = tmp_path / "b.jsonl"
    path.write_text('{"model_a": ["x"], "model_b": "y", "winner": 1}\n')
    with pytest.raises(BattlesError, match=r"'model_a' holds \['x'\], a list"):
        read_battles(path)


def test_a_cell_of_megabytes_is_read(table, tmp_path):
    large = table.assign(note=["x" * 1_000_000, *[""] * (len(table) - 1)])
    read = read_battles(write(large, tmp_path / "b.csv"))
    assert_frame_equal(read.drop(columns="note"), table, check_dtype=False)
    assert len(read["note"][0]) == 1_000_000


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such device")
@pytest.mark.parametrize("suffix", ["jsonl", "csv.gz", "parquet"])
def test_devices_are_refused(tmp_path, suffix):
    link = tmp_path / f"b.{suffix}"
    link.symlink_to("/dev/zero")
    with pytest.raises(ValueError, match="is a device, not a file"):
        read_battles(link)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "jsonl", ""])
def test_pipes_are_read_once(table, tmp_path, suffix):
    written = write(table, tmp_path / f"file.{suffix or 'csv'}").read_bytes()
    pipe = tmp_path / f"pipe.{suffix}".rstrip(".")
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=[written])
    writer.start()
    read = read_battles(pipe)
    writer.join()
    assert_frame_equal(read, table, check_dtype=False)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".csv.zip", ".tsv"])
def test_a_file_that_is_closed_is_read_ahead_no_more(
    table, tmp_path, suffix, monkeypatch
):
    """Arrow reads ahead in a thread; its own files went on after they were closed.

    Their number was by then that of the next file, which lost rows: once in some
    hundred readings on a busy machine.
    """
    path = tmp_path / f"b{suffix}"
    table.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    opened, plain = [], io.open
    monkeypatch.setattr(
        "builtins.open", lambda *a, **k: opened.append(plain(*a, **k)) or opened[-1]
    )
    found = read_battles(path)
    assert_frame_equal(found, table, check_dtype=False)
    if suffix != ".csv.zip":  # the member of an archive is Python's by itself
        assert sum(str(one.name) == str(path) for one in opened) >= 2
    assert all(one.closed for one in opened)
    monkeypatch.setattr("pyarrow.OSFile", None)
    assert_frame_equal(read_battles(path), found)


arrow_texts = pytest.mark.skipif(
    pd.__version__ < "3", reason="texts are not Arrow's before pandas 3"
)


@pytest.mark.parametrize("kind", [pytest.param("str", marks=arrow_texts), "category"])
def test_long_tables_are_not_walked_cell_by_cell(tmp_path, monkeypatch, kind):
    """Recognition looks at the different cells of a column, however many rows."""
    n = 20_000
    table = pd.DataFrame(
        {
            "model_a": ["owl", "elk", "fox", "owl"] * (n // 4),
            "model_b": ["elk", "fox", "owl", "fox"] * (n // 4),
            "judge": ["human", "gpt-4"] * (n // 2),
            "winner": ["model_a", "model_b", "tie", "model_a", "tie"] * (n // 5),
        },
        dtype=kind,
    )
    table.to_parquet(path := tmp_path / "b.parquet")
    walked = []
    for owner in (ArrowExtensionArray, pd.Categorical):
        plain = owner.__iter__
        monkeypatch.setattr(
            owner,
            "__iter__",
            lambda self, plain=plain: walked.append(len(self)) or plain(self),
        )
    counted, numbers = [], pd.to_numeric
    monkeypatch.setattr(
        pd, "to_numeric", lambda x, **k: counted.append(len(x)) or numbers(x, **k)
    )
    assert len(read_battles(path)) == n
    assert max([*walked, *counted, 0]) <= n // 20


@pytest.fixture
def standard():
    n = 300
    return pd.DataFrame(
        {
            "model_a": ["owl", "elk", "fox"] * (n // 3),
            "model_b": ["elk", "fox", "owl"] * (n // 3),
            "judge": ["human", "gpt-4", "human"] * (n // 3),
            "winner": ["model_a", "model_b", "tie"] * (n // 3),
            "note": ["a", "b", None] * (n // 3),
        }
    )


CODES = ["model_a", "model_b", "judge", "winner"]


def read_codes(table, path, **given):
    """Battles as commands read them, and as everyone does."""
    table.to_parquet(path)
    return [
        read_given({"path": [str(path)], **given}, codes=codes)
        for codes in (True, False)
    ]


def is_category(table):
    return [isinstance(dtype, pd.CategoricalDtype) for dtype in table.dtypes]


def test_commands_read_codes_without_making_texts_of_them(standard, tmp_path):
    codes, texts = read_codes(standard, tmp_path / "b.parquet")
    assert is_category(codes) == [True] * 4 + [False]
    assert not any(is_category(texts))
    assert_frame_equal(codes.astype(texts.dtypes), texts)
    # Names that differ in blanks alone are one, and are put together as texts.
    blank = standard.assign(model_a=standard["model_a"].replace("owl", "owl "))
    with pytest.warns(AssumptionWarning, match="blanks"):
        codes, texts = read_codes(blank, tmp_path / "blank.parquet")
    assert_frame_equal(codes.astype(texts.dtypes), texts)


@pytest.mark.parametrize(
    ("change", "given"),
    [
        (lambda t: t.rename(columns={"model_a": "left", "model_b": "right"}), {}),
        (lambda t: t.assign(winner=t["winner"].str.replace("model_", "")), {}),
        (lambda t: t.assign(winner=t["model_a"]), {}),
        (lambda t: t, {"models": {"owl": "elk 2"}}),
        (lambda t: t, {"labels": {"tie": "model_a"}}),
        (lambda t: t, {"drop_invalid": True}),
        (lambda t: t, {"format": "table"}),
    ],
    ids=["names", "outcomes", "winners", "models", "labels", "invalid", "told"],
)
def test_what_is_not_read_as_it_is_becomes_text(standard, tmp_path, change, given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        codes, texts = read_codes(change(standard), tmp_path / "b.parquet", **given)
    assert_frame_equal(codes, texts)


@arrow_texts
def test_texts_that_parquet_has_as_codes_are_read_as_codes(tmp_path, monkeypatch):
    """They are the same columns of text as any, in a fifth of the time."""
    rng = np.random.default_rng(0)
    some = np.array(["owl", "elk", "fox", "", None], dtype=object)
    table = pd.DataFrame(
        {
            "model_a": some[rng.integers(0, 3, 3_000)],
            "model_b": some[rng.integers(0, 3, 3_000)],
            "judge": ["human", "gpt-4", "human"] * 1_000,
            "winner": ["tie", "model_a", "model_b"] * 1_000,
            "note": some[rng.integers(0, 5, 3_000)],
            "remark": [f"A remark of its own, number {i}" for i in range(3_000)],
            "kind": pd.Categorical(["b", "a", "b"] * 1_000, categories=["a", "b"]),
            "length_a": rng.integers(0, 9, 3_000),
            "length_b": rng.integers(0, 9, 3_000),
        }
    )
    # Other labels, or the same ones in another order, in each part of the file.
    table.loc[:999, "model_a"] = "late"
    whole, parts = tmp_path / "whole.feather", tmp_path / "parts.parquet"
    table.to_feather(whole)
    table.to_parquet(parts, row_group_size=700)
    found = []
    plain = ParquetFile.__init__
    monkeypatch.setattr(
        ParquetFile,
        "__init__",
        lambda *a, **k: found.extend(k.get("read_dictionary") or ()) or plain(*a, **k),
    )
    read, expected = read_battles(parts), read_battles(whole)
    assert_frame_equal(read, expected)
    assert set(found) == {"model_a", "model_b", "judge", "winner", "note"}
    for name in found:
        assert coded_text(read[name]).labels == read[name].dropna().unique().tolist()
