"""Whole words of several characters or pieces for one mask."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.chinese_words import as_one_mask, neighbouring_masks
from bertviz_core.experiments.scoring import score_known_words
from bertviz_core.experiments.whole_word import find_whole_words
from bertviz_core.experiments.word_results import WholeWords
from bertviz_core.figures.masked_word import candidates_figure, percent
from bertviz_core.mask_text import MASK
from bertviz_core.snippets import masked_words
from pages.masked_word import state
from pages.masked_word.question import Question
from pages.shared.answers import ask
from pages.shared.choices import choose_linked
from pages.shared.errors import shown_to_user
from pages.shared.export import show_figure
from pages.shared.jobs import ask_soon
from pages.shared.language import plain, t, words_of
from pages.shared.markdown import Markdown
from pages.shared.models import language_of
from pages.shared.own_text import read_text
from pages.shared.panel import panel
from pages.shared.tools import Program, program

_SIZES = ("1", "2", "3", "4")
_SIZE = "masked_whole_size"
_KINDS = {"zh": "characters", "en": "pieces"}
_MOST_SHOWN = 20
_BEAM = 32  # of `experiments.whole_word.find_whole_words`


@panel
def explore_whole_words(question: Question) -> None:
    """Draws the choice of a length, and the likeliest words of it."""
    kind = _KINDS[language_of(question.model, question.text)]
    st.markdown(t(f"masked_panels.whole_{kind}_intro"))
    masks = range(question.mask_index, question.mask_index + 1)
    if kind == "characters":
        masks = neighbouring_masks(question.tokenized, question.mask_index)
    text = as_one_mask(question.tokenized, masks)
    size = _choose_size(kind, len(masks))
    if len(masks) > 1:
        st.caption(t("masked_panels.whole_run", count=len(masks)))
    found = ask_soon(
        "masked_whole",
        ask(find_whole_words).about(question.model, text, size, kind, masks[0]),
        num_passes=1 + _BEAM * (size - 1),
        num_tokens=question.tokenized.num_tokens + size,
    )
    if found is None:
        return
    chosen = {"text": text, "num_pieces": size, "kind": kind, "mask_index": masks[0]}
    code = program(masked_words.WHOLE_WORDS, question.model, **chosen)
    if not found.words:
        st.info(t("masked_panels.whole_none"), icon=":material/search_off:")
    else:
        shown = found.best(_MOST_SHOWN)
        _show(shown, code)
        state.offer_insertion(read_text(), masks, shown.words, "masked_whole_insert")
    _compare_with_hidden(question.model, text, masks, found)
    if state.take_insertion():
        st.rerun()  # the text has changed, and with it everything above


def _choose_size(kind: str, num_masks: int) -> int:
    """How long a word is; as long as the masks that stand side by side at first."""
    default = str(min(num_masks, len(_SIZES))) if num_masks > 1 else "2"
    chosen = choose_linked(
        st.segmented_control,
        f"masked_panels.whole_{kind}",
        _SIZES,
        default,
        key=_SIZE,
        required=True,
    )
    return int(chosen)


def _show(found: WholeWords, code: Program) -> None:
    probs = np.exp(found.log_prob)
    words = list(found.words)
    show_figure(
        candidates_figure(words, probs, found.log_prob, _words),
        name="masked_whole_words",
        description=t(
            "masked_panels.whole_described",
            word=words[0],
            share=Markdown(percent(float(probs[0]))),
            bound=Markdown(percent(float(np.exp(found.bound)))),
        ),
        columns={
            "masked_panels.word": words,
            "masked_panels.pieces": [" ".join(row) for row in found.tokens],
            "masked_panels.probability": probs,
        },
        code=code,
    )


def _words(name: str) -> str:
    """What the figure says: of a whole word there is no logit."""
    if name == "logit":
        return plain("masked_panels.log_prob")
    return words_of("masked_word")(name)


def _compare_with_hidden(
    model: str, text: str, masks: range, found: WholeWords
) -> None:
    """Says how likely the word was that the reader hid, if one is known."""
    masked = read_text()
    hidden = masked.originals[masks.start : masks.stop]
    if len(hidden) != len(masks) or not all(hidden):
        return
    word = "".join(hidden)
    if MASK in word:
        return
    with shown_to_user(stop=False):
        scores = ask(score_known_words)(model, text, (word,), masks[0])
        if not scores:
            st.markdown(t("masked_panels.words_without_score", words=word))
            return
        (score,) = scores
        written = "".join(token.removeprefix("##") for token in score.tokens)
        share = Markdown(percent(float(np.exp(score.log_prob))))
        if written in found.words:
            rank = 1 + found.words.index(written)
            said = t("masked_panels.whole_hidden", word=word, share=share, rank=rank)
        else:
            places = {"word": word, "share": share, "pieces": len(score.tokens)}
            said = t("masked_panels.whole_hidden_elsewhere", **places)
        st.markdown(said)
