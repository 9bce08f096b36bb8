"""Step 3: how much learns, with which settings; then the run itself."""

from __future__ import annotations

import streamlit as st

from bertviz_core.finetune.data_check import DataCheck
from bertviz_core.finetune.request import TrainingRequest
from bertviz_core.finetune.run_estimate import TrainingEstimate
from bertviz_core.finetune.settings import FinetuneSettings
from pages.fine_tune.estimating import ask_estimate, explain_estimate
from pages.fine_tune.levels import choose_level
from pages.fine_tune.options import choose_options
from pages.fine_tune.progress import show_schedule
from pages.fine_tune.run_settings import expected_seconds, num_rows_seen, settings_of
from pages.fine_tune.running import show_run
from pages.fine_tune.state import TITLE, FineTuneState, change, remember
from pages.fine_tune.step_data import table_name
from pages.fine_tune.wording import duration, lease
from pages.shared.engine import client
from pages.shared.errors import shown_to_user
from pages.shared.language import in_a_row, plain, t

_MOST_CHARACTERS = 60
_EARLIER, _MOST_EARLIER = "ft_earlier", 8


def show(state: FineTuneState) -> None:
    """Draws this step."""
    st.header(t("fine_tune.train_title"), anchor=False)
    if state.run_id:
        show_run(state)
        return
    check = state.check
    if check is None:
        return
    st.markdown(t("fine_tune.train_intro", model=state.model))
    estimate = ask_estimate(state, at_once=True)
    level = choose_level(state, estimate)
    settings = settings_of(state, check, level)
    st.subheader(t("fine_tune.settings_title"), anchor=False)
    choose_options(state, settings, check)
    st.subheader(t("fine_tune.schedule_title"), anchor=False)
    show_schedule(settings, num_rows_seen(check, settings.oversample))
    st.subheader(t("fine_tune.start_title"), anchor=False)
    _expect(estimate, settings, check)
    _offer_start(state, settings)
    _offer_earlier()


def _expect(
    estimate: TrainingEstimate | None, settings: FinetuneSettings, check: DataCheck
) -> None:
    """Says what the run will see, and how long it may take."""
    num_rows = num_rows_seen(check, settings.oversample)
    said = [
        t(
            "fine_tune.about_to_train",
            level=plain(f"fine_tune.level_{settings.level}"),
            count=num_rows,
            epochs=settings.epochs,
            max_tokens=settings.max_tokens,
        )
    ]
    if estimate is not None:
        one = estimate.level(settings.level)
        if one.run is not None:
            seconds = expected_seconds(one.run, settings, num_rows)
            said.append(t("fine_tune.may_take", time=duration(seconds)))
        if not one.fits:
            st.warning(t("fine_tune.may_not_fit"), icon=":material/memory:")
    st.markdown(in_a_row(said))
    if estimate is not None:
        explain_estimate(estimate)


def _offer_start(state: FineTuneState, settings: FinetuneSettings) -> None:
    name_box, log_box = st.columns(2, vertical_alignment="bottom")
    title = name_box.text_input(
        t("fine_tune.model_name"),
        table_name(state),
        key=TITLE,
        max_chars=_MOST_CHARACTERS,
        help=t("fine_tune.model_name_help"),
        persist_state="session",
    )
    tensorboard = log_box.toggle(
        t("fine_tune.tensorboard"),
        key="ft_tensorboard",
        help=t("fine_tune.tensorboard_help"),
        persist_state="session",
    )
    start = st.button(
        t("fine_tune.start"), key="ft_start", icon=":material/play_arrow:"
    )
    data = state.data
    if not start or data is None:
        return
    request = TrainingRequest(
        state.model, data, settings, (title or "").strip(), bool(tensorboard)
    )
    with shown_to_user(stop=False):
        run_id = client().start_training(request)
        try:
            earlier = st.session_state.get(_EARLIER, ())
            here = (run_id, request.title)
            st.session_state[_EARLIER] = (here, *earlier)[:_MOST_EARLIER]
            remember(run_id=run_id)
        except BaseException:  # a click came first: nobody would find the training
            client().forget_training(run_id)
            raise
        st.rerun()


def _offer_earlier() -> None:
    """Draws the way back to trainings that this visit has started."""
    earlier = st.session_state.get(_EARLIER, ())
    if not earlier:
        return
    st.subheader(t("fine_tune.earlier_title"), anchor=False)
    st.caption(t("fine_tune.earlier_explained", time=lease()))
    with st.container(horizontal=True):
        for number, (run_id, title) in enumerate(earlier):
            st.button(
                t("fine_tune.earlier", number=len(earlier) - number, title=title),
                key=f"ft_earlier_{run_id}",
                icon=":material/history:",
                on_click=change,
                kwargs={"run_id": run_id},
            )
