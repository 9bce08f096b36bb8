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
from pages.ui.answers import ask
from pages.ui.embeddings.sentence_file import forget_taken, offer_file
from pages.ui.language import LANGUAGES, t
from pages.ui.linked import write_text
from pages.ui.models import language_of, say_if_unread
from pages.ui.own_text import watch_boxes

_MOST_CHARACTERS = 60_000


def edit_sentences(model: str, name: str) -> LabelledLines | None:
    """Draws the box.

    What is typed is part of the address as long as it fits.

    Args:
        model: its language chooses the sentences at first.
        name: of the bundled set, and of the widget.

    Returns:
        The sentences; `None` while there are none, or too many.
    """
    key = f"embeddings_{name}"
    language = language_of(model)
    _begin(key, name, language)
    text = st.text_area(
        t(f"embeddings.{name}_box"),
        key=key,
        height=180,
        max_chars=_MOST_CHARACTERS,
        help=t("embeddings.box_help"),
        persist_state="session",
    )
    text = (text or "").strip()
    write_text(key, text, bundled_lines(name, language))
    lines = read_lines(text)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(t("embeddings.sentences_counted", count=len(lines.sentences)))
        st.button(
            t("embeddings.sentences_reset"),
            icon=":material/restart_alt:",
            key=f"{key}_reset",
            on_click=_reset,
            args=(key, name, language),
            type="tertiary",
        )
        offer_file(key, MAX_SENTENCES, _MOST_CHARACTERS)
    if not lines.sentences:
        st.info(t("embeddings.no_sentences"), icon=":material/edit:")
        return None
    if len(lines.sentences) > MAX_SENTENCES:
        st.warning(
            t(
                "embeddings.too_many_sentences",
                count=len(lines.sentences),
                limit=MAX_SENTENCES,
            ),
            icon=":material/format_list_numbered:",
        )
        return None
    say_if_unread(
        model, ask(Explorer.tokenize)(model, " ".join(lines.sentences), cut=True)
    )
    return lines


def say_cut(model: str, num_cut: int, num_sentences: int) -> None:
    """Warns where the model could not read sentences to their end.

    Args:
        model: its id.
        num_cut: sentences that are longer than it reads.
        num_sentences: all of them.
    """
    if not num_cut:
        return
    limit = ask(Explorer.info)(model).config.max_position_embeddings
    st.warning(
        t("embeddings.sentences_cut", count=num_cut, all=num_sentences, limit=limit),
        icon=":material/content_cut:",
    )


def _begin(key: str, name: str, language: str) -> None:
    now = st.session_state.get(key)
    watch_boxes((key,), [(bundled_lines(name, one),) for one in LANGUAGES])
    others = [bundled_lines(name, other) for other in LANGUAGES if other != language]
    if now is None:
        st.session_state[key] = st.query_params.get(key) or bundled_lines(
            name, language
        )
    elif now.strip() in others:  # untouched: follows the model
        st.session_state[key] = bundled_lines(name, language)


def _reset(key: str, name: str, language: str) -> None:
    forget_taken(key)
    st.session_state[key] = bundled_lines(name, language)
