"""How few rows change a statement about a new model, confirmed by refits."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skanchor._battles import HUMAN
from skanchor._checks import check_level
from skanchor._machine import limited_threads
from skanchor._sample.row_rules import RowRules
from skanchor._sample.sample import Battles, Sample
from skanchor._typing import Indices
from skanchor.exceptions import BattlesError
from skanchor.readouts._answer import (
    Answer,
    check_labels,
    determined_models,
    records_of,
    table_by,
)
from skanchor.readouts._search import Dropping, Search
from skanchor.warning_log import WarningLog

if TYPE_CHECKING:
    from skanchor import AnchorPipeline, AnchorResult

CHOICES = {
    "goal": ("sign", "interval"),
    "rows": ("any", "human", "arrival", "history"),
    "by": ("row", "group"),
}
"""Values of the arguments of :func:`fragility`."""

SENTENCES = {
    "confirmed": "Dropping {k:,.0f} {of_all} ({percent:.2g} %) {what}.",
    "not confirmed": "With weights solved again, dropping {k:,.0f} {of_all} {what}; "
    "refits did not confirm it.",
    "first order": "By influence alone, dropping {first_order:,.0f} {of_all} {what}; "
    "no refit confirms it.",
    "no order": "By influence alone, dropping rows does not {plain}; no refit confirms "
    "it.",
    "not fragile": "Dropping up to {most} does not {plain}.",
    "fit fails first": "The fit fails before the loss of {units} {what}.",
}
"""What is said of a statement, by status."""

OF_ROWS = {
    "any": "rows",
    "human": "human votes",
    "arrival": "verdicts on {model}",
    "history": "verdicts on historical models",
}
"""What is dropped, by the choice of rows."""


class Fragility(Answer):
    """How few rows change the statements about new models, if they are dropped.

    Attributes
    ----------
    table : DataFrame
        By ``model`` and ``opponent``. A unit is a row or a group of rows.

        - ``difference``: score of the model minus that of the opponent, in logits.
        - ``t``: the difference over its standard error.
        - ``side``: 1 if the statement "the model is better" changes, -1 if it is "the
          model is worse".
        - ``gains``: True if the statement becomes significant, False if it ceases to
          be.
        - ``allowed``: number of units that may be dropped (verdicts, votes, groups).
        - ``first_order``, ``re_solved``, ``k``: how many units suffice, by their
          influence, with Riesz weights solved again, and by refits. Infinite means more
          than may be dropped, NaN that this was not searched for. If no refit confirms
          a number, ``k`` equals ``re_solved``.
        - ``share``: k over ``allowed``.
        - ``confirmed``: whether a refit confirms k.
        - ``status``: "confirmed", "not confirmed" by refits, "not fragile", "fit fails
          first", or "first order".
        - ``after``: the difference in the refit.
    sentences : tuple of str
        One for each statement.
    goal, source, by : str
        The request: the goal, which rows may be dropped, and the unit.
    dropped : dict of (model, opponent) to DataFrame
        The ``k`` units, indexed by row number of the table: ``model_a``, ``model_b``,
        ``judge``, ``outcome`` and ``count``, the number of equal rows.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> found = anchor.fragility(X, y, "cedar-fox", model="ivory-lynx", rows="arrival")
    >>> found.table["confirmed"].tolist()
    [True]
    """

    def rows(self, model: Hashable, opponent: Hashable | None = None) -> pd.DataFrame:
        """Rows whose loss changes the statement about a model and an opponent.

        Parameters
        ----------
        model : label
            A new model.
        opponent : label, optional
            None means the one that needs the fewest rows.

        Returns
        -------
        DataFrame
            As in ``dropped``; empty where no number of rows was found.
        """
        keys = [
            at for at in self.dropped if at[0] == model and opponent in (None, at[1])
        ]
        if not keys:
            raise KeyError(f"There is no statement on {model!r} and {opponent!r}.")
        number = self.table["k"].fillna(np.inf)
        table: pd.DataFrame = self.dropped[min(keys, key=lambda key: number[key])]
        return table


def fragility(
    anchor: AnchorPipeline,
    X: Battles | None = None,
    y: ArrayLike | None = None,
    opponent: Hashable | None = None,
    goal: Literal["sign", "interval"] = "sign",
    rows: Literal["any", "human", "arrival", "history"] = "any",
    by: Literal["row", "group"] = "row",
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | str | None = "auto",
    model: Hashable | None = None,
    level: float = 0.95,
) -> Fragility:
    """How few rows change the statements about new models, if they are dropped.

    The search chooses rows by their influence and solves the Riesz weights again after
    each block of rows. It confirms the result by fits without these rows.

    Parameters
    ----------
    X, y, sample_weight, groups
        The data that the pipeline was fitted on. Without them nothing is solved again
        or refitted: the answer is that of influence alone, ``first_order``.
    opponent : label, optional
        The model that a new model is compared with; None means each in turn.
    goal : {"sign", "interval"}, default="sign"
        The statement to change: which of the two models is better, or whether the
        interval of their difference contains zero.
    rows : {"any", "human", "arrival", "history"}, default="any"
        Which rows may be chosen: all; votes; verdicts on the new model and its
        opponent; verdicts on historical models. The search drops at most a tenth of the
        votes, a tenth of the historical verdicts, and a quarter of the verdicts on new
        models.
    by : {"row", "group"}, default="row"
        Whether single rows are dropped, or whole groups of dependent rows.
    model : label, optional
        The new model; None means all of them.
    level : float, default=0.95
        Confidence level of intervals.

    Returns
    -------
    Fragility
        ``table`` by model and opponent, and ``rows()``.

    Raises
    ------
    BattlesError
        If the rows are not those of the fit; if a label is unknown; if the score of a
        new model is not determined; if there is no new model, or no row or group of the
        kind that is asked for; for plug-ins; and with contexts.

    Notes
    -----
    The first-order search is AMIP (Broderick, Giordano and Meager). It overstates k
    beyond a few rows, because dropping rows also removes information. The rows that are
    found are not always the fewest. Refits have the folds and item effects of the fit.
    If a model loses its finite error in a refit, this does not count as a change of the
    statement.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> anchor = AnchorPipeline(random_state=0).fit(data.X, data.y)
    >>> found = anchor.fragility(data.X, data.y, "model-04", rows="arrival")
    >>> bool(found.table["confirmed"].all())
    True
    >>> print(anchor.fragility(opponent="model-04").sentences[0])
    By influence alone, dropping 5 of the 8,500 rows puts new-model above model-04; no
    refit confirms it.
    """
    for name, value in (("goal", goal), ("rows", rows), ("by", by)):
        if value not in CHOICES[name]:
            choices = list(CHOICES[name])
            raise ValueError(f"{name} must be one of {choices}, got {value!r}.")
    check_level(level)
    check_is_fitted(anchor)
    result, inference = anchor.result_, anchor._inference
    fitted, cells = result.fitted, inference.cells
    fitted.served("fragility", in_closed_form=False)
    # Cells of equal rows may hold rows of several groups.
    X_fitted, admitted = cells.to_rows(fitted.sample.X), inference.admitted
    sample = cells.rows_of(admitted).with_battles(X_fitted)
    sample = sample.in_units(admitted.unit / sample.unit)
    origin = np.arange(len(cells.rows))
    if X is not None:
        origin = _rows_of_fit(anchor, X, y, sample_weight, groups)
    new = result.models[result.is_new].tolist()
    fits: dict[tuple[Any, ...], Dropping] = {}
    answers: dict[tuple[Any, Any], dict[str, Any]] = {}
    dropped: dict[tuple[Any, Any], pd.DataFrame] = {}
    with limited_threads(1):
        for pair in _pairs(result, model, opponent):
            # Verdicts on another new model arrive, too.
            about = tuple(one for one in pair if one in new)
            if about not in fits:
                fits[about] = Dropping.of(result, sample, about, rows, by)
            search = Search(fits[about], pair, goal, level)
            if X is not None:
                search.search()
                search.confirm(partial(refit, anchor))
            answers[pair] = search.row
            dropped[pair] = _listed_rows(search, cells.rows, origin)
    table = table_by(["model", "opponent"], answers)
    table["share"] = (table["k"] / table["allowed"]).where(np.isfinite(table["k"]))
    details = {"goal": goal, "source": rows, "by": by, "dropped": dropped}
    return Fragility(table, tuple(_sentences(table, goal, rows, by)), details)


def _pairs(
    result: AnchorResult, model: Hashable | None, opponent: Hashable | None
) -> list[tuple[Any, Any]]:
    """Pairs of a new model and an opponent; refuse what has no statement."""
    models, all_models = determined_models(result, model), result.models.tolist()
    lost = result.models[result.unbounded].tolist()
    others = [one for one in all_models if one not in lost]
    if opponent is not None:
        check_labels([opponent], all_models, "models")
        others = [opponent]
    # A refit needs all new models.
    needed = [*result.models[result.is_new], *others]
    undetermined = [one for one in lost if one in needed]
    if undetermined:
        raise BattlesError(
            f"The scores of {undetermined[:5]} are not determined: their errors are "
            "infinite, so no row can change a statement. Fit again without such models."
        )
    pairs = [(one, other) for one in models for other in others if one != other]
    if not pairs:
        raise BattlesError(f"{opponent!r} is the only new model itself.")
    return pairs


# ------------------------------------------------------------------------- the refits
def _rows_of_fit(
    anchor: AnchorPipeline, X: Any, y: Any, sample_weight: Any, groups: Any
) -> Indices:
    """Row of the table of each row that was fitted; refuse another table."""
    rules = RowRules.of(anchor)
    with WarningLog():
        admitted = anchor._admitted(X, y, sample_weight, groups)
        sample = rules.apply(admitted, may_warn=False)
    fitted = anchor._inference.cells.rows
    if len(sample) != len(fitted) or sample.digest != fitted.digest:
        raise BattlesError(
            f"These {len(admitted):,} rows are not those that this pipeline was fitted "
            "on: give the X, y, sample_weight and groups of fit, in the same order."
        )
    origin = np.arange(len(admitted))
    if rules.counts:
        origin = np.repeat(origin, admitted.weight.astype(np.intp))
    return origin


def refit(anchor: AnchorPipeline, gone: Indices) -> AnchorResult | None:
    """Result of the table without some rows; None where the fit breaks.

    It has the folds of the fit, and the covariance of its item effects.
    """
    rows, result = anchor._inference.cells.rows, anchor.result_
    weight = np.array(rows.weight)
    weight[gone] = 0.0
    settings = {"cv": anchor.fold_plan_, "new_models": anchor.new_models_.tolist()}
    again = clone(anchor).set_params(**settings, verbose=0)
    try:
        # What these rows would be warned of is no fault of the table.
        with WarningLog():
            inference = again.prepare(rows.weighted(weight))
            if len(inference.admitted.X.judges) < len(anchor.judges_):
                # One has too few rows left.
                return None
            refitted = inference.result(inference.fit_with(result.fitted.items))
    except (BattlesError, np.linalg.LinAlgError):
        return None
    error = refitted.all_standard_errors.reindex(result.models)
    lost = ~np.isfinite(error) & np.isfinite(result.all_standard_errors)
    return None if lost.any() else refitted


# -------------------------------------------------------------------------- the answer
def _listed_rows(search: Search, rows: Sample, origin: Indices) -> pd.DataFrame:
    """Rows that are dropped, in the labels of the user."""
    k = search.row["k"]
    gone = search.order[: int(k) if np.isfinite(k) else 0]
    X, at = rows.X, search.fit.rows_of(gone)
    table = pd.DataFrame(
        {
            "model_a": X.models[X.left[at]],
            "model_b": X.models[X.right[at]],
            "judge": [HUMAN if m < 0 else X.judges[m] for m in X.judge[at].tolist()],
            "outcome": rows.y[at],
        },
        index=pd.Index(origin[at], name="row"),
    )
    first = table[~table.index.duplicated()]
    return first.assign(count=table.groupby(level="row").size())


def _sentences(table: pd.DataFrame, goal: str, rows: str, by: str) -> Iterator[str]:
    for row in records_of(table):
        what, status = _change(row, goal), row["status"]
        units = "groups of rows" if by == "group" else OF_ROWS[rows].format(**row)
        of_all = f"of the {row['allowed']:,} {units}"
        most = f"{25 if rows == 'arrival' else 10} % {of_all}"
        if rows == "any" and by == "row":
            most += f" (25 % of the verdicts on {row['model']})"
        if status == "first order" and np.isinf(row["first_order"]):
            status = "no order"
        # Verbs are in the third person: "puts it above".
        words = {"what": what, "plain": what.replace("s ", " ", 1), "most": most}
        words |= {"units": units, "of_all": of_all, "percent": 100 * row["share"]}
        yield SENTENCES[status].format(**row, **words)


def _change(row: dict[str, Any], goal: str) -> str:
    """What changes, in words that follow a number of rows."""
    model, opponent, up = row["model"], row["opponent"], row["side"] > 0
    if goal == "sign":
        return f"puts {model} {'below' if up else 'above'} {opponent}"
    claim = f"{model} is {'better' if up else 'worse'} than {opponent}"
    verb = "makes it significant that" if row["gains"] else "leaves it open whether"
    return f"{verb} {claim}"
