"""Warnings and errors: what is wrong and where, and structured advice.

A message is a statement and pieces of advice. Some names differ between Python and the
command line, where a parameter is a flag. In a statement such a name is a `Term`.
Advice is a `Remedy` from a closed list, which has words for each of the two. ``str`` of
a message is in the words for Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from typing import Any

from sklearn.exceptions import ConvergenceWarning as _ConvergenceWarning

from skanchor._text import brief, printable

__all__ = [
    "Advice",
    "AssumptionWarning",
    "BattlesError",
    "BoundWarning",
    "Call",
    "ConvergenceWarning",
    "CountWarning",
    "DataWarning",
    "DiagnosticWarning",
    "DisconnectedError",
    "InstabilityWarning",
    "LearnerError",
    "Remedy",
    "SeparationWarning",
    "SkanchorWarning",
    "SlowWarning",
    "VersionWarning",
    "WeakJudgeWarning",
]


# ------------------------------------------------------------------------- vocabulary
class Term(StrEnum):
    """What statements name and not every face calls alike, in the words of Python."""

    NEW_MODELS = "new_models"
    AMONG_NEW_MODELS = "in new_models"
    GROUPS = "groups"
    N_FOLDS = "n_splits"
    POOL = "pool"


class Remedy(Enum):
    """Every kind of advice. A value is its text for Python, with placeholders.

    Examples
    --------
    >>> from skanchor.exceptions import Remedy
    >>> Remedy.DROP_BAD_LINES.value
    'Leave such lines out with read_battles(path, drop_invalid=True).'
    """

    RENAME_COLUMNS = (
        "Rename columns with split_battles(table, columns={{given: standard}})."
    )
    NAME_COLUMNS = (
        "Rename columns with read_battles(path, columns={{given: standard}}), name the "
        "tool with format=..., or read the file as it is with format='table'."
    )
    TELL_FORMAT = "Say which it is with read_battles(path, format=...)."
    DROP_INVALID = (
        "Drop those battles, or leave out failed verdicts with read_battles(path, "
        "drop_invalid=True)."
    )
    DROP_BAD_LINES = "Leave such lines out with read_battles(path, drop_invalid=True)."
    READ_AS_SCORES = (
        "Tables of scores are read with read_battles(path, format='scores')."
    )
    READ_AS_TABLE = "Leave them out, or read the files with format='table'."
    CHOOSE_FEATURES = (
        "Drop them, or name those that are features: split_battles(table, "
        "features=[...])."
    )
    LABEL_HUMANS = (
        "Rows of people have the label 'human'. If they have another label, name it in "
        "split_battles(table, human=...)."
    )
    ADD_PEOPLE = (
        "If all rows are a judge's, add the rows of people on the same models: "
        "pandas.concat([people.assign(judge='human'), verdicts])."
    )
    NAME_JUDGES = (
        "If a judge gave these outcomes, name it with X.assign(judge='its name'), and "
        "add the votes of people."
    )
    MERGE_MODELS = (
        "If they are one, give them one name: read_battles(path, models={models})."
    )
    PUT_SIDES_FOR_NAMES = (
        "Use instead a column that names the winner, 'model_a' or 'model_b': "
        "y.mask(y == X['model_a'], 'model_a').mask(y == X['model_b'], 'model_b')."
    )
    RELABEL_OUTCOMES = (
        "Say what they mean with read_battles(path, labels={{'left': 'model_a'}})."
    )
    GIVE_LEVELS = (
        "Give each a number, from 1 where {first!r} is far better to 0 where "
        "{second!r} is: levels={{{levels}}}."
    )
    CONVERT_OUTCOMES = "Convert them: y.astype(float)."
    LEAVE_OUT_TIES = (
        "scikit-learn treats ties as a third class, but there is no probability of a "
        "tie. Leave their rows out, or use metrics.log_loss_scorer, which scores with "
        "ties; win_probability counts a tie as half a win."
    )
    KEEP_TIES = "Count them as half a win: ties='half'."
    ALLOW_CURVES = (
        "Compare with debiaser=RieszDebiaser('calibrator', judge_scale='curved')."
    )
    COMPARE_WITHOUT_TIES = "Compare with ties='drop'."
    SPLIT_BY_SOURCE = (
        "In a cross-validation, split with SourceKFold, which keeps rows of every "
        "source in training; learning_curve needs shuffle=True as well."
    )
    CHOOSE_NEW_MODELS = (
        "Name the models to treat as new in new_models, or pass new_models=[] for the "
        "historical leaderboard."
    )
    SHRINK_STYLE = (
        "Use fewer features, or give people's bias a ridge: "
        "human_bias=LinearBias(alpha=0.01)."
    )
    ADD_NEW_MODELS = "Add them to new_models, or drop their rows."
    COUNT_ROWS = (
        "If a weight is a number of equal rows, set weights='frequency' (on its "
        "BTLRegressor if a method has no such parameter). Otherwise divide the weights "
        "by their mean."
    )
    USE_COUNTS = (
        "If it is the number of equal rows, fit with weights='frequency' and "
        "sample_weight=X['count']."
    )
    GIVE_GROUPS = "Give an array with one group per row instead."
    JOIN_GROUPS = (
        "Add comparisons between the groups, drop one, or set disconnected='warn'."
    )
    VOTE_BETWEEN_GROUPS = "Add human votes between the groups, or drop one."
    CHOOSE_MIX = (
        "The reported scores are means over all contexts, unless context_mix gives the "
        "share of each."
    )
    FIT_JOINTLY = "historical_fit='joint' can place them by judge rows."
    FIT_IN_TWO_STEPS = (
        "Drop judges that contradict people, or let votes alone decide the scores with "
        "historical_fit='two-step'."
    )
    BOUND_SCORES = "Add comparisons or set alpha > 0."
    ADD_VOTES = "Add votes, or set BTLRegressor(alpha={alpha})."
    PLACE_BY_JUDGES = (
        "Name them in new_models to place them with the judges' help, add votes, or "
        "set BTLRegressor(alpha={alpha})."
    )
    KEEP_VOTES_IN_FOLDS = (
        "Use fewer folds, add votes on them, or name them in new_models, so that judge "
        "rows place them, too."
    )
    STEADY_CORRECTION = (
        "Add rows, use fewer folds, or set a ridge penalty such as "
        "LinearBias(alpha={alpha})."
    )
    SHRINK_BIAS = "Set a ridge penalty, such as LinearBias(alpha={alpha})."
    SHRINK_OR_DROP_JUDGE = (
        "Set a ridge penalty, such as LinearBias(alpha={alpha}), or drop the judge: "
        "split_battles(table, without=[{judge}])."
    )
    POOL_JUDGES = (
        "If they are alike, such as seeds or prompts of one model, fit them as one: "
        "split_battles(table, pool='judges')."
    )
    DROP_JUDGES = (
        "If intervals are wide, leave them out: split_battles(table, without={judges})."
    )
    GROUP_BY_PROMPT = (
        "Give groups='prompt_id' if you still want errors by prompt, or groups=None if "
        "rows are independent."
    )
    FIT_ITEM_EFFECTS = "Fit with item_effects='random'."
    FIT_RATERS_TOGETHER = (
        "AnchorPipeline().fit(X, y) on all rows has errors by rater; groups='prompt_id'"
        " in fit leaves raters out."
    )
    DROP_FEATURES = (
        "Drop the feature, split_battles(table, drop_features=[...]), or the judge, "
        "without=[{judge}], or set a ridge penalty, such as LinearBias(alpha={alpha})."
    )
    SHOW_ORDER = (
        "If the columns are not in display order, add 'shown_first'; else drop the "
        "judge, or set position_effect='auto'."
    )
    SWAP_SIDES = "Set position_effect=False, or add rows with the sides swapped."
    FIT_POSITION = "Set position_effect='auto'."
    KEEP_LINEAR = (
        "Keep a linear learner, bias='linear' or LinearBias(feature_map=...), or fit "
        "AnchorPipeline on all rows."
    )
    PLACE_ARRIVALS = "Leave their rows out of the history, and give them to place()."
    FIT_HISTORY_AGAIN = "Fit the history again with all rows."
    GIVE_PAST = "Give the rows of the history, too: past=(X, y)."
    BUILD_HISTORY = "Build it again with AnchorHistory(...).fit(X, y).save(path)."
    UPDATE_HISTORY = "Add such rows to the history with update()."
    CALIBRATE_CHANGED = (
        "Calibrate the judge again on historical rows, under a new name, or leave its "
        "rows out. With fingerprints=None nothing is compared."
    )


@dataclass(frozen=True)
class Advice:
    """What to do about a fault.

    Attributes
    ----------
    kind : Remedy
        Which advice.
    values : mapping, optional
        Values for the placeholders in its text, such as ``{"alpha": 0.01}``.

    Examples
    --------
    >>> from skanchor.exceptions import Advice, Remedy
    >>> advice = Advice(Remedy.DROP_BAD_LINES)
    >>> str(advice)
    'Leave such lines out with read_battles(path, drop_invalid=True).'
    """

    kind: Remedy
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return self.kind.value.format_map(self.values)


@dataclass(frozen=True)
class Call:
    """A call that helps: the one that failed, with other arguments.

    Attributes
    ----------
    arguments : mapping
        Arguments to add to `read_battles` or `split_battles`. ``"before"`` is a file to
        read before the others.
    when : str, optional
        The case in which it helps, such as ``"If 'rater' names judges"``.
    function : str, optional
        Name of the function; the function that was called fills it in.
    given : mapping, optional
        Arguments of the call that failed, by name. The first is shown by position.

    Examples
    --------
    >>> from skanchor.exceptions import Call
    >>> str(Call({"human": ["expert"]}, function="split_battles"))
    "Write split_battles(['expert'])"
    """

    arguments: Mapping[str, Any] = field(hash=False)
    when: str = ""
    function: str = ""
    given: Mapping[str, Any] = field(default_factory=dict, hash=False)

    kind = None
    """No `Remedy`."""

    def __str__(self) -> str:
        merged = dict(self.given)
        for name, value in self.arguments.items():
            if name in _COMMAND_LINE:
                continue
            known = merged.get(name)
            both = isinstance(known, Mapping) and isinstance(value, Mapping)
            merged[name] = {**known, **value} if both else value  # type: ignore[dict-item]
        first, *rest = merged or {"": ""}
        before = merged.pop("before", None)
        rest = [name for name in rest if name != "before"]
        start = merged.pop(first, "")
        if before is not None and self.function == "read_battles":
            paths = start if isinstance(start, (list, tuple)) else [start]
            start = [before, *paths]
        shown = [start if isinstance(start, Verbatim) else repr(start)]
        shown += [f"{name}={merged[name]!r}" for name in rest]
        text = f"{self.function}({', '.join(shown)})"
        return f"{self.when}: {text}" if self.when else f"Write {text}"


_COMMAND_LINE = frozenset({"all_human", "no_new"})
"""Arguments that only the command line has."""


class Verbatim(str):
    """Text that stands for an argument as it is, such as the name of a variable."""


class Advised(Exception):  # noqa: N818 (the base of warnings, too)
    """An error or a warning whose message is a statement and advice.

    Parameters
    ----------
    *statement : str or Term
        What is wrong, and where: texts that are joined, between them terms.
    advice : Advice, Call or sequence of them, optional
        What to do about it, where the words depend on the face. What is said alike
        everywhere belongs to the statement.

    Attributes
    ----------
    args : tuple
        The parts of the statement.
    advice : tuple of Advice and Call
        All advice.
    """

    def __init__(
        self, *statement: str, advice: Advice | Call | Sequence[Advice | Call] = ()
    ):
        super().__init__(*statement)
        one = isinstance(advice, (Advice, Call))
        self.advice: tuple[Advice | Call, ...] = (
            (advice,) if one else tuple(advice)  # type: ignore[arg-type,assignment]
        )

    @property
    def statement(self) -> str:
        """What is wrong, and where, in the words of Python."""
        return printable(brief("".join(map(str, self.args))))

    def __str__(self) -> str:
        advice = [printable(brief(str(each))) for each in self.advice]
        return " ".join([self.statement, *advice]).lstrip()

    def complete_calls(self, function: str, given: Mapping[str, Any]) -> None:
        """Say in every `Call` that does not know it yet which call has failed.

        Parameters
        ----------
        function : str
            Name of the function.
        given : mapping
            Its arguments; the first one is shown by position.
        """
        self.advice = tuple(
            replace(each, function=function, given=given)
            if isinstance(each, Call) and not each.function
            else each
            for each in self.advice
        )

    def locate(self, where: str) -> None:
        """Put before the statement where it holds.

        Parameters
        ----------
        where : str
            Such as ``"Fold 3"``.
        """
        self.args = (f"{where}: ", *self.args)


# --------------------------------------------------------------------------- warnings
class SkanchorWarning(Advised, UserWarning):
    """Base class of every warning that skanchor issues itself.

    Parameters
    ----------
    *statement : str or Term
        What is wrong, and where.
    advice : Advice, Call or sequence of them, optional
        What to do about it.
    code : str, default=""
        Name of the finding, such as ``"graded-verdicts"``. It does not change when the
        words of the message do.
    subject : iterable of labels, default=()
        Models, judges, columns or contexts that the warning is about: all of them, also
        where the message names only the first.

    Attributes
    ----------
    code : str
        Name of the finding.
    subject : tuple of str
        Each label once, in order.

    Examples
    --------
    >>> import warnings
    >>> from skanchor.exceptions import DataWarning, SkanchorWarning
    >>> warnings.simplefilter("ignore", DataWarning)
    >>> warnings.warn(DataWarning("3 rows are left out."))
    >>> issubclass(DataWarning, SkanchorWarning)
    True
    >>> warning = DataWarning("Judge 'j' is left out.", code="weak", subject=["j"])
    >>> warning.code, warning.subject
    ('weak', ('j',))
    """

    def __init__(
        self,
        *statement: str,
        advice: Advice | Call | Sequence[Advice | Call] = (),
        code: str = "",
        subject: Iterable[Any] = (),
    ):
        super().__init__(*statement, advice=advice)
        self.code = code
        self.subject = tuple(dict.fromkeys(map(str, subject)))


class ConvergenceWarning(SkanchorWarning, _ConvergenceWarning):
    """An iteration did not converge; a subclass of scikit-learn's warning."""


class DataWarning(SkanchorWarning):
    """Rows or columns of the battles table are not used as one may expect."""


class AssumptionWarning(DataWarning):
    """Names and values of a table were read in the only way that fits them."""


class CountWarning(DataWarning):
    """Weights that look like counts of rows are read as importance."""


class DiagnosticWarning(SkanchorWarning):
    """A diagnostic crosses its threshold, so an interval may be too short."""


class SlowWarning(SkanchorWarning):
    """What was asked for will take minutes; it is issued before the work begins."""


class SeparationWarning(SkanchorWarning):
    """The likelihood has no finite maximum: scores or verdicts are separated."""


class VersionWarning(SkanchorWarning):
    """A pickle was written by another version of skanchor."""


class WeakJudgeWarning(SkanchorWarning):
    """A judge's sensitivity is negative, close to zero or at its bound."""


class InstabilityWarning(SkanchorWarning):
    """A correction is too large to be reliable: the score is not determined."""


class BoundWarning(SkanchorWarning):
    """A parameter lies on its bound, so its interval is not valid."""


# ----------------------------------------------------------------------------- errors
class BattlesError(Advised, ValueError):
    """The battles table, its outcomes or its roles cannot be used.

    Examples
    --------
    >>> import pandas as pd
    >>> from skanchor import split_battles
    >>> from skanchor.exceptions import BattlesError
    >>> try:
    ...     split_battles(pd.DataFrame({"winner": ["model_a"]}))
    ... except BattlesError as error:
    ...     print(str(error).split(";")[0])
    ...
    The battles table lacks the columns ['model_a', 'model_b']
    """


class DisconnectedError(BattlesError):
    """The human comparisons do not connect all models, so no common scale exists.

    Examples
    --------
    >>> import pandas as pd
    >>> from skanchor import BTLRegressor
    >>> from skanchor.exceptions import DisconnectedError
    >>> votes = pd.DataFrame({"model_a": list("abcd"), "model_b": list("badc")})
    >>> try:
    ...     BTLRegressor().fit(votes.assign(judge="human"), [1, 1, 1, 1])
    ... except DisconnectedError as error:
    ...     print(str(error).split(". ")[0])
    ...
    The human comparisons leave 2 separate groups of models: {a, b}; {c, d}
    """


class LearnerError(Advised, ValueError):
    """A bias learner cannot be used, or returned numbers that cannot be used.

    Parameters
    ----------
    *statement : str or Term
        What is wrong.
    advice : Advice or sequence of Advice, optional
        What to do about it.
    problem : int, default=0
        Number of the failed problem, if several were fitted together.

    Examples
    --------
    >>> from skanchor.exceptions import LearnerError
    >>> print(LearnerError("the learner returned NaN."))
    the learner returned NaN.
    """

    def __init__(
        self,
        *statement: str,
        advice: Advice | Sequence[Advice] = (),
        problem: int = 0,
    ):
        super().__init__(*statement, advice=advice)
        self.problem = problem


# --------------------------------------------------------------------------- location
def locate(error: Exception, where: str) -> None:
    """Say in the message of an exception where it came from.

    Parameters
    ----------
    error : Exception
        Changed in place.
    where : str
        Such as ``"Fold 3"``.
    """
    if isinstance(error, Advised):
        error.locate(where)
    elif error.args and str(error) == error.args[0]:
        error.args = (f"{where}: {error}", *error.args[1:])
    else:
        error.add_note(where)


@contextmanager
def located(where: str) -> Iterator[None]:
    """Say where exceptions came from that leave the block.

    Parameters
    ----------
    where : str
        Such as ``"Fold 3"``.
    """
    try:
        yield
    except Exception as error:
        locate(error, where)
        raise
