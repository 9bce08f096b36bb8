"""What the steps of the fine-tuning page share, in one object, and their row.

Everything that a visitor chose is part of the address, so that a reload, a closed tab
or a link finds it again; the session holds the same while other pages are looked at.
A choice stands there as "ft_" and its name, unless it is what a first visitor has. An
address that somebody wrote by hand may hold anything: what does not fit is left, a
setting that a run would refuse with a sentence.
The engine holds tables, runs and models: the page keeps their names alone.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from bertviz_core.errors import BertVizError
from bertviz_core.training.finetune.checks import DataCheck, check_data
from bertviz_core.training.finetune.columns import (
    ColumnChoice,
    TableView,
    kind_of_column,
    view_table,
)
from bertviz_core.training.finetune.request import (
    SAMPLES,
    DataChoice,
    TableSource,
    TrainingRequest,
    TrainingStatus,
)
from bertviz_core.training.finetune.settings import LEVELS, FinetuneSettings
from bertviz_core.training.finetune.split import REMEDIES
from bertviz_core.training.finetune.table import SEPARATORS
from bertviz_core.training.finetune.table_encoding import ENCODINGS
from pages.shared.answers import ask
from pages.shared.choices import choose_linked, put_into_address, read_number
from pages.shared.engine import client
from pages.shared.errors import sentence
from pages.shared.language import plain, t
from pages.shared.navigation import is_page_new, is_way_back
from pages.shared.page_head import model_at_work
from pages.shared.panel import button
from pages.shared.visitor import hold


def peek_step(state: FineTuneState) -> str:
    """The step that `choose_step` is going to return; call it before."""
    wanted = st.session_state.get(STEP)
    if wanted is None or is_way_back():
        wanted = st.query_params.get(STEP)
    return wanted if wanted in state.steps else state.steps[0]


def choose_step(state: FineTuneState, open_steps: Sequence[str]) -> str:
    """Draws the row of steps."""
    names = {
        step: f"{'' if step in open_steps else ':material/lock: '}{number} "
        + plain(f"fine_tune.step_{step}")
        for number, step in enumerate(STEPS, 1)
        if step in state.steps
    }
    return choose_linked(
        st.segmented_control,
        "fine_tune.steps",
        names,
        key=STEP,
        required=True,
        label_visibility="collapsed",
    )


def explain_closed(step: str, state: FineTuneState) -> None:
    """Says what a closed step waits for, and offers the way there."""
    needed = "data" if "train" not in state.open_steps else "train"
    is_under_way = state.status is not None and not state.status.is_finished
    said = "under_way" if is_under_way else f"needs_{needed}"
    st.info(t(f"fine_tune.{said}"), icon=":material/lock:")
    offer_step(needed, f"closed_{step}")


def offer_step(step: str, key: str) -> None:
    """Draws a button that opens another step."""
    name = plain(f"fine_tune.step_{step}")
    label = t("fine_tune.go_to", number=STEPS.index(step) + 1, step=name)
    button(label, f"ft_go_{key}", "arrow_forward", go_to, step)


def look(state: FineTuneState) -> FineTuneState:
    """Finds out what can be done: the table, its columns, its rows, or the problem."""
    if state.source is None:
        return state
    try:
        with model_at_work():
            view = ask(view_table)(state.source)
            state = replace(state, view=view)
            state = replace(state, columns=choose_columns(view, state))
            if state.data is not None:
                state = replace(state, check=ask(check_data)(state.model, state.data))
    except BertVizError as error:
        return replace(state, problem=error)
    return state


def look_at_run(state: FineTuneState) -> FineTuneState:
    """Finds out how far the training is, or the problem."""
    if not state.run_id:
        return state
    try:
        return replace(state, status=client().trainings.status(state.run_id))
    except BertVizError as error:
        return replace(state, run_problem=error)


def choose_columns(view: TableView, state: FineTuneState) -> ColumnChoice:
    """The columns that the visitor chose, and the guess for the others.

    Raises:
        DatasetError: there is no guess, and no choice that would do without.
    """
    text, label = (
        name if name in view.columns else "" for name in (state.text, state.label)
    )
    guess = view.guess
    if guess is None:
        if view.guess_problem is not None and not (text and label):
            raise view.guess_problem
        guess = ColumnChoice(text, label)
    text, label = text or guess.text, label or guess.label
    pair = guess.pair if guess.pair not in (text, label) else None
    if state.pair:
        pair = state.pair if state.pair in view.columns else None
    kind = kind_of_column(view.profiles, label, view.num_rows)
    is_regression = kind is not None and kind.is_regression
    if state.kind:
        is_regression = state.kind == "number"
    return ColumnChoice(text, label, pair, is_regression, guess.reasons)


STEPS = ("data", "check", "train", "evaluate", "try", "take")
# Key of the session: the `FineTuneState`. In one entry, see `choices`.
STATE = "ft_state"
# Key of the session and of the address.
STEP = "ft_step"
# The same for what is chosen of one run: a cell, a certainty, a row.
TRUE, SAID, THRESHOLD, ROW = _OF_RUN = (
    "ft_eval_true",
    "ft_eval_said",
    "ft_eval_threshold",
    "ft_try_row",
)
# Key of the session: what the new model is to be called.
TITLE = "ft_title"
MAX_SEED = 2**31 - 1
MIN_RATE, MAX_RATE = 0.05, 0.5
# Settings that are chosen in fields of their own, not among the options.
ELSEWHERE = ("level", "max_tokens", "class_weights", "oversample")
# What `FinetuneSettings.proposed` makes anew of another model or table.
PROPOSED = ("epochs", "learning_rate")
NO_PAIR = "-"  # of the columns, that with second texts
# Whether the first row names the columns; "" leaves it to a guess.
HEADERS = {"": None, "yes": True, "no": False}
_LAYOUT = {"encoding": ENCODINGS, "separator": SEPARATORS, "header": ("yes", "no")}
# What an address may say of a choice.
_ONE_OF = {
    **_LAYOUT,
    # The table to test on has a layout of its own.
    **{f"validation_{name}": options for name, options in _LAYOUT.items()},
    "kind": ("class", "number"),
    "balance": REMEDIES,
    "level": LEVELS,
}
_PREFIX = "ft_"
_LONGEST = 200  # characters


@dataclass(frozen=True)
class FineTuneState:
    """Where a visitor is; "" and 0 take the guess or the proposal."""

    model: str = ""  # that the training begins with
    # Handles of the table, and of another to test on, in the engine; "" without one.
    # Without the other, rows are set aside. Their files' names are for the reader.
    table: str = ""
    name: str = ""
    encoding: str = ""
    separator: str = ""
    header: str = ""  # see `HEADERS`
    # Names of columns: texts, labels, and second texts, see `NO_PAIR`.
    text: str = ""
    label: str = ""
    pair: str = ""
    kind: str = ""  # what the label is: "class", "number"
    validation: str = ""
    validation_name: str = ""
    validation_encoding: str = ""
    validation_separator: str = ""
    validation_header: str = ""
    test_rate: float = 0.2  # share of rows that are set aside to test on
    seed: int = 1  # of the draws of rows
    max_tokens: int = 0  # where texts are cut
    balance: str = ""
    level: str = ""
    options: tuple[tuple[str, Any], ...] = ()  # other settings that were changed
    run_id: str = ""  # of the training that this page shows
    # What was found out in this run of the page, and why not all of it.
    view: TableView | None = None
    columns: ColumnChoice | None = None
    check: DataCheck | None = None
    problem: BertVizError | None = None
    status: TrainingStatus | None = None
    run_problem: BertVizError | None = None

    @property
    def tables(self) -> tuple[str, ...]:
        """The files that were chosen, in the engine."""
        return tuple(filter(None, (self.table, self.validation)))

    @property
    def source(self) -> TableSource | None:
        """The table with its layout; `None` before one is chosen."""
        if not self.table:
            return None
        return source_of(self.table, self.encoding, self.separator, self.header)

    @property
    def validation_source(self) -> TableSource | None:
        """The table to test on with its layout; `None` before one is chosen."""
        if not self.validation:
            return None
        header = self.validation_header
        if not header and self.view is not None:
            # Both files name their columns, or neither does.
            header = "yes" if self.view.has_header else "no"
        return source_of(
            self.validation, self.validation_encoding, self.validation_separator, header
        )

    @property
    def data(self) -> DataChoice | None:
        """The rows that were chosen; `None` where these cannot be trained on."""
        if self.source is None or self.columns is None or self.view is None:
            return None
        return DataChoice(
            source=self.source,
            columns=self.columns,
            validation=self.validation_source,
            test_rate=self.test_rate,
            seed=self.seed,
        )

    @property
    def is_trained(self) -> bool:
        """Whether the run has left a model."""
        return self.status is not None and self.status.has_model

    @property
    def steps(self) -> tuple[str, ...]:
        """`STEPS`; by a link for reading, those after the table."""
        is_reading = self.status is not None and not self.status.is_own
        return STEPS[STEPS.index("train") :] if is_reading else STEPS

    @property
    def open_steps(self) -> tuple[str, ...]:
        """Those of `STEPS` that have what they need."""
        # What was not looked at in this run of the page is taken to be in order.
        is_unseen = bool(self.table) and self.view is None and self.problem is None
        has_data, has_run = self.check is not None or is_unseen, bool(self.run_id)
        needs = {"data": True, "check": has_data, "train": has_data or has_run}
        return tuple(step for step in STEPS if needs.get(step, self.is_trained))


_EARLIER, _MOST_EARLIER = "ft_earlier", 8
_FRESH = FineTuneState()
# What a page finds out by itself, and asks again in its next run, is no choice.
_CHOSEN = tuple(
    name
    for name in (field.name for field in dataclasses.fields(FineTuneState))
    if name != "model" and getattr(_FRESH, name) is not None
)


def read_state(model: str) -> FineTuneState:
    """What this visitor has chosen, or what a link or the way back brings."""
    if STATE not in st.session_state or is_page_new():
        held = _FRESH if is_way_back() else chosen_state()
        written = {name: st.query_params.get(_PREFIX + name) for name in _CHOSEN}
        found = {k: _read(k, said) for k, said in written.items() if said is not None}
        given = {name: value for name, value in found.items() if value is not None}
        st.session_state[STATE] = replace(held, **given)
    return remember(model=model)


def chosen_state() -> FineTuneState:
    """What this visitor has chosen so far."""
    state: FineTuneState = st.session_state.get(STATE, _FRESH)
    return state


def remember(**changes: Any) -> FineTuneState:
    """Changes what was chosen, in the session and in the address."""
    before = chosen_state()
    state = st.session_state[STATE] = replace(before, **changes)
    hold("fine_tune", [*state.tables, f"run:{state.run_id}" * bool(state.run_id)])
    written: dict[str, list[str]] = {}
    if state.run_id != before.run_id:
        st.session_state.update(dict.fromkeys(_OF_RUN))  # `None` takes the default
        written |= {key: [] for key in _OF_RUN}
    for name in _CHOSEN:
        value = getattr(state, name)
        said = [str(value)] if value != getattr(_FRESH, name) else []
        if name == "options":
            said = [f"{option}:{json.dumps(chosen)}" for option, chosen in value]
        written[_PREFIX + name] = said
    put_into_address(written)
    return state


def _read(name: str, said: str) -> Any:
    """What an address says of a choice; `None` where that cannot be."""
    if name == "options":
        written = st.query_params.get_all(_PREFIX + name)
        return tuple({k: v for one in written for k, v in _read_option(one)}.items())
    kind = type(getattr(_FRESH, name))
    if kind is str:
        return said[:_LONGEST] if said in _ONE_OF.get(name, (said,)) else None
    number = read_number(said, kind)
    least, most = (MIN_RATE, MAX_RATE) if name == "test_rate" else (0, MAX_SEED)
    return number if number is not None and least <= number <= most else None


def _read_option(written: str) -> list[tuple[str, Any]]:
    """A setting; nothing where a run would refuse it."""
    name, _, said = written.partition(":")
    try:
        value = json.loads(said[:_LONGEST])
        FinetuneSettings.from_dict({name: value})
    except ValueError:
        return []
    except BertVizError as error:
        st.toast(sentence(error.template, error.details), duration=30)
        return []
    is_infinite = isinstance(value, float) and not math.isfinite(value)
    return [] if is_infinite else [(name, value)]


def choose_table(table: str, name: str) -> None:
    """Takes another table; what was chosen for the one before is let go."""
    kept = ("table", "name", "level", "options", "run_id")
    reset = {key: getattr(_FRESH, key) for key in _CHOSEN if key not in kept}
    remember(**reset | {"table": table, "name": name})
    # The name that was proposed for the model was that of the table before.
    st.session_state.pop(TITLE, None)


def take_over(request: TrainingRequest) -> None:
    """Chooses the rows and settings of a run, which was found by its id.

    The model that it began with is left to the page, whose picker is drawn before.
    """
    data, settings = request.data, request.settings
    balance = "weights" if settings.class_weights else "none"
    usual = FinetuneSettings(level=settings.level).to_dict()
    # Settings that are not those of the level, and all that are proposed.
    changed = tuple(
        (name, value)
        for name, value in settings.to_dict().items()
        if name not in ELSEWHERE and (name in PROPOSED or value != usual[name])
    )
    remember(
        name="",  # the request has the name of the model alone
        **fields_of(data.source, data.columns),
        kind="number" if data.columns.is_regression else "class",
        **fields_of(data.validation or TableSource(""), prefix="validation_"),
        test_rate=data.test_rate,
        seed=data.seed,
        max_tokens=settings.max_tokens,
        balance="oversample" if settings.oversample else balance,
        level=settings.level,
        options=changed,
    )
    if request.title:
        st.session_state[TITLE] = request.title


def source_of(table: str, encoding: str, separator: str, header: str) -> TableSource:
    """A table with a layout, each part of which may be ""."""
    return TableSource(table, encoding or None, separator or None, HEADERS[header])


def fields_of(
    source: TableSource, columns: ColumnChoice | None = None, prefix: str = ""
) -> dict[str, str]:
    """A table, how it is laid out, and its columns, as fields of `FineTuneState`.

    `prefix` begins those of the table to test on.
    """
    header = next(word for word, has in HEADERS.items() if has == source.has_header)
    fields = {
        prefix.rstrip("_") or "table": source.table,
        f"{prefix}encoding": source.encoding or "",
        f"{prefix}separator": source.separator or "",
        f"{prefix}header": header,
    }
    if columns is not None:
        names = {"text": columns.text, "label": columns.label}
        fields |= names | {"pair": columns.pair or NO_PAIR}
    return fields


def table_name(state: FineTuneState) -> str:
    """What to call the table of the state."""
    for name, table in SAMPLES.items():
        if table == state.table:
            return plain(f"fine_tune.sample_{name}")
    return state.name or plain("fine_tune.your_table")


def earlier_runs() -> tuple[tuple[str, str], ...]:
    """Ids and names of the runs that this visitor has started, the last one first."""
    found: tuple[tuple[str, str], ...] = st.session_state.get(_EARLIER, ())
    return found


def note_run(run_id: str, name: str) -> None:
    """Remembers a run that was started; of many the last ones."""
    st.session_state[_EARLIER] = ((run_id, name), *earlier_runs())[:_MOST_EARLIER]


def go_to(step: str) -> None:
    """Opens another step. For callbacks: they run before the step bar is drawn."""
    st.session_state[STEP] = step
