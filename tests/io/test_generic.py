"""Tables of any shape: delimiters, encodings, packings, names, several files."""

import bz2
import io
import json
import re
import sys
import zipfile

import pandas as pd
import pyarrow as pa
import pytest

from skanchor import read_battles
from skanchor.exceptions import BattlesError, DataWarning

ROWS = [("owl", "elk", "model_a", "ann"), ("elk", "föx", "tie", "bob")]
NAMES = ["model_a", "model_b", "winner", "rater"]


def text(delimiter=",", names=NAMES):
    return "\n".join(delimiter.join(row) for row in [names, *ROWS]) + "\n"


def check(table):
    assert list(table[NAMES].itertuples(index=False, name=None)) == ROWS


# ------------------------------------------------------------------------- one file
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_delimiter_is_told_by_the_header(tmp_path, delimiter, suffix):
    path = tmp_path / f"b.{suffix}"
    path.write_text(text(delimiter), "utf-8")
    check(read_battles(path))


def test_delimiter_inside_a_quoted_name_does_not_count(tmp_path):
    path = tmp_path / "b.csv"
    path.write_text('model_a,model_b,winner,"a;b;c;d;e;f"\nowl,elk,tie,1\n')
    assert read_battles(path).columns[-1] == "a;b;c;d;e;f"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_encodings(tmp_path, encoding, suffix):
    path = tmp_path / f"b.{suffix}"
    content = text()
    if suffix == "jsonl":
        rows = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
        content = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_bytes(content.encode(encoding))
    if encoding == "latin-1":
        with pytest.raises(BattlesError, match="encoding='cp1252'"):
            read_battles(path)
        check(read_battles(path, encoding="latin-1"))
    else:
        check(read_battles(path))


def test_encoding_that_is_none(tmp_path):
    (path := tmp_path / "b.csv").write_text(text(), "utf-8")
    # Codecs that give no text, and one that pyarrow cannot call.
    for name in ("klingon", "hex", "rot13", "punycode", "undefined", "a\0b"):
        with pytest.raises(BattlesError, match=re.escape(repr(name)) + " is no encod"):
            read_battles(path, encoding=name)


def zipped(data, *names):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, data)
    return buffer.getvalue()


PACK = {
    "bz2": bz2.compress,
    "zst": lambda data: pa.compress(data, "zstd", asbytes=True),
    "zip": lambda data: zipped(data, "inner.csv", "__MACOSX/._inner.csv"),
}


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_packed_files(tmp_path, packing, suffix):
    content = text().encode()
    if suffix == "jsonl":
        rows = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
        content = "\n".join(map(json.dumps, rows)).encode()
    path = tmp_path / f"b.{suffix}.{packing}"
    path.write_bytes(PACK[packing](content))
    check(read_battles(path))


def test_archive_of_several_files(tmp_path):
    (path := tmp_path / "b.csv.zip").write_bytes(zipped(b"", "a.csv", "b.csv"))
    with pytest.raises(BattlesError, match="holds 2 files"):
        read_battles(path)


@pytest.mark.parametrize("place", ["head", "middle"])
def test_damaged_archive(tmp_path, place):
    content = bytearray(zipped(text().encode() * 500, "a.csv"))
    at = 0 if place == "head" else len(content) // 2
    content[at : at + 2] = b"??"
    (path := tmp_path / "b.csv.zip").write_bytes(content)
    with pytest.raises(
        BattlesError, match=r"b\.csv\.zip: not readable as CSV: .*[Bb]ad"
    ):
        read_battles(path)


def test_archive_under_a_password(tmp_path):
    content = bytearray(zipped(text().encode(), "a.csv"))
    content[6] |= 1
    content[content.index(b"PK\1\2") + 8] |= 1
    (path := tmp_path / "b.csv.zip").write_bytes(content)
    with pytest.raises(BattlesError, match=r"no file can be read .* password"):
        read_battles(path)


def test_feather(tmp_path):
    pd.DataFrame(ROWS, columns=NAMES).to_feather(path := tmp_path / "b.feather")
    check(read_battles(path))


def test_decimal_commas(tmp_path):
    path = tmp_path / "b.csv"
    path.write_text(
        "model_a;model_b;winner;len_a;len_b;prompt_id\n"
        "4,5;5,25;0,5;1,25;3;1,5\n4,5;6,75;1;NA;-1,5e2;2,5\n"
    )
    table = read_battles(path)
    assert table["model_a"].tolist() == ["4,5", "4,5"]
    assert table["prompt_id"].tolist() == ["1,5", "2,5"]
    assert table["winner"].tolist() == [0.5, 1.0]
    assert table["len_a"].fillna(0).tolist() == [1.25, 0.0]
    assert table["len_b"].tolist() == [3.0, -150.0]


def test_commas_that_may_be_of_thousands(tmp_path):
    (path := tmp_path / "b.csv").write_text(
        "model_a;model_b;winner;len_a;len_b\nx;y;tie;1,250;3\n"
    )
    with pytest.warns(DataWarning, match="comma of '1,250' may mark decimals or"):
        assert read_battles(path)["len_a"].tolist() == ["1,250"]


def test_bad_lines_in_another_encoding(tmp_path):
    (path := tmp_path / "b.csv").write_bytes(text().encode() + "fö\n".encode("latin-1"))
    for drop in (False, True):
        with pytest.raises(BattlesError, match=r"codec can't decode .*\. If it has"):
            read_battles(path, drop_invalid=drop)


def test_file_format_that_the_name_does_not_tell(tmp_path):
    (path := tmp_path / "b.dat").write_text(text(), "utf-8")
    with pytest.raises(BattlesError, match="unknown format"):
        read_battles(path)
    check(read_battles(path, file_format="csv"))
    with pytest.raises(BattlesError, match="Unknown file format 'xls'"):
        read_battles(path, file_format="xls")


@pytest.mark.parametrize(
    "kind", ["csv", "jsonl", "parquet", "csv.gz", "csv.zip", "jsonl.bz2"]
)
def test_standard_input(tmp_path, kind, monkeypatch):
    table = pd.DataFrame(ROWS, columns=NAMES)
    path = tmp_path / f"b.{kind}"
    if kind.startswith("jsonl"):
        table.to_json(path, orient="records", lines=True)
    elif kind == "parquet":
        table.to_parquet(path)
    else:
        table.to_csv(path, index=False)
    stream = io.TextIOWrapper(io.BytesIO(path.read_bytes()))
    monkeypatch.setattr(sys, "stdin", stream)
    check(read_battles("-"))


# ---------------------------------------------------------------------------- names
def test_names_count_without_case_and_blanks(tmp_path):
    path = tmp_path / "b.csv"
    path.write_text(
        " Model_A,MODEL_B ,Winner,Judge,Length_A,Length_B\nx,y,tie,human,1,2"
    )
    table = read_battles(path)
    assert table.columns.tolist() == [
        "model_a",
        "model_b",
        "winner",
        "judge",
        "Length_a",
        "Length_b",
    ]


def test_exact_name_counts_more_than_one_like_it(tmp_path):
    path = tmp_path / "b.csv"
    path.write_text("model_a,model_b,winner,judge,Judge\nx,y,tie,human,other\n")
    table = read_battles(path)
    assert table["judge"].tolist() == ["human"]
    assert table["Judge"].tolist() == ["other"]


def test_columns_are_renamed_at_the_door(tmp_path):
    path = tmp_path / "b.csv"
    path.write_text("First,second,verdict,winner\n007,1,tie,9\n")
    renames = {"first": "model_a", "second": "model_b", "verdict": "winner"}
    table = read_battles(path, columns=renames)
    assert table.to_dict("list") == {
        "model_a": ["007"],
        "model_b": ["1"],
        "winner": ["tie"],
    }
    with pytest.raises(BattlesError, match=r"lacks the columns \['third'\]"):
        read_battles(path, columns={**renames, "third": "judge"})


@pytest.mark.parametrize(
    ("outcomes", "labels", "due"),
    [
        (["A", "b ", "draw"], {"a": "model_a", "B": "model_b", "draw": "tie"}, None),
        (["1", "2", "0"], {1: "model_a", 2: "model_b", 0: "tie"}, None),
        (["1", "0", "0.5"], {"1": 0.0, "0": 1.0, "0.5": 0.5}, [0.0, 1.0, 0.5]),
    ],
)
def test_labels_of_outcomes(tmp_path, outcomes, labels, due):
    path = tmp_path / "b.csv"
    rows = "".join(f"x,y,{outcome}\n" for outcome in outcomes)
    path.write_text("model_a,model_b,winner\n" + rows)
    table = read_battles(path, labels=labels)
    assert table["winner"].tolist() == (due or ["model_a", "model_b", "tie"])
    path.write_text("model_a,model_b,winner\nx,y,model_a\n")
    with pytest.raises(BattlesError, match="None of the labels"):
        read_battles(path, labels={"left": "model_a"})


def test_failed_verdicts_are_left_out_when_asked(tmp_path):
    path = tmp_path / "b.csv"
    rows = ["x,y,model_a,j", "x,y,error,j", "x,z,,k", "x,z,N/A,j", "x,y,tie,j"]
    path.write_text("model_a,model_b,winner,judge\n" + "\n".join(rows))
    assert len(read_battles(path, "table")) == 5
    match = "3 of 5 rows.*by judge 'j' 2, 'k' 1; by model 'x' 3, 'z' 2, 'y' 1"
    with pytest.warns(DataWarning, match=match):
        table = read_battles(path, drop_invalid=True)
    assert table["winner"].tolist() == ["model_a", "tie"]


def test_numbers_beside_a_failed_verdict_are_numbers(tmp_path):
    path = tmp_path / "b.csv"
    path.write_text("model_a,model_b,winner\nx,y,1\nx,y,-1\nx,y,error\nx,y,0.5\n")
    with pytest.warns(DataWarning, match="2 of 4 rows"):
        table = read_battles(path, drop_invalid=True)
    assert table["winner"].tolist() == [1.0, 0.5]
    path.write_text("model_a,model_b,winner\nx,y,error\n")
    with pytest.raises(BattlesError, match="none of its 1 rows holds a verdict"):
        read_battles(path, drop_invalid=True)


# -------------------------------------------------------------------- several files
@pytest.fixture
def two(tmp_path):
    paths = [tmp_path / "human.csv", tmp_path / "gpt-3.5-turbo.csv.gz"]
    table = pd.DataFrame(ROWS, columns=NAMES)
    table.to_csv(paths[0], index=False)
    table.assign(winner=[1.0, 0.5]).to_csv(paths[1], index=False)
    return paths


def test_files_name_their_judges(two):
    table = read_battles(two)
    assert table["judge"].tolist() == ["human"] * 2 + ["gpt-3.5-turbo"] * 2
    assert table["winner"].tolist() == [1.0, 0.5, 1.0, 0.5]
    assert table.index.tolist() == [0, 1, 2, 3]


def test_judges_are_given(two):
    table = read_battles(two, judge=["human", "gpt"])
    assert table["judge"].tolist() == ["human"] * 2 + ["gpt"] * 2
    assert set(read_battles(two, judge="gpt")["judge"]) == {"gpt"}
    with pytest.raises(BattlesError, match="3 judges are given for 2 files"):
        read_battles(two, judge=["x", "y", "z"])


def test_judge_that_is_given_beside_a_column(tmp_path):
    path = tmp_path / "b.csv"
    path.write_text("model_a,model_b,winner,judge\nx,y,tie,human\n")
    with pytest.raises(BattlesError, match="the files name their judges"):
        read_battles(path, judge="gpt")


def test_judge_that_is_given_against_the_column_of_one_file(two, tmp_path):
    (named := tmp_path / "c.csv").write_text(
        "model_a,model_b,winner,judge\nowl,elk,tie,gpt\n"
    )
    files = [two[0], named]
    assert read_battles(files, judge=["human", "gpt"])["judge"].tolist()[2] == "gpt"
    assert read_battles(files, judge=["ann", None])["judge"].tolist()[2] == "gpt"
    # One name is that of the files that name none.
    assert read_battles(files, judge="ann")["judge"].tolist() == ["ann", "ann", "gpt"]
    match = r"c.csv: its judge is given as 'claude', but column 'judge' holds \['gpt'"
    with pytest.raises(BattlesError, match=match):
        read_battles(files, judge=["human", "claude"])


def test_labels_of_one_file_among_several(two):
    two[0].write_text("model_a,model_b,winner\nx,y,left\n")
    two[1] = two[1].with_name("gpt.csv")
    two[1].write_text("model_a,model_b,winner\nx,y,model_b\n")
    table = read_battles(two, labels={"left": "model_a"})
    assert table["winner"].tolist() == ["model_a", "model_b"]


@pytest.mark.parametrize(
    ("option", "match"),
    [
        ({"tie_margin": 0.5}, "tie margin of 0.5 .* no file holds point scores; they "
         "were read as evalica, tables. .*format='scores'"),
        ({"levels": {"A>B": 1}}, r"verdicts \['A>B'\], but none of the files has such"),
        ({"judge": ["gpt", "x"]}, "its judge is given as 'gpt', but"),
    ],
)  # fmt: skip
def test_what_no_file_has_a_use_for_is_refused(option, match, tmp_path):
    (sides := tmp_path / "a.csv").write_text(
        "left,right,winner,judge\nowl,elk,left,me\n"
    )
    (table := tmp_path / "b.csv").write_text(text(), "utf-8")
    with pytest.raises(BattlesError, match=match):
        read_battles([sides, table], **option)


def test_labels_for_a_tool_and_encoding_of_numbers_are_refused(tmp_path):
    (sides := tmp_path / "a.csv").write_text("left,right,winner\nowl,elk,left\n")
    match = r"labels \['left'\] are given, .* read as evalica.*format='table'"
    with pytest.raises(BattlesError, match=match):
        read_battles(sides, labels={"left": "model_a"})
    pd.DataFrame(ROWS, columns=NAMES).to_parquet(path := tmp_path / "b.parquet")
    with pytest.raises(BattlesError, match="'latin-1', but no file is text"):
        read_battles(path, encoding="latin-1")
    with pytest.raises(ValueError, match="tie_margin must not be negative, got -1"):
        read_battles(path, tie_margin=-1)


def test_standard_input_among_several_needs_its_judge(two, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(two[0].read_bytes()))
    monkeypatch.setattr(sys, "stdin", stream)
    with pytest.raises(BattlesError, match="standard input has no column 'judge'"):
        read_battles(["-", two[1]])


def test_outcomes_that_cannot_be_joined(two):
    two[0].write_text("model_a,model_b,winner\nx,y,left?\n")
    with pytest.raises(BattlesError, match=r"\['left\?'\] are no known labels"):
        read_battles(two, ["table", "auto"])


def test_no_file():
    with pytest.raises(BattlesError, match="No file"):
        read_battles([])


# ------------------------------------------------------------------------ bad lines
def test_bad_line_among_many_is_found_and_counted(tmp_path):
    row = json.dumps({"model_a": "x", "model_b": "y", "winner": "tie"})
    rows = [row] * 20_000
    rows[17_300] = row[:-5]
    (path := tmp_path / "b.jsonl").write_text("\n".join(rows))
    match = r"b.jsonl: .*line 17301: .*\(1 of 20000 lines are no JSON\)\."
    with pytest.raises(BattlesError, match=match + r" .*drop_invalid=True"):
        read_battles(path)


def test_bad_rows_of_a_csv_are_found_and_counted(tmp_path):
    rows = ["x,y,tie"] * 20_000
    rows[17_300] = rows[19_000] = "x,y"
    (path := tmp_path / "b.csv").write_text(
        "\n".join(["model_a,model_b,winner", *rows])
    )
    match = (
        r"b.csv: .*line 17302: Expected 3 columns, got 2: 'x,y' \(2 of 20000 lines "
        r"have not a cell a column\)\. .*drop_invalid=True"
    )
    with pytest.raises(BattlesError, match=match):
        read_battles(path)
    path.write_text("model_a,model_b,winner\nx,y\n")
    for drop in (False, True):
        with pytest.raises(BattlesError, match=r"got 2: 'x,y'\.$"):
            read_battles(path, drop_invalid=drop)


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_bad_lines_may_be_dropped(suffix, tmp_path):
    text = {
        "jsonl": json.dumps({"model_a": "x", "model_b": "y", "winner": "tie"}),
        "csv": "x,y,tie",
    }[suffix]
    rows = [text] * 30_000
    # The first one is among those that tell the columns.
    bad = [1, 12_000, *range(29_000, 29_005)]
    for at in bad:
        rows[at] = text[:-5]
    header = ["model_a,model_b,winner"] * (suffix == "csv")
    (path := tmp_path / f"b.{suffix}").write_text("\n".join([*header, *rows]))
    first = 2 + len(header)
    match = f"b.{suffix}: 7 of 30000 lines .* out: {first}, {first + 11_999}, .* 2 more"
    with pytest.warns(DataWarning, match=match):
        table = read_battles(path, drop_invalid=True)
    assert len(table) == 30_000 - len(bad)
    assert set(table["winner"]) == {"tie"}


def test_lines_of_which_none_is_good(tmp_path):
    (path := tmp_path / "b.jsonl").write_text("{x\n{y\n")
    with pytest.raises(BattlesError, match="2 of 2 lines are no JSON"):
        read_battles(path, drop_invalid=True)


def test_object_over_several_lines(tmp_path):
    record = {"model_a": "x", "model_b": "y", "winner": "tie"}
    (path := tmp_path / "b.json").write_text(json.dumps(record, indent=1))
    assert len(read_battles(path)) == 1
    path.write_text(json.dumps({"data": [record, record]}))
    assert len(read_battles(path)) == 2
