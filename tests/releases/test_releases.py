"""What a release stored is read by this version, or refused in a sentence."""

import json

import pytest
from numpy.testing import assert_allclose
from releases.files import EXPECTED, FOLDER, HISTORY, numbers, placed

from skanchor import AnchorHistory
from skanchor.exceptions import BattlesError
from skanchor.io.archive import FIRST_LINE

RELEASES = sorted(path.name for path in FOLDER.iterdir() if path.name[0].isdigit())


def stored(release, name):
    return json.loads((FOLDER / release / name).read_text("utf-8"))


def assert_as_expected(result, release, name):
    actual, expected = numbers(result), stored(release, EXPECTED)[name]
    assert actual.keys() == expected.keys()
    for key, value in expected.items():
        assert_allclose(actual[key], value, rtol=1e-9, err_msg=key)


def test_there_is_a_release():
    assert "0.1.0" in RELEASES


@pytest.mark.parametrize("release", RELEASES)
def test_a_history_places_the_new_model_where_it_did_or_is_refused(release):
    path = FOLDER / release / HISTORY
    if path.read_bytes().startswith(FIRST_LINE):
        result = placed(AnchorHistory.load(path), release)
        assert_as_expected(result, release, HISTORY)
    else:
        message = f"{path} was written by skanchor {release} .* fit the history again"
        with pytest.raises(BattlesError, match=message):
            AnchorHistory.load(path)
