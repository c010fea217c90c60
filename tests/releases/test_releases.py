"""What a release stored is read by this version, or refused in a sentence."""

import copy
import json
import pickle
import re

import pytest
from numpy.testing import assert_allclose
from releases.files import (
    EXPECTED,
    FOLDER,
    HISTORY,
    numbers,
    placed,
)

from skanchor import AnchorHistory, AnchorPipeline, JudgeCalibrator
from skanchor._pickles import _this_version
from skanchor.exceptions import BattlesError, VersionWarning
from skanchor.io.archive import FIRST_LINE

RELEASES = sorted(path.name for path in FOLDER.iterdir() if path.name[0].isdigit())


def stored(release, name):
    return json.loads((FOLDER / release / name).read_text("utf-8"))


def assert_as_expected(result, release, name):
    found, expected = numbers(result), stored(release, EXPECTED)[name]
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert_allclose(found[key], value, rtol=1e-9, err_msg=key)


def test_there_is_a_release():
    assert "0.1.0" in RELEASES


@pytest.mark.parametrize("release", RELEASES)
def test_a_history_places_the_new_model_where_it_did_or_is_refused(release):
    path = FOLDER / release / HISTORY
    if path.read_bytes().startswith(FIRST_LINE):
        result = placed(AnchorHistory.load(path), release)
        assert_as_expected(result, release, HISTORY)
    else:
        said = f"{path} was written by skanchor {release} .* fit the history again"
        with pytest.raises(BattlesError, match=said):
            AnchorHistory.load(path)


def test_a_pickle_of_another_version_warns_before_its_state_is_read(monkeypatch):
    monkeypatch.setattr("skanchor._pickles._this_version", lambda: "9.9")
    content = pickle.dumps(AnchorPipeline(calibrator=JudgeCalibrator()))
    monkeypatch.undo()
    wanted = re.escape(f"skanchor 9.9, and you use skanchor {_this_version()}.")
    with pytest.warns(VersionWarning, match=wanted):
        assert isinstance(pickle.loads(content), AnchorPipeline)
    # A class of the state that this version does not have.
    broken = content.replace(b"JudgeCalibrator", b"JudgeAbolished0")
    assert broken != content
    with (
        pytest.warns(VersionWarning, match=wanted),
        pytest.raises(AttributeError, match="JudgeAbolished0"),
    ):
        pickle.loads(broken)


def test_pickles_and_copies_of_this_version_do_not_warn():
    for one in (AnchorPipeline(), AnchorHistory()):
        for twin in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
            assert repr(twin) == repr(one)
