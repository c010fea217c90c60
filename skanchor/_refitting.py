"""Fragility of a fitted pipeline: how few rows change its statements."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from skanchor._assembly import Inference
from skanchor._engine import FullFit
from skanchor._folds import FoldPlan
from skanchor._readouts import AnchorReadouts
from skanchor._row_rules import RowRules
from skanchor._treatments import limited_to_inference
from skanchor.exceptions import BattlesError
from skanchor.fragility import Asked, Fragility, fragility_of
from skanchor.results import AnchorResult
from skanchor.sample import Battles, Sample
from skanchor.warning_log import WarningLog


class AnchorRefits(AnchorReadouts):
    """Base class of a pipeline that can fit other rows by what it has learned."""

    fold_plan_: list[FoldPlan]

    def prepare(self, sample: Sample, *, is_stored: bool = False) -> Inference:
        """Admit rows, fit the plug-in, decide on item effects."""
        raise NotImplementedError

    def fragility(
        self,
        X: Battles,
        y: ArrayLike,
        opponent: Hashable | None = None,
        goal: Literal["sign", "interval"] = "sign",
        rows: Literal["any", "human", "arrival", "history"] = "any",
        by: Literal["row", "group"] = "row",
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | str | None = "auto",
        model: Hashable | None = None,
        level: float = 0.95,
        max_seconds: float | None = None,
    ) -> Fragility:
        """How few rows change the statements about new models, if they are dropped.

        The search chooses rows by their influence and solves the Riesz weights again
        after each block of rows. It confirms the result by fits without these rows.

        Parameters
        ----------
        X, y, sample_weight, groups
            The data that the pipeline was fitted on.
        opponent : label, optional
            The model that a new model is compared with; None means each in turn.
        goal : {"sign", "interval"}, default="sign"
            The statement to change: which of the two models is better, or whether the
            interval of their difference contains zero.
        rows : {"any", "human", "arrival", "history"}, default="any"
            Which rows may be chosen: all; votes; verdicts on the new model and its
            opponent; verdicts on historical models. The search drops at most a tenth of
            the votes, a tenth of the historical verdicts, and a quarter of the
            verdicts on new models.
        by : {"row", "group"}, default="row"
            Whether single rows are dropped, or whole groups of dependent rows.
        model : label, optional
            The new model; None means all of them.
        level : float, default=0.95
            Confidence level of intervals.
        max_seconds : float, optional
            Time limit. The search then stops and returns what it has found, as it does
            with Ctrl-C. None means no limit.

        Returns
        -------
        Fragility
            ``table`` by model and opponent, ``rows()``, ``path()``, and ``lines()``,
            the result in sentences.

        Raises
        ------
        BattlesError
            If the rows are not those of the fit; if a label is unknown; if the score of
            a new model is not determined; if there is no new model, or no row or group
            of the kind that is asked for; for plug-ins; and with contexts.

        Notes
        -----
        The first-order search is AMIP (Broderick, Giordano and Meager). It overstates k
        beyond a few rows, because dropping rows also removes information. The rows that
        are found are not always the fewest. Refits have the folds and item effects of
        the fit. If a model loses its finite error in a refit, this does not count as a
        change of the statement.

        Examples
        --------
        >>> from skanchor import AnchorPipeline
        >>> from skanchor.simulation import simulate_battles
        >>> data = simulate_battles(random_state=0)
        >>> anchor = AnchorPipeline(random_state=0).fit(data.X, data.y)
        >>> found = anchor.fragility(data.X, data.y, "model-04", rows="arrival")
        >>> bool(found.table["confirmed"].all())
        True
        """
        asked = Asked(opponent, goal, rows, by, model, level, max_seconds)
        asked.check()
        self._result()
        return self._fragility(asked, self._rows_of_fit(X, y, sample_weight, groups))

    def fragility_by_influence(
        self,
        opponent: Hashable | None = None,
        goal: Literal["sign", "interval"] = "sign",
        rows: Literal["any", "human", "arrival", "history"] = "any",
        model: Hashable | None = None,
        level: float = 0.95,
    ) -> Fragility:
        """The first-order part of :meth:`fragility`, which needs no data and no refits.

        Parameters
        ----------
        opponent, goal, rows, model, level
            As in :meth:`fragility`.

        Returns
        -------
        Fragility
            With ``first_order`` only; nothing is confirmed.

        Examples
        --------
        >>> from skanchor import AnchorPipeline
        >>> from skanchor.simulation import simulate_battles
        >>> data = simulate_battles(random_state=0)
        >>> anchor = AnchorPipeline(random_state=0).fit(data.X, data.y)
        >>> print(anchor.fragility_by_influence("model-04").lines()[0])
        By influence alone, dropping 5 of the 8,500 rows puts new-model above model-04;
        no refit confirms it.
        """
        asked = Asked(
            opponent, goal, rows=rows, model=model, level=level, by_influence=True
        )
        asked.check()
        self._result()
        return self._fragility(asked, np.arange(len(self._inference.cells.rows)))

    def _fragility(self, asked: Asked, origin: NDArray[np.intp]) -> Fragility:
        inference = self._inference
        with limited_to_inference(inference.admitted.X, self.item_effects):
            return fragility_of(
                asked,
                self._result(),
                inference,
                self._distinct_sample,
                self.debiaser_,
                1.0 if self._items is None else self._items.inflation,
                self._refit,
                origin,
                self.verbose,
            )

    def _rows_of_fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Any:
        """Row of the table of each row that was fitted; refuse another table."""
        with WarningLog():
            given = self._admitted(X, y, sample_weight, groups)
            rules = RowRules.of(self)
            sample = rules.apply(given, may_warn=False)
        known = self._inference.cells.rows
        if len(sample) != len(known) or sample.digest != known.digest:
            raise BattlesError(
                f"These {len(given):,} rows are not those that this pipeline was "
                "fitted on: give the X, y, sample_weight and groups of fit, in the "
                "same order."
            )
        return given.copies if rules.counts else np.arange(len(given))

    def _refit(self, sample: Sample, *, anew: bool = False) -> AnchorResult:
        """Result of other rows, with the folds and item effects of the fit."""
        again = clone(self).set_params(
            cv=self.fold_plan_,
            new_models=self.result_.models[self.result_.is_new].tolist(),
            verbose=0,
        )
        inference = again.prepare(sample)
        if anew:
            choice = replace(inference.choice, item_effects=self.item_effects_)
            inference = replace(inference, choice=choice)
            return inference.result(inference.fit())
        if inference.admitted.X.judges.tolist() != self.judges_.tolist():
            raise BattlesError("A judge has too few rows left.")
        full = FullFit.of(
            inference.stages, inference.admitted, inference.plugged, self._items
        )
        return inference.result(full)
