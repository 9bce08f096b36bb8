"""What the steps of the fine-tuning page share, in one object.

The step and the run are part of the address, so a reload or a closed tab finds the
run; everything else belongs to the session. The engine holds tables and models: the
page keeps their names alone.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import streamlit as st

from bertviz_core.finetune.columns import ColumnChoice

STEPS = ("data", "check", "train", "evaluate", "try", "take")
# Keys of the session and of the address.
STEP, RUN = "ft_step", "ft_run"
_STATE = "ft_state"


@dataclass(frozen=True)
class FineTuneState:
    """Where a visitor is.

    Args:
        model: id of the model that the training begins with.
        data: handle of the table in the engine; "" before one is chosen.
        data_name: of its file, for the reader.
        choice: which column is what; `None` before the table could be read.
        validation: handle of the table to judge by; "" where rows are set aside.
        run_id: of the training that this page shows; "" without one.
        is_trained: whether that run has left a model.
    """

    model: str = ""
    data: str = ""
    data_name: str = ""
    choice: ColumnChoice | None = None
    validation: str = ""
    run_id: str = ""
    is_trained: bool = False

    def is_open(self, step: str) -> bool:
        """Whether a step has what it needs.

        Args:
            step: one of `STEPS`.
        """
        if step == "data":
            return True
        if step == "check":
            return self.choice is not None
        if step == "train":
            return self.choice is not None or bool(self.run_id)
        return self.is_trained


def read_state(model: str) -> FineTuneState:
    """The state of this session, with the run of the address.

    Args:
        model: that is chosen in the sidebar.
    """
    state: FineTuneState = st.session_state.get(_STATE) or FineTuneState()
    # Another page has its own address: there the session alone remembers the run.
    return remember(model=model, run_id=st.query_params.get(RUN) or state.run_id)


def remember(**changes: Any) -> FineTuneState:
    """Changes some fields; a run goes into the address as well.

    Args:
        changes: fields of `FineTuneState`.
    """
    before: FineTuneState = st.session_state.get(_STATE) or FineTuneState()
    state = dataclasses.replace(before, **changes)
    st.session_state[_STATE] = state
    if state.run_id:
        st.query_params[RUN] = state.run_id
    else:
        st.query_params.pop(RUN, None)
    return state


def go_to(step: str) -> None:
    """Opens another step. For callbacks: they run before the step bar is drawn.

    Args:
        step: one of `STEPS`.
    """
    st.session_state[STEP] = step
