"""What becomes of a call: a result, an error or warning of ours, or a fault."""

import contextlib
import signal
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import sklearn
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.utils._param_validation import InvalidParameterError

import skanchor
from skanchor._model import newton
from skanchor.exceptions import BattlesError, LearnerError, SkanchorWarning

MOST_POINTS = 1_000_000  # evaluations of the logits of a source: more of them hang
CPU_LIMIT = 300  # seconds, for what does not end in other places
HOME = str(Path(skanchor.__file__).parent)
CHECKS = str(Path(sklearn.__file__).parent / "utils" / "validation.py")
OURS = (SkanchorWarning, ConvergenceWarning, DataConversionWarning)


class WrongAnswerError(Exception):
    """A result that cannot be right."""


class Hang(BaseException):
    """A call that took too long; no ``except Exception`` may catch it."""


@dataclass
class Verdict:
    """One class of outcome, and what it says."""

    kind: str
    text: str = ""
    messages: list = field(default_factory=list)

    @property
    def is_fault(self):
        return self.kind.startswith("FAULT")


@contextlib.contextmanager
def counted_points():
    """Count the times that logits of a source are taken; ``Hang`` where too many."""
    logits, n_points = newton.Fit.logits, Counter()

    def counted(*args, **kwargs):
        n_points["all"] += 1
        if n_points["all"] > MOST_POINTS:
            raise Hang("".join(traceback.format_stack()[-6:]))
        return logits(*args, **kwargs)

    newton.Fit.logits = counted
    try:
        yield n_points
    finally:
        newton.Fit.logits = logits


@contextlib.contextmanager
def limited(seconds):
    """Raise ``Hang`` after so many seconds of this process's own time."""

    def stop(signum, frame):
        raise Hang("".join(traceback.format_stack(frame)[-6:]))

    reference = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, reference)


def is_ours(error):
    """Whether this package, or scikit-learn's checks for it, raised the error."""
    if isinstance(error, (BattlesError, LearnerError, InvalidParameterError)):
        return True
    if not isinstance(error, (ValueError, TypeError, ImportError)):
        return False
    where = traceback.extract_tb(error.__traceback__)[-1].filename
    return where.startswith(HOME) or where == CHECKS


def judged(call):
    """Call it, and classify what happens."""
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        try:
            with limited(CPU_LIMIT), counted_points():
                call()
            verdict = Verdict("result")
        except Hang as hang:
            return Verdict("FAULT hang", str(hang))
        except WrongAnswerError as fault:
            messages = [str(r.message) for r in records]
            return Verdict("FAULT " + fault.args[0], str(fault.args[1:]), messages)
        except Exception as error:
            ours = is_ours(error) and str(error).strip()
            if not ours:
                trace = "".join(traceback.format_exception(error)[-6:])
                return Verdict(f"FAULT traceback {type(error).__name__}", trace)
            verdict = Verdict(f"error {type(error).__name__}", str(error))
    foreign = [r for r in records if not issubclass(r.category, OURS)]
    # scikit-learn's splitters say so themselves.
    foreign = [
        r for r in foreign if "groups parameter is ignored" not in str(r.message)
    ]
    if foreign:
        first = foreign[0]
        text = f"{first.filename}:{first.lineno}: {first.message}"
        return Verdict(f"FAULT foreign {first.category.__name__}", text)
    verdict.messages = [str(r.message) for r in records]
    if records and verdict.kind == "result":
        verdict.kind = "result with warnings"
    return verdict
