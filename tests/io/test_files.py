"""Files of all formats are read alike, and bad ones are refused by name and line."""

import bz2
import gzip
import io
import json
import os
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from skanchor import read_battles
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.io import _files

T = pd.DataFrame(
    {
        "prompt_id": ["q1", "q1", "q2"],
        "model_a": ["NA", "1.0", "é"],
        "model_b": ["2", "=1+1", "\U0001f44d"],
        "judge": ["human", "gpt-4", "human"],
        "winner": ["model_a", "model_b", "tie"],
        "length_a": [1.5, 2.0, 3.0],
        "length_b": [1, 2, 3],
        "note": ['a "quoted", cell', "two\nlines", ""],
    }
)
CSV = T.to_csv(index=False).encode()
LINES = T.to_json(orient="records", lines=True, force_ascii=False).encode()
HEAD = b"model_a,model_b,judge,winner\n"
ROW = b"x,y,human,model_a\n"


def parquet():
    T.to_parquet(file := io.BytesIO())
    return file.getvalue()


def feather():
    T.to_feather(file := io.BytesIO())
    return file.getvalue()


def zipped(content, name="b.csv"):
    with zipfile.ZipFile(file := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("__MACOSX/._b", b"x")
        archive.writestr(name, content)
    return file.getvalue()


FORMATS = {
    "b.csv": CSV,
    "b.tsv": T.to_csv(index=False, sep="\t").encode(),
    "b.txt": T.to_csv(index=False, sep="|").encode(),
    "semicolons.csv": T.to_csv(index=False, sep=";").encode("utf-8-sig"),
    "utf16.csv": T.to_csv(index=False).encode("utf-16"),
    "b.jsonl": LINES,
    "b.json": T.to_json(orient="records").encode(),
    "wrapped.json": json.dumps({"at": 3, "data": T.to_dict("records")}).encode(),
    "b.parquet": parquet(),
    "b.feather": feather(),
    "no_suffix": parquet(),
    "b.csv.gz": gzip.compress(CSV),
    "b.jsonl.bz2": bz2.compress(LINES),
    "b.csv.zst": pa.compress(CSV, "zstd", asbytes=True),
    "b.zip": zipped(CSV),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_holds_the_same(tmp_path, name):
    (path := tmp_path / name).write_bytes(FORMATS[name])
    result = read_battles(path)
    expected = T.assign(note=T["note"].mask(T["note"] == "", result["note"]))
    assert result[T.columns].astype({"length_b": int}).equals(expected), result
    assert (result["length_a"].dtype, result["length_b"].dtype.kind) == (float, "i")


def test_standard_input_and_pipes(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(CSV))))
    assert len(read_battles("-")) == 3
    os.mkfifo(pipe := tmp_path / "pipe")
    if not (child := os.fork()):
        with open(pipe, "wb") as file:
            file.write(LINES)
        os._exit(0)
    assert len(read_battles(pipe)) == 3
    os.waitpid(child, 0)
    with pytest.raises(ValueError, match="is a device"):
        read_battles("/dev/zero")
    with pytest.raises(FileNotFoundError):
        read_battles(tmp_path / "absent.csv")


BAD = {
    "empty.csv": (b"", "it is empty"),
    "ragged.csv": (HEAD + ROW + b"x,y\n" + ROW + b"x\n",
                   "line 3 has 2 cells for 4 .*--drop-invalid"),
    "broken.jsonl": (LINES + b"{\n}{\n", r"line 4 is no JSON .*; 2 of 5 lines cannot"),
    "broken.json": (b'[{"a": 1}, ', "Expecting value"),
    "array.jsonl": (b'{"a": 1}\n[1]\n', r"record 1 is \[1\], not an object"),
    "deep.json": (b"[" * 100_000, "nested too deeply"),
    "digits.json": (b'[{"a": ' + b"9" * 5000 + b"}]", "limit .4300 digits"),
    "latin.csv": (HEAD + "é,y,human,model_a\n".encode("cp1252"),
                  "it is not utf-8; give its encoding, such as cp1252"),
    "ragged_latin.csv": (HEAD + "x,human\né,y,human,model_a\n".encode("cp1252"),
                         "it is not utf-8"),
    "without_mark.csv": (CSV.decode().encode("utf-16-le"),
                         "give its encoding, such as utf-16-le"),
    "surrogate.jsonl": (
        b'{"model_a": "x", "model_b": "y"}\n{"model_a": "\\ud800", "model_b": "y"}\n',
        "row 1 holds half a character"),
    "cut.parquet": (parquet()[:-100], "cannot be read"),
    "cut.csv.gz": (gzip.compress(CSV)[:-9], "cannot be read"),
    "out.zip": (zipped(CSV, "../b.csv"), "leaves its folder"),
    "root.zip": (zipped(CSV, "/etc/b.csv"), "leaves its folder"),
    "inside.gz": (gzip.compress(gzip.compress(CSV)), "an archive inside another"),
    "zip.gz": (gzip.compress(zipped(CSV)), "an archive inside another"),
    "bomb.csv.gz": (gzip.compress(HEAD + bytes(200_000)), "unpacks to more than"),
    "bomb.zip": (zipped(HEAD + b"x" * 200_000), "unpacks to more than"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused(tmp_path, name, monkeypatch):
    content, says = BAD[name]
    if "bomb" in name:
        monkeypatch.setattr(_files, "LIMIT", 100_000)
        monkeypatch.setattr(_files, "TIMES", 1)
    (path := tmp_path / name).write_bytes(content)
    with pytest.raises(BattlesError, match=says) as caught:
        read_battles(path)
    assert str(path) in str(caught.value)


def test_a_cell_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "BLOCK", 1 << 12)
    (path := tmp_path / "long.csv").write_bytes(HEAD + b"x" * 100_000)
    with pytest.raises(BattlesError, match="a row has more than 4096 bytes"):
        read_battles(path)


@pytest.mark.parametrize(
    ("name", "says"),
    [("ragged.csv", "line 3 .* 2 of 4 lines"), ("broken.jsonl", "line 4 .* 2 of 5")],
)
def test_lines_that_cannot_be_read_are_left_out_where_asked(tmp_path, name, says):
    (path := tmp_path / name).write_bytes(BAD[name][0])
    with pytest.warns(DataWarning, match=says + ".* are left out"):
        result = read_battles(path, drop_invalid=True)
    assert len(result) == (2 if name == "ragged.csv" else 3)


def test_failed_verdicts_are_left_out_where_asked(tmp_path):
    rows = b"x,y,human,error\nx,y,human,\nx,y,gpt-4,model_b\ny,x,human,z\ny,x,human,y\n"
    (path := tmp_path / "b.csv").write_bytes(HEAD + rows)
    with pytest.raises(BattlesError, match="outcome 'z'"):
        read_battles(path, drop_invalid=True)
    path.write_bytes(HEAD + rows.replace(b"y,x,human,z\n", b""))
    with pytest.warns(DataWarning, match=r"2 of 4 rows hold no verdict.*'human' 2"):
        result = read_battles(path, drop_invalid=True)
    assert result["winner"].tolist() == ["model_b", "model_a"]


def test_encodings_are_given_by_name(tmp_path):
    (path := tmp_path / "latin.csv").write_bytes(BAD["latin.csv"][0])
    assert read_battles(path, encoding="cp1252")["model_a"].tolist() == ["é"]
    with pytest.raises(BattlesError, match="is no encoding"):
        read_battles(path, encoding="rot13")


def test_files_of_equal_content_are_told(tmp_path):
    for name in ("human.csv", "people.csv"):
        (tmp_path / name).write_bytes(HEAD + ROW)
    with pytest.warns(DataWarning, match="hold the same bytes"):
        read_battles([tmp_path / "human.csv", tmp_path / "people.csv"])


def test_codes_of_parquet_are_texts(tmp_path):
    frame = T.astype({"model_a": "category", "judge": "category", "note": "category"})
    frame.loc[np.repeat([0, 1, 2], 50)].to_parquet(path := tmp_path / "codes.parquet")
    result = read_battles(path)
    assert {result[name].dtype for name in ("model_a", "judge", "note")} == {
        pd.StringDtype(na_value=np.nan)
    }
    assert result["model_a"].tolist()[::50] == T["model_a"].tolist()
