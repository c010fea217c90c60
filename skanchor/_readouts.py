"""What a fitted pipeline tells beside its result: treatments, rows, judges."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from sklearn.utils.validation import check_is_fitted

from skanchor._assembly import Inference, TreatmentResults
from skanchor._comparisons import Comparisons
from skanchor._ranking import RankingEstimator
from skanchor._treatments import Treatments
from skanchor._typing import Array
from skanchor.results import AnchorResult, ContextResult
from skanchor.sample import Sample

__all__ = ["AnchorReadouts"]


class AnchorReadouts(RankingEstimator):
    """Base class of a pipeline whose ``fit`` keeps what its results are made from."""

    result_: AnchorResult
    item_effects_: str
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
        return self._inference.cells.rows_of(self._inference.everyone).digest

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
