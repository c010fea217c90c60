"""
From texts and verdicts to a leaderboard
========================================

A file has one comparison per line: two models, their responses to a prompt, who judged
(people or an LLM) and who won. This page goes from such a file to a leaderboard that
corrects the judge's liking of long and bold responses.
"""

# %%
# A file of comparisons
# ---------------------
# The file is simulated, so that the truth is known. People see the models' strength.
# The judge sees it, too, but also likes long and bold responses. Nobody has voted on
# the new model, whose responses are long and bold.
import json
import random
import tempfile
from math import exp, log1p
from pathlib import Path

random.seed(0)
strength = {"ash": 1.2, "birch": 0.6, "cedar": 0.0, "elm": -0.6, "fir": -1.2}
strength["new"] = 0.3
longest = {"ash": 40, "birch": 90, "cedar": 60, "elm": 50, "fir": 70, "new": 90}


def respond(model):
    """Make up a response: words, some of them bold."""
    n = random.randint(20 if model == "new" else 5, longest[model])
    words = random.choices(["the", "model", "says", "that", "so"], k=n)
    return " ".join(f"**{w}**" if random.random() < 0.1 else w for w in words)


def compare(judge, models):
    """Make up a comparison."""
    a, b = random.sample(models, 2)
    texts = respond(a), respond(b)
    edge = strength[a] - strength[b]
    if judge != "human":
        taste = [log1p(len(t.split())) + 0.3 * log1p(t.count("**") / 2) for t in texts]
        edge += taste[0] - taste[1]
    a_wins = random.random() < 1 / (1 + exp(-edge))
    names = ["model_a", "model_b", "response_a", "response_b", "judge", "winner"]
    winner = "model_a" if a_wins else "model_b"
    return dict(zip(names, [a, b, *texts, judge, winner], strict=True))


old = [model for model in strength if model != "new"]
rows = [compare("human", old) for _ in range(1000)]
rows += [compare("some-judge", old) for _ in range(2000)]
rows += [compare("some-judge", list(strength)) for _ in range(1500)]
path = Path(tempfile.mkdtemp(), "verdicts.jsonl")
path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

# %%
# From the file to the leaderboard
# --------------------------------
# ``ResponseFeatures`` replaces the two columns of texts by pairs of features, here the
# logarithms of the numbers of words and of bold spans.
from sklearn.pipeline import make_pipeline

from skanchor import AnchorPipeline, split_battles
from skanchor.features import ResponseFeatures
from skanchor.io import read_battles

X, y = split_battles(read_battles(path))
texts = ResponseFeatures(features=["words", "bold"])
ranking = make_pipeline(texts, AnchorPipeline(random_state=0)).fit(X, y)
anchor = ranking[-1]
result = anchor.result_
print(anchor.leaderboard().round(2))

# %%
# On the command line the same is::
#
#     skanchor rank verdicts.jsonl --text-columns response_a,response_b \
#         --features words,bold
#
# What the correction does
# ------------------------
# Without features the judge's liking is mistaken for strength, and the score of the new
# model is too high. The true score is 0.3.
plain = AnchorPipeline(random_state=0).fit(X, y)
for name, found in [("corrected", result), ("not corrected", plain.result_)]:
    low, high = found.conf_int().loc["new"]
    print(f"{name:>13}: {found.scores['new']:.2f} in [{low:.2f}, {high:.2f}]")

# %%
# What responses are about
# ------------------------
# ``EmbeddingFeatures`` makes components of an embedding instead of counts. The default
# is TF-IDF with a truncated SVD; ``encoder`` takes a model of sentence-transformers.
# With ``keep_text=True`` the transformers leave the texts in the table, so that one can
# follow the other.
from skanchor.features import EmbeddingFeatures

both = make_pipeline(
    texts.set_params(keep_text=True), EmbeddingFeatures(n_components=4)
)
print(both.fit_transform(X.head(200)).iloc[0].drop(["model_a", "model_b", "judge"]))
