"""What a fitted pipeline tells beside its result: treatments, rows, judges."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skanchor._arrivals import ArrivalScorer
from skanchor._assembly import Inference, TreatmentResults
from skanchor._btl import BTLRegressor
from skanchor._comparisons import Comparisons
from skanchor._diagnostics import FitSums
from skanchor._exposures import exposures_of_rows
from skanchor._inference import relative_spread
from skanchor._judges import JudgeCalibrator
from skanchor._ranking import RankingEstimator
from skanchor._riesz import RieszDebiaser
from skanchor._treatments import Treatments
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.results import AnchorResult, ContextResult
from skanchor.sample import Sample

__all__ = ["AnchorReadouts"]


class AnchorReadouts(RankingEstimator):
    """Base class of a pipeline whose ``fit`` keeps what its results are made from."""

    result_: AnchorResult
    item_effects_: str
    btl_: BTLRegressor
    calibrator_: JudgeCalibrator
    arrival_: ArrivalScorer
    debiaser_: RieszDebiaser | None
    judges_: NDArray[Any]
    _learned: Comparisons
    _inference: Inference
    _known_results: dict[str, AnchorResult]
    _judge_table: pd.DataFrame

    @property
    def results_(self) -> Mapping[str, AnchorResult]:
        """Results by treatment; what is not reported is computed when asked for."""
        result, inference = self._result(), self._inference
        self._known_results[self.item_effects_] = result
        return TreatmentResults(inference, self._known_results)

    @property
    def treatments_(self) -> Treatments:
        """Treatments of the item effects, and why one of them is reported."""
        self._result()
        return self._inference.treatments

    @property
    def comparisons_(self) -> Comparisons:
        """Rows that were admitted, with all that was learned."""
        return self._inference.cells.to_rows(self._learned)

    @property
    def sample_(self) -> Sample:
        """Rows that were admitted, with all that was learned, outcomes and weights."""
        self._result()
        return self._inference.cells.rows.with_battles(self.comparisons_)

    @property
    def distinct_sample_(self) -> Sample:
        """The rows of `sample_`, equal ones as one with their number."""
        self._result()
        return self._inference.admitted.with_battles(self._learned)

    @property
    def input_hash_(self) -> str:
        """SHA-256 of all rows as they were read."""
        self._result()
        return self._inference.cells.rows.digest

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
        shape: Literal["favour", "drift", "family", "rowwise"] = "favour",
        judges: Sequence[Hashable] | None = None,
        family: Sequence[Hashable] | None = None,
        level: float = 0.95,
        method: Literal["romano-wolf", "holm"] = "romano-wolf",
    ) -> pd.DataFrame:
        """Intervals and rank sets that allow for favours which no column records.

        Parameters
        ----------
        gamma, shape, judges, family, level, method
            As in :meth:`skanchor.results.AnchorResult.sensitivity`.

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
        result = self._exposed(shape)
        return result.sensitivity(gamma, shape, judges, family, level, method)

    def breakdown(
        self,
        shape: Literal["favour", "drift", "family", "rowwise"] = "favour",
        judges: Sequence[Hashable] | None = None,
        family: Sequence[Hashable] | None = None,
        level: float = 0.95,
    ) -> pd.DataFrame:
        """How large a favour must be that undoes what is said of a new model.

        Parameters
        ----------
        shape, judges, family, level
            As in :meth:`skanchor.results.AnchorResult.breakdown`.

        Returns
        -------
        DataFrame
            As there.
        """
        return self._exposed(shape).breakdown(shape, judges, family, level)

    def benchmarks(self) -> pd.DataFrame:
        """Sizes that the data record, to compare unrecorded favours with.

        Returns
        -------
        DataFrame
            As :meth:`skanchor.results.AnchorResult.benchmarks`.
        """
        return self._exposed("favour").benchmarks()

    def _exposed(self, shape: str) -> AnchorResult:
        """The result with a record of exposures, from the rows where it has none."""
        result = self._result()
        # A pipeline of an earlier version has a result without this attribute.
        known = getattr(result, "exposures", None)
        if (known is not None and shape != "rowwise") or self.debiaser_ is None:
            return result
        if isinstance(result, ContextResult):
            raise BattlesError(
                "This needs exposures by row, which are not mixed over contexts. Take "
                "shape='favour', leave out weight_bound, or rank each context by "
                "itself (skanchor.contexts.rank_contexts)."
            )
        if (result.unbounded & result.is_new).any():
            lost = result.models[result.unbounded & result.is_new][:5].tolist()
            raise BattlesError(
                f"Models {lost!r} are not determined, so that exposures by row are not "
                "those of the reported scores. Fit again without these models."
            )
        sample = self.distinct_sample_
        sums = FitSums.of(
            sample, sample.X.order, self.calibrator_, human_bias=self.btl_.bias_
        )
        found = exposures_of_rows(sample, sums, self.debiaser_, self.calibrator_)
        place = np.flatnonzero(np.isin(result.models, sample.X.models))
        return replace(result, exposures=found.padded(place, len(result.models)))

    def _result(self) -> AnchorResult:
        result = super()._result()
        assert isinstance(result, AnchorResult)
        return result

    def summary(self) -> pd.DataFrame:
        """What the data say of each judge.

        Returns
        -------
        DataFrame
            By judge: ``rows``, ``ties`` (outcomes of exactly one half; also where they
            are left out, and then not among the rows), ``both_bad`` (ties that call
            both responses bad),
            ``first_side_rate`` (how often the side shown first is preferred),
            ``agreement`` (how often the judge's verdict on historical rows points to
            the model with the higher final score), ``sensitivity``,
            ``position_effect`` and ``has_position_effect``, whether there is one; with
            an automatic choice of the bias
            learner also the ``bias`` picked and the ``loss`` of each candidate; and the
            columns of :attr:`skanchor._diagnostics.Diagnostics.judges`.
        """
        check_is_fitted(self)
        diagnostics = self._result().diagnostics
        if diagnostics is None:
            return self._judge_table.copy()
        return self._judge_table.join(diagnostics.judges)

    def _annotate(self, X: Comparisons) -> Comparisons:
        for stage in (self.btl_, self.calibrator_, self.arrival_):
            X = stage.transform(X)
        # The plug-in scores of the stages are replaced by the corrected ones.
        known = self._cells.all_scores
        if self.debiaser_ is not None and self.debiaser_.responses_ is not None:
            # With target="style_included" scores hold the mean bias psi_0 of a model.
            # It is subtracted, because each row has the bias of its own responses.
            known = known.sub(
                pd.Series(self.debiaser_.responses_.offsets, self.debiaser_.models_),
                fill_value=0.0,
            )
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
