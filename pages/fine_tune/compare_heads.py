"""Where the attention went: all heads on one text, then one head in full."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.analysis.shown_attention import AttentionOptions, show_attention
from bertviz_core.engine.finetuned_tasks import head_change
from bertviz_core.experiments.attention_matrix import attention_matrix
from bertviz_core.explorer import Explorer
from bertviz_core.figures.attention_pictures import difference_thumbnails
from bertviz_core.figures.attention_view import Measure
from bertviz_core.figures.value_map import value_map_figure
from bertviz_core.finetune.outcome import RunOutcome
from bertviz_core.trace import Texts
from pages.attention.difference import show_difference
from pages.fine_tune.text_boxes import begin_boxes, row_texts, type_texts
from pages.fine_tune.widgets import draw_figure
from pages.shared.answers import ask
from pages.shared.language import plain, t

_PLACE, _BOX = "ft_compare", ("ft_compare_text", "ft_compare_pair")
_MOST_CHARACTERS = 1000


def show_heads(base: str, outcome: RunOutcome) -> None:
    """Draws the change of every head, and the difference of the one that is chosen."""
    texts = _edit(outcome)
    if texts is None:
        st.info(t("fine_tune_results.try_empty"), icon=":material/edit:")
        return
    changes = ask(head_change)(outcome.run_id, texts.text, texts.pair).distances
    if not changes.any():
        st.info(t("fine_tune_results.heads_still"), icon=":material/ac_unit:")
        return
    _draw_all(changes)
    layer, head = _choose_head(changes)
    _show_one(base, outcome.model_id, texts, layer, head)


def _edit(outcome: RunOutcome) -> Texts | None:
    """Draws the boxes; at first they hold a row that was set aside."""

    def first_row() -> dict[str, str]:
        return row_texts(outcome, 0, _BOX, _MOST_CHARACTERS)

    begin_boxes(_PLACE, _BOX, outcome.run_id, first_row)
    labels = {_BOX[0]: t("fine_tune_results.heads_text")}
    if outcome.has_pairs:
        labels[_BOX[1]] = t("fine_tune_results.try_pair")
    return type_texts(st.text_input, labels, _MOST_CHARACTERS)


def _draw_all(changes: np.ndarray) -> None:
    """The map of all heads; `changes` is `[L, N]`."""
    num_layers, num_heads = changes.shape
    layers, heads = range(1, num_layers + 1), range(1, num_heads + 1)
    layer, head = _most_changed(changes)
    draw_figure(
        value_map_figure(
            changes,
            [str(number) for number in layers],
            [str(number) for number in heads],
            title=plain("fine_tune_results.figure_gone"),
            row_title=plain("fine_tune_results.figure_layer"),
            column_title=plain("fine_tune_results.head"),
            is_signed=False,
        ),
        name="ft_compare_heads",
        description=t(
            "fine_tune_results.heads_described",
            layer=layer + 1,
            head=head + 1,
            share=float(changes[layer, head]),
        ),
        columns={
            "fine_tune_results.figure_layer": np.repeat(layers, num_heads),
            "fine_tune_results.head": [*heads] * num_layers,
            "fine_tune_results.figure_gone": changes.ravel(),
        },
    )


def _most_changed(changes: np.ndarray) -> tuple[int, int]:
    layer, head = np.unravel_index(int(changes.argmax()), changes.shape)
    return int(layer), int(head)


def _choose_head(changes: np.ndarray) -> tuple[int, int]:
    """The layer and the head that are shown in full; at first the most changed one."""
    names = (t("fine_tune_results.figure_layer"), t("fine_tune_results.head"))
    chosen = [
        box.selectbox(
            name,
            range(count),
            index=first,
            format_func=lambda number: str(number + 1),
            key=key,
        )
        for box, name, count, first, key in zip(
            st.columns(2),
            names,
            changes.shape,
            _most_changed(changes),
            _head_keys(changes),
            strict=True,
        )
    ]
    return chosen[0] or 0, chosen[1] or 0


def _head_keys(heads: np.ndarray) -> tuple[str, str]:
    """Of the boxes that choose a layer and a head; `heads` is `[L, N, ...]`."""
    num_layers, num_heads = heads.shape[:2]
    return f"ft_compare_head_layer_{num_layers}", f"ft_compare_head_{num_heads}"


def _show_one(base: str, trained: str, texts: Texts, layer: int, head: int) -> None:
    tokenized = ask(Explorer.tokenize)(base, texts.text, texts.pair, cut=True)
    first, second = (
        ask(attention_matrix)(model, texts, "head", layer, head)
        for model in (base, trained)
    )
    measure = Measure(
        plain("attention_view.shown_head"), plain("attention_view.unit_weight")
    )
    title = plain("fine_tune_results.after_less_before")
    options = AttentionOptions()
    sides = (base, texts, trained, texts, (None, None), options)
    thumbnails = ask(difference_thumbnails)(*sides)
    shown = show_attention(second, tokenized, options)

    def choose(layer: int, head: int) -> None:
        for key, index in zip(_head_keys(thumbnails), (layer, head), strict=True):
            st.session_state[key] = index

    show_difference(
        second - first,
        shown.places,
        thumbnails,
        sides,
        measure,
        layer=layer,
        head=head,
        title=title,
        name="ft_compare_attention",
        on_head=choose,
        describe=lambda row, column, value: t(
            "fine_tune_results.attention_described",
            layer=layer + 1,
            head=head + 1,
            row=row,
            column=column,
            value=value,
        ),
    )
