"""Favours of all judges for families of models."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from skanchor import AnchorHistory, AnchorPipeline
from skanchor._diagnostics import CommonDeviation
from skanchor._families import family_effects
from skanchor.exceptions import BattlesError
from skanchor.reports import summarize, summary_lines
from skanchor.simulation import simulate_battles
from skanchor.streaming import stream_history

FAVOURS = {"a": 0.6, "b": -0.3, "c": 0.0}


def favoured(seed, favours):
    """Battles in which all judges see a family as if its scores were higher."""
    data = simulate_battles(n_models=9, rho=0.0, n_historical=9000, random_state=seed)
    X, truth = data.X[["model_a", "model_b", "judge"]], data.truth
    scores = pd.concat([truth.scores, truth.new_scores])
    old = sorted(truth.scores.index)
    families = {model: "abc"[k // 3] for k, model in enumerate(old)}
    seen = scores + pd.Series(families).map(favours).reindex(scores.index).fillna(0.0)
    slopes = truth.sensitivities.reindex(X["judge"]).to_numpy()
    by_people = scores.reindex(X["model_a"]).to_numpy()
    by_people = by_people - scores.reindex(X["model_b"]).to_numpy()
    by_judge = seen.reindex(X["model_a"]).to_numpy()
    by_judge = by_judge - seen.reindex(X["model_b"]).to_numpy()
    eta = np.where(X["judge"] == "human", by_people, slopes * by_judge)
    rng = np.random.default_rng([1, seed])
    return X, (rng.random(len(X)) < expit(eta)).astype(float), families


def fitted(seed, favours, **settings):
    X, y, families = favoured(seed, favours)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return AnchorPipeline(
            cv=2, random_state=0, item_effects=None, families=families, **settings
        ).fit(X, y)


def test_a_favour_for_a_family_is_found():
    anchor = fitted(0, FAVOURS)
    found = anchor.family_effects_
    truth = pd.Series(FAVOURS)
    # Effects are against the mean of all models.
    gap = found.effects["effect"] - (truth - truth.mean())
    assert (gap.abs() < 4.0 * found.effects["standard_error"]).all()
    assert (found.effects["standard_error"] < 0.15).all()
    assert found.p_value < 1e-4 and found.largest == "a"
    assert found.effects["n_models"].tolist() == [3, 3, 3]
    said = [line for line in summary_lines(summarize(anchor)) if "favour" in line]
    assert "+0." in said[0] and "(a; any family" in said[0]
    assert "would change its rank" in said[1]
    record = summarize(anchor).to_dict()["families"]
    assert [row["family"] for row in record["effects"]] == ["a", "b", "c"]


def test_without_a_favour_p_values_are_uniform():
    """Of 24 tests, four or more below .05 come once in 40; six once in 3,000."""
    p = [fitted(seed, dict.fromkeys("abc", 0.0)).family_effects_.p_value
         for seed in range(24)]  # fmt: skip
    assert np.sum(np.array(p) < 0.05) < 6 and np.median(p) > 0.15


def test_least_squares_by_hand():
    """Exact deviations give exact effects; single models add to the error."""
    n, rng = 8, np.random.default_rng(0)
    left = np.eye(n) - 1.0 / n
    design = np.repeat(np.eye(2), [3, 2], axis=0)
    y = np.zeros(n)
    y[:5] = design @ [0.5, -0.2]
    error = 0.04 * left
    common = CommonDeviation(1e4 * left @ y, 1e4 * left, error)
    models = np.array([f"m{k}" for k in range(n)])
    families = {f"m{k}": "one" if k < 3 else "two" for k in range(5)}
    result = fitted(0, FAVOURS).result_
    found = family_effects(
        families | {"new-model": "one"}, common, models, renamed(result, models)
    )
    assert_allclose(found.effects["effect"], [0.5, -0.2], atol=1e-6)
    assert found.spread == 0.0
    # The variance of a mean of models against the three without a family, by hand.
    known = 0.04 * (1.0 / 3 + 1.0 / 3)
    assert found.effects.loc["one", "standard_error"] == pytest.approx(
        np.sqrt(known), rel=0.01
    )
    noisy = CommonDeviation(1e4 * left @ (y + rng.normal(0, 1, n)), 1e4 * left, error)
    again = family_effects(families, noisy, models, renamed(result, models))
    assert again.spread > 0.3
    ratio = again.effects["standard_error"] / found.effects["standard_error"]
    assert_allclose(ratio, np.sqrt(1.0 + again.spread**2 / 0.04), rtol=0.01)


def renamed(result, models):
    """A result whose first models have the names of ``models``, others being new."""
    from dataclasses import replace

    count = len(models)
    names = np.array([*models, "new-model"], dtype=object)
    return replace(
        result,
        models=names,
        is_new=np.arange(count + 1) == count,
        estimates=result.estimates[:, : count + 1],
        covariances=result.covariances[:, : count + 1, : count + 1],
        unbounded=result.unbounded[: count + 1],
        n_human=np.where(np.arange(count + 1) == count, 0, 100),
        n_judge=result.n_judge[: count + 1],
    )


def test_what_would_change_a_rank():
    anchor = fitted(1, FAVOURS)
    row = anchor.family_effects_.new.loc["new-model"]
    contrasts = anchor.contrasts().loc["new-model"]
    assert row["changes_rank"] == contrasts["difference"].abs().min()
    clear = contrasts[contrasts["low"] * contrasts["high"] > 0]
    nearest = clear[["low", "high"]].abs().min(axis=1).min()
    assert row["changes_contrast"] == nearest
    # A model with votes of its own: judges are only a part of what places it.
    warm = fitted(1, FAVOURS, new_models=["model-01", "new-model"]).family_effects_.new
    assert warm.loc["model-01"].isna().all()


def test_families_that_cannot_be_served():
    X, y, families = favoured(0, FAVOURS)
    with pytest.raises(BattlesError, match=r"names none of the models .* 'model-01'"):
        AnchorPipeline(cv=2, families={"gpt": "openai"}).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = AnchorPipeline(
            cv=2, random_state=0, item_effects=None, families={"model-01": "a"}
        ).fit(X, y)
    assert alone.family_effects_.largest is None
    assert "no favour can be estimated" in alone.family_effects_.lines()[0]
    with pytest.raises(ValueError, match="families and context"):
        AnchorPipeline(cv=2, families=families, context="kind").fit(
            X.assign(kind=np.tile(["a", "b"], len(X))[: len(X)]), y
        )
    anchor = AnchorPipeline(families=families)
    with pytest.raises(ValueError, match="leave families of the anchor at None"):
        AnchorHistory(anchor).fit(X, y)
    with pytest.raises(ValueError, match="families of the anchor must be None"):
        stream_history([X.assign(winner=y)], anchor)
