"""What would turn outcomes round, or count them twice, without a word."""

import warnings

import numpy as np
import pandas as pd
import pytest
from offers import offers

from skanchor import Comparisons, read_battles, split_battles
from skanchor.exceptions import AssumptionWarning, BattlesError, DataWarning

PAIRS = [("owl", "elk"), ("elk", "fox"), ("fox", "owl"), ("owl", "fox")]
WON = ["A", "B", "tie", "A"]
SWAPPED = [True, False, True, False]


def battles(**more):
    table = pd.DataFrame(PAIRS, columns=["model_a", "model_b"])
    return table.assign(judge=["human", "g", "g", "human"], **more)


def split(table, **options):
    with pytest.warns(AssumptionWarning):
        return split_battles(table, **options)


def written(table, path):
    table.to_csv(path, index=False)
    return path


# ------------------------------------------------------------------------ swapped sides
@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("swapped", SWAPPED),
        ("Is Flipped", [int(flag) for flag in SWAPPED]),
        ("orderReversed", ["yes" if flag else "no" for flag in SWAPPED]),
        ("presentation_order", ["BA" if flag else "AB" for flag in SWAPPED]),
        ("order", ["swapped" if flag else "original" for flag in SWAPPED]),
    ],
)
def test_either_reading_is_what_its_own_name_gives(name, flags):
    table = battles(winner=WON, **{name: flags})
    with pytest.raises(BattlesError, match="2 of 4 rows that the two sides") as caught:
        split_battles(table)
    assert len(offers(caught.value)) == 3
    shown = ["model_b", "model_a", "model_b", "model_a"]
    X, y = split(table, columns={name: "shown_swapped"})
    assert list(y) == ["model_a", "model_b", "tie", "model_a"]
    assert X["shown_first"].tolist() == shown
    X, y = split(table, columns={name: "outcome_swapped"})
    assert list(y) == ["model_b", "model_b", "tie", "model_a"]
    assert X["shown_first"].tolist() == shown
    X, y = split(table, columns={name: "note"})
    assert list(y) == ["model_a", "model_b", "tie", "model_a"]
    assert "shown_first" not in X


def test_numbers_are_turned_round_too():
    table = battles(winner=[1.0, 0.25, 0.5, 0.0], swapped=SWAPPED)
    _, y = split_battles(table, columns={"swapped": "outcome_swapped"})
    assert y.tolist() == [0.0, 0.25, 0.5, 0.0]


@pytest.mark.parametrize(
    "more",
    [
        {"swapped": False},  # no row is swapped
        {"swapped": SWAPPED, "shown_first": "model_a"},  # the order is told
        {"swap_reason": ["so", "no", "other", "none"]},  # no flag
        {"order": [1, 2, 3, 4]},
    ],
)
def test_columns_that_leave_no_question(more):
    _, y = split(battles(winner=WON, **more))
    assert list(y) == ["model_a", "model_b", "tie", "model_a"]


def test_a_flag_that_is_told_must_be_one():
    table = battles(winner=WON, swapped=["yes", "no", "maybe", "no"])
    with pytest.raises(
        BattlesError, match="'shown_swapped' should say which rows were"
    ):
        split_battles(table, columns={"swapped": "shown_swapped"})


# --------------------------------------------------------------------- several outcomes
def test_both_games_are_rows_of_one_group():
    table = battles(ab=WON, ba=["B", "A", "A", "tie"])
    columns = {"ab": "winner", "ba": "second_winner_shown"}
    X, y = split(table, columns=columns)
    assert list(y) == [
        "model_a", "model_a", "model_b", "model_b", "tie", "model_b", "model_a", "tie",
    ]  # fmt: skip
    assert X["shown_first"].tolist() == ["model_a", "model_b"] * 4
    assert (
        X["prompt_id"].tolist() == np.repeat([f"row {n}" for n in range(4)], 2).tolist()
    )
    X, y = split(table, columns={"ab": "winner", "ba": "second_winner"})
    assert list(y)[1::2] == ["model_b", "model_a", "model_a", "tie"]


def test_failed_verdicts_of_a_table_in_memory_may_be_left_out():
    table = battles(winner=["A", "error", "B", ""])
    with pytest.raises(BattlesError, match="To leave them out: drop_invalid=True"):
        split_battles(table)
    with pytest.warns(DataWarning, match="2 of 4 rows hold no verdict"):
        X, y = split(table, drop_invalid=True)
    assert list(y) == ["model_a", "model_b"]
    assert X["model_a"].tolist() == ["owl", "fox"]


def test_a_second_outcome_is_said_not_to_be_read(tmp_path):
    path = written(battles(winner=WON, winner_2=WON), tmp_path / "b.csv")
    with pytest.warns(AssumptionWarning, match="'winner_2' is not read"):
        read_battles(path)


def test_outcomes_in_columns_of_judges_may_be_named(tmp_path):
    table = battles(ann=WON, bob=["A", "", "B", "B"]).drop(columns="judge")
    path = written(table, tmp_path / "b.csv")
    with pytest.warns(AssumptionWarning, match="'ann', 'bob' hold the verdicts"):
        found = read_battles(path, ratings=["ann", "bob"])
    assert found["judge"].tolist() == ["ann", "bob", "ann", "ann", "bob", "ann", "bob"]
    with pytest.raises(BattlesError, match=r"columns of ratings \['cem'\] are not"):
        read_battles(path, ratings=["cem"])
    renamed = written(
        table.rename(columns={"ann": "vote_ann", "bob": "vote_bob"}), path
    )
    with pytest.raises(BattlesError, match="holds 2 outcomes, 'vote_ann', 'vote_bob'"):
        read_battles(renamed)
    X, y = split(table, ratings=["ann", "bob"], human=["ann"])
    assert X["judge"].tolist()[:3] == ["human", "bob", "human"]
    assert list(y) == found["winner"].tolist()


def test_zero_and_one_are_said_in_every_run(tmp_path):
    path = written(battles(winner=[1, 0, 1, 1]), tmp_path / "b.csv")
    with pytest.warns(AssumptionWarning, match=r"1 is 'model_a' won.*levels 0=1,1=0"):
        assert read_battles(path)["winner"].tolist() == [1, 0, 1, 1]
    told = read_battles(path, levels={"0": 1.0, "1": 0.0})
    assert told["winner"].tolist() == [0, 1, 0, 0]
    # A number between them shows that they are shares.
    shares = read_battles(written(battles(winner=[1, 0, 0.5, 1]), path))
    assert shares["winner"].tolist() == [1, 0, 0.5, 1]


# --------------------------------------------------------------------- numbers of sides
def test_numbers_of_sides_are_outcomes(tmp_path):
    table = battles(score_a=[5, 3, 4, 2], score_b=[4, 3.5, 4, 1])
    path = written(table, tmp_path / "b.csv")
    with pytest.warns(AssumptionWarning, match="the higher one wins"):
        found = read_battles(path)
    assert found["winner"].tolist() == ["model_a", "model_b", "tie", "model_a"]
    assert "score_a" not in found
    with pytest.warns(AssumptionWarning):
        close = read_battles(path, tie_margin=0.5)
    assert close["winner"].tolist() == ["model_a", "tie", "tie", "model_a"]
    with pytest.raises(
        BattlesError, match="may follow from 'score' or 'rank'"
    ) as error:
        split_battles(table.assign(rank_a=1, rank_b=2))
    assert "'rank_a': 'note rank 1'" in str(error.value)
    _, y = split(table.assign(rank_a=1, rank_b=2),
                 columns={"score_a": "note 1", "score_b": "note 2"})  # fmt: skip
    assert list(y) == ["model_a"] * 4


@pytest.mark.parametrize(
    ("more", "due"),
    [
        ({"Win rate A": ["73%", "27 %", "50%", "100%"]}, [0.73, 0.27, 0.5, 1.0]),
        ({"win_rate_b": [0.25, 0.5, 0.0, 1.0]}, [0.75, 0.5, 1.0, 0.0]),
        ({"winrate_a": [60, 10, 0, 90], "winrate_b": [20, 90, 100, 10]},
         [0.7, 0.1, 0.0, 0.9]),
    ],
)  # fmt: skip
def test_shares_of_wins_are_outcomes(tmp_path, more, due):
    path = written(battles(**more), tmp_path / "b.csv")
    with pytest.warns(AssumptionWarning, match="share of wins of 'model_"):
        found = read_battles(path)
    np.testing.assert_allclose(found["winner"], due)


def test_shares_beyond_all_are_refused():
    with pytest.raises(BattlesError, match=r"from 0 to 1 or 0 %.* row 3"):
        split_battles(battles(win_rate_a=["10%", "20%", "90%", "120%"]))


# ----------------------------------------------------------------------- who decided
def test_a_flag_of_people_and_names_of_judges():
    names = ["ann", "gpt-4", "gpt-4", "bob"]
    table = battles(winner=WON, annotator=names, is_human=["yes", "no", "no", "yes"])
    X, _ = split(table.drop(columns="judge"))
    assert X["judge"].tolist() == ["human", "gpt-4", "gpt-4", "human"]
    assert X["rater"].fillna("").tolist() == ["ann", "", "", "bob"]
    flag = table.drop(columns=["judge", "annotator", "is_human"])
    X, _ = split(flag.assign(is_llm=[0, 1, 1, 0]))
    assert X["judge"].tolist() == ["human", "judge", "judge", "human"]
    with pytest.raises(BattlesError, match="may name the judges of the others"):
        split_battles(table.drop(columns="judge").assign(grader="x"))


def test_what_tells_people_must_not_contradict_itself():
    table = battles(winner=WON, is_human=[True, True, False, True])
    table["judge"] = ["ann", "gpt-4", "gpt-4", "bob"]
    with pytest.raises(BattlesError, match="but row 1 is by 'gpt-4' in 'judge'"):
        split_battles(table)
    # Kinds of prompts are no kinds of judges.
    table = battles(winner=WON, prompt_type=["human", "llm", "human", "llm"])
    assert split(table)[0]["judge"].tolist() == table["judge"].tolist()


def test_a_confidence_is_no_verdict():
    table = battles(human=WON, gpt=WON, gpt_confidence=[1, 2, 1, 2])
    X, _ = split(table.drop(columns="judge"))
    assert X["judge"].tolist() == ["human", "gpt"] * 4
    numbers = table.drop(columns="judge").assign(gpt=[1, 2, 1, 2])
    with pytest.raises(BattlesError, match="holds 2 outcomes, 'human', 'gpt'"):
        split_battles(numbers)


def test_columns_of_who_wrote_are_none_of_who_decided(tmp_path):
    who = ["human", "gpt-4", "gpt-4", "human"]
    table = battles(winner=WON).drop(columns="judge")
    path = written(table.assign(by=who), tmp_path / "b.csv")
    with pytest.warns(AssumptionWarning, match="judges are in 'by'"):
        assert read_battles(path)["judge"].tolist() == who
    path = written(table.assign(prompt_source=who), tmp_path / "b.csv")
    with pytest.warns(AssumptionWarning):
        assert "judge" not in read_battles(path)


# ------------------------------------------------------------------------------- files
def test_no_file_counts_twice(tmp_path):
    path = written(battles(winner=WON), tmp_path / "b.csv")
    (link := tmp_path / "c.csv").symlink_to(path)
    with pytest.raises(BattlesError, match=r"b\.csv is given twice: its rows would"):
        read_battles([path, path])
    with pytest.raises(BattlesError, match=r"is given twice, as .*c\.csv, too"):
        read_battles([path, link])
    copy = written(battles(winner=WON), tmp_path / "d.csv")
    with (
        pytest.warns(DataWarning, match="hold the same bytes"),
        pytest.warns(AssumptionWarning),
    ):
        read_battles([path, copy])


def test_files_that_do_not_say_what_was_shown_first_mean_what_they_mean_alone(tmp_path):
    shown = ["model_b", "model_a", None, "model_b"]
    table = battles(winner=["owl", "elk", "tie", "owl"])
    one = written(table.assign(shown_first=shown), tmp_path / "one.csv")
    other = written(table.assign(judge="j2"), tmp_path / "other.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both = read_battles([one, other])
        first, second = read_battles(one), read_battles(other)
    assert "shown_first" not in second
    for part, table in ((both[:4], first), (both[4:], second)):
        order = Comparisons.from_battles(part.drop(columns="winner")).order
        known = Comparisons.from_battles(table.drop(columns="winner")).order
        assert order.tolist() == known.tolist()


def test_prompts_of_files_with_and_without_gaps_are_the_same(tmp_path):
    table = battles(winner=WON).assign(prompt_id=[7, 8, 9, 7])
    gaps = table.assign(prompt_id=[7.0, None, 9.0, 10.0], judge="j2")
    paths = written(table, tmp_path / "a.csv"), written(gaps, tmp_path / "b.csv")
    assert "10.0" in paths[1].read_text("utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = read_battles(paths)
        versions = table.assign(
            prompt_id=[1.0, 1.5, 2.0, 2.0], judge=["1.0", "2.0"] * 2
        )
        kept = read_battles(written(versions, tmp_path / "c.csv"))
    found = found["prompt_id"].astype(object).where(found["prompt_id"].notna(), None)
    assert found.tolist() == ["7", "8", "9", "7", "7", None, "9", "10"]
    assert kept["prompt_id"].tolist() == ["1.0", "1.5", "2.0", "2.0"]
    assert kept["judge"].tolist() == ["1.0", "2.0"] * 2


def test_names_that_differ_in_blanks_are_one_name(tmp_path):
    table = battles(winner=["owl ", "elk", "tie", "owl"])
    table = table.assign(model_a=["owl ", "elk", " fox", "owl"])
    path = written(table, tmp_path / "b.csv")
    with (
        pytest.warns(AssumptionWarning, match="names of the winning models"),
        pytest.warns(AssumptionWarning, match="in blanks alone are one, as 'owl '"),
    ):
        found = read_battles(path)
    assert found["model_a"].tolist() == ["owl", "elk", "fox", "owl"]
    assert found["winner"].tolist() == ["model_a", "model_a", "tie", "model_a"]


def test_two_names_of_a_model_become_one(tmp_path):
    table = battles(winner=["owl", "ELK", "tie", "owl"])
    table = table.assign(model_a=["owl", "ELK", "fox", "owl"])
    path = written(table, tmp_path / "b.csv")
    with pytest.warns(AssumptionWarning, match="names of the winning models"):
        found = read_battles(path, models={"ELK": "elk"})
    assert found["model_a"].tolist() == ["owl", "elk", "fox", "owl"]
    assert found["winner"].tolist() == ["model_a", "model_a", "tie", "model_a"]
    with (
        pytest.raises(BattlesError, match=r"No row names the models \['cat'\]"),
        pytest.warns(AssumptionWarning),
    ):
        read_battles(path, models={"cat": "elk"})


def test_comments_before_the_header_are_skipped(tmp_path):
    text = battles(winner=WON).to_csv(index=False)
    (path := tmp_path / "b.csv").write_text(
        f"# by all of us\n# in spring, 2026\n{text}"
    )
    with pytest.warns(AssumptionWarning):
        assert len(read_battles(path)) == 4
    # A header may begin with the sign of a comment.
    path.write_text(f"#{text}")
    with pytest.warns(AssumptionWarning):
        found = read_battles(path, columns={"#model_a": "model_a"})
    assert found["model_a"].tolist() == ["owl", "elk", "fox", "owl"]


def test_fields_of_objects_are_columns(tmp_path):
    rows = [
        {"a": {"model": a, "words": 3}, "b": {"model": b, "words": 5},
         "judge": {"name": "human"}, "meta": {"winner": won}}
        for (a, b), won in zip(PAIRS, WON, strict=True)
    ]  # fmt: skip
    pd.DataFrame(rows).to_json(path := tmp_path / "b.jsonl", orient="records",
                               lines=True)  # fmt: skip
    with pytest.warns(AssumptionWarning):
        found = read_battles(path)
    assert found["winner"].tolist() == ["model_a", "model_b", "tie", "model_a"]
    assert found["judge"].tolist() == ["human"] * 4
    assert found["words_b"].tolist() == [5] * 4


def test_empty_columns_of_spreadsheets_are_left_out(tmp_path):
    text = battles(winner=WON).assign(x="", y="").to_csv(index=False)
    (path := tmp_path / "b.csv").write_text(text.replace(",x,y", ",,"))
    with pytest.warns(AssumptionWarning):
        assert list(read_battles(path)) == ["model_a", "model_b", "judge", "winner"]
    path.write_text(text.replace(",x,y", ",,").replace(",,\nelk", ",7,8\nelk"))
    with pytest.raises(BattlesError, match="occur more than once"):
        read_battles(path)


def test_columns_of_outcomes_do_not_replace_a_column_of_judges(tmp_path):
    """Judges would count as people, or under the names of the columns, in silence."""
    file = tmp_path / "both.csv"
    file.write_text(
        "model_1,model_2,judge,verdict_forward,verdict_reversed\n"
        "owl,elk,human,model_1,\nowl,elk,gpt,model_1,model_2\n"
    )
    names = ["verdict_forward", "verdict_reversed"]
    with pytest.raises(BattlesError, match="'judge' already says who decided"):
        read_battles(file, ratings=names)
    with pytest.raises(BattlesError, match="two outcomes, 'verdict_forward'") as told:
        read_battles(file)
    assert "second_winner" in str(told.value)
