"""PandaLM's test set: three annotators of each pair of responses."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._tools._cells import battles, interleaved, labelled
from skanchor.io._tools._reader import Options, Reader

_LABELS = {"0": "tie", "tie": "tie", "1": "model_a", "2": "model_b"} | {
    "0.0": "tie",
    "1.0": "model_a",
    "2.0": "model_b",
}
_RATER = re.compile(r"(?:annotator|label_)\d+")


def _read_pandalm(raw: pd.DataFrame, options: Options) -> pd.DataFrame:
    raters = [name for name in raw.columns if _RATER.fullmatch(name)]
    keys = raw["cmp_key"].unique()
    sides = dict(zip(keys, _sides(keys), strict=True))
    pairs = [sides[key] for key in raw["cmp_key"]]
    texts = {"response_a": "response1", "response_b": "response2"}
    tables = [
        battles(
            raw,
            {"prompt_id": "idx", "prompt": "instruction", **texts},
            *("cmp_key", *raters),
            model_a=[pair[0] for pair in pairs],
            model_b=[pair[1] for pair in pairs],
            judge="human",
            rater=rater,
            winner=labelled(raw[rater], _LABELS),
        )
        for rater in raters
    ]
    return interleaved(*tables)


def _sides(keys: Iterable[str]) -> list[tuple[str, str]]:
    """Split keys of two names that are joined by ``_``.

    Names may contain ``_``, too. Keys that can be split in only one way give known
    names. Another key is split so that both names are known or, failing that, one.
    """
    splits = {}
    for key in keys:
        parts = str(key).split("_")
        splits[key] = [
            ("_".join(parts[:at]), "_".join(parts[at:])) for at in range(1, len(parts))
        ]
    names = {name for ways in splits.values() if len(ways) == 1 for name in ways[0]}
    found = []
    for key, ways in splits.items():
        known = ways if len(ways) == 1 else [way for way in ways if set(way) <= names]
        half = [way for way in ways if set(way) & names]
        ways = known or half
        if len(ways) != 1:
            raise BattlesError(
                f"Column 'cmp_key' holds {key!r}, which joins two models by '_', and "
                f"the two names cannot be separated; add columns model_a, model_b, "
                f"winner and "
                "read it as a table."
            )
        found.append(ways[0])
    return found


PANDALM = Reader(
    name="pandalm",
    files="PandaLM test set",
    markers=(
        frozenset({"cmp_key", "annotator1", "idx"}),
        frozenset({"cmp_key", "label_0", "idx"}),
    ),
    assumes="0 is a tie, 1 and 2 are the responses; the model left of `_` in `cmp_key` "
    "is response 1; each annotator is a row (`rater`), those of a prompt one group.",
    read=_read_pandalm,
)


def result_column(raw: pd.DataFrame) -> str | None:
    """The column of a judge's results that name no models; None in other tables.

    PandaLM's results of a judge, such as ``gpt_result``, refer by ``idx`` to the pairs
    of the test set.

    Parameters
    ----------
    raw : DataFrame
        Table as it is in the file.

    Returns
    -------
    str or None
    """
    found = [name for name in raw.columns if str(name).endswith("_result")]
    is_result = "idx" in raw and "cmp_key" not in raw and len(found) == 1
    return found[0] if is_result else None


def joined_results(raw: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Verdicts of a judge on the pairs of the test set.

    Parameters
    ----------
    raw : DataFrame
        Results of a judge, with a column ``idx``.
    pairs : DataFrame
        Battles of the test set, whose ``prompt_id`` is ``idx``.

    Returns
    -------
    DataFrame

    Raises
    ------
    BattlesError
        If an ``idx`` is not in the test set, or names several pairs there.
    """
    column = result_column(raw)
    assert column is not None
    keep = [n for n in ("prompt_id", "model_a", "model_b", "prompt", "response_a",
                        "response_b") if n in pairs]  # fmt: skip
    known = pairs[keep].drop_duplicates(["prompt_id", "model_a", "model_b"])
    known = known.assign(prompt_id=known["prompt_id"].astype("str"))
    index = raw["idx"].astype("str")
    absent = index[~index.isin(known["prompt_id"])]
    twice = known["prompt_id"][known["prompt_id"].duplicated()]
    if len(absent):
        raise BattlesError(
            f"{len(absent)} of {len(raw)} results are of an 'idx' that the test set "
            f"lacks, such as {absent.iloc[0]!r}."
        )
    if index.isin(twice).any():
        raise BattlesError(
            f"The 'idx' {twice.iloc[0]!r} names several pairs of the test set, so that "
            "the results do not say which of them they are about."
        )
    winner = labelled(raw[column], _LABELS)
    found = known.set_index("prompt_id").reindex(index).reset_index()
    return found.assign(winner=winner.to_numpy())
