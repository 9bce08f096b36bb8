"""What the model reads: the tokens, how many of them fit, which are unknown."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.explorer import Explorer
from bertviz_core.mask_text import MASK
from bertviz_core.trace import TokenizedText
from pages.shared.answers import ask
from pages.shared.language import in_a_row, t
from pages.shared.markdown import escape
from pages.shared.models import say_if_unread

_MANY = 100  # tokens; more get a box that scrolls
_SOME = 8  # words in a sentence


def show_reading(model: str, tokenized: TokenizedText) -> None:
    """Draws the counter and the tokens, and what is left out of a long text."""
    limit = ask(Explorer.info)(model).config.max_position_embeddings
    if tokenized.was_cut:
        _show_cut(tokenized, limit)
    badges = " ".join(_badges(tokenized))
    if tokenized.num_tokens > _MANY:
        st.container(height=220).markdown(badges)
    else:
        st.markdown(badges)
    counter = t("masked_word.counter", count=tokenized.num_tokens, limit=limit)
    st.caption(in_a_row((counter, t("masked_word.tokens_legend"))))
    say_if_unread(model, tokenized)
    _explain_unknown(tokenized)


def _show_cut(tokenized: TokenizedText, limit: int) -> None:
    left_out = tokenized.text[int(tokenized.offsets[:, 1].max()) :]
    st.warning(
        t(
            "masked_word.was_cut",
            limit=limit,
            count=tokenized.num_tokens_uncut - tokenized.num_tokens,
            start=" ".join(left_out[:200].split())[:60],
            masks=left_out.count(MASK),
        ),
        icon=":material/content_cut:",
    )


def _badges(tokenized: TokenizedText) -> list[str]:
    """A Markdown badge for each token; a sign, not colour alone, marks a kind."""
    badges = []
    for index, token in enumerate(tokenized.tokens):
        colour, sign = "gray", ""
        if tokenized.input_ids[index] == tokenized.mask_token_id:
            colour, sign = "blue", ":material/visibility_off: "
        elif tokenized.is_unknown[index]:
            colour, sign = "red", ":material/question_mark: "
        token_id = tokenized.input_ids[index]
        badges.append(f":{colour}-badge[{sign}**{escape(token, 40)}** {token_id}]")
    return badges


def _explain_unknown(tokenized: TokenizedText) -> None:
    places = tokenized.offsets[np.flatnonzero(tokenized.is_unknown)]
    words = list(dict.fromkeys(tokenized.text[start:end] for start, end in places))
    if words:
        some = " ".join(words[:_SOME]) + (" …" if len(words) > _SOME else "")
        st.warning(
            t("masked_word.unknown", words=some, count=len(words)),
            icon=":material/question_mark:",
        )
