"""Chatbot Arena: votes of people and verdicts of three LLM judges on 26,919 battles."""

from __future__ import annotations

import os
from typing import Any

from skanchor.datasets.bunch import COLUMNS, as_bunch
from skanchor.datasets.published import PublishedFile, PublishedSet
from skanchor.io import read_battles

_HASHES = {
    "human": "5dacc3a3bf14e878c8ebab50919266d652d9934f1573188fcef3b61f4762b3ae",
    "gpt-4-0125-preview": (
        "c97f185690160612e387b3dc8c309b459037126075b68e70312a4792895ea4cd"
    ),
    "claude-3-opus-20240229": (
        "feaa70627a9531d98f6ed7b9bd02492bf5d983abad402c1d58f354a12b09d3ab"
    ),
    "gpt-3.5-turbo": "8aafbce912a5079026d34a98cebfe7dc3ce8126668b7a3b6ca6a55023e7338fd",
}
_SET = PublishedSet(
    "arena",
    {
        f"{judge}.json": PublishedFile(
            "Networks-Learning/prediction-powered-ranking",
            "af64521891fda0057d3b8766b830142a9fa54414",
            f"data/{judge}.json",
            sha256,
        )
        for judge, sha256 in _HASHES.items()
    },
)

_DESCR = """\
Chatbot Arena battles with verdicts of LLM judges
-------------------------------------------------

26,919 battles of 20 models, each with a vote of a person and a verdict of
gpt-4-0125-preview, claude-3-opus-20240229 and gpt-3.5-turbo: 107,676 rows.

Columns
    prompt_id               number of the battle; its four rows depend on each other
    model_a, model_b        the two models; model_a was shown on the left
    judge                   "human" or the name of the judge
    winner                  "model_a", "model_b" or "tie"

People could call both responses bad; these 5,132 votes are ties here. There are no
texts, so no features of responses. gpt-3.5-turbo prefers the first side in 86 % of its
rows, which is position bias: give JudgeCalibrator(position_effect=True).

Source: github.com/Networks-Learning/prediction-powered-ranking (MIT licence), from the
votes of Zheng et al. (2023), "Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena".
"""


def fetch_arena(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = True,
) -> Any:
    """Fetch Chatbot Arena battles, each with a human vote and three LLM verdicts.

    Parameters
    ----------
    data_home : path, optional
        Folder of the files; None means the environment variable ``SKANCHOR_DATA``, or
        without it ``~/skanchor_data``.
    download_if_missing : bool, default=True
        Whether to download missing files (15 MB); otherwise they raise an OSError.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=True
        Return data as a DataFrame and target as a Series; otherwise both are arrays.

    Returns
    -------
    data : Bunch
        - data : the battles without their outcome, of shape (107676, 4).
        - target : the outcomes, "model_a", "model_b" or "tie".
        - frame : DataFrame of both, None if `as_frame` is False.
        - feature_names, target_names : the columns of data, and of target.
        - DESCR : what the rows are and where they come from.
    (data, target) : tuple
        If `return_X_y` is True.

    Raises
    ------
    OSError
        If a file is missing and cannot be downloaded, or differs from the published.

    Notes
    -----
    Without a network set the environment variable ``SKANCHOR_DATA_MIRROR`` to a folder
    that holds the files as ``arena/human.json`` and so on.

    Examples
    --------
    >>> from skanchor.datasets import fetch_arena
    >>> X, y = fetch_arena(return_X_y=True)  # doctest: +SKIP
    """
    paths = _SET.paths(data_home, download_if_missing)
    rows = read_battles(
        list(paths.values()),
        "table",
        judge=list(_HASHES),
        labels={"tie (bothbad)": "tie"},
    )
    # Ids of questions repeat, so the number of the battle is the prompt id. It is the
    # same in the files of all judges.
    frame = rows.assign(prompt_id=rows["num"])[[*COLUMNS]]
    return as_bunch(frame, return_X_y=return_X_y, as_frame=as_frame, DESCR=_DESCR)
