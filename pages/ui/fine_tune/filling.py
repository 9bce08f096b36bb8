"""What a page fills in for one run makes way for another run, unless it was changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st


def begin_boxes(
    place: str, boxes: tuple[str, ...], run: str, find: Callable[[], Mapping[str, str]]
) -> None:
    """Fills boxes that nobody has typed into. Call it before they are drawn.

    Args:
        place: of the boxes; unique.
        boxes: their keys.
        run: id of the run that they ask about.
        find: what to fill in, by key; called where it is needed.
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
    """Puts texts into boxes, and remembers for which run.

    Args:
        place: see `begin_boxes`.
        run: id of the run.
        texts: by key of the box.
    """
    st.session_state[_key(place)] = (run, texts)
    for key, text in texts.items():
        st.session_state[key] = text


def is_of_another(place: str, run: str) -> bool:
    """Whether what was chosen at a place was chosen for another run; said once.

    Args:
        place: unique.
        run: id of the run that is looked at now.
    """
    before = st.session_state.get(_key(place), run)
    st.session_state[_key(place)] = run
    return bool(before != run)


def _key(place: str) -> str:
    return f"{place}_filled_for"
