"""The box of sentences that several parts of the page read."""

from __future__ import annotations

import streamlit as st

from bertviz_core.analysis.labelled_lines import (
    LabelledLines,
    bundled_lines,
    read_lines,
)
from bertviz_core.experiments.map_results import MAX_SENTENCES
from bertviz_core.explorer import Explorer
from pages.embeddings.sentence_file import (
    MOST_CHARACTERS,
    forget_taken,
    offer_file,
)
from pages.shared.answers import ask
from pages.shared.choices import type_linked
from pages.shared.language import LANGUAGES, t
from pages.shared.models import language_of, say_if_unread


def edit_sentences(model: str, name: str) -> LabelledLines | None:
    """Draws the box.

    What is typed is part of the address as long as it fits.

    What is typed is part of the address as long as it fits. `None` while there are no
    sentences, or too many.
    """
    key = f"embeddings_{name}"
    language = language_of(model)
    examples = {one: bundled_lines(name, one) for one in LANGUAGES}
    text = type_linked(
        st.text_area,
        t(f"embeddings.{name}_box"),
        examples[language],
        key=key,
        is_main=True,
        max_chars=MOST_CHARACTERS,
        height=180,
        help=t("embeddings.box_help"),
    )
    lines = read_lines(text)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(t("embeddings.sentences_counted", count=len(lines.sentences)))
        st.button(
            t("embeddings.sentences_reset"),
            icon=":material/restart_alt:",
            key=f"{key}_reset",
            on_click=_reset,
            args=(key, examples[language]),
            type="tertiary",
        )
        offer_file(key)
    if not lines.sentences:
        st.info(t("embeddings.no_sentences"), icon=":material/edit:")
        return None
    if (count := len(lines.sentences)) > MAX_SENTENCES:
        told = t("embeddings.too_many_sentences", count=count, limit=MAX_SENTENCES)
        st.warning(told, icon=":material/format_list_numbered:")
        return None
    say_if_unread(
        model, ask(Explorer.tokenize)(model, " ".join(lines.sentences), cut=True)
    )
    return lines


def say_cut(model: str, num_cut: int, num_sentences: int) -> None:
    """Warns where the model could not read sentences to their end."""
    if not num_cut:
        return
    limit = ask(Explorer.info)(model).config.max_position_embeddings
    st.warning(
        t("embeddings.sentences_cut", count=num_cut, all=num_sentences, limit=limit),
        icon=":material/content_cut:",
    )


def _reset(key: str, example: str) -> None:
    forget_taken(key)
    st.session_state[key] = example
