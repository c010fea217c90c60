"""What an experiment is: cells, methods, measures and a number of draws."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, Literal

from sklearn.base import BaseEstimator

from skanchor.studies._draws import Drawn, draw_battles

_PACKAGES = ("skanchor", "numpy", "scipy", "pandas", "scikit-learn")

SHORT_DRAWS, SHORT_REFITS = 2, 20
"""Draws of each cell, and refits of a bootstrap, in the short form of an experiment."""


@dataclass(frozen=True)
class StudyMethod:
    """A method of a study.

    Attributes
    ----------
    name : str
        Name in the table.
    estimator : estimator
        Unfitted. Its ``random_state`` becomes the seed of the draw;
        :class:`skanchor.baselines.Oracle` gets the truth, and
        :class:`skanchor.baselines.HumanOnly` the extra votes on the new models.
    intervals : {"own", "basic", "percentile"} or None
        Intervals of the estimator itself, or from refits on resamples; None for none.
    rank_sets : {"holm", "romano-wolf"} or None
        Procedure of the rank sets; None for none.

    Examples
    --------
    >>> from skanchor.baselines import DirectScore
    >>> from skanchor.studies import StudyMethod
    >>> StudyMethod("plug-in", DirectScore()).intervals is None
    True
    """

    name: str
    estimator: BaseEstimator
    intervals: Literal["own", "basic", "percentile"] | None = None
    rank_sets: Literal["holm", "romano-wolf"] | None = None

    @property
    def is_refitted(self) -> bool:
        """Whether the intervals come from refits on resamples."""
        return self.intervals in ("basic", "percentile")


@dataclass(frozen=True)
class Cell:
    """One setting of an experiment.

    Attributes
    ----------
    name : str
        The settings that vary, such as ``"rho=0.5, tau=1"``.
    settings : mapping
        Arguments of the experiment's ``draw``.
    seconds : float
        Processor seconds of a draw with all methods, as measured on one machine.

    Examples
    --------
    >>> from skanchor.studies import Cell
    >>> Cell("200 votes", {"n_historical": 1000}).seconds
    1.0
    """

    name: str
    settings: Mapping[str, Any]
    seconds: float = 1.0


@dataclass(frozen=True)
class Experiment:
    """A simulation study.

    Attributes
    ----------
    name : str
        Name on the command line.
    title : str
        What it shows, and its place in the paper.
    reading : str
        Our interpretation of the design, if the paper refers to its supplement.
    cells : tuple of Cell
        Settings.
    methods : tuple of StudyMethod
        Methods that place the new models of every draw.
    measures : tuple of str
        Columns of the summary, of :data:`skanchor.studies.MEASURES`.
    draw : callable
        From settings and a seed to a :class:`Drawn`.
    replications : int
        Draws of each cell; their seeds are 0, 1, and so on.
    n_resamples : int
        Number of refits for the intervals of methods without standard errors.

    Examples
    --------
    >>> from skanchor.baselines import DirectScore
    >>> from skanchor.studies import Cell, Experiment, StudyMethod, draw_battles
    >>> experiment = Experiment(
    ...     name="small",
    ...     title="The plug-in with few votes",
    ...     reading="",
    ...     cells=(Cell("200 votes", {"n_historical": 1000, "n_new": 200}),),
    ...     methods=(StudyMethod("plug-in", DirectScore()),),
    ...     measures=("rmse",),
    ...     draw=draw_battles,
    ... )
    >>> [cell.name for cell in experiment.cells]
    ['200 votes']
    """

    name: str
    title: str
    reading: str
    cells: tuple[Cell, ...]
    methods: tuple[StudyMethod, ...]
    measures: tuple[str, ...]
    draw: Callable[[Mapping[str, Any], int], Drawn] = draw_battles
    replications: int = 500
    n_resamples: int = 500

    @property
    def seconds(self) -> float:
        """Processor seconds of one draw of every cell."""
        return sum(cell.seconds for cell in self.cells)

    def short(self) -> Experiment:
        """Return the same experiment with few draws and few refits."""
        return replace(
            self,
            replications=SHORT_DRAWS,
            n_resamples=min(SHORT_REFITS, self.n_resamples),
        )

    def only(self, methods: tuple[str, ...]) -> Experiment:
        """Return the same experiment with some of its methods, in its own order.

        Parameters
        ----------
        methods : tuple of str
            Their names.

        Returns
        -------
        Experiment

        Raises
        ------
        ValueError
            If it has no method of one of the names.
        """
        known = [method.name for method in self.methods]
        for name in methods:
            if name not in known:
                raise ValueError(
                    f"{self.name} has no method {name!r} (known: {', '.join(known)})."
                )
        chosen = tuple(method for method in self.methods if method.name in methods)
        return replace(self, methods=chosen)


def study_key(experiment: Experiment) -> str:
    """Fingerprint of everything that a row depends on, except its cell and seed.

    Parameters
    ----------
    experiment : Experiment
        The experiment. Its number of replications and its texts are not included.

    Returns
    -------
    str
        Hexadecimal digits, which differ if settings, methods or versions differ.

    Examples
    --------
    >>> from skanchor.baselines import DirectScore
    >>> from skanchor.studies import Cell, Experiment, StudyMethod, draw_battles
    >>> from skanchor.studies import study_key
    >>> experiment = Experiment(
    ...     name="small",
    ...     title="The plug-in with few votes",
    ...     reading="",
    ...     cells=(Cell("200 votes", {"n_historical": 1000, "n_new": 200}),),
    ...     methods=(StudyMethod("plug-in", DirectScore()),),
    ...     measures=("rmse",),
    ...     draw=draw_battles,
    ... )
    >>> study_key(experiment) == study_key(experiment)
    True
    """
    draw, methods = experiment.draw, experiment.methods
    content = [
        experiment.name,
        f"{draw.__module__}.{draw.__qualname__}",
        experiment.n_resamples if any(m.is_refitted for m in methods) else 0,
        [(cell.name, sorted(cell.settings.items())) for cell in experiment.cells],
        [
            (m.name, m.intervals, m.rank_sets, type(m.estimator).__name__,
             sorted(m.estimator.get_params(deep=True).items(), key=lambda one: one[0]))
            for m in methods
        ],
        library_versions(),
    ]  # fmt: skip
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


def library_versions() -> str:
    """Versions of what results depend on, as JSON."""
    return json.dumps({name: version(name) for name in _PACKAGES})
