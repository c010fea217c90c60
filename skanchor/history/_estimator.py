"""``AnchorHistory``: a history fitted once, by which new models are placed."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from skanchor._battles import Comparisons
from skanchor._battles.labels import is_in
from skanchor._checks import refuse_contexts
from skanchor._crossfit.folds import FoldPlan
from skanchor._crossfit.stages import Stages
from skanchor._machine import limited_threads
from skanchor._sample.row_rules import RowRules
from skanchor._sample.sample import Battles, Sample
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.history._file import packed_history, unpacked_history
from skanchor.history._fingerprints import check_fingerprints
from skanchor.history._place import place
from skanchor.history._rows import (
    admit_arrivals,
    admit_rows,
    arrival_plans,
    group_codes,
    join_rows,
)
from skanchor.history._state import HistoryState
from skanchor.io.archive import read_archive, write_archive
from skanchor.pipeline import AnchorPipeline
from skanchor.results import AnchorResult
from skanchor.warning_log import WarningLog, warn


class AnchorHistory(BaseEstimator):
    """A history that is fitted once, and with which new models are then placed.

    :meth:`fit` fits everything that depends on the historical rows alone, on all rows
    and in every fold, and stores the sums over the rows that the inference needs.
    :meth:`place` then gives the same result as :class:`skanchor.AnchorPipeline` on old
    and new rows together, with the same folds. :meth:`save` writes a file of numbers
    whose size does not depend on the number of rows.

    Parameters
    ----------
    anchor : AnchorPipeline, optional
        The settings; None means ``AnchorPipeline()``. Bias learners must be linear in
        fixed columns, as :class:`skanchor.bias.LinearBias` is;
        ``debiaser="passthrough"`` is refused.

    Attributes
    ----------
    models_, judges_ : ndarray
        Historical models, and the judges that were calibrated.
    features_ : ndarray of shape (n_features,)
        Names of the response features in use, without ``_a`` and ``_b``.
    item_effects_ : str
        Treatment of the item effects, as in :class:`skanchor.AnchorPipeline`.
    fingerprints_ : dict
        Fingerprint of each judge for which one was given.
    state_ : HistoryState
        Everything that the history stores.
    checksum_ : bytes
        Checksum of the file that :meth:`load` read.
    updated_from_ : {"counts", "rows"}
        What :meth:`update` fitted again: stored counts of rows, or rows given again.
    fold_plan_ : list of lists of (train, test)
        Folds of the historical rows in each repeat; not stored in the file. After
        :meth:`fit` the rows are numbered as :class:`skanchor.AnchorPipeline` numbers
        them. After an update from counts, the rows of the counts come first, each kind
        as often as it was counted, and then the new rows; dropped ties are in neither.

    Notes
    -----
    The page "Rank every day" explains what the file holds, which results are
    exact, and what to consider when new models are ranked every day.

    Examples
    --------
    >>> from skanchor import AnchorHistory, AnchorPipeline
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> new = (data.X[["model_a", "model_b"]] == "new-model").any(axis=1)
    >>> history = AnchorHistory(AnchorPipeline(random_state=0))
    >>> history = history.fit(data.X[~new], data.y[~new])
    >>> result = history.place(data.X[new], data.y[new])
    >>> result.rank_sets().columns.tolist()
    ['rank', 'low', 'high']
    """

    state_: HistoryState
    _rules: RowRules
    _stages: Stages

    def __init__(self, anchor: AnchorPipeline | None = None):
        self.anchor = anchor

    # --------------------------------------------------------------------- the history
    def fit(
        self,
        X: Battles,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | str | None = "auto",
        fingerprints: Mapping[Any, str] | None = None,
    ) -> Self:
        """Fit the history, and store its sums instead of its rows.

        Parameters
        ----------
        X : battles table or Comparisons
            One row per comparison of two models with human votes.
        y : array-like of shape (n_rows,)
            Outcomes.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights.
        groups : array-like of shape (n_rows,), str or None, default="auto"
            Groups of dependent rows, or the column that holds them. Arrivals may belong
            to the same groups: the sums of each group are stored.
            By default the values of ``prompt_id``, if they repeat; None treats
            rows as independent.
        fingerprints : mapping, optional
            Fingerprint by judge, as :func:`skanchor.judge_fingerprint` makes them.

        Returns
        -------
        self

        Raises
        ------
        BattlesError
            If a model has no human row, or these settings allow no stored history.
        LearnerError
            If a bias learner is not linear in fixed columns.
        """
        rules = RowRules.of(self.settings())
        with WarningLog() as log:
            sample, labels = admit_rows(rules, (X, y, sample_weight, groups))
            self.fit_sample(sample, labels, fingerprints)
        # By which an update with the same rows is noticed.
        self.state_ = replace(self.state_, tables=(sample.digest,))
        log.issue()
        return self

    def fit_sample(
        self,
        sample: Sample,
        labels: NDArray[Any] | None = None,
        fingerprints: Mapping[Any, str] | None = None,
        *,
        cv: int | None = None,
    ) -> Self:
        """Fit rows that are admitted already, such as numbers of equal rows.

        Parameters
        ----------
        sample : Sample
            All rows of the history.
        labels : ndarray, optional
            Labels of their groups, by code.
        fingerprints : mapping, optional
            As in :meth:`fit`.
        cv : int, optional
            Number of folds, in the place of the ``cv`` of the settings.

        Returns
        -------
        self
        """
        anchor = self.settings().set_params(new_models=[])
        if cv is not None:
            anchor.set_params(cv=cv)
        X, active = sample.X, sample.counts
        votes = X.appearances(active & X.is_human)
        unvoted = X.models[(X.appearances(active) > 0) & (votes == 0)].tolist()
        if unvoted and votes.any():
            raise BattlesError(
                f"Models {unvoted[:5]} have no human row: they are no history. Leave "
                "their rows out of the history, and place them with it."
            )
        with limited_threads(1):
            inference = anchor.prepare(sample, is_stored=True)
            state = HistoryState.of(inference, labels, fingerprints or {})
        return self.with_state(state, inference.fold_plan)

    def with_state(
        self, state: HistoryState, fold_plan: list[FoldPlan] | None = None
    ) -> Self:
        """Take over sums that were computed elsewhere, such as by batches.

        Parameters
        ----------
        state : HistoryState
            Stored folds, sums for diagnostics, and the test for item effects.
        fold_plan : list of lists of (train, test), optional
            Folds of the rows, if these are at hand.

        Returns
        -------
        self
        """
        anchor = self.settings()
        # To search all parameters for the rules takes as long as to place a model.
        self.state_, self._rules = state, RowRules.of(anchor)
        self._stages, self._random_state = anchor.stages(), anchor.random_state
        self.models_, self.judges_ = state.models, state.judges
        self.features_ = np.array(state.features, dtype=object)
        self.item_effects_ = state.treatment
        self.fingerprints_ = dict(state.fingerprints)
        if fold_plan is not None:
            self.fold_plan_ = fold_plan
        return self

    def settings(self) -> AnchorPipeline:
        """Unfitted copy of the settings; refuse those that a history cannot have.

        Returns
        -------
        AnchorPipeline
        """
        anchor = AnchorPipeline() if self.anchor is None else clone(self.anchor)
        refuse_contexts(anchor, "AnchorHistory")
        anchor._validate_params()
        stages = anchor.stages()
        refused = {
            "new_models, as all that it does not know are": anchor.new_models,
            "the debiaser 'passthrough', which has no errors": stages.debiaser is None,
            "a bias of people (human_bias)": stages.btl.bias,
            "another equation of the arrival than 'likelihood'": (
                stages.arrival.equation != "likelihood"
            ),
        }
        for what, value in refused.items():
            if value is not None and value is not False:
                raise BattlesError(
                    f"A history cannot have {what}: leave it out, or fit "
                    "AnchorPipeline on all rows."
                )
        return anchor

    def update(
        self,
        X: Battles,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | str | None = "auto",
        fingerprints: Mapping[Any, str] | None = None,
        *,
        past: Sequence[Any] | None = None,
    ) -> Self:
        """Add historical rows: fit the history again on old and new rows.

        Without features, groups and weights, the history has stored its rows as counts
        and fits them again with the new ones. Otherwise the old rows must be given
        again. All folds are drawn again. ``updated_from_`` records what was done.

        Parameters
        ----------
        X, y, sample_weight, groups, fingerprints
            The new rows, as in :meth:`fit`.
        past : tuple of (X, y), (X, y, sample_weight) or with groups, optional
            All rows that the history was fitted on.

        Returns
        -------
        self

        Raises
        ------
        BattlesError
            If the old rows are needed and not given, or a judge has changed.
        """
        check_is_fitted(self, "state_")
        check_fingerprints(self.fingerprints_, fingerprints)
        fingerprints = {**self.fingerprints_, **(fingerprints or {})}
        state, new_rows = self.state_, (X, y, sample_weight, groups)
        if past is None and state.counts is None:
            raise BattlesError(
                "The history has features, groups or weights, so that it has stored "
                "sums, not its rows as counts: it must be fitted on all rows. Give the "
                "rows of the history, too, as past (in a command: --past FILE)."
            )
        rows, labels = None if past is None else join_rows(past, new_rows), None
        with WarningLog() as log:
            added, _ = admit_rows(self._rules, new_rows, are_stored=rows is not None)
            if rows is not None:
                # What is said of all rows is said of these.
                log.warnings.clear()
                sample, labels = admit_rows(self._rules, rows)
            elif state.counts is not None:
                sample = state.counts.with_rows(added)
            # Folds are drawn: a plan is of the old rows alone.
            self.fit_sample(sample, labels, fingerprints, cv=state.repeats[0])
            if added.digest in state.tables:
                message = (
                    "The history has all of these rows already: they count twice now, "
                    "so that errors are too short. Add only rows that are new."
                )
                warn(DataWarning(message, code="rows-again"))
        log.issue()
        self.state_ = replace(self.state_, tables=(*state.tables, added.digest))
        self.updated_from_ = "counts" if rows is None else "rows"
        return self

    def promote(
        self,
        model: Hashable,
        X: Battles,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | str | None = "auto",
        fingerprints: Mapping[Any, str] | None = None,
        *,
        past: Sequence[Any] | None = None,
    ) -> Self:
        """Make a new model historical, once people have voted on it.

        Parameters
        ----------
        model : label
            Label of the model.
        X, y, sample_weight, groups, fingerprints
            Rows of the model, which must include human votes. A history does not store
            the rows of models that it places, so give the verdicts on the model again.
        past : tuple, optional
            As in :meth:`update`, which adds the rows.

        Returns
        -------
        self

        Raises
        ------
        BattlesError
            If the model is historical already, or has no vote.
        """
        check_is_fitted(self, "state_")
        if is_in(np.append(self.models_, self.state_.lost), [model]).any():
            raise BattlesError(f"Model {model!r} is historical already.")
        encoded = Comparisons.from_battles(X)
        votes = encoded.appearances(encoded.is_usable & encoded.is_human)
        if not votes[is_in(encoded.models, [model])].any():
            raise BattlesError(
                f"Model {model!r} has no human row here: people must have voted on "
                "it. Leave their rows out of the history, and place them with it."
            )
        return self.update(X, y, sample_weight, groups, fingerprints, past=past)

    # -------------------------------------------------------------------- new models
    def place(
        self,
        X: Battles,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | str | None = "auto",
        *,
        cv: Any = None,
        fingerprints: Mapping[Any, str] | None = None,
    ) -> AnchorResult:
        """Place the new models of a table.

        Parameters
        ----------
        X : battles table or Comparisons
            Rows that involve at least one model that the history does not know. All
            such models are new; several new models are placed together.
        y : array-like of shape (n_rows,)
            Outcomes.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights.
        groups : array-like of shape (n_rows,), str or None, default="auto"
            Groups of dependent rows. A label that occurs in the history means the same
            group.
            By default the values of ``prompt_id``, if they repeat; None treats
            rows as independent.
        cv : list of plans, optional
            Folds of these rows, as many as the history has: a list of (train, test), or
            one such list for each repeat. None draws them.
        fingerprints : mapping, optional
            Fingerprint of each judge; judges whose fingerprint has changed are refused.
            Without them a warning says that nothing was compared, if the history has
            fingerprints.

        Returns
        -------
        AnchorResult
            The result ``AnchorPipeline.result_`` of all rows. Its influence values and
            fold plan cover the arrivals only; see the page "Rank every day".

        Raises
        ------
        BattlesError
            If there is no new model, if one has no usable row, or if a judge has
            changed.
        """
        check_is_fitted(self, "state_")
        with WarningLog() as log:
            check_fingerprints(self.fingerprints_, fingerprints)
            rows, state = (X, y, sample_weight, groups), self.state_
            has_groups = state.n_groups is not None
            sample, labels = admit_rows(
                self._rules, rows, are_stored=has_groups, lists_rows=True
            )
            codes = group_codes(labels, state)
            arrivals = admit_arrivals(sample.in_units(state.unit), state)
            state.compare_grades(arrivals)
            plans = arrival_plans(cv, arrivals, state, codes, self._random_state)
            with limited_threads(1):
                result = place(state, self._stages, arrivals, plans, codes)
            if result.diagnostics is not None:
                result.diagnostics.warn()
        log.issue()
        return result

    # ----------------------------------------------------------------------- the file
    def save(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = True,
        replaces: bytes = b"",
    ) -> None:
        """Write the history to a file. If writing fails, no partial file is left.

        Parameters
        ----------
        path : str or path
            The file. It holds numbers and texts only, so that reading it runs no code.
        overwrite : bool, default=True
            Whether an existing file may be replaced.
        replaces : bytes, optional
            ``checksum_`` of the history that :meth:`load` read from the file. If the
            file has changed since, nothing is written.

        Raises
        ------
        FileExistsError
            If the file exists and may not be replaced, or has changed.
        BattlesError
            If a learner, a label or a setting cannot be stored in a file.
        """
        check_is_fitted(self, "state_")
        content = packed_history(self.state_, self.settings())
        content.header["skanchor"] = version("skanchor")
        parts = content.header, content.arrays
        write_archive(path, *parts, overwrite=overwrite, replaces=replaces)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a history that :meth:`save` wrote.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        AnchorHistory
            A fitted history.

        Raises
        ------
        BattlesError
            If the file is not a history, is damaged or cut off, or has another format.
        """
        again = "AnchorHistory().fit(X, y).save(path), or skanchor history build."
        try:
            archive = read_archive(path)
        except ValueError as error:
            raise BattlesError(f"{error} Build it again: {again}") from None
        try:
            state, anchor = unpacked_history(archive)
            history = cls(anchor).with_state(state)
        except Exception as error:
            raise BattlesError(
                f"{os.fspath(path)} is no history that can be read "
                f"({type(error).__name__}: {error}). Build it again: {again}"
            ) from None
        history.checksum_ = archive.checksum
        return history
