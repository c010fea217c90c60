"""Do judges favour families of models? What would such a favour change?

A judge may like the models of one maker, for reasons that no feature shows. If all
judges do, no table of judges can tell such a favour from a better model. But history
shows how large favours of families are: there, people's votes tell the scores.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import chdtrc, stdtr

from skanchor._checks import check_level
from skanchor._diagnostics import CommonDeviation
from skanchor._numerics.linalg import semidefinite_root
from skanchor._plain_state import PlainState
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.results import RankingResult


@dataclass(frozen=True, eq=False)
class FamilyEffects(PlainState):
    """Favours of all judges together for families of models.

    A favour of x human logits means that all judges see the models of a family as if
    their scores were x higher.

    Attributes
    ----------
    effects : DataFrame
        By family with two historical models or more: ``n_models`` of history,
        ``effect`` against models of no such family, in human logits, its
        ``standard_error`` and ``p_value``.
    spread : float
        Standard deviation of what all judges together think of a single model beyond
        its score, features and family, in human logits.
    p_value : float
        Of the test that no family has an effect; NaN where none can be tested.
    new : DataFrame
        By new model without votes of its own: the favour, in human logits, of all
        judges for it ``changes_rank`` among the historical models, and
        ``changes_contrast``: a historical model that is clearly better or worse then
        no longer is. NaN where no such model is.
    """

    effects: pd.DataFrame
    spread: float
    p_value: float
    new: pd.DataFrame

    @property
    def largest(self) -> Hashable | None:
        """Family with the largest effect in size; None where none is known."""
        size = self.effects["effect"].abs()
        return None if size.isna().all() else size.idxmax()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: ``effects``, ``new``, ``spread`` and ``p_value``."""
        return {
            "effects": self.effects.reset_index().to_dict("records"),
            "spread": self.spread,
            "p_value": self.p_value,
            "new": self.new.reset_index().to_dict("records"),
        }

    def lines(self) -> list[str]:
        """Say in sentences what was found.

        Returns
        -------
        list of str
        """
        found, name = [], self.largest
        if name is None:
            seen = "No family has two historical models, so no favour can be estimated."
        else:
            row = self.effects.loc[[name]].iloc[0]
            seen = (
                f"The largest favour of all judges for a historical family is "
                f"{row['effect']:+.2f} ± {row['standard_error']:.2f} human logits "
                f"({name}; any family: p = {self.p_value:.2g})."
            )
        found.append(seen)
        for model, row in self.new.iterrows():
            if np.isnan(row["changes_rank"]):
                continue
            text = (
                f"A favour of all judges for {model} of {row['changes_rank']:.2f} "
                "human logits would change its rank"
            )
            if not np.isnan(row["changes_contrast"]):
                text += (
                    f", and one of {row['changes_contrast']:.2f} would make a "
                    "significant difference uncertain"
                )
            found.append(f"{text}.")
        return found


def family_effects(
    families: Mapping[Any, Any],
    common: CommonDeviation | None,
    models: NDArray[Any],
    result: RankingResult,
    level: float = 0.95,
) -> FamilyEffects:
    """Estimate favours for families on the history, and what they would change.

    Parameters
    ----------
    families : mapping from label to label
        Family of each model; models that are missing have none, and models that are not
        in the table have no influence.
    common : CommonDeviation or None
        What all judges together think of the historical models; None where there are no
        human scores to compare with.
    models : ndarray of shape (n_models,)
        Models of ``common``, in their order.
    result : RankingResult
        Scores of all models.
    level : float, default=0.95
        Level at which a model is clearly better or worse.

    Returns
    -------
    FamilyEffects

    Raises
    ------
    BattlesError
        If ``families`` names no model of the table.
    """
    check_level(level)
    known = set(result.models.tolist())
    if not known.intersection(families):
        raise BattlesError(
            f"families names none of the models of the table, such as "
            f"{result.models[0]!r}; it names {list(families)[:3]!r}."
        )
    historical = set(result.models[~result.is_new].tolist())
    family = pd.Series(
        {model: families[model] for model in historical if model in families},
        dtype=object,
    )
    sizes = family.value_counts()
    names = sorted(sizes.index[sizes >= 2].tolist(), key=str)
    table = pd.DataFrame(
        np.nan, pd.Index(names, name="family"), ["effect", "standard_error", "p_value"]
    )
    table.insert(0, "n_models", sizes.reindex(names).to_numpy(dtype=int))
    spread = p_value = np.nan
    if names and common is not None:
        member = family.reindex(models)
        design = np.array([(member == name).to_numpy() for name in names], float).T
        effect, error, spread, p_value, df = _fit(common, design)
        table["effect"], table["standard_error"] = effect, error
        with np.errstate(divide="ignore", invalid="ignore"):
            table["p_value"] = 2.0 * stdtr(df, -np.abs(effect / error))
    return FamilyEffects(table, spread, p_value, _margins(result, level))


def _fit(
    common: CommonDeviation, design: Array
) -> tuple[Array, Array, float, float, float]:
    """Generalised least squares of the common deviations on the families.

    The deviation y of the models, of which ``pull = A y``, has the mean D d with D the
    ``design`` and d the effects, and the covariance ``A^-1 + E + tau^2 I``: noise of
    the verdicts, error of the human scores, and what judges think of single models.
    With a root R of A, ``z = R^+ pull`` has the mean R'D d and the covariance
    ``I + R'ER + tau^2 R'R``. The moment estimator of tau^2 is that of DerSimonian and
    Laird (1986), "Meta-analysis in clinical trials".

    Returns
    -------
    effect, error : ndarray of shape (n_families,)
        NaN where the rows tell nothing of a family.
    spread : float
        tau.
    p_value : float
        Of the test that all effects are zero.
    df : float
        Degrees of freedom of the errors.
    """
    root = semidefinite_root(common.information)
    z = np.linalg.pinv(root) @ common.pull
    columns = root.T @ design
    known = np.eye(root.shape[1]) + root.T @ common.score_error @ root
    own = root.T @ root
    rank = int(np.linalg.matrix_rank(columns))
    df = root.shape[1] - rank
    variance = 0.0
    if df > 0:
        weights = np.linalg.inv(known)
        left = weights - weights @ columns @ np.linalg.pinv(
            columns.T @ weights @ columns
        ) @ (columns.T @ weights)
        excess = float(z @ left @ z) - df
        variance = max(excess / float(np.trace(left @ own)), 0.0)
    weights = np.linalg.inv(known + variance * own)
    precision = columns.T @ weights @ columns
    covariance = np.linalg.pinv(precision, hermitian=True)
    effect = covariance @ (columns.T @ (weights @ z))
    error = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    unknown = error == 0.0
    effect, error = (np.where(unknown, np.nan, each) for each in (effect, error))
    p_value = np.nan
    if rank and df > 0:
        square = columns.T @ (weights @ z)
        p_value = float(chdtrc(rank, float(square @ covariance @ square)))
    return effect, error, float(np.sqrt(variance)), p_value, float(max(df, 1))


def _margins(result: RankingResult, level: float) -> pd.DataFrame:
    """Favours of all judges for a new model that change what is said of it.

    Sensitivities times Riesz exposures of the judges add up to one where a model has no
    votes: a favour of x human logits in every judge moves its score by x.
    """
    contrasts = result.contrasts(level)
    old = result.models[~result.is_new]
    rows = {}
    for place in np.flatnonzero(result.is_new):
        model = result.models[place]
        rows[model] = {"changes_rank": np.nan, "changes_contrast": np.nan}
        if result.n_human[place] or result.unbounded[place]:
            continue
        own = contrasts.loc[model].reindex(old)
        rows[model]["changes_rank"] = own["difference"].abs().min()
        clear = own[(own["low"] > 0) | (own["high"] < 0)]
        if len(clear):
            near = clear[["low", "high"]].abs().min(axis=1)
            rows[model]["changes_contrast"] = near.min()
    table = pd.DataFrame.from_dict(
        rows, orient="index", columns=["changes_rank", "changes_contrast"]
    )
    return table.rename_axis("model").astype(float)
