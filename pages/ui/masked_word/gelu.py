"""The same checkpoint with the other curve that is called GELU."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.gelu_switch import switch_gelu
from bertviz_core.experiments.layer_results import GeluSwitch
from bertviz_core.figures.masked_panels import signed_bars_figure
from bertviz_core.figures.masked_word import percent
from bertviz_core.snippets import masked_words
from pages.ui.answers import ask
from pages.ui.code import show_code
from pages.ui.errors import shown_to_user
from pages.ui.export import show_figure
from pages.ui.language import plain, t
from pages.ui.markdown import Markdown
from pages.ui.masked_word.asking import Question


@st.fragment
def explore_gelu(question: Question) -> None:
    """Draws the difference between both predictions in numbers."""
    st.markdown(t("masked_panels.gelu_intro"))
    mask = question.mask
    if mask is None:
        st.info(t("masked_panels.needs_mask"), icon=":material/touch_app:")
        return
    with shown_to_user():
        found = ask(switch_gelu)(question.model, question.text)
        _show_numbers(found, mask.index)
        columns = _show_words(found, mask.index)
        _show_differences(found, mask.index, ask(vocabulary)(question.model), columns)
        show_code(
            masked_words.GELU,
            name="masked_gelu",
            model=question.model,
            text=question.text,
            mask_index=mask.index,
        )
    st.page_link(
        "pages/views/activations.py",
        label=t("masked_panels.gelu_curves"),
        icon=":material/show_chart:",
    )


def _show_numbers(found: GeluSwitch, mask_index: int) -> None:
    boxes = st.columns(3)
    boxes[0].metric(
        t("masked_panels.gelu_own"),
        t(f"masked_panels.gelu_{found.own_activation}"),
        help=t("masked_panels.gelu_own_help"),
    )
    boxes[1].metric(
        t("masked_panels.gelu_largest"),
        t(
            "masked_panels.small_number",
            value=float(found.largest_differences[mask_index]),
        ),
        help=t("masked_panels.gelu_largest_help"),
    )
    boxes[2].metric(
        t("masked_panels.gelu_divergence"),
        t("masked_panels.gelu_bits", value=float(found.divergence_bits[mask_index])),
        help=t("masked_panels.gelu_divergence_help"),
    )


def _show_differences(
    found: GeluSwitch,
    mask_index: int,
    words: tuple[str, ...],
    columns: dict[str, list[Any]],
) -> None:
    ids = found.top_ids[0, mask_index]
    own, other = found.own_logits[mask_index], found.other_logits[mask_index]
    show_figure(
        signed_bars_figure(
            [words[int(index)] for index in ids],
            other[ids].astype(float) - own[ids],
            plain("masked_panels.gelu_difference"),
            digits=4,
        ),
        name="masked_gelu",
        description=t("masked_panels.gelu_described"),
        columns=columns,
    )


def _show_words(found: GeluSwitch, mask_index: int) -> dict[str, list[Any]]:
    own, other = (list(found.top_tokens[side][mask_index]) for side in range(2))
    probs = np.exp(found.top_log_probs[:, mask_index])
    names = [
        plain(f"masked_panels.gelu_{activation}")
        for activation in (found.own_activation, found.other_activation)
    ]
    columns: dict[str, list[Any]] = {
        plain("masked_panels.rank"): list(range(1, len(own) + 1))
    }
    shown = dict(columns)
    for name, tokens, row in zip(names, (own, other), probs, strict=True):
        word = plain("masked_panels.word_with", name=name)
        probability = plain("masked_panels.probability_with", name=name)
        columns[word] = shown[word] = tokens
        columns[probability] = row.tolist()
        # More digits than elsewhere: the difference is small.
        shown[probability] = [f"{100 * float(prob):.4f}%" for prob in row]
    st.dataframe(shown, hide_index=True, alt=plain("masked_panels.gelu_table"))
    which = "same" if own == other else "other"
    st.caption(
        t(
            f"masked_panels.gelu_{which}_words",
            best=own[0],
            share=Markdown(percent(float(probs[0, 0]))),
        )
    )
    return columns
