"""How well words and sentences fit, in the model's eyes."""

from __future__ import annotations

import re

import numpy as np
import streamlit as st

from bertviz_core.experiments.word_results import MinimalPair, SentenceScore, WordScore
from bertviz_core.figures.masked_panels import signed_bars_figure
from bertviz_core.figures.masked_word import percent
from bertviz_core.mask_text import normalise_masks
from pages.ui.address import choose_linked
from pages.ui.answers import tokenize
from pages.ui.errors import shown_to_user
from pages.ui.export import show_figure
from pages.ui.jobs import ask_job
from pages.ui.language import plain, t
from pages.ui.markdown import Markdown
from pages.ui.masked_word.answers import score_words
from pages.ui.masked_word.asking import Question, is_short
from pages.ui.models import language_of

_KINDS = ("word", "sentence", "pair")
_VARIANTS = ("within_word", "naive")
_MOST_WORDS = 50
_WORDS = {"en": "france, paris, unbelievable", "zh": "都，京，朋友"}
_PAIRS = {
    "en": ("The keys to the cabinet are here.", "The keys to the cabinet is here."),
    "zh": ("我喝了一杯水。", "我喝了一座水。"),
}


@st.fragment
def explore_scores(question: Question) -> None:
    """Draws the choice of what to score, and its score."""
    kind = choose_linked(
        st.segmented_control,
        t("masked_panels.score_what"),
        _KINDS,
        key="masked_score_kind",
        required=True,
        format_func=lambda name: plain(f"masked_panels.score_{name}"),
    )
    st.markdown(t(f"masked_panels.score_{kind}_intro"))
    with shown_to_user():
        if kind == "word":
            _score_words(question)
            return
        variant = choose_linked(
            st.segmented_control,
            t("masked_panels.variant"),
            _VARIANTS,
            key="masked_score_variant",
            required=True,
            help=t("masked_panels.variant_help"),
            format_func=lambda name: plain(f"masked_panels.variant_{name}"),
        )
        if kind == "sentence":
            _score_sentence(question, variant)
        else:
            _score_pair(question, variant)


def _score_words(question: Question) -> None:
    if question.mask is None:
        st.info(t("masked_panels.needs_mask"), icon=":material/touch_app:")
        return
    typed = st.text_input(
        t("masked_panels.words_to_score"),
        _WORDS[language_of(question.model)],
        key="masked_score_words",
        help=t("masked_panels.words_to_score_help"),
        bind="query-params",
        max_chars=1000,
    )
    words = [word for word in re.split(r"[,，、;；\s]+", typed or "") if word]
    words = list(dict.fromkeys(words))[:_MOST_WORDS]
    if not words:
        return
    scores = score_words(
        question.model, question.text, tuple(words), question.mask.index
    )
    _show_words(sorted(scores, key=lambda score: -score.log_prob))


def _show_words(order: list[WordScore]) -> None:
    probs = [float(np.exp(score.log_prob)) for score in order]
    values = np.array([score.log_prob for score in order])
    best = order[0]
    columns = {
        plain("masked_panels.word"): [score.word for score in order],
        plain("masked_panels.probability"): probs,
        plain("masked_panels.log_prob"): values.tolist(),
        plain("masked_panels.pieces"): [" ".join(score.tokens) for score in order],
        plain("masked_panels.piece_ranks"): [
            " ".join(map(str, score.ranks.tolist())) for score in order
        ],
        plain("masked_panels.piece_log_probs"): [
            " ".join(f"{value:.2f}" for value in score.log_probs) for score in order
        ],
    }
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
        columns=columns,
    )
    name = plain("masked_panels.probability")
    shown = columns | {name: [percent(prob) for prob in probs]}
    st.dataframe(shown, hide_index=True, alt=plain("masked_panels.words_table"))


def _score_sentence(question: Question, variant: str) -> None:
    text = st.text_input(
        t("masked_panels.sentence"),
        _PAIRS[language_of(question.model)][0],
        key="masked_score_text",
        bind="query-params",
        max_chars=3000,
    )
    text = normalise_masks(text or "")[0].strip()
    if not text:
        return
    size = tokenize(question.model, text, cut=True).num_tokens
    score: SentenceScore | None = ask_job(
        "masked_sentence_score",
        t("masked_panels.compute"),
        "score_sentence",
        at_once=is_short(question.model, size, size),
        model=question.model,
        text=text,
        variant=variant,
    )
    if score is None:
        return
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
            plain("masked_panels.token"): tokens,
            plain("masked_panels.log_prob"): score.log_probs.tolist(),
            plain("masked_panels.rank"): score.ranks.tolist(),
        },
    )


def _score_pair(question: Question, variant: str) -> None:
    examples = _PAIRS[language_of(question.model)]
    texts = []
    for box, name, example in zip(
        st.columns(2), ("first", "second"), examples, strict=True
    ):
        text = box.text_input(
            t(f"masked_panels.{name}_sentence"),
            example,
            key=f"masked_score_{name}",
            bind="query-params",
            max_chars=3000,
        )
        texts.append(normalise_masks(text or "")[0].strip())
    if not all(texts):
        return
    size = sum(tokenize(question.model, x, cut=True).num_tokens for x in texts)
    pair: MinimalPair | None = ask_job(
        "masked_minimal_pair",
        t("masked_panels.compute"),
        "score_minimal_pair",
        at_once=is_short(question.model, size, size / 2),
        model=question.model,
        first=texts[0],
        second=texts[1],
        variant=variant,
    )
    if pair is None:
        return
    _show_totals((pair.first, pair.second))
    winner = "first" if pair.difference > 0 else "second"
    equal = pair.difference == 0
    st.markdown(
        t("masked_panels.pair_equal")
        if equal
        else t(f"masked_panels.prefers_{winner}", value=abs(pair.difference))
    )
    _show_aligned(pair)


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


def _show_aligned(pair: MinimalPair) -> None:
    columns: dict[str, list[object]] = {}
    for side, (name, score) in enumerate(
        (("first", pair.first), ("second", pair.second))
    ):
        token, value = plain(f"masked_panels.{name}_token"), f"masked_panels.{name}_log"
        places = pair.aligned[:, side]
        columns[token] = [
            score.tokenized.tokens[score.positions[i]] if i >= 0 else "" for i in places
        ]
        columns[plain(value)] = [
            float(score.log_probs[i]) if i >= 0 else None for i in places
        ]
    rows = [
        pair.first.log_probs[i] - pair.second.log_probs[j]
        if i >= 0 and j >= 0
        else np.nan
        for i, j in pair.aligned
    ]
    firsts, seconds = (
        columns[plain(f"masked_panels.{name}_token")] for name in ("first", "second")
    )
    names = [
        str(a) if a == b else f"{a} | {b}" for a, b in zip(firsts, seconds, strict=True)
    ]
    show_figure(
        signed_bars_figure(
            names, np.array(rows, float), plain("masked_panels.first_less_second")
        ),
        name="masked_minimal_pair",
        description=t("masked_panels.pair_described"),
        columns=columns,
    )
