"""Fragility of the statements of a fit: search, then refits, until time is up."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._assembly import Inference
from skanchor._cells import Cells
from skanchor._checks import check_level
from skanchor._comparisons import HUMAN
from skanchor._riesz import RieszDebiaser
from skanchor._served import check_served
from skanchor.exceptions import BattlesError
from skanchor.fragility._confirm import Confirmed, Refit, Refits, rows_of_units
from skanchor.fragility._found import Fragility
from skanchor.fragility._goals import GOALS, Goal
from skanchor.fragility._resolved import Fitted
from skanchor.fragility._search import Trail, first_order, search
from skanchor.fragility._units import BY, ROWS, Units
from skanchor.results import AnchorResult
from skanchor.sample import Sample


class _SearchEnds(Exception):  # noqa: N818
    """The search has to stop."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of :meth:`skanchor.AnchorPipeline.fragility`.

    With ``by_influence`` no weights are solved again, and no refits are made.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.fragility import Asked
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> [(model, len(others)) for model, others in Asked().pairs(anchor.result_)]
    [('ivory-lynx', 9), ('jade-finch', 9)]
    """

    opponent: Hashable | None = None
    goal: str = "sign"
    rows: str = "any"
    by: str = "row"
    model: Hashable | None = None
    level: float = 0.95
    max_seconds: float | None = None
    by_influence: bool = False

    def check(self) -> None:
        """Raise an error for arguments that are not valid."""
        for name, known in (("goal", GOALS), ("rows", ROWS), ("by", BY)):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name} must be one of {list(known)}, got {getattr(self, name)!r}."
                )
        check_level(self.level)
        seconds = self.max_seconds
        if seconds is not None and not (np.isfinite(seconds) and seconds >= 0):
            raise ValueError(
                f"max_seconds must be a number of seconds or None, got {seconds!r}."
            )

    def pairs(self, result: AnchorResult) -> list[tuple[Any, list[Any]]]:
        """New models, each with the opponents that are asked for.

        Raises
        ------
        BattlesError
            For unknown labels, and for models whose score is not determined.
        """
        new = result.models[result.is_new].tolist()
        known = result.models.tolist()
        lost = set(result.models[result.unbounded].tolist())
        if not new:
            raise BattlesError("There is no new model, so no statement could change.")
        if self.model is not None and self.model not in new:
            raise BattlesError(
                f"{self.model!r} is none of the new models; these are {new[:10]}."
            )
        if self.opponent is not None and self.opponent not in known:
            raise BattlesError(
                f"opponent={self.opponent!r} is no model of this fit; it has "
                f"{known[:10]}."
            )
        undetermined = [model for model in new if model in lost]
        if undetermined:
            raise BattlesError(
                f"The scores of {undetermined[:5]} are not determined: their errors "
                "are infinite, so no row can change a statement. Fit again without "
                "these models."
            )
        if self.opponent is not None and self.opponent in lost:
            raise BattlesError(
                f"The score of {self.opponent!r} is not determined, so there is no "
                f"statement on the difference to it."
            )
        models = new if self.model is None else [self.model]
        rest = [model for model in known if model not in lost]
        rest = rest if self.opponent is None else [self.opponent]
        found = [(one, [other for other in rest if other != one]) for one in models]
        found = [(one, others) for one, others in found if others]
        if not found:
            raise BattlesError(f"{self.opponent!r} is the only new model itself.")
        return found


def fragility_of(
    asked: Asked,
    result: AnchorResult,
    inference: Inference,
    sample: Sample,
    debiaser: RieszDebiaser | None,
    inflation: float,
    refit: Refit,
    origin: NDArray[np.intp],
    verbose: int = 0,
) -> Fragility:
    """Search for few rows that change the statements about new models.

    Parameters
    ----------
    asked : Asked
        The arguments of the search.
    result : AnchorResult
        The reported result.
    inference : Inference
        The inference that made it.
    sample : Sample
        Rows that were fitted, with the columns estimated by the chain.
    debiaser : RieszDebiaser or None
        Fitted to all rows.
    inflation : float
        Factor of the item part of a variance.
    refit : Refit
        Fits other rows.
    origin : ndarray of shape (n_rows,)
        Row of the user's table of each row that was fitted.
    verbose : int, default=0
        Shows a progress bar when positive.

    Returns
    -------
    Fragility
    """
    asked.check()
    known = check_served("fragility", debiaser, sample, in_closed_form=False)
    cells = inference.cells
    if sample.is_grouped and sample.groups is None:
        # Cells may hold rows of several groups.
        rows = cells.rows_of(inference.admitted).with_battles(cells.to_rows(sample.X))
        sample = rows.in_units(inference.admitted.unit / rows.unit)
    new = set(result.models[result.is_new].tolist())
    works = []
    for model, opponents in asked.pairs(result):
        fits: dict[tuple[Any, ...], Fitted] = {}

        def fitted(*models: Any, fits: dict[Any, Fitted] = fits) -> Fitted:
            if models not in fits:
                units = Units.of(sample, models, asked.rows, asked.by)
                fits[models] = Fitted.of(result, known, units, inflation)
            return fits[models]

        for other in opponents:
            goal = Goal.of_pair(result, asked.goal, model, other, asked.level)
            # Verdicts on another new model arrive, too.
            models = (model, other) if other in new else (model,)
            fit = fitted(*models)
            works.append(_Work(fit, first_order(fit, goal)))
    with_items = result.item_covariances is not None
    finished = asked.by_influence or _run_searches(
        works,
        asked.max_seconds,
        verbose,
        lambda units: Refits(refit, result, cells, units, with_items),
    )
    return _collected(asked, cells, origin, works, finished)


@dataclass(eq=False)
class _Work:
    """The search for one statement, and what refits say."""

    fitted: Fitted
    trail: Trail
    confirmed: Confirmed = field(default_factory=Confirmed)
    is_done: bool = False


def _run_searches(
    works: list[_Work],
    max_seconds: float | None,
    verbose: int,
    refits_of: Callable[[Units], Refits],
) -> bool:
    """Search and refit, the cheapest for all statements first; whether all was done."""
    end = np.inf if max_seconds is None else monotonic() + max_seconds

    def proceed() -> None:
        if monotonic() >= end:
            raise _SearchEnds

    try:
        for work in works:
            search(work.fitted, work.trail, proceed)
        for work in _watched(works, verbose):
            if np.isfinite(work.trail.resolved):
                refits = refits_of(work.fitted.units)
                refits.confirm(work.trail, work.confirmed, proceed)
            work.is_done = True
    except (_SearchEnds, KeyboardInterrupt):
        return False
    return True


def _watched(works: list[_Work], verbose: int) -> Iterable[_Work]:
    """The works, with a progress bar on the standard error if asked for."""
    if verbose <= 0:
        return works
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(works, "refits", console=console, transient=True)


# -------------------------------------------------------------------------- the result
def _collected(
    asked: Asked,
    cells: Cells,
    origin: NDArray[np.intp],
    works: list[_Work],
    finished: bool,
) -> Fragility:
    table, dropped, paths = {}, {}, {}
    for work in works:
        trail = work.trail
        key = trail.goal.model, trail.goal.opponent
        table[key] = row = _row_of_work(work, by_influence=asked.by_influence)
        paths[key] = pd.DataFrame(
            _path(work), columns=["dropped", "difference", "by"]
        ).sort_values(["by", "dropped"], ascending=[False, True], ignore_index=True)
        number = 0 if not np.isfinite(row["k"]) else int(row["k"])
        units = work.fitted.units
        rows = rows_of_units(cells, units, trail.queue.first(number))
        dropped[key] = _listed_rows(cells.rows, rows, origin)
    found = pd.DataFrame.from_dict(table, orient="index")
    found.index = pd.MultiIndex.from_tuples(list(table), names=["model", "opponent"])
    return Fragility(found, asked.goal, asked.rows, asked.by, dropped, paths, finished)


def _row_of_work(work: _Work, *, by_influence: bool) -> dict[str, Any]:
    """Row of the table of one statement."""
    trail, seen, units = work.trail, work.confirmed, work.fitted.units
    now, _ = trail.goal.measure(work.fitted.result)
    confirmed = bool(np.isfinite(seen.k))
    k = seen.k if confirmed else trail.resolved
    if confirmed:
        status = "confirmed"
    elif trail.breaks or (work.is_done and seen.breaks):
        status, k = "fit fails first", np.inf
    elif not work.is_done:
        status = "first order" if by_influence else "stopped"
    else:
        status = "not confirmed" if np.isfinite(k) else "not fragile"
    return {
        "difference": now.difference,
        "t": now.difference / now.error,
        "side": trail.goal.side,
        "gains": trail.goal.gains,
        "allowed": units.allowed,
        "first_order": trail.first_order,
        "re_solved": trail.resolved,
        "k": k,
        "share": k / units.allowed if np.isfinite(k) else np.nan,
        "confirmed": confirmed,
        "status": status,
        "after": np.nan if seen.after is None else seen.after.difference,
        "anew": np.nan if seen.anew is None else seen.anew.difference,
        "anew_confirmed": seen.anew_reached,
    }


def _path(work: _Work) -> Iterator[tuple[int, float, str]]:
    for number, difference in work.trail.path:
        yield number, difference, "re-solved"
    for number, now in work.confirmed.refits:
        if now is not None:
            yield number, now.difference, "refit"


def _listed_rows(
    rows: Sample, at: NDArray[np.intp], origin: NDArray[np.intp]
) -> pd.DataFrame:
    """Rows of the table in the labels of the user."""
    X = rows.X
    table = pd.DataFrame(
        {
            "model_a": X.models[X.left[at]],
            "model_b": X.models[X.right[at]],
            "judge": [HUMAN if m < 0 else X.judges[m] for m in X.judge[at].tolist()],
            "outcome": rows.y[at],
        },
        index=pd.Index(origin[at], name="row"),
    )
    count = table.groupby(level="row").size()
    first = table[~table.index.duplicated()]
    return first.assign(count=count.reindex(first.index))
