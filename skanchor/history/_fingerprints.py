"""Fingerprints of judges, which show whether one has changed since the history."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from skanchor.exceptions import BattlesError, DataWarning
from skanchor.warning_log import warn


def judge_fingerprint(*parts: str) -> str:
    """Fingerprint of a judge: a hash of everything that its verdicts depend on.

    Parameters
    ----------
    *parts : str
        Texts such as the name and version of the judge's model, its prompt, and its
        temperature.

    Returns
    -------
    str
        Sixteen hexadecimal digits, which depend on the parts and their order.

    Examples
    --------
    >>> from skanchor import judge_fingerprint
    >>> judge_fingerprint("gpt-4o-2024-08-06", "Which answer is better?")
    '38d7e385c462b9a5'
    """
    digest = hashlib.sha256()
    for part in parts:
        text = part.encode()
        # With the length of each part, different lists never give the same text.
        digest.update(f"{len(text)}:".encode() + text)
    return digest.hexdigest()[:16]


def check_fingerprints(
    stored: Mapping[Any, str], fingerprints: Mapping[Any, str] | None
) -> None:
    """Refuse judges that have changed since the history was fitted.

    Parameters
    ----------
    stored : mapping
        Fingerprints in the history, by judge.
    fingerprints : mapping or None
        Fingerprints of the judges of arrivals. None skips the check, with a warning
        where the history has fingerprints.

    Raises
    ------
    BattlesError
        If the fingerprint of a judge has changed.
    """
    if fingerprints is None:
        if stored:
            message = (
                f"The history has fingerprints of judges {list(stored)[:5]}, and "
                "none was given here, so nothing shows whether a judge has "
                "changed."
            )
            warn(DataWarning(message, code="no-fingerprints", subject=stored))
        return
    changed = [
        one for one in stored if fingerprints.get(one, stored[one]) != stored[one]
    ]
    if changed:
        raise BattlesError(
            f"Judges {changed[:5]} have changed since the history was fitted: their "
            "fingerprints differ. Their old sensitivity and bias do not apply to "
            "their new verdicts. Calibrate the judge again on historical rows, under "
            "a new name, or leave its rows out. Without fingerprints nothing is "
            "compared."
        )
    unknown = [judge for judge in fingerprints if judge not in stored]
    if unknown:
        message = (
            f"The history has no fingerprint of judges {unknown[:5]}, so it is "
            f"unknown whether they have changed."
        )
        warn(DataWarning(message, code="judges-without-fingerprint", subject=unknown))
