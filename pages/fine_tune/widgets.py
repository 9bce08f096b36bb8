"""What the steps of the fine-tuning page draw and say alike."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.engine.finetune_tasks import report_rows
from bertviz_core.trace import Texts
from bertviz_core.training.finetune.checks import DataRow
from bertviz_core.training.finetune.notes import Note
from bertviz_core.training.finetune.request import RunOutcome
from bertviz_core.visitor_files import lease_seconds
from pages.shared.answers import ask
from pages.shared.choices import choose_named, type_linked
from pages.shared.errors import sentence
from pages.shared.language import help_of, plain, t


def share_text(share: float) -> str:
    """A share in percent."""
    return plain("results.share", share=float(share))


def interval_text(ends: Sequence[float] | np.ndarray, key: str = "interval") -> str:
    """An interval of 95 %, if rows were enough for one; `key` is that of its text."""
    low, high = map(float, ends)
    if math.isnan(low):
        return plain("results.interval_none")
    return plain(f"results.{key}", low=low, high=high)


def text_columns(rows: Sequence[DataRow]) -> dict[str, list[Any]]:
    """Texts of rows, and second ones where there are any, by keys of their titles."""
    columns: dict[str, list[Any]] = {"results.text": [row.text for row in rows]}
    if rows and rows[0].pair is not None:
        columns["results.second_text"] = [row.pair for row in rows]
    return columns


def say(note: Note) -> str:
    """A sentence of the core, as Markdown."""
    template, details = note
    return sentence(template, dict(details))


def show_notes(notes: Sequence[Note]) -> None:
    """Draws notes as a list; nothing where there is none."""
    if notes:
        st.markdown("\n".join(f"- {say(note)}" for note in notes))


def show_warnings(notes: Sequence[Note]) -> None:
    """Draws notes that nobody may miss; nothing where there is none."""
    if notes:
        said = "\n".join(f"- {say(note)}" for note in notes)
        st.warning(said, icon=":material/warning:")


def duration(seconds: float) -> str:
    """A time for a reader: seconds, minutes or hours, two digits at most."""
    if seconds < 1.5:
        return t("fine_tune.one_second")
    if seconds < 100:
        return t("fine_tune.seconds", count=round(seconds))
    if seconds < 100 * 60:
        return t("fine_tune.minutes", count=round(seconds / 60))
    return t("fine_tune.hours", count=seconds / 3600)


def lease() -> str:
    """How long the engine keeps what nobody asks for, for a reader."""
    return duration(lease_seconds())


def row_texts(outcome: RunOutcome, index: int, most: int) -> tuple[str, str]:
    """A row that was set aside, each text cut to `most` characters."""
    row = ask(report_rows)(outcome.run_id, (index,))[0]
    return row.text[:most], (row.pair or "")[:most]


def type_texts(
    widget: Callable[..., object],
    labels: Mapping[str, str],
    first: tuple[str, str],
    most: int,
) -> Texts | None:
    """Draws a box for a text, and one for a second text if `labels` has two.

    `labels` are by key of the box, `first` is there until somebody types; `None` where
    a box is empty.
    """
    typed = [
        type_linked(widget, label, default, key=key, max_chars=most)
        for (key, label), default in zip(labels.items(), first, strict=False)
    ]
    return Texts(*typed) if all(typed) else None


def draw_field(
    widget: Callable[..., object],
    label: str,
    value: object,
    options: Sequence[str] | None = None,
    *,
    key: str,
    take: Callable[..., object],
    args: tuple[Any, ...] = (),
    say: Callable[[str], str] = str,
    **arguments: Any,
) -> None:
    """Draws what something else remembers: `take` hands over what was entered.

    `label` is the key of a text, `say` names an option for the reader.
    """
    st.session_state[key] = value
    if options is not None:
        # Named now: the language belongs to this run.
        names = {option: say(option) for option in options}
        arguments |= {"options": options, "format_func": names.__getitem__}
    arguments["help"] = arguments.get("help") or help_of(label)
    widget(t(label), key=key, on_change=take, args=args, **arguments)


def choose_panel(label: str, panels: Iterable[str], key: str) -> str:
    """Draws a choice of questions, of which one is open."""
    panels = tuple(panels)
    return choose_named(label, panels, "panel", key=key, widget=st.pills)
