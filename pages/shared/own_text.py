"""Texts of a visitor's own, in the boxes of all pages.

A box shows an example at first, which follows the language of the model. What else it
holds is the visitor's: typed, changed, chosen, or come with a link.
"""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

# By the keys of boxes that belong together: what they hold untouched, in any language.
_UNTOUCHED: dict[tuple[str, ...], frozenset[tuple[str, ...]]] = {}


def watch_boxes(keys: tuple[str, ...], untouched: Iterable[tuple[str, ...]]) -> None:
    """Names boxes whose texts are looked at; the last word on a box counts.

    Args:
        keys: of boxes that belong together.
        untouched: what they hold together at first, in each language.
    """
    _UNTOUCHED[keys] = frozenset(untouched)


def own_texts() -> tuple[str, ...]:
    """What boxes hold that is no longer untouched, be it nothing any more.

    Boxes that were not drawn yet in this session hold nothing of the visitor's.
    """
    found = []
    for keys, untouched in _UNTOUCHED.items():
        held = tuple((st.session_state.get(key) or "").strip() for key in keys)
        if keys[0] in st.session_state and held not in untouched:
            found.append(" ".join(held))
    return tuple(found)
