"""MT-Bench: votes of experts and verdicts of GPT-4 on the answers of six models."""

from __future__ import annotations

import os
from typing import Any

from skanchor.datasets.bunch import COLUMNS, as_bunch
from skanchor.datasets.published import PublishedFile, PublishedSet, read_json_lines
from skanchor.datasets.surface import add_features, add_texts
from skanchor.io import read_battles

_ANSWERS = {
    "alpaca-13b": "80f4a8bf4665839d33fa0ea7f4b58824abf88d5a0edc9e7cc68a362fca88ef98",
    "claude-v1": "884c109de34721859bf7ffa0f7e525dfbc9fb0d99c1ee7c5488bfb2eb8f8c62c",
    "gpt-3.5-turbo": "c3c097c21f91e4b44a554d82e5d47516daf7e8240e13b2eca79d211afc1fdfd6",
    "gpt-4": "f65cdce00aa8567e9add118cabd34c2866291ed8f5c1d568f8da9a81d231d3e7",
    "llama-13b": "b96b9f1e0a7e4e669fecfecda1c33908fdc4c095e38346e84352ea254c0b2cbc",
    "vicuna-13b-v1.2": (
        "bc9c414cc4e80274aa511ad6e622fdef70209b056f5ed9c1a78dd22549fef010"
    ),
}


def _label_file(name: str, sha256: str) -> PublishedFile:
    """A file of votes or verdicts."""
    return PublishedFile(
        "aliabbas-muhammadi/judgelab",
        "afdf0eaa55fdee9617bbc4d1821e5424b18f33ff",
        f"data/snapshots/mtbench/{name}",
        sha256,
    )


def _text_file(name: str, sha256: str) -> PublishedFile:
    """A file of questions or answers."""
    return PublishedFile(
        "geronimi73/FastChat",
        "148444f5fed474001ab67071f8667178220178f0",
        f"fastchat/llm_judge/data/mt_bench/{name}",
        sha256,
    )


_SET = PublishedSet(
    "mt_bench",
    {
        "human.jsonl": _label_file(
            "human.jsonl",
            "7ae1ff9ad4a01c30936342dd5494493da9a7fe6538265df1f4c04d44e76fa5f3",
        ),
        "gpt4_pair.jsonl": _label_file(
            "gpt4_pair.jsonl",
            "ef1d3c8d0eb9824cd9ecdd50a4d5690f0c05382148a24801128cb5facb121238",
        ),
        "question.jsonl": _text_file(
            "question.jsonl",
            "119565adbab82227089cefdb44c8d7e2cf04dc0a0ec233634c82e7d4e2a944f7",
        ),
        **{
            f"answer_{model}.jsonl": _text_file(f"model_answer/{model}.jsonl", sha256)
            for model, sha256 in _ANSWERS.items()
        },
    },
)

_DESCR = """\
MT-Bench: votes of experts and verdicts of GPT-4
------------------------------------------------

Answers of six models to 80 questions of two turns: 3,355 votes of people and 2,400
verdicts of gpt-4.

Columns
    prompt_id               question and turn, such as "81_t1"; turn 2 goes on from 1
    model_a, model_b        the two models
    judge                   "human" or "gpt-4"
    winner                  "model_a", "model_b" or "tie"
    rater                   who voted; missing in rows of gpt-4
    n_chars_a, n_chars_b    and so on: 15 surface features of the answers in that turn
    prompt, response_a, response_b
                            the texts of that turn, where asked for

GPT-4 saw each pair in both orders; a verdict that changed with the order is a tie here.
Pairs have a fixed orientation, so that more wins of model_b are no position effect.

Source: labels from github.com/aliabbas-muhammadi/judgelab (CC BY 4.0), texts from
github.com/geronimi73/FastChat (Apache 2.0); Zheng et al. (2023), "Judging
LLM-as-a-Judge with MT-Bench and Chatbot Arena".
"""


def fetch_mt_bench(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    with_texts: bool = False,
    return_X_y: bool = False,
    as_frame: bool = True,
) -> Any:
    """Fetch MT-Bench: votes of experts, verdicts of GPT-4, features of the answers.

    Parameters
    ----------
    data_home : path, optional
        Folder of the files; None means the environment variable ``SKANCHOR_DATA``, or
        without it ``~/skanchor_data``.
    download_if_missing : bool, default=True
        Whether to download missing files (2 MB); otherwise they raise an OSError.
    with_texts : bool, default=False
        Whether to add the columns ``prompt``, ``response_a`` and ``response_b``.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=True
        Return data as a DataFrame and target as a Series; otherwise both are arrays.

    Returns
    -------
    data : Bunch
        - data : the battles without their outcome, of shape (5755, 35).
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
    that holds the files as ``mt_bench/human.jsonl`` and so on.

    Examples
    --------
    >>> from skanchor.datasets import fetch_mt_bench
    >>> X, y = fetch_mt_bench(return_X_y=True)  # doctest: +SKIP
    """
    paths = _SET.paths(data_home, download_if_missing)
    rows = read_battles([paths["human.jsonl"], paths["gpt4_pair.jsonl"]], "mt_bench")
    rows = rows.assign(
        # Each turn of a question has its own answers, so it is a prompt of its own.
        prompt_id=rows["prompt_id"] + "_t" + rows["turn"].astype("str"),
        judge=rows["judge"].replace({"gpt4_pair": "gpt-4"}),
    )[[*COLUMNS, "rater"]]
    # Answers by prompt (question and turn) and model.
    texts = {
        (prompt, model): text
        for model in _ANSWERS
        for answer in read_json_lines(paths[f"answer_{model}.jsonl"])
        for prompt, text in _by_turn(answer, answer["choices"][0]["turns"])
    }
    frame = add_features(rows, texts)
    if with_texts:
        prompts = {
            prompt: text
            for question in read_json_lines(paths["question.jsonl"])
            for prompt, text in _by_turn(question, question["turns"])
        }
        frame = add_texts(frame, prompts, texts)
    return as_bunch(frame, return_X_y=return_X_y, as_frame=as_frame, DESCR=_DESCR)


def _by_turn(row: dict[str, Any], turns: list[str]) -> list[tuple[str, str]]:
    """Pairs of a prompt id, such as "81_t1", and the text of that turn."""
    return [(f"{row['question_id']}_t{i}", text) for i, text in enumerate(turns, 1)]
