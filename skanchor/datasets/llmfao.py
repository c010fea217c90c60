"""LLMFAO: votes of a crowd on 59 models, and verdicts of two LLM judges."""

from __future__ import annotations

import os
from typing import Any

from skanchor.datasets.bunch import COLUMNS, as_bunch
from skanchor.datasets.published import PublishedFile, PublishedSet, read_json_lines
from skanchor.datasets.surface import add_features, add_texts
from skanchor.io import read_battles

_HASHES = {
    "crowd-comparisons.csv": (
        "106564a4bf06f047a4662979384313c22d9b4ca901e780f9e8419f8e5581adb1"
    ),
    "gpt3-comparisons.csv": (
        "e430a8ae338f0531b7b3cf96472e9200b9c0a9858987b83531d91459a5f07086"
    ),
    "gpt4-comparisons.csv": (
        "601c1b35438b00cb9b338e59bea74af17143ca9a91aff2403ba62f2c6db560d1"
    ),
    "prompts.jsonl": "917d233b18976244edf967be9d252ff344c024d9d4ed07780f12190becc3e9fc",
    "results.jsonl": "a0336dfc740d2e513bf111911681f5eb214f41b1e6426cec76791f576df42df2",
}
_SET = PublishedSet(
    "llmfao",
    {
        name: PublishedFile(
            "dustalov/llmfao", "9e224e94a40129fd6e1e1529b962307e84af40da", name, sha256
        )
        for name, sha256 in _HASHES.items()
    },
)
_JUDGES = {
    "crowd-comparisons.csv": "human",
    "gpt3-comparisons.csv": "gpt-3.5-turbo-instruct",
    "gpt4-comparisons.csv": "gpt-4",
}

_DESCR = """\
LLMFAO: votes of a crowd and verdicts of two LLM judges
-------------------------------------------------------

Responses to 19 prompts: 8,931 votes of a crowd among 59 models, 3,236 verdicts of gpt-4
and as many of gpt-3.5-turbo-instruct, also on 11 models of code that have no votes.

Columns
    prompt_id               name of the prompt
    model_a, model_b        the two models; model_a was shown on the left
    judge                   "human", "gpt-4" or "gpt-3.5-turbo-instruct"
    winner                  "model_a", "model_b" or "tie"
    rater                   who voted, such as "w58"; missing in rows of judges
    n_chars_a, n_chars_b    and so on: 15 surface features of the responses
    prompt, response_a, response_b
                            the texts, where asked for

Pairs were chosen for responses that differ, so that one model is in 31 % of the votes.
69 responses are blank.

Source: github.com/dustalov/llmfao (CC BY 4.0).
"""


def fetch_llmfao(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    with_texts: bool = False,
    return_X_y: bool = False,
    as_frame: bool = True,
) -> Any:
    """Fetch LLMFAO: votes of a crowd, verdicts of two LLM judges, response features.

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
        - data : the battles without their outcome, of shape (15403, 35).
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
    that holds the files as ``llmfao/results.jsonl`` and so on.

    Examples
    --------
    >>> from skanchor.datasets import fetch_llmfao
    >>> X, y = fetch_llmfao(return_X_y=True)  # doctest: +SKIP
    """
    paths = _SET.paths(data_home, download_if_missing)
    rows = read_battles(
        [paths[name] for name in _JUDGES], "llmfao", judge=list(_JUDGES.values())
    )
    # Comparisons name prompts by number, responses by slug.
    prompts = read_json_lines(paths["prompts.jsonl"])
    slugs = {str(prompt["id"]): prompt["slug"] for prompt in prompts}
    rows = rows.assign(
        prompt_id=rows["prompt_id"].map(slugs), rater="w" + rows["rater"]
    )[[*COLUMNS, "rater"]]
    # Responses by prompt and model.
    texts = {
        (result["slug"], result["name"]): result["result"]
        for result in read_json_lines(paths["results.jsonl"])
    }
    frame = add_features(rows, texts)
    if with_texts:
        prompt_texts = {prompt["slug"]: prompt["text"] for prompt in prompts}
        frame = add_texts(frame, prompt_texts, texts)
    return as_bunch(frame, return_X_y=return_X_y, as_frame=as_frame, DESCR=_DESCR)
