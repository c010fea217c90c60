"""Estimators survive skops, which loads nothing that it has not been told to trust."""

import pytest

from skanchor import AnchorPipeline, JudgeCalibrator
from skanchor.bias import LinearBias

sio = pytest.importorskip("skops.io")


def test_an_unfitted_pipeline_survives():
    calibrator = JudgeCalibrator(LinearBias(alpha=0.1), position_effect=False)
    anchor = AnchorPipeline(calibrator=calibrator, cv=4, random_state=1)
    data = sio.dumps(anchor)
    # Nothing but our own classes has to be trusted.
    unknown = sio.get_untrusted_types(data=data)
    assert unknown and all(name.startswith("skanchor.") for name in unknown)
    again = sio.loads(data, trusted=unknown)
    assert repr(again) == repr(anchor)
    assert again.get_params()["calibrator__bias__alpha"] == 0.1
