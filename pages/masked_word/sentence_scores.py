"""How well whole sentences fit, alone and two side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.experiments.scoring import score_minimal_pair, score_sentence
from bertviz_core.experiments.word_results import MinimalPair, SentenceScore
from bertviz_core.explorer import Explorer
from bertviz_core.figures.masked_panels import signed_bars_figure
from bertviz_core.figures.masked_word import percent
from bertviz_core.mask_text import normalise_masks
from bertviz_core.snippets import masked_sentences
from pages.shared.answers import ask
from pages.shared.choices import type_linked
from pages.shared.code import Program, program
from pages.shared.export import show_figure
from pages.shared.jobs import ask_job, is_short
from pages.shared.language import plain, t
from pages.shared.markdown import Markdown
from pages.shared.models import language_of

_PAIRS = {
    "en": ("The keys to the cabinet are here.", "The keys to the cabinet is here."),
    "zh": ("我喝了一杯水。", "我喝了一座水。"),
}


def show_sentence_score(model: str, variant: str) -> None:
    """Draws a text box and its score, token by token."""
    typed = type_linked(
        st.text_input,
        t("masked_panels.sentence"),
        _PAIRS[language_of(model)][0],
        key="masked_score_text",
        max_chars=3000,
    )
    text = normalise_masks(typed)[0]
    if not text:
        return
    size = ask(Explorer.tokenize)(model, text, cut=True).num_tokens
    score = ask_job(
        "masked_sentence_score",
        t("masked_panels.compute"),
        ask(score_sentence).about(model, text, variant=variant),
        at_once=is_short(model, size, size),
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
        code=program(
            masked_sentences.SENTENCE_SCORE, model=model, text=text, variant=variant
        ),
    )


def show_pair_score(model: str, variant: str) -> None:
    """Draws two text boxes, which of the two is preferred, and where it comes from."""
    texts = _type_both(language_of(model))
    if not all(texts):
        return
    size = sum(ask(Explorer.tokenize)(model, x, cut=True).num_tokens for x in texts)
    pair = ask_job(
        "masked_minimal_pair",
        t("masked_panels.compute"),
        ask(score_minimal_pair).about(model, texts[0], texts[1], variant),
        at_once=is_short(model, size, size / 2),
    )
    if pair is None:
        return
    _show_totals((pair.first, pair.second))
    winner = "first" if pair.difference > 0 else "second"
    st.markdown(
        t(f"masked_panels.prefers_{winner}", value=abs(pair.difference))
        if pair.difference
        else t("masked_panels.pair_equal")
    )
    code = program(
        masked_sentences.MINIMAL_PAIR,
        model=model,
        first=texts[0],
        second=texts[1],
        variant=variant,
    )
    _show_aligned(pair, code)


def _type_both(language: str) -> list[str]:
    examples = _PAIRS[language]
    texts = []
    for box, name, example in zip(
        st.columns(2), ("first", "second"), examples, strict=True
    ):
        typed = type_linked(
            box.text_input,
            t(f"masked_panels.{name}_sentence"),
            example,
            key=f"masked_score_{name}",
            max_chars=3000,
        )
        texts.append(normalise_masks(typed)[0])
    return texts


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


def _show_aligned(pair: MinimalPair, code: Program) -> None:
    columns: dict[str, list[Any]] = {}
    tokens, values = [], []
    for name, score, places in zip(
        ("first", "second"), (pair.first, pair.second), pair.aligned.T, strict=True
    ):
        read = [score.tokenized.tokens[position] for position in score.positions]
        # A token that the other sentence lacks is aligned with -1.
        tokens.append([[*read, ""][i] for i in places])
        values.append(np.append(score.log_probs, np.nan)[places])
        columns[plain(f"masked_panels.{name}_token")] = tokens[-1]
        columns[plain(f"masked_panels.{name}_log")] = values[-1].tolist()
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
