"""Methods of a study, against fits by hand."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from skanchor import AnchorHistory, AnchorPipeline
from skanchor.baselines import DirectScore, HumanOnly, IPWOnly, JointBTL, Oracle
from skanchor.bootstrap import bootstrap
from skanchor.exceptions import BattlesError
from skanchor.metrics import insertion_rank
from skanchor.studies import Drawn, StudyMethod, draw_battles
from skanchor.studies._draws import draw_insertion
from skanchor.studies._place import ONE_BY_ONE, place

pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")


@pytest.fixture(scope="module")
def nine():
    return draw_insertion({"gap": 0.3, "n_models": 4}, 0)


def placed(method, drawn):
    ((_, table, _),) = place([method], drawn, 5)
    return table


def alone(drawn, model):
    return drawn.rows(drawn.is_history | drawn.rows_with[model])


@pytest.mark.parametrize("kind", [*ONE_BY_ONE, JointBTL, IPWOnly])
def test_new_models_are_placed_as_if_each_were_alone(kind, nine):
    """One fit of all new models, where the study makes one, is a fit of each."""
    options = {"truth": nine.data.truth} if kind is Oracle else {}
    table = placed(StudyMethod("m", kind()), nine)
    for model in nine.new_models:
        fitted = kind(**options).fit(*alone(nine, model))
        if "score" in table:
            expected = fitted.scores_[model]
            assert_allclose(table.loc[model, "score"], expected, atol=1e-7)
            rank = insertion_rank(expected, nine.human_scores)
        else:
            rank = fitted.ranks_[model]
        assert table.loc[model, "rank"] == rank


def test_anchor_places_them_by_one_history(nine):
    anchor = AnchorPipeline(cv=3, item_effects=None)
    table = placed(StudyMethod("m", anchor, "own", "holm"), nine)
    history = AnchorHistory(anchor.set_params(random_state=nine.seed))
    history.fit(*nine.rows(nine.is_history))
    for model in nine.new_models:
        result = history.place(*nine.rows(nine.rows_with[model]))
        assert_allclose(table.loc[model, "score"], result.scores[model])
        assert_allclose(table.loc[model, ["low", "high"]], result.conf_int().loc[model])
        # A pipeline on the same rows draws other folds, which move the score by less
        # than its error.
        whole = AnchorPipeline(cv=3, item_effects=None, random_state=1).fit(
            *alone(nine, model)
        )
        error = whole.standard_errors_[model]
        assert abs(table.loc[model, "score"] - whole.scores_[model]) < error


def test_votes_only_on_the_model_that_is_placed(nine):
    table = placed(StudyMethod("m", HumanOnly(), "own"), nine)
    model = nine.new_models[1]
    fitted = HumanOnly(new_models=[model]).fit(*nine.with_votes([model]))
    assert_allclose(table.loc[model, "score"], fitted.scores_[model])


def test_refits_are_shared():
    drawn = draw_battles({"n_historical": 400, "n_models": 4, "n_new": 60}, 5)
    kinds = {"a": DirectScore(), "b": JointBTL()}
    methods = [StudyMethod(n, m, "percentile") for n, m in kinds.items()]
    found = bootstrap(
        kinds, drawn.data.X, drawn.data.y, n_resamples=9, random_state=drawn.seed
    )
    for method, table, _ in place(methods, drawn, 9):
        limits = found[method.name].conf_int(0.95, "percentile")
        pd.testing.assert_frame_equal(table[["low", "high"]], limits, check_names=False)
        assert_allclose(table["score"], found[method.name].estimator.scores_)


def test_refits_and_models_apart_are_refused(nine):
    with pytest.raises(ValueError, match="set intervals of the methods to None"):
        placed(StudyMethod("m", DirectScore(), "basic"), nine)


def test_new_models_with_votes_among_themselves():
    settings = {"n_historical": 600, "n_new_models": 2, "n_new_votes": 50, "rho": 0.0}
    drawn = draw_battles(settings, 0)
    table = placed(StudyMethod("m", AnchorPipeline(cv=2, item_effects=None)), drawn)
    assert list(table.index) == drawn.new_models and np.isfinite(table["score"]).all()


def test_a_refusal_is_a_result(nine):
    class Refuses(DirectScore):
        def fit(self, X, y):
            raise BattlesError("no")

    assert placed(StudyMethod("m", Refuses()), nine) == "BattlesError"


def test_variance_has_its_parts():
    drawn = draw_battles({"n_historical": 600, "n_models": 4}, 1)
    assert isinstance(drawn, Drawn)
    method = StudyMethod("m", AnchorPipeline(cv=2, item_effects=None))
    row = placed(method, drawn).iloc[0]
    parts = row[["human", "judge", "cross"]].to_numpy(float)
    assert_allclose(parts.sum(), row["variance"])
