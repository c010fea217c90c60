"""Data sets as parts that any process can read."""

import pyarrow as pa
import pytest
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
    # A label that nobody has leaves 'human' beside it, too.
    with pytest.raises(BattlesError, match="holds 'human' beside the human labels"):
        stream_history([table], anchor, options=StreamOptions(human="crwd"))
    assert stream_history([crowd], anchor, options=options).n_rows == len(table)
