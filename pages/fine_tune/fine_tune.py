"""Fine-tune: from a table of texts to a model of one's own, in six steps."""

from collections.abc import Callable

import streamlit as st

from pages.fine_tune import (
    before_and_after,
    step_check,
    step_data,
    step_evaluate,
    step_take_away,
    step_train,
    step_try,
)
from pages.fine_tune.running import lead_on_after_stop
from pages.fine_tune.state import (
    FineTuneState,
    choose_step,
    explain_closed,
    look,
    look_at_run,
    peek_step,
    read_state,
    take_over,
)
from pages.shared.errors import shown_to_user
from pages.shared.models import choose_next, model_picker

SHOWN: dict[str, tuple[Callable[[FineTuneState], None], ...]] = {
    "data": (step_data.show,),
    "check": (step_check.show,),
    "train": (step_train.show,),
    "evaluate": (step_evaluate.show,),
    "try": (step_try.show, before_and_after.show),
    "take": (step_take_away.show,),
}

state = look_at_run(read_state(model_picker()))
if state.status is not None and not state.table:
    take_over(state.status.request)
    choose_next(state.status.request.model)
lead_on_after_stop(state)
# Once there is a run, the other steps ask about it alone.
if peek_step(state) in ("data", "check") or not state.run_id:
    state = look(state)
open_steps = state.open_steps
if step_try.can_try(state.model):
    open_steps = (*open_steps, "try")
step = choose_step(state, open_steps)
if step == "try" and step_try.is_tried(state):
    with shown_to_user(stop=False):
        step_try.show_chosen(state.model)
    st.stop()
if step not in open_steps:
    explain_closed(step, state)
    if step == "try":
        step_try.explain_classes()
    st.stop()
for show in SHOWN[step]:
    with shown_to_user(stop=False):
        show(state)
