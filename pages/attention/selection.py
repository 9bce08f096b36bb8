"""What a visitor has chosen in the attention component, and how it is to be drawn.

State of the session under the component's key, so that other parts of the page may
follow it.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.figures.attention_view import SCALES

# `Look` in an address: scale, layout, threshold, added heads counted from 1.
_LINK = re.compile(
    rf"(?P<scale>{'|'.join(SCALES)})_(?P<layout>lying|standing)"
    r"_(?P<threshold>\d(\.\d{1,6})?)_(?P<heads>(\d{1,3}(-\d{1,3})*)?)",
    re.ASCII,
)


@dataclass(frozen=True)
class Selection:
    """What a visitor has chosen.

    Args:
        layer, head: from 0.
        from_token, to_token: a locked row, column or cell, as tokens of the text,
            whatever filters leave of it; `None` is every token.
        text_key: of the text that these tokens belong to, `AttentionView.text_key`.
    """

    layer: int = 0
    head: int = 0
    from_token: int | None = None
    to_token: int | None = None
    text_key: str = ""


@dataclass(frozen=True)
class Look:
    """How a visitor wants the pictures drawn.

    Args:
        scale, is_lying, threshold, heads: see `AttentionView`.
    """

    scale: str = "linear"
    is_lying: bool = False
    threshold: float = 0.05
    heads: tuple[int, ...] = ()

    def as_link(self) -> str:
        """The same in a few characters, for the address of a page."""
        heads = "-".join(str(head + 1) for head in self.heads)
        layout = "lying" if self.is_lying else "standing"
        return f"{self.scale}_{layout}_{self.threshold:g}_{heads}"

    @classmethod
    def of_link(cls, link: str) -> Look:
        """What `as_link` has written; of another text, the defaults."""
        written = _LINK.fullmatch(link)
        if written is None:
            return cls()
        heads = filter(None, written["heads"].split("-"))
        return cls(
            written["scale"],
            written["layout"] == "lying",
            min(float(written["threshold"]), 1.0),
            tuple(int(head) - 1 for head in heads),
        )


def current_selection(
    key: str,
    num_layers: int,
    num_heads: int,
    num_tokens: int = 0,
    text_key: str | None = None,
) -> Selection:
    """What is chosen, before the component is drawn: the page has to fetch that head.

    A choice that another model or text has left behind is moved inside, or dropped;
    `text_key` of `None` keeps the tokens of any text.
    """
    raw = _stored(key)
    locked_in = str(raw.get("text", ""))
    is_same_text = text_key in (None, locked_in)

    def token(name: str) -> int | None:
        index = raw.get(name) if is_same_text else None
        return index if isinstance(index, int) and 0 <= index < num_tokens else None

    return Selection(
        min(max(int(raw.get("layer", 0)), 0), num_layers - 1),
        min(max(int(raw.get("head", 0)), 0), num_heads - 1),
        token("from"),
        token("to"),
        locked_in,
    )


def current_look(
    key: str, layer: int, num_heads: int, default: Look | None = None
) -> Look:
    """How the pictures are to be drawn, before they are.

    Heads that were added to another layer's lines are dropped; `default` is of a
    visitor who has changed nothing.
    """
    raw, default = _stored(key), default or Look()
    heads = default.heads
    if raw:
        heads = raw.get("heads") or () if raw.get("layer") == layer else ()
    scale = raw.get("scale")
    return Look(
        scale if scale in SCALES else default.scale,
        bool(raw.get("lying", default.is_lying)),
        float(raw.get("threshold", default.threshold)),
        tuple(sorted({int(head) for head in heads if 0 <= int(head) < num_heads})),
    )


def head_was_chosen(key: str) -> int:
    """When the visitor last chose a head in the component, 0 for never.

    A number that is another one after each choice, also of the head that was chosen
    already: a click on it leaves what was put together of many heads.
    """
    return int(_stored(key).get("chosenAt") or 0)


def is_speaking(key: str) -> bool:
    """Whether the component has asked for this run, not a widget of the page.

    For callbacks of widgets that follow it: what they say then is older than it.
    """
    turn = last_turn(key)
    has_shown = bool((st.session_state.get(key) or {}).get("shown"))
    return has_shown or turn not in (0, st.session_state.get(_heard(key)))


def select(key: str, selection: Selection) -> None:
    """Chooses for the visitor. Call it before the component is drawn, in a callback."""
    stored = _stored(key)
    # Those that were added to the lines of another head are not this one's.
    is_same = stored.get("head") == selection.head
    added = current_look(key, selection.layer, sys.maxsize).heads if is_same else ()
    st.session_state.setdefault(key, {})["selection"] = {
        **stored,
        "heads": list(added),
        "layer": selection.layer,
        "head": selection.head,
        "from": selection.from_token,
        "to": selection.to_token,
        "text": selection.text_key,
        "turn": 0,
    }


def key_of_tokens(tokens: Sequence[str], segments: np.ndarray) -> str:
    """What tells a text from others in `Selection`.

    Short, for it travels with every choice; `segments` has 0 for tokens of the first
    text, 1 for those of the second.
    """
    read = repr((tuple(tokens), segments.tolist()))
    return hashlib.blake2s(read.encode(), digest_size=8).hexdigest()


def held_by_browser(key: str) -> str | None:
    """What the component says that it holds, see `AttentionView.held`."""
    return _stored(key).get("holds")


def last_turn(key: str) -> int:
    """The turn of the last choice, for a view that takes account of it.

    Returns:
        0 where the page has chosen since, see `select`.
    """
    return int(_stored(key).get("turn", 0))


def hear(key: str) -> None:
    """Takes note of what the component has said until now, see `is_speaking`."""
    # Later runs hear the browser's own last turn again, whatever `select` has put.
    if turn := last_turn(key):
        st.session_state[_heard(key)] = turn


def _heard(key: str) -> str:
    return f"{key}_heard"


def _stored(key: str) -> dict[str, Any]:
    state = st.session_state.get(key) or {}
    return dict(state.get("selection") or {})
