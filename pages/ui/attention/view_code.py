"""The program behind the pictures: how the matrix that they show is made."""

from __future__ import annotations

from bertviz_core.snippets import attention as programs
from pages.ui.attention.controls import METHODS, View
from pages.ui.code import show_code
from pages.ui.text_pair import Texts

_PROGRAMS = {
    "head": programs.HEAD,
    "layer": programs.LAYER,
    "chosen": programs.CHOSEN,
    "mean": programs.MEAN,
    "max": programs.MAX,
    "rollout": programs.ROLLOUT,
    "norms": programs.NORMS,
    "value_zeroing": programs.VALUE_ZEROING,
}


def show_view_code(model: str, texts: Texts, view: View) -> None:
    """Draws the program, folded up at first.

    Args:
        model: its id.
        texts: what it reads.
        view: what is shown; filters are left out.
    """
    asks_layer, asks_head = METHODS[view.method]
    values: dict[str, object] = {"text": texts.text, "pair": texts.pair}
    if asks_layer:
        values["layer"] = view.layer
    if asks_head:
        values["head"] = view.head
    if view.method == "chosen":
        values["heads"] = view.heads
    template = _PROGRAMS[view.method]
    show_code(template, name="attention_view", model=model, **values)
