"""A stream that is stopped goes on where it was, and loses nothing."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from streams import in_pieces, stages_of, sums_of, tables

from skanchor.streaming import StreamOptions, stream_history


class Stopping:
    """Tables, of which the reading is stopped after some."""

    def __init__(self, pieces, stop_after):
        self.pieces, self.left = pieces, stop_after
        self.n_read = 0

    def __call__(self):
        for piece in self.pieces:
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            self.n_read += 1
            yield piece


def streamed(data, checkpoint, items=True, random_state=0):
    return stream_history(
        data,
        stages_of(),
        cv=3,
        item_effects=items,
        options=StreamOptions(job_rows=1),
        random_state=random_state,
        checkpoint=checkpoint,
    )


@pytest.mark.parametrize("stops", [[0], [2], [4, 5], [8, 1, 3]])
def test_resumed_is_uninterrupted(tmp_path, stops):
    """Stopped in the survey, between passes and within them, once or often."""
    pieces = in_pieces(tables()[0], 1000)
    expected = streamed(pieces, None)
    path = tmp_path / "stream.checkpoint"
    for stop in stops:
        with pytest.raises(KeyboardInterrupt):
            streamed(Stopping(pieces, stop), path)
    found = streamed(pieces, path, random_state=None)
    assert_array_equal(sums_of(found.stored), sums_of(expected.stored))
    assert_array_equal(found.stored.items.covariance, expected.stored.items.covariance)


def test_finished_passes_are_not_read_again(tmp_path):
    pieces = in_pieces(tables()[0], 1000)
    path = tmp_path / "stream.checkpoint"
    streamed(pieces, path, items=False)
    again = Stopping(pieces, 0)
    streamed(again, path, items=False)
    assert again.n_read == 0


def test_files_of_others_and_damaged_ones_are_refused(tmp_path):
    pieces = in_pieces(tables()[0], 3000)
    path = tmp_path / "stream.checkpoint"
    streamed(pieces, path, items=False)
    whole = path.read_bytes()
    with pytest.raises(ValueError, match="belongs to another run"):
        streamed(pieces, path, items=np.eye(3))
    with pytest.raises(ValueError, match="belongs to another run"):
        streamed(pieces, path, items=False, random_state=1)
    for cut in (60, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match="is damaged"):
            streamed(pieces, path, items=False)
    path.write_bytes(b"\x80" + whole)
    with pytest.raises(ValueError, match="is a pickle, no stream checkpoint"):
        streamed(pieces, path, items=False)
