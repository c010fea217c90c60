"""What a release stored is read by this version, or refused in a sentence."""

import copy
import json
import pickle
import re
import warnings
from importlib.metadata import version

import pytest
from numpy.testing import assert_allclose
from releases.files import (
    EXPECTED,
    FOLDER,
    HISTORY,
    PIPELINE,
    RESULT,
    fitted,
    numbers,
    placed,
)

from skanchor import AnchorHistory, AnchorPipeline, JudgeCalibrator
from skanchor._pickles import _this_version
from skanchor.exceptions import BattlesError, VersionWarning
from skanchor.io.archive import FIRST_LINE
from skanchor.reports import result_json

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


@pytest.mark.parametrize("release", RELEASES)
def test_a_pickle_is_read_or_another_version_says_so(release):
    content = (FOLDER / release / PIPELINE).read_bytes()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            anchor = pickle.loads(content)
        except (AttributeError, ImportError, TypeError):
            # A class is gone; then a warning must have come first.
            anchor = None
    told = [str(one.message) for one in found if one.category is VersionWarning]
    if release == version("skanchor"):
        assert told == []
        assert_as_expected(anchor.result_, release, PIPELINE)
    else:
        assert told
        assert f"written by skanchor {release}," in told[0]


def shape(value):
    """Keys of all objects, and the types of what they hold; null stands for any."""
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value[:1]]
    return None if value is None else type(value).__name__


def assert_holds(new, old, path=""):
    """Everything that a program reads from the old object is in the new one."""
    if isinstance(old, dict):
        assert isinstance(new, dict), path
        for key, one in old.items():
            assert key in new, f"{path}/{key} is gone"
            assert_holds(new[key], one, f"{path}/{key}")
    elif isinstance(old, list):
        assert isinstance(new, list), path
        for have, had in zip(new, old, strict=False):
            assert_holds(have, had, path)
    elif old is not None:
        assert new == old or {new, old} <= {"int", "float", "str"}, path


@pytest.mark.parametrize("release", RELEASES)
def test_json_has_all_that_it_had_or_another_version(release):
    old = stored(release, RESULT)
    new = json.loads(json.dumps(result_json(fitted(release)[1])))
    if new["schema_version"] == old["schema_version"]:
        assert_holds(shape(new), shape(old))


def test_what_is_gone_from_json_is_named():
    with pytest.raises(AssertionError, match="/a/b is gone"):
        assert_holds({"a": {}}, {"a": {"b": "int"}})


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
