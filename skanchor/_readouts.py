"""What a fitted pipeline reports beside its result: rows, judges, plans."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skanchor._arrivals import ArrivalScorer
from skanchor._assembly import Inference
from skanchor._btl import BTLRegressor
from skanchor._comparisons import Comparisons
from skanchor._diagnostics import judge_table
from skanchor._inference import relative_spread
from skanchor._judges import JudgeCalibrator
from skanchor._ranking import RankingEstimator
from skanchor._riesz import RieszDebiaser
from skanchor._typing import Array
from skanchor.planning import (
    Design,
    Forecast,
    Outlook,
    Worth,
    design_of,
    outlook_of,
    pilot,
    worth_of,
)
from skanchor.results import AnchorResult, ContextResult
from skanchor.sample import Sample


class AnchorReadouts(RankingEstimator):
    """Base class of a pipeline whose ``fit`` keeps what its results are made from."""

    result_: AnchorResult
    item_effects_: str
    item_covariance_: Array | None
    btl_: BTLRegressor
    calibrator_: JudgeCalibrator
    arrival_: ArrivalScorer
    debiaser_: RieszDebiaser | None
    judges_: NDArray[Any]
    _learned: Comparisons
    _inference: Inference

    @property
    def comparisons_(self) -> Comparisons:
        """Rows that were admitted, with all estimated columns."""
        return self._inference.cells.to_rows(self._learned)

    @property
    def _sample(self) -> Sample:
        """Rows that were admitted, with estimated columns, outcomes and weights."""
        self._result()
        return self._inference.cells.rows.with_battles(self.comparisons_)

    @property
    def _distinct_sample(self) -> Sample:
        """The rows of `_sample` as fitted: equal ones may be merged, with a number."""
        self._result()
        return self._inference.admitted.with_battles(self._learned)

    @property
    def variance_(self) -> pd.DataFrame:
        """Human, judge, cross and item parts of the variance, and its lower bound."""
        return self._result().variance

    @property
    def influence_(self) -> Array:
        """Influence of each row on each score, in logits."""
        return self._result().influence

    @property
    def _cells(self) -> AnchorResult:
        """Result by the models of the rows: with contexts, of models in contexts."""
        result = self._result()
        return result.cells if isinstance(result, ContextResult) else result

    def sensitivity(
        self,
        gamma: float | Sequence[float] = (0.0, 0.1, 0.2, 0.4),
        kind: Literal["favour", "family"] = "favour",
        judges: Sequence[Hashable] | None = None,
        family: Sequence[Hashable] | None = None,
        level: float = 0.95,
        method: Literal["romano-wolf", "holm"] = "romano-wolf",
    ) -> pd.DataFrame:
        """Intervals and rank sets that allow for favours that no column records.

        Parameters
        ----------
        gamma, kind, judges, family, level, method
            As in :meth:`skanchor.AnchorResult.sensitivity`.

        Returns
        -------
        DataFrame
            As there.

        Examples
        --------
        >>> from skanchor import AnchorPipeline
        >>> from skanchor.simulation import simulate_battles
        >>> data = simulate_battles(random_state=0)
        >>> anchor = AnchorPipeline(random_state=0).fit(data.X, data.y)
        >>> table = anchor.sensitivity(gamma=[0.0, 0.5])
        >>> of_pair = table.loc[("new-model", "model-10")]
        >>> of_pair[["rank_low", "rank_high"]].to_numpy().tolist()
        [[4, 6], [3, 7]]
        """
        result = self._result()
        return result.sensitivity(gamma, kind, judges, family, level, method)

    def breakdown(
        self,
        kind: Literal["favour", "family"] = "favour",
        judges: Sequence[Hashable] | None = None,
        family: Sequence[Hashable] | None = None,
        level: float = 0.95,
    ) -> pd.DataFrame:
        """How large a favour must be to undo a statement about a new model.

        Parameters
        ----------
        kind, judges, family, level
            As in :meth:`skanchor.AnchorResult.breakdown`.

        Returns
        -------
        DataFrame
            As there.
        """
        return self._result().breakdown(kind, judges, family, level)

    def benchmarks(self) -> pd.DataFrame:
        """Sizes of recorded effects, to compare unrecorded favours with.

        Returns
        -------
        DataFrame
            As :meth:`skanchor.AnchorResult.benchmarks`.
        """
        return self._result().benchmarks()

    def _result(self) -> AnchorResult:
        result = super()._result()
        assert isinstance(result, AnchorResult)
        return result

    def summary(self) -> pd.DataFrame:
        """Describe each judge: its rows, agreement, sensitivity and diagnostics.

        Returns
        -------
        DataFrame
            By judge:

            - ``rows``: number of rows.
            - ``ties``: number of outcomes of exactly one half. If ties are left out,
              they are not among the ``rows``.
            - ``both_bad``: number of ties that call both responses bad.
            - ``first_side_rate``: how often the side shown first is preferred.
            - ``agreement``: how often the judge prefers the model with the higher final
              score, in historical rows.
            - ``sensitivity``, ``position_effect``, and ``has_position_effect``, whether
              it was fitted.
            - With an automatic choice of the bias learner, the chosen ``bias`` and the
              ``loss`` of each candidate.
            - The columns of ``result_.diagnostics.judges``.
        """
        check_is_fitted(self)
        diagnostics = self._result().diagnostics
        admitted = self._inference.admitted
        scores = self._cells.all_scores.reindex(admitted.X.models)
        table = judge_table(admitted, scores.to_numpy(np.float64), self.calibrator_)
        return table if diagnostics is None else table.join(diagnostics.judges)

    def worth(
        self,
        costs: Mapping[Any, float] | None = None,
        model: Hashable | None = None,
    ) -> Worth:
        """The worth of verdicts on new models, in human votes.

        Verdicts are replaced by votes on the same model, against the opponents of its
        verdicts. The worth is the number of votes that gives the same reported
        variance. Votes on historical models are not changed.

        Parameters
        ----------
        costs : mapping of label to float, optional
            Cost of a verdict by judge, for the cost of a replaced vote; ``"judges"``
            means all judges that are not named.
        model : label, optional
            A new model; None means all whose score is determined.

        Returns
        -------
        Worth
            ``table`` by model and judge, and ``lines()``, the result in sentences.

        Raises
        ------
        BattlesError
            If there is no new model, or none with a determined score; if a label is
            unknown or a cost is not valid; or if the method has no closed form for
            further rows: plug-ins, contexts, and learners without a linear span.

        Examples
        --------
        >>> from skanchor import AnchorPipeline
        >>> from skanchor.simulation import simulate_battles
        >>> data = simulate_battles(random_state=1)
        >>> anchor = AnchorPipeline(random_state=0).fit(data.X, data.y)
        >>> anchor.worth().table.columns.tolist()
        ['verdicts', 'replaces', 'alone', 'next_verdict', 'never_more']
        """
        return worth_of(self._forecast(), model, costs)

    def outlook(
        self,
        widths: Sequence[float] | None = None,
        model: Hashable | None = None,
        level: float = 0.95,
    ) -> Outlook:
        """How many more rows bring the intervals of new models to given half widths.

        Parameters
        ----------
        widths : sequence of float, optional
            Half widths in logits. None means three quarters, a half and a quarter of
            the present ones.
        model : label, optional
            A new model; None means all whose score is determined.
        level : float, default=0.95
            Confidence level.

        Returns
        -------
        Outlook
            ``table`` of votes, of verdicts, and of equal numbers of both, infinite if
            no number reaches the half width; and ``limits``, the smallest half widths
            that any number of rows can reach.

        Raises
        ------
        BattlesError
            As for :meth:`worth`, and for widths that are not positive numbers.

        Notes
        -----
        A half width is the quantile times the predicted error. The intervals of a joint
        fit are a little longer away from zero, and shorter towards it.

        Examples
        --------
        >>> from skanchor import AnchorPipeline
        >>> from skanchor.simulation import simulate_battles
        >>> data = simulate_battles(random_state=1)
        >>> anchor = AnchorPipeline(random_state=0).fit(data.X, data.y)
        >>> anchor.outlook([0.1]).table.columns.tolist()
        ['votes', 'verdicts', 'both']
        """
        return outlook_of(self._forecast(), widths, model, level)

    def design(
        self,
        budget: float,
        costs: Mapping[Any, float],
        targets: str | Sequence[Any] = "scores",
        sources: Sequence[Hashable] | None = None,
        floor: float | None = None,
        level: float = 0.95,
    ) -> Design:
        """What to buy next: rows on new models that lower their errors most.

        Parameters
        ----------
        budget : float
            The money available, in the unit of the costs.
        costs : mapping of label to float
            Cost of a row by source: ``"human"`` for a vote, the label of a judge for
            its verdicts, ``"judges"`` for all judges that are not named. Sources
            without a cost are not offered.
        targets : {"scores", "neighbours"} or sequence, default="scores"
            What should become more precise: the scores of the new models, their
            differences to the historical models next to them in rank, or a list of new
            models and of pairs (new model, other model). The sum of the variances is
            minimised.
        sources : sequence of label, optional
            Sources that are offered; None means all that have a cost.
        floor : float, optional
            Smallest share of each offered judge in the spend on verdicts. None means
            .1 with item effects, because their correlation between judges is estimated
            from few models, and 0 without.
        level : float, default=0.95
            Confidence level of the half widths and of what counts as separated.

        Returns
        -------
        Design
            ``table`` of rows to buy, the half widths with them, and an upper bound on
            the distance of the allocation from the best one. Without a new model
            (``new_models=[]``) a pilot: about five verdicts for each historical model,
            divided evenly.

        Raises
        ------
        BattlesError
            As for :meth:`worth`, and if the budget is too small for one row.

        Examples
        --------
        >>> from skanchor import AnchorPipeline
        >>> from skanchor.simulation import simulate_battles
        >>> data = simulate_battles(random_state=1)
        >>> anchor = AnchorPipeline(random_state=0).fit(data.X, data.y)
        >>> design = anchor.design(20, {"human": 1.0, "judge-2": 0.1})
        >>> design.spent <= 20, design.certificate <= 1e-3
        (True, True)
        """
        result = self._result()
        if not result.is_new.any():
            old = result.models.tolist()
            return pilot(old, self.judges_.tolist(), costs, budget, level)
        return design_of(
            self._forecast(), budget, costs, targets, sources, floor, level
        )

    def _forecast(self) -> Forecast:
        return Forecast.of(
            self._result(),
            self._distinct_sample,
            self.btl_,
            self.calibrator_,
            self.debiaser_,
        )

    def _annotate(self, X: Comparisons) -> Comparisons:
        for stage in (self.btl_, self.calibrator_, self.arrival_):
            X = stage.transform(X)
        # The plug-in scores of the stages are replaced by the corrected ones.
        known = self._cells.all_scores
        scores = known.reindex(X.models).to_numpy(dtype=np.float64)
        slopes = X.sensitivities
        # With a ridge, judges were calibrated to shrunken scores.
        if self.btl_.alpha and slopes is not None:
            slopes = slopes * self._shrinkage()
        learned = self._learned
        new = learned.new_models
        X = X.with_columns(scores=scores, sensitivities=slopes, new_models=new)
        if learned.deviations is None:
            return X
        # Item effects by judge and model; zero for judges or models without them.
        u = pd.DataFrame(learned.deviations, self.judges_, learned.models)
        u = u.reindex(index=X.judges, columns=X.models, fill_value=0.0)
        return X.with_columns(deviations=u.to_numpy())

    def _shrinkage(self) -> float:
        """Ratio of the scale of the ``btl_`` scores to that of the corrected scores.

        A ridge shrinks the scores that judges were calibrated to, and the correction
        undoes this. Sensitivities are multiplied by the ratio, so that the products of
        sensitivity and score, which verdicts depend on, stay the same.
        """
        result = self._cells
        corrected = result.all_scores[~result.is_new]
        shrunken = self.btl_.scores_.reindex(corrected.index)
        return relative_spread(shrunken.to_numpy(), corrected.to_numpy())
