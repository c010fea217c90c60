"""Names of one model in two spellings, and of two models that are not one."""

import warnings

import pandas as pd
import pytest

from skanchor import BTLRegressor
from skanchor._battles import spellings
from skanchor._battles.spellings import appearance, spelt_differently
from skanchor.exceptions import DataWarning


@pytest.mark.parametrize(
    ("label", "known"),
    [
        ("GPT-4 Turbo", "gpt_4_turbo"),
        ("gpt4-turbo", "gpt-4-turbo"),
        ("meta-llama/Llama-3-8B", "llama-3-8b"),
        ("llama3:8b", "Llama-3-8B"),
        ("meta-llama-Llama-3-8B", "meta-llama/Llama-3-8B"),
        ("claude-3-opus", "claude-3-opus-20240229"),
        ("gpt-4o-2024-08-06", "openai/gpt-4o"),
        ("gpt-4o-2024-08-06", "gpt-4o-20240806"),
        ("vicunna-13b", "vicuna-13b"),
        ("claude-instnat", "claude-instant"),
    ],
)
def test_names_of_one_model(label, known):
    others = ["owl", "elk-7b", 3]
    assert spelt_differently([label, 3], [*others, known]) == [(label, known)]
    assert spelt_differently([known], [label, *others]) == [(known, label)]


@pytest.mark.parametrize(
    ("label", "known"),
    [
        ("gpt-4-0613", "gpt-4-0314"),
        ("llama-2-7b", "llama-2-13b"),
        ("llama-2-13b", "llama-21-3b"),
        ("gpt-4.1", "gpt-41"),
        ("gpt-4-mini", "gpt-4o-mini"),
        ("claude-3-5-sonnet-20240620", "claude-3-5-sonnet-20241022"),
        ("NousResearch/Llama-3-8B", "meta-llama/Llama-3-8B"),
        ("command", "command-r"),
        ("command-r", "command-r+"),
        ("mistral-small", "mistral-large"),
        ("mixtral-instruct", "mistral-instruct"),
        ("system-modela", "system-modelb"),
        ("zephyr-7b-alpha", "zephyr-7b-beta"),
        ("gemma-7b-it", "gemma-7b"),
    ],
)
def test_names_of_two_models(label, known):
    assert spelt_differently([label], [known]) == []
    assert spelt_differently([known], [label]) == []


def test_thousands_of_names_cost_little(monkeypatch):
    """Each name is compared with a few others, not with all."""
    compared = []
    is_slip = spellings._is_slip
    monkeypatch.setattr(
        spellings, "_is_slip", lambda *pair: compared.append(1) or is_slip(*pair)
    )
    names = [f"vendor-{k % 40}/family{k % 7}-{k}b-instruct" for k in range(1000)]
    shouted = [name.upper() for name in names]
    assert len(spelt_differently(names, shouted)) == 1000
    assert spelt_differently(names, [f"{name}-2" for name in names]) == []
    assert len(compared) <= 20 * len(names)


def test_told_once_for_five_pairs():
    known = [f"owl-{k}b" for k in range(7)]
    rows = [(known[k], known[k - 1], "human", k % 2) for k in range(7)]
    rows += [(a.replace("-", "_"), b, "gpt", y) for a, b, _, y in rows]
    table = pd.DataFrame(rows, columns=["model_a", "model_b", "judge", "winner"])
    X, y = table.drop(columns="winner"), table["winner"]
    with pytest.warns(DataWarning, match=r"'owl_0b' and 'owl-0b'.* and 2 more") as told:
        BTLRegressor(alpha=1.0).fit(X, y)
    assert len(told) == 1
    # Of people alone nothing can be said.
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        BTLRegressor(alpha=1.0).fit(X.assign(judge="human"), y)


@pytest.mark.parametrize(
    "label",
    [" GPT-4 ", "gpt\u200b-4", "\uff47\uff50\uff54-4", "gpt\u20114", "g\u0440t-4",
     "GP\u03a4-4", "gpt-4\ufeff", "gpt\u22124", "\u202egpt-4"],
)  # fmt: skip
def test_what_looks_like_one_name(label):
    assert appearance(label) == "gpt-4"


def test_letters_may_be_composed_in_two_ways():
    assert appearance("caf\u00e9") == appearance("cafe\u0301") != appearance("cafe")
    assert appearance("\u6a21\u578b") == "\u6a21\u578b"


def test_another_script_is_no_other_spelling():
    pairs = [("gpt-\u0430lpha", "GPT Alpha")]
    assert spelt_differently([pairs[0][0]], [pairs[0][1]]) == pairs


def test_a_name_of_megabytes_takes_no_time():
    assert spelt_differently(["x" * 1_000_000], ["x" * 1_000_001]) == []
