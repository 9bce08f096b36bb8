"""How well words and sentences fit, in the model's eyes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.experiments.scoring import (
    score_known_words,
    score_minimal_pair,
    score_sentence,
)
from bertviz_core.experiments.word_results import MinimalPair, SentenceScore, WordScore
from bertviz_core.explorer import Explorer
from bertviz_core.figures.bars import signed_bars_figure
from bertviz_core.figures.masked_word import percent
from bertviz_core.mask_text import normalise_masks
from bertviz_core.snippets import masked_sentences
from pages.masked_word.question import Question
from pages.shared.answers import ask
from pages.shared.choices import choose_named, type_linked
from pages.shared.export import show_figure
from pages.shared.jobs import ask_soon
from pages.shared.language import listed, plain, t
from pages.shared.markdown import Markdown
from pages.shared.models import language_of
from pages.shared.panel import panel
from pages.shared.tools import Program, program

_PAIRS = {
    "en": ("The keys to the cabinet are here.", "The keys to the cabinet is here."),
    "zh": ("我喝了一杯水。", "我喝了一座水。"),
}


def _score_sentences(model: str, kind: str) -> None:
    """Draws a text box or two, and the score of the text or of both."""
    variant = choose_named(
        "masked_panels.variant", _VARIANTS, key="masked_score_variant"
    )
    boxes = _BOXES[kind]
    examples = _PAIRS[language_of(model)][: len(boxes)]
    texts = {
        name: normalise_masks(
            type_linked(
                box.text_input,
                f"masked_panels.{label}",
                example,
                key=f"masked_score_{name}",
                max_chars=3000,
            )
        )[0]
        for box, (name, label), example in zip(
            st.columns(len(boxes)), boxes.items(), examples, strict=True
        )
    }
    if not all(texts.values()):
        return
    read = [ask(Explorer.tokenize)(model, text, cut=True) for text in texts.values()]
    size = sum(one.num_tokens for one in read)
    places: dict[str, Any] = {**texts, "variant": variant}
    if kind == "sentence":
        asked = ask(score_sentence).about(model, **places)
        score = ask_soon("masked_sentence_score", asked, size, size)
        if score is not None:
            code = program(masked_sentences.SENTENCE_SCORE, model, **places)
            _show_sentence(score, code)
        return
    both = ask(score_minimal_pair).about(model, **places)
    pair = ask_soon("masked_minimal_pair", both, size, size / 2)
    if pair is not None:
        _show_pair(pair, program(masked_sentences.MINIMAL_PAIR, model, **places))


def _show_sentence(score: SentenceScore, code: Program) -> None:
    tokens = [score.tokenized.tokens[i] for i in score.positions]
    _show_totals((score,))
    weakest = int(score.log_probs.argmin())
    show_figure(
        signed_bars_figure(tokens, score.log_probs, plain("masked_panels.log_prob")),
        name="masked_sentence_score",
        description=t(
            "masked_panels.sentence_described",
            token=tokens[weakest],
            share=Markdown(percent(float(np.exp(score.log_probs[weakest])))),
        ),
        columns={
            "masked_panels.token": tokens,
            "masked_panels.log_prob": score.log_probs,
            "masked_panels.rank": score.ranks,
        },
        code=code,
    )


def _show_totals(scores: tuple[SentenceScore, ...]) -> None:
    for box, score in zip(st.columns(len(scores)), scores, strict=True):
        box.metric(
            t("masked_panels.total"),
            t("masked_panels.log_value", value=score.log_prob),
            t("masked_panels.perplexity", value=score.perplexity),
            delta_color="off",
            delta_arrow="off",
            help=t("masked_panels.total_help"),
        )


def _show_pair(pair: MinimalPair, code: Program) -> None:
    """Draws which of the two is preferred, and where that comes from."""
    _show_totals((pair.first, pair.second))
    winner = "first" if pair.difference > 0 else "second"
    st.markdown(
        t(f"masked_panels.prefers_{winner}", value=abs(pair.difference))
        if pair.difference
        else t("masked_panels.pair_equal")
    )
    columns: dict[str, list[Any]] = {}
    tokens, values = [], []
    for name, score, places in zip(
        ("first", "second"), (pair.first, pair.second), pair.aligned.T, strict=True
    ):
        read = [score.tokenized.tokens[position] for position in score.positions]
        # A token that the other sentence lacks is aligned with -1.
        tokens.append([[*read, ""][i] for i in places])
        values.append(np.append(score.log_probs, np.nan)[places])
        columns[f"masked_panels.{name}_token"] = tokens[-1]
        columns[f"masked_panels.{name}_log"] = values[-1].tolist()
    names = [a if a == b else f"{a} | {b}" for a, b in zip(*tokens, strict=True)]
    show_figure(
        signed_bars_figure(
            names, values[0] - values[1], plain("masked_panels.first_less_second")
        ),
        name="masked_minimal_pair",
        description=t("masked_panels.pair_described"),
        columns=columns,
        code=code,
    )


_KINDS = ("word", "sentence", "pair")
# By kind: the keys of the boxes' texts, by their own.
_BOXES = {
    "sentence": {"text": "sentence"},
    "pair": {"first": "first_sentence", "second": "second_sentence"},
}
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
    else:
        _score_sentences(model, kind)


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
        "masked_panels.words_to_score",
        listed(mask.vocabulary[index] for index in mask.words_alone(_NUM_OFFERED)),
        key="masked_score_words",
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
            share=Markdown(percent(float(np.exp(best.log_prob)))),
            pieces=len(best.tokens),
        ),
        columns=_piece_columns(order),
        code=code,
    )


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
        f"masked_panels.{name}": list(column)
        for name, column in zip(names, cells, strict=True)
    }
