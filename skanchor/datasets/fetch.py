"""Published battles: votes of people, and verdicts of LLM judges on the same models.

Files are downloaded once, checked by hash, and stored in a folder. If
``SKANCHOR_DATA_MIRROR`` names a folder, files are read from there, as
``<set>/<name>``, and nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from skanchor.datasets._demo import as_bunch

MIRROR = "SKANCHOR_DATA_MIRROR"


def published_files(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
) -> dict[str, Path]:
    """Paths of the files of a set, which are checked, and downloaded if missing.

    Parameters
    ----------
    name : str
        Such as ``"arena"``.
    data_home : path, optional
        Folder of downloaded files; None means the environment variable
        ``SKANCHOR_DATA``, or without it ``~/skanchor_data``.
    download_if_missing : bool, default=True
        Whether to download missing files.

    Returns
    -------
    dict of str to Path
        Paths by the names of the files.

    Raises
    ------
    OSError
        If a file is missing and cannot be downloaded, or has another hash.
    """
    import pooch
    from requests import RequestException

    mirror = os.environ.get(MIRROR)
    home = mirror or data_home or os.environ.get("SKANCHOR_DATA") or "~/skanchor_data"
    store = pooch.create(Path(home).expanduser(), base_url="")
    with (files(__package__) / "data" / "registry.txt").open() as registry:
        store.load_registry(registry)
    # pooch logs each address that it fetches; failures are reported below.
    pooch.get_logger().setLevel("WARNING")
    paths = {}
    for file in [file for file in store.registry if file.startswith(f"{name}/")]:
        path = paths[file.removeprefix(f"{name}/")] = store.abspath / file
        what = f"{store.urls[file]}, {store.registry[file]}"
        if path.is_file() and f"sha256:{pooch.file_hash(path)}" == store.registry[file]:
            continue
        if mirror or not download_if_missing:
            raise OSError(
                f"{path} is not there, or not the published file. Put there {what}; or "
                f"unset {MIRROR}, and give download_if_missing=True."
            )
        try:
            store.fetch(file)
        # pooch raises ValueError for a wrong hash.
        except (RequestException, ValueError) as error:
            raise OSError(
                f"{file} could not be fetched ({type(error).__name__}). Without a "
                f"network, put {what} as {file} in a folder, and name it in {MIRROR}."
            ) from error
    return paths


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Read a file with one JSON object per line."""
    # Not splitlines, which would also split at U+2028 inside a string.
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line.strip()]


_COLUMNS = ["prompt_id", "model_a", "model_b", "judge", "winner"]
_LLMFAO = {
    "crowd-comparisons.csv": "human",
    "gpt3-comparisons.csv": "gpt-3.5-turbo-instruct",
    "gpt4-comparisons.csv": "gpt-4",
}


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
    paths = published_files("arena", data_home, download_if_missing)
    parts = [
        pd.DataFrame(read_json_lines(path)).assign(judge=name.removesuffix(".json"))
        for name, path in paths.items()
    ]
    rows = pd.concat(parts, ignore_index=True)
    # Ids of questions repeat, so the number of the battle is the prompt id.
    winner = rows["winner"].replace({"tie (bothbad)": "tie"})
    frame = rows.assign(prompt_id=rows["num"], winner=winner)[_COLUMNS]
    return as_bunch(frame, return_X_y, as_frame, "arena")


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
    paths = published_files("mt_bench", data_home, download_if_missing)
    files = paths["human.jsonl"], paths["gpt4_pair.jsonl"]
    rows = pd.DataFrame([row for path in files for row in read_json_lines(path)])
    is_human = rows["judge"] != "gpt4_pair"
    rows = rows.assign(
        # Each turn of a question has its own answers, so it is a prompt of its own.
        prompt_id=rows["question_id"].astype("str") + "_t" + rows["turn"].astype("str"),
        rater=rows["judge"].where(is_human),
        judge=pd.Series("gpt-4", index=rows.index).mask(is_human, "human"),
        winner=rows["winner"].replace({"tie (inconsistent)": "tie"}),
    )[[*_COLUMNS, "rater"]]
    # Answers by prompt (question and turn) and model.
    texts = {
        (prompt, name.removeprefix("answer_").removesuffix(".jsonl")): text
        for name, path in paths.items()
        if name.startswith("answer_")
        for answer in read_json_lines(path)
        for prompt, text in _by_turn(answer, answer["choices"][0]["turns"])
    }
    prompts = {
        prompt: text
        for question in read_json_lines(paths["question.jsonl"])
        for prompt, text in _by_turn(question, question["turns"])
    }
    frame = _with_responses(rows, texts, prompts if with_texts else None)
    return as_bunch(frame, return_X_y, as_frame, "mt_bench")


def _by_turn(row: dict[str, Any], turns: list[str]) -> list[tuple[str, str]]:
    """Pairs of a prompt id, such as "81_t1", and the text of that turn."""
    return [(f"{row['question_id']}_t{i}", text) for i, text in enumerate(turns, 1)]


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
    paths = published_files("llmfao", data_home, download_if_missing)
    # A model may be called "NA".
    parts = [pd.read_csv(paths[name], keep_default_na=False).assign(judge=judge)
             for name, judge in _LLMFAO.items()]  # fmt: skip
    rows = pd.concat(parts, ignore_index=True)
    # Comparisons name prompts by number, responses by slug.
    prompts = read_json_lines(paths["prompts.jsonl"])
    slugs = {prompt["id"]: prompt["slug"] for prompt in prompts}
    sides = {"left": "model_a", "right": "model_b", "tie": "tie"}
    workers = rows["worker"].astype("Int64").astype("str")
    rows = rows.rename(columns={"left": "model_a", "right": "model_b"}).assign(
        prompt_id=rows["prompt"].map(slugs),
        winner=rows["winner"].map(sides),
        rater=("w" + workers).where(rows["worker"].notna()),
    )[[*_COLUMNS, "rater"]]
    # Responses by prompt and model.
    texts = {
        (result["slug"], result["name"]): result["result"]
        for result in read_json_lines(paths["results.jsonl"])
    }
    prompt_texts = {prompt["slug"]: prompt["text"] for prompt in prompts}
    frame = _with_responses(rows, texts, prompt_texts if with_texts else None)
    return as_bunch(frame, return_X_y, as_frame, "llmfao")


# ---------------------------------------------------------------- features of texts
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_IN_TEXT = {
    "n_sentences": re.compile(r"[.!?](?:\s|$)"),
    "n_bullets": re.compile(r"^\s*[-*•]\s", re.MULTILINE),
    "n_numbered": re.compile(r"^\s*\d+[.)] ", re.MULTILINE),
}
_OUTSIDE_CODE = {
    "n_headers": re.compile(r"^\s{0,3}#{1,6}\s", re.MULTILINE),
    "n_bold": re.compile(r"\*\*[^*\n]+\*\*|__[^_\n]+__"),
}


def _features(text: str) -> dict[str, float]:
    """Fifteen surface features; fixed, so that a fetched table never changes."""
    words = text.split()
    code_free = _CODE.sub("", text)
    return {
        "n_chars": len(text),
        "n_words": len(words),
        "n_lines": sum(bool(line.strip()) for line in text.splitlines()),
        "n_paragraphs": sum(bool(p.strip()) for p in re.split(r"\n\s*\n", text)),
        **{name: len(form.findall(text)) for name, form in _IN_TEXT.items()},
        **{name: len(form.findall(code_free)) for name, form in _OUTSIDE_CODE.items()},
        # Rounded up, so that a block that is never closed is counted.
        "n_code_blocks": (text.count("```") + 1) // 2,
        "n_digits": sum(char.isdigit() for char in text),
        "n_exclaim": text.count("!"),
        "n_question": text.count("?"),
        "mean_word_len": sum(map(len, words)) / len(words) if words else 0.0,
        "type_token": len({w.lower() for w in words}) / len(words) if words else 0.0,
    }


def _with_responses(
    battles: pd.DataFrame,
    texts: dict[tuple[Any, Any], str],
    prompts: dict[Any, str] | None,
) -> pd.DataFrame:
    """Add columns ``n_chars_a`` and so on; those of the first side come first.

    ``texts`` are responses by prompt and model; missing ones have NaN. With texts of
    ``prompts``, columns ``prompt``, ``response_a`` and ``response_b`` are added, too.
    """
    # One row for each response, with its features and its text, by prompt and model.
    table = pd.DataFrame(
        [_features(text) | {"response": text} for text in texts.values()],
        index=pd.MultiIndex.from_tuples(texts),
    )
    frame = battles
    for side in "ab":
        keys = ["prompt_id", f"model_{side}"]
        sided = table.add_suffix(f"_{side}")
        frame = frame.merge(sided, how="left", left_on=keys, right_index=True)
    # Texts, if any, stand behind all features.
    responses = {name: frame.pop(name) for name in ("response_a", "response_b")}
    if prompts is None:
        return frame
    return frame.assign(prompt=battles["prompt_id"].map(prompts), **responses)
