"""How well words and sentences fit, in the model's eyes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.experiments.scoring import score_known_words
from bertviz_core.experiments.word_results import WordScore
from bertviz_core.figures.masked_panels import signed_bars_figure
from bertviz_core.figures.masked_word import percent
from bertviz_core.snippets import masked_sentences
from pages.masked_word.question import Question
from pages.masked_word.sentence_scores import show_pair_score, show_sentence_score
from pages.shared.answers import ask
from pages.shared.choices import choose_named, type_linked
from pages.shared.code import Program, program
from pages.shared.export import show_figure
from pages.shared.jobs import ask_soon
from pages.shared.language import listed, plain, t
from pages.shared.markdown import Markdown
from pages.shared.panel import panel

_KINDS = ("word", "sentence", "pair")
_VARIANTS = ("within_word", "naive")
_MOST_WORDS = 50
_PIECES_A_WORD = 2  # about
_NUM_OFFERED = 3


@panel
def explore_scores(model: str, question: Question | None = None) -> None:
    """Draws the choice of what to score, and its score.

    Where there is no text, there is no `question`.
    """
    kind = choose_named(
        "masked_panels.score_what", _KINDS, "score", key="masked_score_kind"
    )
    st.markdown(t(f"masked_panels.score_{kind}_intro"))
    if kind == "word":
        _score_words(question)
        return
    variant = choose_named(
        "masked_panels.variant", _VARIANTS, "variant", key="masked_score_variant"
    )
    if kind == "sentence":
        show_sentence_score(model, variant)
    else:
        show_pair_score(model, variant)


def _score_words(question: Question | None) -> None:
    if question is None:
        st.info(t("masked_panels.needs_prediction"), icon=":material/edit:")
        return
    mask = question.mask
    if mask is None:
        st.info(t("masked_panels.needs_mask"), icon=":material/touch_app:")
        return
    typed = type_linked(
        st.text_input,
        t("masked_panels.words_to_score"),
        listed(mask.vocabulary[index] for index in mask.words_alone(_NUM_OFFERED)),
        key="masked_score_words",
        help=t("masked_panels.words_to_score_help"),
        max_chars=1000,
    )
    words = [word for word in re.split(r"[,，、;；\s]+", typed) if word]
    words = list(dict.fromkeys(words))[:_MOST_WORDS]
    if not words:
        return
    asked = (question.model, question.text, tuple(words), mask.index)
    scores = ask_soon(
        "masked_word_scores",
        ask(score_known_words).about(*asked),
        num_passes=_PIECES_A_WORD * len(words),
        num_tokens=question.tokenized.num_tokens,
    )
    if scores is None:
        return
    scored = tuple(score.word for score in scores)
    left_out = [word for word in words if word not in scored]
    if left_out:
        st.warning(
            t("masked_panels.words_without_score", words=listed(left_out)),
            icon=":material/question_mark:",
        )
    if scored:
        code = program(
            masked_sentences.WORD_SCORES,
            **question.program,
            words=scored,
            mask_index=mask.index,
        )
        _show_words(sorted(scores, key=lambda score: -score.log_prob), code)


def _show_words(order: list[WordScore], code: Program) -> None:
    probs = [float(np.exp(score.log_prob)) for score in order]
    values = np.array([score.log_prob for score in order])
    best = order[0]
    show_figure(
        signed_bars_figure(
            [score.word for score in order], values, plain("masked_panels.log_prob")
        ),
        name="masked_word_scores",
        description=t(
            "masked_panels.words_described",
            word=best.word,
            share=Markdown(percent(probs[0])),
            pieces=len(best.tokens),
        ),
        columns=_piece_columns(order),
        code=code,
    )
    shown = {
        plain("masked_panels.word"): [score.word for score in order],
        plain("masked_panels.probability"): [percent(prob) for prob in probs],
        plain("masked_panels.log_prob"): values.tolist(),
        plain("masked_panels.pieces"): [" ".join(score.tokens) for score in order],
        plain("masked_panels.piece_ranks"): [
            " ".join(map(str, score.ranks.tolist())) for score in order
        ],
        plain("masked_panels.piece_log_probs"): [
            " ".join(f"{value:.2f}" for value in score.log_probs) for score in order
        ],
    }
    st.dataframe(shown, hide_index=True, alt=plain("masked_panels.words_table"))


def _piece_columns(order: list[WordScore]) -> dict[str, list[Any]]:
    """A row for each piece of each word, so that every number stays one in a file."""
    rows = [
        (score.word, float(np.exp(score.log_prob)), score.log_prob, *piece)
        for score in order
        for piece in zip(
            score.tokens, score.ranks.tolist(), score.log_probs.tolist(), strict=True
        )
    ]
    names = (
        "word", "probability", "log_prob", "pieces", "piece_ranks", "piece_log_probs",
    )  # fmt: skip
    cells = zip(*rows, strict=True)
    return {
        plain(f"masked_panels.{name}"): list(column)
        for name, column in zip(names, cells, strict=True)
    }
