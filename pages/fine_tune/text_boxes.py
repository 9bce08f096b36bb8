"""What a page fills in for one run makes way for another run, unless it was changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from bertviz_core.engine.finetune_tasks import report_rows
from bertviz_core.finetune.outcome import RunOutcome
from bertviz_core.trace import Texts
from pages.shared.answers import ask
from pages.shared.choices import type_linked


def begin_boxes(
    place: str, boxes: tuple[str, ...], run: str, find: Callable[[], Mapping[str, str]]
) -> None:
    """Fills boxes that nobody has typed into. Call it before they are drawn.

    `find` is called where there is something to fill in.
    """
    known = {*st.session_state, *st.query_params}
    filled: tuple[str, Mapping[str, str]] | None = st.session_state.get(_key(place))
    if filled is None:
        is_free = not known.intersection(boxes)
    else:
        by, texts = filled
        is_same = all(st.session_state.get(key) == text for key, text in texts.items())
        is_free = by != run and is_same
    if is_free:
        fill_boxes(place, run, find())
    elif filled is None:
        # A link may have brought what was filled in before.
        st.session_state[_key(place)] = (run, find())


def fill_boxes(place: str, run: str, texts: Mapping[str, str]) -> None:
    """Puts texts into boxes, and remembers for which run."""
    st.session_state[_key(place)] = (run, texts)
    st.session_state.update(texts)


def row_texts(
    outcome: RunOutcome, index: int, boxes: tuple[str, ...], most: int
) -> dict[str, str]:
    """A row that was set aside, by box; a text is cut to `most` characters."""
    row = ask(report_rows)(outcome.run_id, (index,))[0]
    texts = (row.text, row.pair or "") if outcome.has_pairs else (row.text,)
    return {key: text[:most] for key, text in zip(boxes, texts, strict=False)}


def type_texts(
    widget: Callable[..., object], labels: Mapping[str, str], most: int
) -> Texts | None:
    """Draws a box for a text, and one for a second text if `labels` has two.

    `labels` are by key of the box; `None` where a box is empty.
    """
    typed = [
        type_linked(widget, label, "", key=key, max_chars=most)
        for key, label in labels.items()
    ]
    return Texts(*typed) if all(typed) else None


def is_of_another(place: str, run: str) -> bool:
    """Whether what was chosen at a place was chosen for another run; said once."""
    before = st.session_state.get(_key(place), run)
    st.session_state[_key(place)] = run
    return bool(before != run)


def _key(place: str) -> str:
    return f"{place}_filled_for"
