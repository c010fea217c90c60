"""Random files: battles written in some format, damaged, with flags."""

import gzip
import io
import json
import random
import zipfile

import numpy as np
import pandas as pd
from fuzz import tables

FLAGS = [
    ["--level", "0.9"], ["--level", "1.5"], ["--level", "nan"], ["--set", "cv=2"],
    ["--set", "cv=1"], ["--set", "cv=999999"], ["--groups", "prompt_id"],
    ["--groups", "judge,model_a"], ["--groups", ","], ["--weights", "frequency"],
    ["--weights", "importance"], ["--set", "random_state=5"],
    ["--set", "random_state=-1"],
    ["--set", "calibrator__position_effect=true"], ["--set", "bias=linear"],
    ["--set", "calibrator__position_effect=false"], ["--set", "item_effects=none"],
    ["--set", "item_effects=random"],
    ["--set", "historical_fit=two-step"], ["--from", "table"],
    ["--from", "alpaca_eval"],
    ["--from", "arena_hard,table"], ["--from", "nothing"], ["--encoding", "latin-1"],
    ["--encoding", "utf-16"], ["--encoding", "klingon"], ["--encoding", "punycode"],
    ["--columns", "winner=outcome"], ["--columns", "x1_a=z_a,x1_b=z_b"],
    ["--columns", "=,="], ["--columns", "model_a=model_b"], ["--labels", "model_a=tie"],
    ["--labels", "1.0=model_a,0.0=model_b"], ["--drop-invalid"], ["--drop-invalid"],
    ["--new", "new-model"], ["--new", "model-01"], ["--new", ""], ["--no-new"],
    ["--human", "human"], ["--human", "judge-*"], ["--human", "["],
    ["--without", "judge-1"], ["--without", "*"], ["--text-columns", "model_a,model_b"],
    ["--text-columns", "x1_a,x1_b"], ["--text-columns", "a"], ["--features", "x1"],
    ["--features", ""], ["--features", "x1,x2,none"],
    ["--json"], ["--json"], ["--demo"], ["--n-jobs", "0"], ["--nonsense"],
]  # fmt: skip
SUFFIXES = [
    *["csv"] * 5, *["jsonl"] * 4, "tsv", "parquet", "feather", "csv.gz", "jsonl.gz",
    "csv.bz2", "csv.zip", "xlsx", "json", "odd",
]  # fmt: skip


def draw(rng, folder):
    """Write a file or two; give the arguments of ``skanchor``."""
    args = ["rank"]
    for k in range(int(rng.choice([1, 1, 1, 1, 2]))):
        suffix = SUFFIXES[int(rng.integers(len(SUFFIXES)))]
        content = _content(rng, suffix)
        for _ in range(int(rng.choice([0, 0, 0, 0, 0, 1, 1, 2]))):
            content = DAMAGES[int(rng.integers(len(DAMAGES)))](content, rng)
        path = folder / f"battles{k}.{suffix}"
        path.write_bytes(content)
        args.append(str(path))
    for _ in range(int(rng.choice([0, 0, 0, 1, 1, 2]))):
        args += FLAGS[int(rng.integers(len(FLAGS)))]
    if rng.random() < 0.1:
        out = rng.choice(["out.csv", "out.json", "out.txt", "no/such/out.csv", ""])
        args += ["--output", str(folder / out)]
    if not any(one.startswith("cv=") for one in args):
        args += ["--set", "cv=3"]
    return args


def _frame(rng):
    case = tables.draw(rng)
    while not isinstance(case.X, pd.DataFrame):
        case = tables.draw(rng)
    X, y = case.X, np.asarray(case.y, dtype=object)
    X = X.loc[:, ~X.columns.duplicated()].reset_index(drop=True)
    if len(y) == len(X) and y.ndim == 1:
        X = X.assign(winner=y)
    if isinstance(case.weight, np.ndarray) and len(case.weight) == len(X):
        X = X.assign(count=case.weight)
    return X


def _content(rng, suffix):
    X = _frame(rng)
    base, _, packing = suffix.partition(".")
    kind = base if base in ("csv", "tsv", "jsonl", "parquet", "feather") else str(
        rng.choice(["csv", "jsonl", "noise", "json", "nested"])
    )  # fmt: skip
    buffer = io.BytesIO()
    try:
        if kind in ("csv", "tsv"):
            sep = "\t" if kind == "tsv" else str(rng.choice([","] * 9 + [";", "|"]))
            encoding = str(
                rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-8"])
            )
            X.to_csv(buffer, index=bool(rng.random() < 0.1), sep=sep, encoding=encoding)
        elif kind in ("jsonl", "json", "nested"):
            text = X.to_json(orient="records", lines=kind == "jsonl", force_ascii=False)
            if kind == "nested":
                text = json.dumps({"data": json.loads(text), "x": [[[]]]})
            buffer.write(text.encode("utf-8", "surrogatepass"))
        elif kind == "parquet":
            X.to_parquet(buffer)
        elif kind == "feather":
            X.to_feather(buffer)
        else:
            buffer.write(rng.bytes(2000))
    except Exception:  # such a table cannot be written so
        buffer = io.BytesIO(
            X.astype(str).to_csv(index=False).encode("utf-8", "replace")
        )
    content = buffer.getvalue()
    if packing == "gz":
        content = gzip.compress(content)
    elif packing == "zip" or base == "xlsx":
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("xl/workbook.xml" if base == "xlsx" else "a.csv", content)
        content = packed.getvalue()
    elif packing == "bz2":
        import bz2

        content = bz2.compress(content)
    return content


# -------------------------------------------------------------------------- damages
def cut(content, rng):
    return content[: int(rng.integers(len(content) + 1))]


def flip(content, rng):
    part = bytearray(content)
    for _ in range(int(rng.integers(1, 30))):
        if part:
            part[int(rng.integers(len(part)))] = int(rng.integers(256))
    return bytes(part)


def splice(content, rng):
    a, b = sorted(int(rng.integers(len(content) + 1)) for _ in range(2))
    return content[:b] + content[a:]


def insert(content, rng):
    at = int(rng.integers(len(content) + 1))
    word = TOKENS[int(rng.integers(len(TOKENS)))]
    return content[:at] + word + content[at:]


def lines_shuffled(content, rng):
    lines = content.split(b"\n")
    random.Random(int(rng.integers(2**31))).shuffle(lines)
    return b"\n".join(lines)


def replaced(content, rng):
    old = [b"model_a", b"model_b", b"judge", b"winner", b"human", b"1.0", b",", b"\n",
           b'"', b"x1_a", b":"][int(rng.integers(11))]  # fmt: skip
    word = TOKENS[int(rng.integers(len(TOKENS)))]
    return content.replace(old, word, int(rng.choice([1, 3, 10**6])))


def joined(content, rng):
    return content + content


def nothing(content, rng):
    return b""


TOKENS = [
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\r\n\r\n", b'"', b"'", b",,,,",
    b"[" * 5000, b"{" * 100, b"9" * 400, b"1e999", b"-0", b"nan", b"NaN", b"null",
    b"Infinity", b"\xc3\x28", "é".encode(), "\u202e".encode(), b"\x1b[31m", b"=1+1",
    b"tie", b"human", b"model_a", b"true", b"{}", b'{"a": {"b": [1]}}\n', b"\\ud800",
    b"#", b"\n\n\n", b"\x1a", b"winner", b"1" * 20, b"0x1F", b"1_000", b"judge_a",
]  # fmt: skip
DAMAGES = [cut, flip, flip, splice, insert, insert, insert, lines_shuffled, replaced,
           replaced, replaced, joined, nothing]  # fmt: skip
