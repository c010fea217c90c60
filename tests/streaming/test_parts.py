"""Data sets as parts that any process can read."""

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from pyarrow import parquet
from streams import tables

from skanchor import AnchorPipeline
from skanchor.exceptions import BattlesError
from skanchor.streaming import StreamOptions, stream_history
from skanchor.streaming._parts import open_data

pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")


@pytest.mark.parametrize("several", [False, True])
def test_a_worker_that_was_started_elsewhere_finds_the_file(
    several, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    parquet.write_table(pa.table({"a": [1, 2, 3]}), "rows.parquet")
    data = open_data(["rows.parquet"] if several else "rows.parquet")
    parts = list(data.parts())
    monkeypatch.chdir("/")
    read = [len(table) for part in parts for table in part.tables(None, 10)]
    assert read == [3]


def written(folder, **tables):
    folder.mkdir()
    for name, table in tables.items():
        table.to_parquet(folder / f"{name}.parquet")
    return folder


def test_files_that_lack_a_column_are_refused(tmp_path):
    table, _ = tables()
    first, second = table[:1500], table[1500:]
    for name, without in (
        ("feature", ["x1_a", "x1_b"]),
        ("order", ["shown_first"]),
    ):
        for number, (one, other) in enumerate(
            [
                (first.drop(columns=without), second),
                (first, second.drop(columns=without)),
            ]
        ):
            data = written(tmp_path / f"{name}-{number}", a=one, b=other)
            lacking = f"{'ba'[1 - number]}.parquet lacks the columns"
            with pytest.raises(BattlesError, match=lacking):
                stream_history(data, AnchorPipeline(cv=3))
    # What is not read may differ.
    data = written(tmp_path / "more", a=first, b=second.assign(note="x"))
    assert stream_history(data, AnchorPipeline(cv=3, random_state=0)).n_rows == len(
        table
    )


def test_files_with_other_types_or_no_content_are_refused(tmp_path):
    table, _ = tables()
    first, second = table[:1500], table[1500:]
    texts = second.assign(x1_a=second["x1_a"].astype(str))
    data = written(tmp_path / "types", a=first, b=texts)
    with pytest.raises(
        BattlesError, match=r"Column 'x1_a' is double in .*a.parquet and"
    ):
        stream_history(data, AnchorPipeline(cv=3))
    data = written(tmp_path / "empty", a=first)
    (data / "b.parquet").write_bytes(b"")
    with pytest.raises(BattlesError, match=r"b.parquet cannot be read as Parquet"):
        stream_history(data, AnchorPipeline(cv=3))


def test_a_judge_called_human_beside_people_is_refused():
    table, _ = tables()
    people = table["judge"] == "human"
    crowd = table.assign(judge=table["judge"].mask(people, "crowd"))
    both = crowd.assign(judge=crowd["judge"].mask(crowd["judge"] == "judge-1", "human"))
    options = StreamOptions(human="crowd")
    anchor = AnchorPipeline(cv=3, random_state=0)
    with pytest.raises(BattlesError, match="holds 'human' beside the human labels"):
        stream_history([both], anchor, options=options)
    assert stream_history([crowd], anchor, options=options).n_rows == len(table)


def test_tables_that_differ_in_their_columns_are_refused():
    table, _ = tables()
    first, second = table[:1500], table[1500:]
    anchor = AnchorPipeline(cv=3, random_state=0)
    for name in ("judge", "shown_first"):
        lacking = rf"lack the columns \['{name}'\]"
        for parts in (
            [first.drop(columns=name), second],
            [first, second.drop(columns=name)],
        ):
            with pytest.raises(BattlesError, match=lacking):
                stream_history(parts, anchor)
    with pytest.raises(BattlesError, match="different features"):
        stream_history([first.drop(columns=["x1_a", "x1_b"]), second], anchor)
    with pytest.raises(BattlesError, match="There is no column 'judge', so that all"):
        stream_history([table.drop(columns="judge")], anchor)


class Shuffled:
    """Tables whose rows come in another order each time that they are gone through."""

    def __init__(self, table, columns=None):
        self.table, self.columns, self.times = table, columns, 0

    def __iter__(self):
        table = self.table
        if self.times:
            order = np.random.default_rng(self.times).permutation(len(table))
            mixed = table.iloc[order].reset_index(drop=True)
            columns = self.columns or list(table)
            table = table.assign(**{name: mixed[name] for name in columns})
        self.times += 1
        half = len(table) // 2
        return iter([table.iloc[:half], table.iloc[half:]])


@pytest.mark.parametrize("columns", [None, ["winner"], ["x1_a"], ["judge"], ["times"]])
def test_rows_in_another_order_in_each_pass_are_refused(columns):
    table, _ = tables()
    options = StreamOptions(weight="times")
    anchor = AnchorPipeline(cv=3, random_state=0)
    with pytest.raises(BattlesError, match="rows from number 0 on are not those of"):
        stream_history(Shuffled(table, columns), anchor, options=options)


@pytest.mark.parametrize("groups", [None, "prompt_id"])
def test_tables_without_rows_among_others_change_nothing(groups):
    table, _ = tables()
    table = table.assign(prompt_id=np.arange(len(table)) // 3)
    anchor = AnchorPipeline(cv=3, random_state=0)
    options = StreamOptions(groups=groups)
    expected = stream_history([table[:700], table[700:]], anchor, options=options)
    found = stream_history(
        [table[:0], table[:700], table[:0], table[700:], table[:0]],
        anchor,
        options=options,
    )
    one, other = (each.state.fits.x[0] for each in (found, expected))
    assert_array_equal(one, other)


@pytest.mark.parametrize("first", [True, False])
def test_a_file_without_content_is_named(first, tmp_path):
    table, _ = tables()
    data = written(tmp_path / "data", a=table, b=table)
    name = "a" if first else "b"
    (data / f"{name}.parquet").write_bytes(b"")
    for given in (data, sorted(map(str, data.iterdir())), data / f"{name}.parquet"):
        with pytest.raises(BattlesError, match="cannot be read as Parquet") as found:
            stream_history(given, AnchorPipeline(cv=3))
        assert f"{name}.parquet" in str(found.value)


def test_a_file_that_is_damaged_inside_is_named(tmp_path):
    table, _ = tables()
    path = written(tmp_path / "data", a=table) / "a.parquet"
    content = bytearray(path.read_bytes())
    content[200:40_000] = bytes(39_800)
    path.write_bytes(content)
    with pytest.raises(BattlesError, match=r"a\.parquet cannot be read as Parquet"):
        stream_history(path, AnchorPipeline(cv=3))


def test_what_may_turn_outcomes_round_is_refused():
    table, _ = tables()
    table = table.drop(columns="shown_first", errors="ignore")
    anchor = AnchorPipeline(cv=3, random_state=0)
    swapped = table.assign(is_swapped=True)
    with pytest.raises(BattlesError, match=r"'is_swapped' may say .*'shown_first'"):
        stream_history([swapped], anchor)
    with pytest.raises(BattlesError, match="by its name it holds the loser"):
        stream_history(
            [table.rename(columns={"winner": "loser"})],
            anchor,
            options=StreamOptions(outcome="loser"),
        )
    with pytest.raises(BattlesError, match="by its name it holds the loser"):
        stream_history(
            [table.rename(columns={"winner": "worse"})],
            anchor,
            options=StreamOptions(columns={"worse": "winner"}),
        )
