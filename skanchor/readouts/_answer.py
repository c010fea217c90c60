"""What all read-outs share: the fit that is asked, its refusals, and an ``Answer``."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from skanchor.exceptions import BattlesError

if TYPE_CHECKING:
    from skanchor import AnchorResult
    from skanchor._diagnostics.sums import FitSums
    from skanchor._estimators.riesz import RieszDebiaser
    from skanchor._model.fit import Fit
    from skanchor._model.item_effects import ItemCovariance
    from skanchor._sample.sample import Sample


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """A table, and what it says in sentences.

    Attributes
    ----------
    table : DataFrame
        The numbers; the method that returns them says which.
    sentences : tuple of str
        The same in words.
    details : dict
        What else belongs to the answer; each is an attribute, too.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> answer = anchor.worth()
    >>> answer.table.columns.tolist()
    ['verdicts', 'replaces', 'alone', 'next_verdict', 'never_more']
    >>> print(answer.sentences[0])
    The 114 verdicts of judge-alpha on ivory-lynx do the work of 153 human votes beside the other judges (alone: 160 human votes). One more is worth 1.3 human votes, and alone no number of them is worth more than 5,160 human votes.
    """  # noqa: E501

    table: pd.DataFrame
    sentences: tuple[str, ...]
    details: Mapping[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        if name == "details" or name not in self.details:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")
        return self.details[name]

    def __repr__(self) -> str:
        shown = self.table.to_string(float_format="{:.4g}".format)
        return "\n".join([shown, "", *self.sentences])

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the ``rows`` of the table, and the details.

        Returns
        -------
        dict
            Tables are lists of records; those by statement are left out.
        """
        plain: dict[str, Any] = {"rows": records_of(self.table)}
        for name, value in self.details.items():
            if not isinstance(value, dict):
                is_table = isinstance(value, pd.DataFrame)
                plain[name] = records_of(value) if is_table else value
        return plain


def records_of(table: pd.DataFrame) -> Any:
    """Rows of a table as dicts, its index included."""
    return table.reset_index().to_dict("records")


def table_by(names: list[str], rows: dict[Any, dict[str, Any]]) -> pd.DataFrame:
    """Table of rows by the keys of a dict, whose levels have names."""
    table = pd.DataFrame.from_dict(rows, orient="index")
    if len(names) == 1:
        return table.rename_axis(names[0])
    table.index = pd.MultiIndex.from_tuples(list(rows), names=names)
    return table


@dataclass(frozen=True, eq=False)
class FittedRows:
    """Rows of a fit, its learners, and the Riesz system of all rows.

    Attributes
    ----------
    sample : Sample
        Rows that carry everything the chain learned. Beside a history they are those
        of the new models.
    learners : list of learner or None
        Fitted bias of each source, people first.
    debiaser : RieszDebiaser or None
        Solved for all rows, those of a history included; None for a plug-in.
    items : ItemCovariance or None
        Covariance of the item effects.
    fit : Fit or None
        Parameters that were fitted to all rows; None for a plug-in.
    sums : FitSums or None
        Sums over all rows there; None for a plug-in.
    """

    sample: Sample
    learners: list[Any]
    debiaser: RieszDebiaser | None
    items: ItemCovariance | None
    fit: Fit | None = None
    sums: FitSums | None = None

    def served(self, what: str, *, in_closed_form: bool) -> RieszDebiaser:
        """Refuse methods without a formula for the effect of other rows.

        Parameters
        ----------
        what : str
            What cannot be computed then.
        in_closed_form : bool
            Whether the weights must be known of rows that are not there, by a formula.

        Returns
        -------
        RieszDebiaser
        """
        debiaser, why = self.debiaser, ""
        if debiaser is None:
            why = "a plug-in, without a debiaser, has no errors"
        elif self.sample.X.has_contexts:
            why = "with contexts a row counts for several scores of a model"
        elif in_closed_form and not debiaser.weighing_.has_spans:
            why = (
                "a bias learner has no linear span, so that the information of further "
                "rows is not known"
            )
        if why or debiaser is None:
            raise BattlesError(
                f"{what} cannot be computed: {why}. Fit an AnchorPipeline without it."
            )
        return debiaser


def check_labels(labels: Iterable[Any], choices: Sequence[Any], what: str) -> None:
    """Refuse labels that are none of the known ones."""
    strangers = [label for label in labels if label not in choices]
    if strangers:
        raise BattlesError(
            f"There are no {what} {strangers[:5]!r}; there are {list(choices)[:12]!r}."
        )


def determined_models(result: AnchorResult, model: Hashable | None = None) -> list[Any]:
    """New models whose score is determined: the one that is asked for, or all."""
    new = result.models[result.is_new].tolist()
    if not new:
        raise BattlesError(
            "There is no new model, whose score the answer is about. Begin with about "
            "five verdicts on it for each historical model, divided evenly over judges."
        )
    wanted = new if model is None else [model]
    check_labels(wanted, new, "new models")
    lost = set(result.models[result.unbounded].tolist())
    determined = [one for one in wanted if one not in lost]
    if not determined:
        raise BattlesError(
            f"The scores of {wanted[:5]} are not determined: their errors are "
            "infinite. Get verdicts of a judge with historical verdicts on them first."
        )
    return determined
