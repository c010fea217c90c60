"""Random battles tables: a simulated one, and a few things done to it."""

import copy
import datetime
import decimal
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from skanchor.simulation import simulate_battles

ODD_NAMES = [
    "", " ", "nan", "None", "human", "=1+1", "@x", "\x1b[31mred", "a,b", 'say "x"',
    "naïve", "nai\u0308ve", "mo\u200bdel", "модель", "模型", "🦜", "x" * 3000, "1",
    "01", "1.0", "true", "-", "tie", "model_a", "line\nbreak", "tab\there", "C:\\x",
    "%s{}",
    "a" "\u202e" "b", "NULL", "\ufeffbom", "0x10", "1e5", "model 1 ", "MODEL 1",
]  # fmt: skip


@dataclass
class Case:
    """A table with all that goes into ``fit``."""

    X: Any
    y: Any
    weight: Any = None
    groups: Any = None
    notes: tuple = ()
    # Whether rows and names can be changed: plain pandas, labels of one type.
    lawful: bool = True


def draw(rng, severe=None):
    """Draw a table to which up to four odd things were done.

    Most tables have nothing wrong in them, so that they are fitted: what no method can
    stand is done to one table in eight, the severe ones.
    """
    severe = bool(rng.random() < 0.125) if severe is None else severe
    changes = CHANGES + SEVERE if severe else CHANGES
    data = simulate_battles(
        n_historical=int(rng.choice([40, 120, 300, 300, 600, 600, 1200])),
        n_new=int(rng.choice([8, 30, 60, 120, 120, 250])),
        n_models=int(rng.choice([3, 4, 6, 6, 9])),
        n_judges=int(rng.choice([1, 1, 2, 3, 6])),
        n_new_models=int(rng.choice([1, 1, 1, 2, 4])),
        n_extra_human=int(rng.choice([0, 50, 100])),
        n_features=int(rng.choice([1, 1, 3, 3, 12])),
        rho=0.0,
        item_sd=float(rng.choice([0.0, 0.0, 0.5])),
        random_state=int(rng.integers(2**31)),
    )
    X = data.X.reset_index(drop=True)
    if rng.random() < 0.2:
        X = X[["model_a", "model_b", "judge"]]
    y = np.asarray(data.y)
    y = np.where(y == y.max(), 1.0, 0.0) if y.dtype.kind in "OU" else y.astype(float)
    case = Case(X, y)
    for _ in range(int(rng.choice([0, 1, 1, 1, 2, 2, 3, 4]))):
        change = changes[int(rng.integers(len(changes)))]
        if len(case.X) and isinstance(case.X, pd.DataFrame):
            before = copy.copy(case)
            try:
                change(case, rng)
                case.notes = (*case.notes, change.__name__)
            except Exception:  # what was done before leaves nothing to do it to
                case = before
    for draw_more in (_draw_weight, _draw_groups, _draw_labels):
        draw_more(case, rng, severe)
    if case.lawful and rng.random() < 0.08:
        _draw_container(case, rng)
    return case


def pairs_of(X):
    return [c[:-2] for c in X if str(c).endswith("_a") and f"{str(c)[:-2]}_b" in X
            and str(c) != "model_a"]  # fmt: skip


# -------------------------------------------------------------------------- outcomes
def ties(case, rng):
    case.y = np.where(rng.random(len(case.y)) < rng.random(), 0.5, case.y)


def fractions(case, rng):
    case.y = np.clip(case.y + rng.normal(0, 0.3, len(case.y)), 0, 1)


def one_outcome(case, rng):
    case.y = np.full(len(case.y), rng.choice([0.0, 0.5, 1.0, 0.7]))


def one_judge_decides_alike(case, rng):
    judge = rng.choice(case.X["judge"].to_numpy())
    case.y = np.where(case.X["judge"] == judge, rng.choice([0.0, 0.5, 1.0]), case.y)


def a_model_wins_all(case, rng):
    X = case.X
    model = rng.choice(X["model_a"].to_numpy())
    rows = rng.choice(np.array(["all", "human"])) == "all"
    where = rows | (X["judge"] == "human")
    case.y = np.where(where & (X["model_a"] == model), 1.0, case.y)
    case.y = np.where(where & (X["model_b"] == model), 0.0, case.y)


def coin_tosses(case, rng):
    case.y = rng.integers(0, 2, len(case.y)).astype(float)


def turned_judge(case, rng):
    judge = rng.choice(case.X["judge"].to_numpy())
    case.y = np.where(case.X["judge"] == judge, 1.0 - case.y, case.y)


def a_feature_decides(case, rng):
    names = pairs_of(case.X)
    if names:
        name = rng.choice(names)
        gap = pd.to_numeric(case.X[f"{name}_a"], errors="coerce") - pd.to_numeric(
            case.X[f"{name}_b"], errors="coerce"
        )
        case.y = np.where(case.X["judge"] != "human", gap > 0, case.y).astype(float)


# ------------------------------------------------------------------------------ rows
def few_rows(case, rng):
    n = len(case.X)
    keep = np.sort(rng.choice(n, min(n, int(rng.integers(1, 40))), replace=False))
    case.X, case.y = case.X.iloc[keep].reset_index(drop=True), case.y[keep]


def copies(case, rng):
    n = len(case.X)
    rows = rng.integers(0, n, n)
    case.X, case.y = case.X.iloc[rows].reset_index(drop=True), case.y[rows]


def no_rows(case, rng):
    if rng.random() < 0.1:
        case.X, case.y = case.X.iloc[:0], case.y[:0]


def against_itself(case, rng):
    rows = rng.random(len(case.X)) < rng.choice([0.05, 0.5])
    case.X = case.X.assign(model_b=case.X["model_b"].mask(rows, case.X["model_a"]))


def turned_sides(case, rng):
    turn = rng.random(len(case.y)) < 0.5
    X = case.X.copy()
    for name in ["model", *pairs_of(X)]:
        a, b = X[f"{name}_a"], X[f"{name}_b"]
        X[f"{name}_a"], X[f"{name}_b"] = a.mask(turn, b), b.mask(turn, a)
    case.X, case.y = X, np.where(turn, 1.0 - case.y, case.y)


def without_some_judge_rows(case, rng):
    X = case.X
    label = rng.choice(X["judge"].to_numpy())
    keep = (X["judge"] != label).to_numpy() | (rng.random(len(X)) < 0.03)
    if keep.any():
        case.X, case.y = X[keep].reset_index(drop=True), case.y[keep]


def without_a_pair(case, rng):
    """Cut the graph of human rows."""
    X = case.X
    names = np.unique(X["model_a"].astype(str))
    part = rng.choice(names, max(1, len(names) // 2), replace=False)
    crossing = X["model_a"].isin(part) != X["model_b"].isin(part)
    keep = ~((X["judge"] == "human") & crossing).to_numpy()
    if keep.any():
        case.X, case.y = X[keep].reset_index(drop=True), case.y[keep]


def more_judges(case, rng):
    rows = (case.X["judge"] != "human") & (rng.random(len(case.X)) < 0.8)
    many = np.array([f"j{k}" for k in rng.integers(0, 60, len(case.X))], dtype=object)
    case.X = case.X.assign(judge=case.X["judge"].mask(rows, many))


def odd_index(case, rng):
    n = len(case.X)
    case.X.index = (
        rng.integers(0, 3, n) if rng.random() < 0.5 else [f"r{i}" for i in range(n)]
    )
    case.y = pd.Series(case.y, index=np.arange(n) + 5).to_numpy()


# ----------------------------------------------------------------------------- names
def odd_names(case, rng):
    X = case.X
    reference = pd.unique(X[["model_a", "model_b"]].to_numpy().ravel())
    part = [m for m in reference if rng.random() < 0.4]
    new = dict(zip(part, rng.choice(ODD_NAMES, len(part), replace=False), strict=True))
    case.X = X.replace({"model_a": new, "model_b": new})


def odd_judge(case, rng):
    old = rng.choice(case.X["judge"].to_numpy())
    case.X = case.X.assign(judge=case.X["judge"].replace({old: rng.choice(ODD_NAMES)}))


def names_of_another_type(case, rng):
    X = case.X.copy()
    reference = pd.unique(X[["model_a", "model_b"]].to_numpy().ravel())
    kind = rng.choice(
        ["int", "uint8", "float", "bool", "category", "string", "bytes", "mixed",
         "arrow", "date", "tuple", "int_and_uint", "Int64"]
    )  # fmt: skip
    case.lawful = False
    number = {m: i for i, m in enumerate(reference)}
    for side in ("model_a", "model_b"):
        values = X[side].map(number)
        X[side] = {
            "int": lambda v=values: v,
            "uint8": lambda v=values: v.astype("uint8"),
            "float": lambda v=values: v + 0.5,
            "bool": lambda v=values: v % 2 == 0,
            "category": lambda s=side: X[s].astype("category"),
            "string": lambda s=side: X[s].astype("string"),
            "bytes": lambda s=side: X[s].map(lambda x: str(x).encode()),
            "mixed": lambda v=values, s=side: X[s].mask(v == 0, 7),
            "arrow": lambda s=side: X[s].astype("string[pyarrow]"),
            "date": lambda v=values: pd.to_datetime(v, unit="D"),
            "tuple": lambda v=values: v.map(lambda i: (i, i)),
            "int_and_uint": lambda v=values, s=side: (v + 2**53).astype(
                "uint64" if s == "model_a" else "int64"
            ),
            "Int64": lambda v=values: v.astype("Int64"),
        }[kind]()
    case.X = X
    case.notes = (*case.notes, kind)


# --------------------------------------------------------------------------- columns
def nulls(case, rng):
    X = case.X.copy()
    column = rng.choice(np.array(X.columns, dtype=object))
    rows = rng.random(len(X)) < rng.choice([0.02, 0.5, 1.0])
    empty = [None, np.nan, pd.NA, pd.NaT][int(rng.integers(4))]
    X[column] = X[column].astype(object).mask(rows, empty)
    case.X = X


def no_column(case, rng):
    case.X = case.X.drop(columns=rng.choice(np.array(case.X.columns, dtype=object)))
    case.lawful = case.lawful and {"judge", "model_a", "model_b"} <= set(case.X)


def column_twice(case, rng):
    name = rng.choice(np.array(case.X.columns, dtype=object))
    case.X = pd.concat([case.X, case.X[[name]]], axis=1)
    case.lawful = False


def more_columns(case, rng):
    X, n = case.X.copy(), len(case.X)
    kind = int(rng.integers(9))
    values = {
        0: lambda: rng.choice(["a", "b"], n),
        1: lambda: [{"deep": [1, {"x": i}]} for i in range(n)],
        2: lambda: [list(range(i % 4)) for i in range(n)],
        3: lambda: rng.normal(size=n) + 1j,
        4: lambda: pd.to_datetime(rng.integers(0, 10**9, n), unit="s"),
        5: lambda: rng.integers(0, 2, n).astype(bool),
        6: lambda: [decimal.Decimal(int(i)) for i in rng.integers(0, 9, n)],
        7: lambda: pd.array(rng.integers(0, 9, n), dtype="Int64"),
        8: lambda: [datetime.timedelta(int(i)) for i in rng.integers(0, 9, n)],
    }[kind]
    for side in rng.choice(["a", "b", "ab"]):
        name = rng.choice(["z", "winner", "score", "n é", "_", "judge", "model_a"])
        if f"{name}_{side}" not in X:
            X[f"{name}_{side}"] = values()
    case.X = X


def odd_feature(case, rng):
    names = pairs_of(case.X)
    if not names:
        return
    X, n = case.X.copy(), len(case.X)
    pair = [f"{rng.choice(names)}_{side}" for side in "ab"]
    kind = rng.choice(
        ["constant", "1e300", "1e90", "1e-300", "inf", "text", "copy", "sum", "rare",
         "float16", "int8", "object", "step", "huge int", "offset", "outcome", "nan"]
    )  # fmt: skip
    one = int(rng.integers(n))
    if kind == "copy":
        X["copy_a"], X["copy_b"] = X[pair[0]], X[pair[1]]
    elif kind == "sum":
        first = [f"{names[0]}_{side}" for side in "ab"]
        for k, side in enumerate("ab"):
            X[f"sum_{side}"] = X[pair[k]] + 2 * X[first[k]]
    elif kind == "outcome":
        X[pair[0]], X[pair[1]] = case.y, 1 - case.y
    else:
        for name in pair:
            column = pd.to_numeric(X[name], errors="coerce").astype(float)
            X[name] = {
                "constant": lambda c=column: 0 * c + 3,
                "1e300": lambda c=column: c * 1e300,
                "1e90": lambda c=column: c * 1e90,
                "1e-300": lambda c=column: c * 1e-300,
                "inf": lambda c=column: c.where(np.arange(n) != one, np.inf),
                "text": lambda c=column: c.astype(str),
                "rare": lambda c=column: (np.arange(n) == one) * 1.0,
                "float16": lambda c=column: c.astype("float16"),
                "int8": lambda c=column: np.clip(c.fillna(0) * 50, -128, 127).astype(
                    "int8"
                ),
                "object": lambda c=column: c.astype(object),
                "step": lambda c=column: (c > 0).astype(bool),
                "huge int": lambda c=column: [10**30] * n,
                "offset": lambda c=column: c + 1e9,
                "nan": lambda c=column: c.mask(rng.random(n) < 0.3),
            }[kind]()
    case.X = X
    case.notes = (*case.notes, kind)


def shown_first(case, rng):
    n = len(case.X)
    values = [
        lambda: rng.choice(["model_a", "model_b"], n),
        lambda: np.full(n, "model_a"),
        lambda: rng.choice(["model_a", "model_b", "", "tie"], n),
        lambda: rng.integers(0, 2, n),
        lambda: np.where(case.X["model_a"] < case.X["model_b"], "model_a", "model_b"),
    ][int(rng.choice([0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 4]))]
    try:
        case.X = case.X.assign(shown_first=values())
    except TypeError:
        return
    if rng.random() < 0.5:  # the first side is favoured
        first = case.X["shown_first"].astype(str) == "model_a"
        favour = rng.random(n) < 0.4
        case.y = np.where(favour, first.astype(float), case.y)


def prompts(case, rng):
    n = len(case.X)
    case.X = case.X.assign(prompt_id=rng.integers(0, max(n // 3, 1), n))
    if rng.random() < 0.5:
        case.groups = "prompt_id"


# Often survived, and seldom.
CHANGES = [
    ties, ties, fractions, one_judge_decides_alike, a_model_wins_all, coin_tosses,
    turned_judge, a_feature_decides, copies, against_itself, turned_sides, more_judges,
    odd_index, odd_names, odd_feature, shown_first, shown_first, prompts, prompts,
] * 2 + [
    one_outcome, few_rows, no_rows, without_some_judge_rows, without_a_pair, odd_judge,
]  # fmt: skip
SEVERE = [
    names_of_another_type, names_of_another_type, nulls, no_column, column_twice,
    more_columns, more_columns,
] * 2  # fmt: skip


# ------------------------------------------------------- weights, groups and outcomes
def _draw_weight(case, rng, severe):
    n = len(case.X)
    kind = int(rng.choice(11 if severe else [0, 1, 2, 4, 9, 10]))
    kind = kind if rng.random() < 0.3 else -1
    case.weight = {
        0: lambda: rng.random(n),
        1: lambda: rng.integers(0, 4, n),
        2: lambda: np.where(rng.random(n) < 0.8, 0.0, 1.0),
        3: lambda: 10.0 ** rng.uniform(-14, 2, n),
        4: lambda: np.full(n, 1e-200),
        5: lambda: rng.choice([-1.0, 1.0], n),
        6: lambda: np.where(rng.random(n) < 0.1, np.nan, 1.0),
        7: lambda: rng.random(n + 1),
        8: lambda: ["x"] * n,
        9: lambda: rng.integers(1, 1000, n).astype(float),
        10: lambda: np.where(rng.random(n) < 0.02, 1e4, 1.0),
    }.get(kind, lambda: None)()
    if case.weight is not None:
        case.notes = (*case.notes, f"weight {kind}")


def _draw_groups(case, rng, severe):
    n = len(case.X)
    kind = int(rng.choice(10 if severe else [0, 0, 1, 2, 3, 8, 9]))
    kind = kind if rng.random() < 0.3 else -1
    drawn = {
        0: lambda: rng.integers(0, max(n // 2, 1), n),
        1: lambda: np.zeros(n, dtype=int),
        2: lambda: np.arange(n),
        3: lambda: rng.choice(["u", "v", "w"], n),
        4: lambda: np.where(rng.random(n) < 0.1, None, "g"),
        5: lambda: "no such column",
        6: lambda: np.arange(n + 1),
        7: lambda: [[1]] * n,
        8: lambda: case.X["judge"].to_numpy() if "judge" in case.X else None,
        9: lambda: np.where(rng.random(n) < 0.9, 0, np.arange(n)),
    }.get(kind)
    if drawn is not None:
        case.groups = drawn()
        case.notes = (*case.notes, f"groups {kind}")


def _draw_labels(case, rng, severe):
    n, y = len(case.y), np.asarray(case.y, dtype=float)
    # The other kinds say that something is missing or unknown.
    kind = int(rng.integers(20) if severe else rng.choice([0, 1, 4, 5, 9, *[-1] * 9]))
    words = np.where(y == 0.5, "tie", np.where(y > 0.5, "model_a", "model_b"))
    drawn = {
        0: lambda: words,
        1: lambda: pd.Series(words, dtype="category"),
        2: lambda: np.where(rng.random(n) < 0.05, "whoever", words),
        3: lambda: np.where(rng.random(n) < 0.05, None, words),
        4: lambda: y > 0.5,
        5: lambda: np.round(y).astype(int),
        6: lambda: np.where(rng.random(n) < 0.05, np.nan, y),
        7: lambda: y + 1,
        8: lambda: y.astype(str),
        9: lambda: pd.Series(words, index=np.arange(n)[::-1]),
        10: lambda: y[:-1],
        11: lambda: y[:, None],
    }.get(kind)
    if drawn is not None:
        case.y = drawn()
        case.notes = (*case.notes, f"labels {kind}")


def _draw_container(case, rng):
    import polars as pl
    import pyarrow as pa

    kind = int(rng.choice([0, 1, 2, 2, 3, 4]))
    try:
        case.X = [
            lambda: pl.from_pandas(case.X),
            lambda: pa.Table.from_pandas(case.X, preserve_index=False),
            lambda: case.X.convert_dtypes(dtype_backend="pyarrow"),
            lambda: case.X.to_numpy(),
            lambda: case.X.to_dict("list"),
        ][kind]()
    except Exception:
        return  # such a table cannot be made
    case.lawful = False
    case.notes = (*case.notes, f"container {kind}")
