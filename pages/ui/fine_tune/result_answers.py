"""What the engine said about a finished run, kept by its id and the question.

A run that has ended does not change, and its id is known to those alone who have its
address. Every store has a bound.
"""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.engine import finetune_tasks
from bertviz_core.finetune.data_check import DataRow
from bertviz_core.finetune.evaluation import ClassificationReport, RegressionReport
from bertviz_core.finetune.outcome import RunOutcome
from bertviz_core.finetune.resampling import macro_f1_chance, mean_difference_chance
from pages.ui.engine import client


# Not copied for every look: frozen, and with a table of 10^5 rows some megabytes.
@st.cache_resource(max_entries=4, ttl=600, show_spinner=False)
def training_outcome(run: str) -> RunOutcome:
    """How good the model of a run is, and what it was made of.

    Raises:
        TrainingError: the run is gone, or has no model.
    """
    return client().ask(finetune_tasks.training_outcome)(run)


@st.cache_data(max_entries=32, ttl=600, show_spinner=False)
def validation_rows(run: str, indices: tuple[int, ...]) -> tuple[DataRow, ...]:
    """Texts of some rows of the report."""
    return client().ask(finetune_tasks.validation_rows)(run, indices)


# Of a large table, a chance takes seconds of draws. Streamlit leaves arguments that
# begin with "_" out of the key: the run and the method say which reports they are.
@st.cache_data(max_entries=64, ttl=600, show_spinner=False)
def macro_difference_chance(
    run: str,
    method: str,
    _report: ClassificationReport,
    _other: ClassificationReport,
) -> float:
    """How often chance alone parts the macro-F1 of a run and a simple method so far."""
    return macro_f1_chance(
        _report.targets, _report.predicted, _other.predicted, len(_report.labels)
    )


@st.cache_data(max_entries=64, ttl=600, show_spinner=False)
def number_difference_chance(
    run: str, method: str, _report: RegressionReport, _other: RegressionReport
) -> float:
    """The same for their mean errors."""
    return mean_difference_chance(np.abs(_report.residuals), np.abs(_other.residuals))
