"""Simulation studies as data: experiments, their cells, methods and measures.

An :class:`Experiment` says what is drawn, which methods place the new models, and what
is measured. :func:`run_study` draws and fits; :func:`summarize_study` makes the table
with Monte-Carlo errors.

Examples
--------
>>> from skanchor.studies import EXPERIMENTS, MEASURES
>>> all(set(one.measures) <= set(MEASURES) for one in EXPERIMENTS.values())
True
"""

from skanchor.studies._draws import Drawn, draw_battles
from skanchor.studies._experiment import Cell, Experiment, StudyMethod, study_key
from skanchor.studies._paper import EXPERIMENTS
from skanchor.studies._run import Unit, finished_rows, run_study, study_table, units_of
from skanchor.studies._summary import (
    MEASURES,
    paired_differences,
    settings_of,
    summarize_study,
)

__all__ = [
    "EXPERIMENTS",
    "MEASURES",
    "Cell",
    "Drawn",
    "Experiment",
    "StudyMethod",
    "Unit",
    "draw_battles",
    "finished_rows",
    "paired_differences",
    "run_study",
    "settings_of",
    "study_key",
    "study_table",
    "summarize_study",
    "units_of",
]
