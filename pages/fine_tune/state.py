"""What the steps of the fine-tuning page share, in one object.

Everything that a visitor chose is part of the address, so that a reload, a closed tab
or a link finds it again; the session holds the same while other pages are looked at.
The engine holds tables, runs and models: the page keeps their names alone.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import streamlit as st

from bertviz_core.errors import BertVizError
from bertviz_core.finetune.column_choice import ColumnChoice
from bertviz_core.finetune.data_check import DataCheck
from bertviz_core.finetune.request import DataChoice, TableSource, TrainingRequest
from bertviz_core.finetune.settings import FinetuneSettings
from bertviz_core.finetune.table_view import TableView
from bertviz_core.finetune.training_status import TrainingStatus
from pages.fine_tune.leases import STATE
from pages.fine_tune.state_in_link import read_link, write_link

STEPS = ("data", "check", "train", "evaluate", "try", "take")
# Key of the session and of the address.
STEP = "ft_step"
# Key of the session: what the new model is to be called.
TITLE = "ft_title"
# Whether the first row names the columns; "" leaves it to a guess.
HEADERS = {"": None, "yes": True, "no": False}


@dataclass(frozen=True)
class FineTuneState:
    """Where a visitor is.

    Args:
        model: id of the model that the training begins with.
        table: handle of the table in the engine; "" before one is chosen.
        name: of its file, for the reader.
        encoding, separator: of the file; "" guesses.
        header: whether the first row names the columns: "yes", "no", "" guesses.
        text, label: names of columns; "" takes the guess.
        pair: name of the column with second texts; "" takes the guess, "-" none.
        kind: what the label is: "class", "number", "" guesses.
        validation: handle of a table to judge by; "" sets rows aside.
        validation_name: of its file.
        validation_encoding, validation_separator, validation_header: as those of
            the table; "" takes the header of the table.
        validation_rate: share of rows that are set aside.
        seed: of the draw of these rows.
        max_tokens: where texts are cut; 0 takes what the texts ask for.
        balance: what is done about unequal classes; "" takes the proposal.
        level: how much of the model learns; "" takes the recommended one.
        options: other settings that were changed, by name.
        run_id: of the training that this page shows; "" without one.
        view: the table, in this run of the page; `None` where it was not read.
        columns: which column is what, likewise.
        check: what was found in the rows, likewise.
        problem: why there is no view, no columns or no check.
        status: of the training; `None` without one, or when it is gone.
        run_problem: why there is no status although there is a run.
    """

    model: str = ""
    table: str = ""
    name: str = ""
    encoding: str = ""
    separator: str = ""
    header: str = ""
    text: str = ""
    label: str = ""
    pair: str = ""
    kind: str = ""
    validation: str = ""
    validation_name: str = ""
    validation_encoding: str = ""
    validation_separator: str = ""
    validation_header: str = ""
    validation_rate: float = 0.2
    seed: int = 1
    max_tokens: int = 0
    balance: str = ""
    level: str = ""
    options: tuple[tuple[str, Any], ...] = ()
    run_id: str = ""
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
        return TableSource(
            self.table,
            encoding=self.encoding or None,
            separator=self.separator or None,
            has_header=HEADERS[self.header],
        )

    @property
    def validation_source(self) -> TableSource | None:
        """The table to judge by with its layout; `None` before one is chosen."""
        if not self.validation:
            return None
        header = HEADERS[self.validation_header]
        if header is None and self.view is not None:
            # Both files name their columns, or neither does.
            header = self.view.has_header
        return TableSource(
            self.validation,
            encoding=self.validation_encoding or None,
            separator=self.validation_separator or None,
            has_header=header,
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
            validation_rate=self.validation_rate,
            seed=self.seed,
        )

    @property
    def is_trained(self) -> bool:
        """Whether the run has left a model."""
        return self.status is not None and self.status.has_model

    @property
    def open_steps(self) -> tuple[str, ...]:
        """Those of `STEPS` that have what they need."""
        # What was not looked at in this run of the page is taken to be in order.
        is_unseen = bool(self.table) and self.view is None and self.problem is None
        has_data, has_run = self.check is not None or is_unseen, bool(self.run_id)
        needs = {"data": True, "check": has_data, "train": has_data or has_run}
        return tuple(step for step in STEPS if needs.get(step, self.is_trained))


# What a page finds out by itself, and asks again in its next run.
_FOUND = ("view", "columns", "check", "problem", "status", "run_problem")
_CHOSEN = tuple(
    field.name
    for field in dataclasses.fields(FineTuneState)
    if field.name not in (*_FOUND, "model")
)


def read_state(model: str) -> FineTuneState:
    """What this session has chosen; at its beginning, what the address says."""
    if STATE not in st.session_state:
        st.session_state[STATE] = read_link(FineTuneState())
    return remember(model=model)


def remember(**changes: Any) -> FineTuneState:
    """Changes what was chosen, in the session and in the address."""
    before: FineTuneState = st.session_state.get(STATE) or FineTuneState()
    state = dataclasses.replace(before, **changes)
    st.session_state[STATE] = state
    write_link(state, FineTuneState(), _CHOSEN)
    return state


def change(**changes: Any) -> None:
    """`remember` as a callback, which returns nothing."""
    remember(**changes)


def choose_table(table: str, name: str) -> None:
    """Takes another table; what was chosen for the one before is let go."""
    fresh = FineTuneState()
    kept = ("table", "name", "level", "options", "run_id")
    reset = {key: getattr(fresh, key) for key in _CHOSEN if key not in kept}
    remember(**reset | {"table": table, "name": name})
    # The name that was proposed for the model was that of the table before.
    st.session_state.pop(TITLE, None)


def take_over(request: TrainingRequest) -> None:
    """Chooses the rows and settings of a run, which was found by its id.

    The model that it began with is left to the page, whose picker is drawn before.
    """
    data, settings = request.data, request.settings
    other = data.validation
    remember(
        table=data.source.table,
        name="",  # the request has the name of the model alone
        **layout_of(data.source),
        text=data.columns.text,
        label=data.columns.label,
        pair=data.columns.pair or "-",
        kind="number" if data.columns.is_regression else "class",
        validation=other.table if other else "",
        **(layout_of(other, "validation_") if other else {}),
        validation_rate=data.validation_rate,
        seed=data.seed,
        max_tokens=settings.max_tokens,
        balance=_balance(settings),
        level=settings.level,
        options=_changed(settings),
    )
    if request.title:
        st.session_state[TITLE] = request.title


def layout_of(source: TableSource, prefix: str = "") -> dict[str, str]:
    """How a table is laid out, as fields of `FineTuneState`.

    `prefix` of the names: "validation_", or none.
    """
    return {
        f"{prefix}encoding": source.encoding or "",
        f"{prefix}separator": source.separator or "",
        f"{prefix}header": header_word(source),
    }


def header_word(source: TableSource) -> str:
    """That one of `HEADERS` which stands for the choice."""
    return next(word for word, has in HEADERS.items() if has == source.has_header)


def _balance(settings: FinetuneSettings) -> str:
    if settings.oversample:
        return "oversample"
    return "weights" if settings.class_weights else "none"


def _changed(settings: FinetuneSettings) -> tuple[tuple[str, Any], ...]:
    """Settings that are not those of the level; some are chosen in other fields."""
    usual = FinetuneSettings(level=settings.level).to_dict()
    # These are proposed anew for another model or table.
    del usual["epochs"], usual["learning_rate"]
    elsewhere = ("level", "max_tokens", "class_weights", "oversample")
    return tuple(
        (name, value)
        for name, value in settings.to_dict().items()
        if name not in elsewhere and value != usual.get(name)
    )


def go_to(step: str) -> None:
    """Opens another step. For callbacks: they run before the step bar is drawn."""
    st.session_state[STEP] = step
