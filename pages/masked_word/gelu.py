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
from pages.masked_word.question import Question
from pages.shared.answers import ask
from pages.shared.export import show_figure, show_table
from pages.shared.language import plain, t
from pages.shared.markdown import Markdown
from pages.shared.panel import panel, show_numbers
from pages.shared.tools import program


@panel
def explore_gelu(question: Question) -> None:
    """Draws the difference between both predictions in numbers."""
    st.markdown(t("masked_panels.gelu_intro"))
    place = question.mask_index
    found = ask(switch_gelu)(question.model, question.text)
    largest = float(found.largest_differences[place])
    divergence = float(found.divergence_bits[place])
    show_numbers(
        {
            "masked_panels.gelu_own": t(f"masked_panels.gelu_{found.own_activation}"),
            "masked_panels.gelu_largest": t(
                "masked_panels.small_number", value=largest
            ),
            "masked_panels.gelu_divergence": t(
                "masked_panels.gelu_bits", value=divergence
            ),
        }
    )
    columns = _show_words(found, place)
    words, ids = ask(vocabulary)(question.model), found.top_ids[0, place]
    own, other = found.own_logits[place], found.other_logits[place]
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
        code=program(masked_words.GELU, **question.program, mask_index=place),
    )
    st.page_link(
        "pages/activations/activations.py",
        label=t("masked_panels.gelu_curves"),
        icon=":material/show_chart:",
    )


def _show_words(found: GeluSwitch, mask_index: int) -> dict[str, list[Any]]:
    own, other = (list(found.top_tokens[side][mask_index]) for side in range(2))
    probs = np.exp(found.top_log_probs[:, mask_index])
    columns: dict[str, list[Any]] = {"masked_panels.rank": list(range(1, len(own) + 1))}
    shown = dict(columns)
    activations = (found.own_activation, found.other_activation)
    for activation, tokens, row in zip(activations, (own, other), probs, strict=True):
        name = plain(f"masked_panels.gelu_{activation}")
        word = plain("masked_panels.word_with", name=name)
        probability = plain("masked_panels.probability_with", name=name)
        columns[word] = shown[word] = tokens
        columns[probability] = row.tolist()
        # More digits than elsewhere: the difference is small.
        shown[probability] = [f"{100 * float(prob):.4f}%" for prob in row]
    show_table(shown, plain("masked_panels.gelu_table"))
    which = "same" if own == other else "other"
    places = {"best": own[0], "share": Markdown(percent(float(probs[0, 0])))}
    st.caption(t(f"masked_panels.gelu_{which}_words", **places))
    return columns
