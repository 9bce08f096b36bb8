"""Step 3: how much learns, with which settings, and what that would need."""

import contextlib
import dataclasses
from collections.abc import Mapping
from typing import Any

import streamlit as st

from bertviz_core.engine.finetune_tasks import estimate_training
from bertviz_core.engine.questions import Question
from bertviz_core.errors import BertVizError
from bertviz_core.explorer import Explorer
from bertviz_core.training.finetune.checks import DataCheck
from bertviz_core.training.finetune.estimate import TrainingEstimate
from bertviz_core.training.finetune.request import TrainingRequest
from bertviz_core.training.finetune.settings import (
    LEVELS,
    PRECISIONS,
    FinetuneSettings,
    count_steps,
)
from bertviz_core.training.schedule import DECAYS
from pages.fine_tune.running import choice_name, setting_value, show_run, show_schedule
from pages.fine_tune.state import (
    ELSEWHERE,
    MAX_SEED,
    PROPOSED,
    TITLE,
    FineTuneState,
    earlier_runs,
    note_run,
    remember,
    table_name,
)
from pages.fine_tune.widgets import draw_field, duration, lease
from pages.shared.answers import Wording, ask, ask_job, has_job
from pages.shared.engine import client
from pages.shared.errors import shown_to_user
from pages.shared.language import (
    Markdown,
    escape,
    help_of,
    in_a_row,
    listed,
    plain,
    t,
    table,
)
from pages.shared.panel import button
from pages.shared.visitor import owner

_MOST_CHARACTERS = 60
_ICONS = {
    "head": ":material/bolt:",
    "top": ":material/layers:",
    "full": ":material/deployed_code:",
}
# Where nothing was measured and nothing chosen: it takes minutes on any machine.
_FIRST_LEVEL = "head"
SHORTEST = 8  # tokens, where the model reads that many
# Settings that the time of a step depends on.
_TIMED = ("batch_size", "num_top_layers", "precision")
ESTIMATE = "ft_estimate"
_BOUNDS: dict[str, dict[str, float]] = {
    "epochs": {"min_value": 1, "max_value": 500, "step": 1},
    "learning_rate": {"min_value": 1e-7, "max_value": 1.0},
    "batch_size": {"min_value": 1, "step": 1},
    "num_top_layers": {"min_value": 1, "step": 1},
    "patience": {"min_value": 0, "max_value": 500, "step": 1},
    "seed": {"min_value": 0, "max_value": MAX_SEED, "step": 1},
    "warmup_rate": {"min_value": 0.0, "max_value": 0.95, "step": 0.05},
    "final_rate": {"min_value": 0.0, "max_value": 1.0, "step": 0.05},
    "weight_decay": {"min_value": 0.0, "max_value": 1.0, "step": 0.01},
    "clip_norm": {"min_value": 0.0, "max_value": 100.0, "step": 0.5},
}

_SLIDERS = ("warmup_rate", "final_rate")


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
    estimate = _ask_estimate(state, at_once=True)
    state = _choose_level(state, check, estimate)
    settings = _settings_of(state, check)
    num_rows = _num_rows_seen(check, settings.oversample)
    st.subheader(t("fine_tune.settings_title"), anchor=False)
    _choose_options(state, settings, check)
    st.subheader(t("fine_tune.schedule_title"), anchor=False)
    show_schedule(settings, num_rows)
    st.subheader(t("fine_tune.start_title"), anchor=False)
    _expect(state, check, estimate, settings)
    _offer_start(state, settings)
    _offer_earlier()


def _choose_level(
    state: FineTuneState, check: DataCheck, estimate: TrainingEstimate | None
) -> FineTuneState:
    """Draws a card for each of `LEVELS`; the state with one of them."""
    recommended = estimate.recommended if estimate else _FIRST_LEVEL
    if not state.level:
        # Settings that somebody looks at do not change when the timing ends.
        remember(level=recommended)
        state = dataclasses.replace(state, level=recommended)
    for box, level in zip(st.columns(3, border=True), LEVELS, strict=True):
        with box:
            name = t(f"fine_tune.option_level_{level}")
            st.markdown(f"{_ICONS[level]} **{name}**")
            if estimate is not None and level == recommended:
                st.markdown(t("fine_tune.recommended"))
            st.markdown(t(f"fine_tune.level_{level}_explained"))
            if estimate is not None:
                one = estimate.level(level)
                needs = {"memory": _memory(one.memory_bytes)}
                needs["time"] = _time_of(estimate, state, check, level)
                said = t("fine_tune.level_needs", **needs)
                more = "" if one.fits else t("fine_tune.does_not_fit")
                st.caption(in_a_row([said, more]))
            is_chosen = level == state.level
            button(
                t("fine_tune.level_chosen" if is_chosen else "fine_tune.choose"),
                f"ft_level_{level}",
                "check" if is_chosen else "",
                remember,
                kwargs={"level": level},
                disabled=is_chosen,
                width="stretch",
            )
    return state


def _choose_options(
    state: FineTuneState, settings: FinetuneSettings, check: DataCheck
) -> None:
    first, second, third = st.columns(3)
    usual = FinetuneSettings(level=settings.level, decay=settings.decay).to_dict()
    usual["decay"] = DECAYS[0]
    # The proposals depend on the table, the model and other boxes, so they are not the
    # defaults of the level.
    for name in PROPOSED:
        others = tuple(pair for pair in state.options if pair[0] != name)
        without = dataclasses.replace(state, options=others)
        usual[name] = getattr(_settings_of(without, check), name)
    boxes = _Boxes(settings, usual)
    boxes.draw(first.number_input, "epochs")
    step = settings.learning_rate / 10
    boxes.draw(second.number_input, "learning_rate", step=step, format="%.1e")
    boxes.draw(third.number_input, "batch_size", max_value=check.num_train)
    with st.expander(t("fine_tune.more_settings"), icon=":material/tune:"):
        first, second, third = st.columns(3)
        if settings.level == "top":
            num_layers = ask(Explorer.info)(state.model).config.num_hidden_layers
            boxes.draw(first.number_input, "num_top_layers", max_value=num_layers)
        boxes.draw(first.number_input, "patience")
        boxes.draw(first.number_input, "seed")
        boxes.draw(second.slider, "warmup_rate", format="percent")
        boxes.draw(second.selectbox, "decay", DECAYS)
        least = 0.01 if settings.decay == "exponential" else 0.0
        boxes.draw(second.slider, "final_rate", format="percent", min_value=least)
        boxes.draw(third.number_input, "weight_decay", format="%.3f")
        boxes.draw(third.number_input, "clip_norm")
        boxes.draw(third.selectbox, "precision", PRECISIONS)
    boxes.explain()
    if state.options:
        label = "fine_tune.reset_settings"
        button(label, "ft_reset", "restart_alt", remember, kwargs={"options": ()})


@dataclasses.dataclass(frozen=True)
class _Boxes:
    """Draws settings; `usual` is what each box would hold if nobody had entered."""

    settings: FinetuneSettings
    usual: Mapping[str, Any]
    edited: list[str] = dataclasses.field(default_factory=list)

    def draw(
        self, widget: Any, name: str, options: Any = None, **arguments: Any
    ) -> None:
        """Draws a number or a choice."""
        value = getattr(self.settings, name)
        if value != self.usual[name]:
            self.edited.append(name)
        if options is None:
            arguments = _BOUNDS[name] | arguments
            # A link may ask for more than the box offers, and a run would take it.
            arguments["min_value"] = min(arguments["min_value"], value)
            arguments["max_value"] = max(arguments["max_value"], value)
            arguments["help"] = _help_with_range(name, **arguments)
        draw_field(
            widget,
            f"fine_tune.option_{name}",
            value,
            options,
            key=f"ft_option_{name}",
            take=_take_option,
            args=(name, self.usual[name]),
            say=lambda option: choice_name(name, option),
            **arguments,
        )

    def explain(self) -> None:
        """Says which of the settings are other than proposed."""
        said = [
            plain(
                "fine_tune.edited_setting",
                name=plain(f"fine_tune.option_{name}"),
                value=setting_value(name, getattr(self.settings, name)),
                proposed=setting_value(name, self.usual[name]),
            )
            for name in self.edited
        ]
        if said:
            edited = Markdown(listed(map(escape, said)))
            st.caption(t("fine_tune.edited_settings", settings=edited))


def _help_with_range(name: str, min_value: float, max_value: float, **_: Any) -> str:
    """What a box does and takes: Streamlit refuses what is beyond that without a word.

    Sliders show their ends.
    """
    told = help_of(f"fine_tune.option_{name}") or ""
    if name in _SLIDERS:
        return told
    ends = {"least": min_value, "most": max_value}
    return in_a_row([told, t("fine_tune.option_range", **ends)])


def _take_option(name: str, usual: Any) -> None:
    """Keeps a setting, unless it is usual."""
    value = st.session_state[f"ft_option_{name}"]
    others = tuple((key, old) for key, old in remember().options if key != name)
    changed = others if value == usual else (*others, (name, value))
    remember(options=changed)


def _expect(
    state: FineTuneState,
    check: DataCheck,
    estimate: TrainingEstimate | None,
    settings: FinetuneSettings,
) -> None:
    count = _num_rows_seen(check, settings.oversample)
    is_more = "_oversampled" if count > check.num_train else ""
    said = [
        t(
            f"fine_tune.about_to_train{is_more}",
            level=choice_name("level", settings.level),
            train=check.num_train,
            count=count,
            epochs=settings.epochs,
            max_tokens=settings.max_tokens,
        )
    ]
    if estimate is None:
        st.markdown(said[0])
        return
    one = estimate.level(settings.level)
    if one.seconds is not None:
        time = _time_of(estimate, state, check, settings.level)
        said.append(t("fine_tune.may_take", time=time))
    if not one.fits:
        st.warning(t("fine_tune.may_not_fit"), icon=":material/memory:")
    st.markdown(in_a_row(said))
    _explain_estimate(estimate)


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
    is_asked = button("fine_tune.start", "ft_start", "play_arrow")
    data = state.data
    if not is_asked or data is None:
        return
    name = (title or "").strip()
    request = TrainingRequest(state.model, data, settings, name, bool(tensorboard))
    with shown_to_user(stop=False):
        run_id = client().trainings.start(request, owner())
        try:
            note_run(run_id, name)
            remember(run_id=run_id)
        except BaseException:  # a click came first: nobody would find the training
            client().trainings.remove(run_id)
            raise
        st.rerun()


def _offer_earlier() -> None:
    earlier = earlier_runs()
    if not earlier:
        return
    st.subheader(t("fine_tune.earlier_title"), anchor=False)
    st.caption(t("fine_tune.earlier_explained", time=lease()))
    with st.container(horizontal=True):
        for number, (run_id, title) in enumerate(earlier):
            label = t("fine_tune.earlier", number=len(earlier) - number, title=title)
            chosen = {"run_id": run_id}
            button(label, f"ft_earlier_{run_id}", "history", remember, kwargs=chosen)


def _settings_of(state: FineTuneState, check: DataCheck) -> FinetuneSettings:
    """The settings of the run.

    Raises:
        TrainingError: a value that cannot be.
    """
    balance = balance_of(state, check)
    options = {key: value for key, value in state.options if key not in ELSEWHERE}
    size = ask(Explorer.info)(state.model).config.hidden_size
    return FinetuneSettings.proposed(
        size,
        _num_rows_seen(check, balance == "oversample"),
        level=state.level or _FIRST_LEVEL,
        max_tokens=max_tokens_of(state, check),
        class_weights=balance == "weights",
        oversample=balance == "oversample",
        **options,
    )


def balance_of(state: FineTuneState, check: DataCheck) -> str:
    """What is done about unequal classes, one of `REMEDIES`."""
    return "none" if check.is_regression else state.balance or check.remedy


def max_tokens_of(state: FineTuneState, check: DataCheck) -> int:
    """Where texts are cut."""
    chosen = state.max_tokens or check.default_max_tokens
    return min(max(SHORTEST, chosen), check.max_position_embeddings)


def _num_rows_seen(check: DataCheck, oversample: bool) -> int:
    """Rows of an epoch: with oversampling, each class has as many as the largest."""
    return check.num_oversampled if oversample else check.num_train


def _ask_estimate(
    state: FineTuneState, at_once: bool = False
) -> TrainingEstimate | None:
    """Draws the question for time and memory; the answer, once it is there."""
    if state.check is None or state.data is None:
        return None
    # What changes nothing about a step is left out, so that playing with it does not
    # ask anew; `LevelEstimate.seconds_of` takes the epochs into account.
    timed = tuple((key, value) for key, value in state.options if key in _TIMED)
    of_all_levels = dataclasses.replace(state, level="", options=timed)
    settings = _settings_of(of_all_levels, state.check)
    again = t("fine_tune.estimate_again")
    return ask_job(
        ESTIMATE,
        again if has_job(ESTIMATE) else t("fine_tune.estimate_start"),
        ask(estimate_training).about(state.model, state.data, settings),
        at_once=at_once,
        wording=Wording(
            working=lambda share: t("fine_tune.estimate_runs", share=share)
        ),
        start=_shared,
    )


def _shared(question: Question[Any]) -> str:
    """The measurement of others, unless it has failed.

    Visitors who ask the same of the same rows, as a class with one table does, share
    one: the machine would be as busy with thirty as with a training.
    """
    with contextlib.suppress(BertVizError):  # the server may have started again
        job_id = _start(question)
        status = client().job(job_id)
        if status.state == "done" or not status.is_finished:
            return job_id
    _start.clear(question)
    return _start(question)


@st.cache_resource(
    max_entries=64, ttl=600, show_spinner=False, hash_funcs={Question: repr}
)
def _start(question: Question[Any]) -> str:
    return client().start(question, owner())


def _time_of(
    estimate: TrainingEstimate, state: FineTuneState, check: DataCheck, level: str
) -> str:
    """How long the run would take at a level, with what the visitor chose."""
    settings = _settings_of(dataclasses.replace(state, level=level), check)
    num_rows = _num_rows_seen(check, settings.oversample)
    seconds = estimate.level(level).seconds_of(count_steps(settings, num_rows))
    return plain("fine_tune.not_timed") if seconds is None else duration(seconds)


def show_estimate(state: FineTuneState, check: DataCheck) -> None:
    """Draws the question, then a table of the levels and the recommended one."""
    st.markdown(t("fine_tune.estimate_explained"))
    estimate = _ask_estimate(state)
    if estimate is None:
        return
    rows = [
        [
            choice_name("level", one.level),
            _time_of(estimate, state, check, one.level),
            _memory(one.memory_bytes),
            plain(f"fine_tune.fits_{'yes' if one.fits else 'no'}"),
        ]
        for one in estimate.levels
    ]
    names = ("option_level", "column_time", "column_memory", "column_fits")
    st.markdown(table([plain(f"fine_tune.{name}") for name in names], rows))
    level = choice_name("level", estimate.recommended)
    said = t("fine_tune.recommended_level", level=level)
    st.success(said, icon=":material/thumb_up:")
    _explain_estimate(estimate)


def _explain_estimate(estimate: TrainingEstimate) -> None:
    """Says what the figures rest on."""
    free = t("fine_tune.memory_free", size=_memory(estimate.free_bytes))
    said = [t("fine_tune.estimate_rests_on"), free]
    if estimate.is_loaded:
        said.append(t("fine_tune.estimate_loaded"))
    st.caption(in_a_row(said))


def _memory(size: int) -> str:
    """Bytes for a reader."""
    return t("app.megabytes", size=size / 1e6)
