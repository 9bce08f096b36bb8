"""Whole words of several characters or pieces for one mask."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.figures.masked_word import percent
from pages.ui.address import choose_linked
from pages.ui.errors import shown_to_user
from pages.ui.export import download_csv
from pages.ui.language import plain, t
from pages.ui.markdown import Markdown
from pages.ui.masked_word.answers import find_whole_words
from pages.ui.masked_word.asking import Question
from pages.ui.models import language_of

_SIZES = ("2", "3", "4", "1")
_KINDS = {"zh": "characters", "en": "pieces"}
_MOST_SHOWN = 20


@st.fragment
def explore_whole_words(question: Question) -> None:
    """Draws the choice of a length, and the likeliest words of it."""
    kind = _KINDS[language_of(question.model)]
    st.markdown(t(f"masked_panels.whole_{kind}_intro"))
    mask = question.mask
    if mask is None:
        st.info(t("masked_panels.needs_mask"), icon=":material/touch_app:")
        return
    with shown_to_user():
        size = choose_linked(
            st.segmented_control,
            t(f"masked_panels.whole_{kind}"),
            _SIZES,
            key="masked_whole_size",
            required=True,
        )
        found = find_whole_words(
            question.model, question.text, int(size), kind, mask.index
        )
        if not found.words:
            st.info(t("masked_panels.whole_none"), icon=":material/search_off:")
            return
        probs = np.exp(found.log_prob)[:_MOST_SHOWN]
        columns = {
            plain("masked_panels.word"): list(found.words[:_MOST_SHOWN]),
            plain("masked_panels.pieces"): [
                " ".join(pieces) for pieces in found.tokens[:_MOST_SHOWN]
            ],
            plain("masked_panels.probability"): probs.tolist(),
        }
        name = plain("masked_panels.probability")
        shown = columns | {name: [percent(float(prob)) for prob in probs]}
        st.dataframe(shown, hide_index=True, alt=plain("masked_panels.whole_table"))
        bound = Markdown(percent(float(np.exp(found.bound))))
        st.caption(t("masked_panels.whole_bound", bound=bound))
        download_csv(columns, "masked_whole_words")
