"""Messages of the library in the words of the command line: names and advice."""

from __future__ import annotations

from collections.abc import Sequence

from skanchor._cli.again import (
    with_arguments,
    with_file_before,
    with_flags,
)
from skanchor._cli.command import Case
from skanchor.exceptions import Advice, Advised, Call, Remedy, Term

TERMS = {
    Term.NEW_MODELS: "--new",
    Term.AMONG_NEW_MODELS: "named by --new",
    Term.GROUPS: "--groups",
    Term.N_FOLDS: "--folds",
    Term.POOL: "--pool-judges",
}
"""Names in statements, such as parameters, which are flags here."""

ADVICE = {
    Remedy.RENAME_COLUMNS: "Rename columns with --columns given=standard.",
    Remedy.NAME_COLUMNS: "Rename columns with --columns given=standard, or name the "
    "tool with --from.",
    Remedy.TELL_FORMAT: "Say which it is with --from.",
    Remedy.DROP_INVALID: "Drop those battles, or leave out failed verdicts with "
    "--drop-invalid.",
    Remedy.DROP_BAD_LINES: "Leave such lines out with --drop-invalid.",
    Remedy.READ_AS_SCORES: "Tables of scores are read with --from scores.",
    Remedy.READ_AS_TABLE: "Leave out --labels, or read the files with --from table.",
    Remedy.CHOOSE_FEATURES: "Drop them with --drop-features, or ask for those that are "
    "features with --features.",
    Remedy.LABEL_HUMANS: "Rows of people have the label 'human'. If they have another "
    "label, name it with --human.",
    Remedy.ADD_PEOPLE: "If all rows are a judge's, add the file of people's votes on "
    "the same models: PEOPLE.csv FILE.",
    Remedy.NAME_JUDGES: "If a judge gave these outcomes, name it with --judge, and add "
    "the file of people's votes.",
    Remedy.MERGE_MODELS: "If they are one, give them one name: --rename-models {flag}.",
    Remedy.PUT_SIDES_FOR_NAMES: "Use instead a column that names the winner, 'model_a' "
    "or 'model_b'.",
    Remedy.RELABEL_OUTCOMES: "Say what they mean, as in --labels left=model_a.",
    Remedy.GIVE_LEVELS: "Give each a number, from 1 where {first!r} is far better to 0 "
    "where {second!r} is: --levels {flag}.",
    Remedy.CONVERT_OUTCOMES: "Write them as numbers.",
    Remedy.LEAVE_OUT_TIES: None,
    Remedy.KEEP_TIES: "Count them as half a win: leave out --ties drop.",
    Remedy.ALLOW_CURVES: "Compare with --judge-scale curved.",
    Remedy.COMPARE_WITHOUT_TIES: "Compare with --ties drop.",
    Remedy.SPLIT_BY_SOURCE: None,
    Remedy.CHOOSE_NEW_MODELS: "Name new models with --new, or give --no-new for the "
    "historical leaderboard.",
    Remedy.SHRINK_STYLE: "Use fewer features (--features).",
    Remedy.ADD_NEW_MODELS: "Add them, or drop their rows.",
    Remedy.COUNT_ROWS: "If a weight is a number of equal rows, give --weights "
    "frequency. Otherwise divide the weights by their mean.",
    Remedy.USE_COUNTS: "If it is the number of equal rows, give --weights frequency.",
    Remedy.GIVE_GROUPS: "Name a column of the table.",
    Remedy.JOIN_GROUPS: "Add comparisons between the groups or drop one.",
    Remedy.VOTE_BETWEEN_GROUPS: "Add human votes between the groups, or drop one.",
    Remedy.CHOOSE_MIX: "The reported scores are means over all contexts, unless --mix "
    "gives the share of each.",
    Remedy.FIT_JOINTLY: "--historical-fit joint can place them by judge rows.",
    Remedy.FIT_IN_TWO_STEPS: "Drop judges that contradict people (--drop-judges), or "
    "let votes alone decide the scores with --historical-fit two-step.",
    Remedy.BOUND_SCORES: "Add comparisons.",
    Remedy.ADD_VOTES: "Add votes.",
    Remedy.PLACE_BY_JUDGES: "Name them with --new to place them with the judges' help, "
    "or add votes.",
    Remedy.KEEP_VOTES_IN_FOLDS: "Use fewer folds, add votes on them, or name them "
    "with --new, so that judge rows place them, too.",
    Remedy.STEADY_CORRECTION: "Add rows or use fewer folds.",
    Remedy.SHRINK_BIAS: None,
    Remedy.SHRINK_OR_DROP_JUDGE: "Drop the judge with --drop-judges.",
    Remedy.POOL_JUDGES: "If they are alike, such as seeds or prompts of one model, fit "
    "them as one with --pool-judges judges.",
    Remedy.DROP_JUDGES: "If intervals are wide, leave them out with --drop-judges.",
    Remedy.GROUP_BY_PROMPT: "Add --groups prompt_id if you still want errors by "
    "prompt, "
    "or --groups none if rows are independent.",
    Remedy.FIT_ITEM_EFFECTS: "Give --item-effects random.",
    Remedy.FIT_RATERS_TOGETHER: "skanchor rank on all rows has errors by rater; "
    "--groups prompt_id leaves raters out.",
    Remedy.DROP_FEATURES: "Drop the feature with --drop-features, or the judge with "
    "--drop-judges.",
    Remedy.SHOW_ORDER: "If the columns are not in display order, add 'shown_first'; "
    "else drop the judge, or leave out --no-position-effect.",
    Remedy.SWAP_SIDES: "Give --no-position-effect, or add rows with the sides swapped.",
    Remedy.FIT_POSITION: "Leave out --no-position-effect.",
    Remedy.KEEP_LINEAR: None,
    Remedy.PLACE_ARRIVALS: "Leave their rows out of the history, and give them to "
    "skanchor history place.",
    Remedy.FIT_HISTORY_AGAIN: "Build the history again with all rows: skanchor history "
    "build.",
    Remedy.GIVE_PAST: "Give the rows of the history, too: --past FILE.",
    Remedy.BUILD_HISTORY: "Build it again with skanchor history build.",
    Remedy.UPDATE_HISTORY: "Add such rows to the history with skanchor history update.",
    Remedy.CALIBRATE_CHANGED: "Calibrate the judge again on historical rows, under a "
    "new name, or leave its rows out with --drop-judges.",
}
"""Text of every kind of advice; None where the command line has no flag for it."""


_NAMED = 5
"""Labels that a case names."""

FLAGS: dict[Remedy, tuple[str, ...]] = {
    Remedy.DROP_INVALID: ("--drop-invalid",),
    Remedy.DROP_BAD_LINES: ("--drop-invalid",),
    Remedy.READ_AS_SCORES: ("--from", "scores"),
    Remedy.CHOOSE_NEW_MODELS: ("--no-new",),
    Remedy.FIT_ITEM_EFFECTS: ("--item-effects", "random"),
    Remedy.FIT_JOINTLY: ("--historical-fit", "joint"),
}
"""Flags that follow the command where one advice is given."""


def cases_of(
    message: BaseException, typed: Sequence[str], files: Sequence[str]
) -> list[Case]:
    """Commands that help against an error, each with the case in which it does.

    Parameters
    ----------
    message : Exception
        The error.
    typed : sequence of str
        Arguments of the program that were typed.
    files : sequence of str
        Files of battles among them.

    Returns
    -------
    list of (str, list of str)
    """
    cases: list[Case] = []
    words: list[str] | None
    for advice in message.advice if isinstance(message, Advised) else ():
        if isinstance(advice, Call):
            case, words = advice.when, with_arguments(typed, advice.arguments, files)
        else:
            case, words = _for_remedy(advice, typed, files)
        if words is not None:
            cases.append((case, words))
    return cases


def worded(message: BaseException | str) -> str:
    """Text of a message, with names and advice in the words of the command line."""
    if not isinstance(message, Advised):
        return str(message)
    statement = "".join(
        TERMS[part] if isinstance(part, Term) else str(part) for part in message.args
    )
    return " ".join([statement, *filter(None, map(_advice_text, message.advice))])


def _advice_text(advice: Advice | Call) -> str | None:
    """Text of an advice with its values; None where there is no flag for it.

    The commands of calls, which `again` makes, stand below the message.
    """
    if isinstance(advice, Call):
        return None
    words = ADVICE[advice.kind]
    return None if words is None else words.format_map(advice.values)


def _for_remedy(
    advice: Advice, typed: Sequence[str], files: Sequence[str]
) -> tuple[str, list[str] | None]:
    """Case, and typed words as one advice changes them; None where it has no flags."""
    if advice.kind is Remedy.LABEL_HUMANS and files:
        from skanchor.io import absent_people_file, people_patterns

        values = advice.values
        people = people_patterns(values.get("judges", ()), values.get("partial", ()))
        streams = "--stream" in typed
        if people:
            words = with_flags(typed, ["--human", *people])
            named = ", ".join(map(repr, people[:_NAMED])) + ", ..." * (
                len(people) > _NAMED
            )
            return f"If rows of {named} are people's", words
        votes = absent_people_file()
        return "", None if streams else with_file_before(typed, votes, files)
    if advice.kind is Remedy.MERGE_MODELS:
        return "", with_arguments(typed, {"models": advice.values["models"]}, files)
    flags = FLAGS.get(advice.kind)
    return "", None if flags is None else with_flags(typed, flags)
