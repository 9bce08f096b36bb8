"""What lies behind a word inside the model: its layers, its heads, random weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.ablation import ablate_heads
from bertviz_core.experiments.attribution import AttributionSettings
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.lens import read_layers
from bertviz_core.experiments.random_weights import check_with_random_weights
from bertviz_core.explorer import Explorer
from bertviz_core.figures.masked_panels import signed_bars_figure
from bertviz_core.figures.masked_word import percent
from bertviz_core.figures.value_map import value_map_figure
from bertviz_core.snippets import masked_words
from pages.masked_word.lens import show_ranks
from pages.masked_word.question import Question
from pages.shared.answers import ask
from pages.shared.attribution import is_soon
from pages.shared.code import program
from pages.shared.export import show_figure
from pages.shared.jobs import ask_job, is_short
from pages.shared.language import listed, plain, t
from pages.shared.markdown import Markdown

_NUM_HEADS = 5


@dataclass(frozen=True)
class Reason:
    """What is to be explained.

    The `word` is explained, against the word `contrast`; integrated gradients start
    from `baseline`.
    """

    question: Question
    word: int
    contrast: int | None
    baseline: str

    @property
    def asked(self) -> tuple[str, str, Target, int | None]:
        """What `attribute` takes first."""
        target = Target("mlm", self.word, self.question.position)
        return self.question.model, self.question.text, target, self.contrast

    @property
    def settings(self) -> AttributionSettings:
        """How it attributes."""
        return AttributionSettings(baseline=self.baseline)

    @property
    def places(self) -> dict[str, Any]:
        """Of the program that attributes."""
        return {
            **self.question.program,
            "contrast": self.contrast,
            "baseline": self.baseline,
            "word_id": self.word,
            "position": self.question.position,
        }

    @property
    def is_short(self) -> bool:
        """Whether it is cheap enough to run without being asked for."""
        return is_soon(self.question.model, self.question.tokenized.num_tokens)

    @property
    def name(self) -> str:
        """The word as it stands in the vocabulary."""
        return ask(vocabulary)(self.question.model)[self.word]


def show_layers(asked: Reason) -> None:
    """Draws the rank of the word, and of the other one, through the layers."""
    question = asked.question
    words = tuple(word for word in (asked.word, asked.contrast) if word is not None)
    lens = ask(read_layers)(
        question.model, question.text, word_ids=tuple(sorted(words))
    )
    show_ranks(lens, question, words, "masked_why_layers")
    st.caption(t("masked_panels.lens_caveat"))


def show_heads(asked: Reason) -> None:
    """Draws what the word loses when each head alone is switched off."""
    question = asked.question
    config = ask(Explorer.info)(question.model).config
    layers, heads = config.num_hidden_layers, config.num_attention_heads
    found = ask_job(
        "masked_why_heads",
        t("masked_panels.compute"),
        ask(ablate_heads).about(
            question.model, question.text, Target("mlm", asked.word, question.position)
        ),
        at_once=is_short(
            question.model, layers * heads // 2, question.tokenized.num_tokens
        ),
    )
    if found is None:
        return
    changes = found.delta_probabilities  # [L, N]
    order = np.argsort(changes, axis=None, kind="stable")[:_NUM_HEADS]
    strongest = listed(
        t(
            "masked_panels.why_head",
            layer=place // heads + 1,
            head=place % heads + 1,
            points=100 * float(changes.flat[place]),
        )
        for place in order.tolist()
    )
    show_figure(
        value_map_figure(
            100 * changes,
            [str(number + 1) for number in range(layers)],
            [str(number + 1) for number in range(heads)],
            title=plain("masked_panels.why_points_lost"),
            row_title=plain("masked_panels.layer"),
            column_title=plain("masked_panels.head"),
            is_signed=True,
            digits=3,
        ),
        name="masked_why_heads",
        description=t(
            "masked_panels.why_heads_described",
            word=asked.name,
            share=Markdown(percent(found.before.probability)),
            heads=Markdown(strongest),
        ),
        columns={
            plain("masked_panels.layer"): [
                number + 1 for number in range(layers) for _ in range(heads)
            ],
            plain("masked_panels.head"): [*range(1, heads + 1)] * layers,
            plain("masked_panels.why_change"): changes.ravel().tolist(),
        },
        code=program(
            masked_words.IMPORTANT_HEADS,
            **question.program,
            word_id=asked.word,
            position=question.position,
        ),
    )


def show_check(asked: Reason) -> None:
    """Draws how much each method agrees with itself on a model of random weights."""
    found = ask_job(
        "masked_why_check",
        t("masked_panels.compute"),
        ask(check_with_random_weights).about(*asked.asked, settings=asked.settings),
    )
    if found is None:
        return
    methods = [plain(f"masked_panels.why_{name}") for name in found.own.methods]
    if np.isnan(found.agreement).all():
        st.caption(t("masked_panels.why_no_order"))
        return
    show_figure(
        signed_bars_figure(
            methods, found.agreement, plain("masked_panels.why_same_order")
        ),
        name="masked_why_check",
        description=t("masked_panels.why_check_described"),
        columns={
            plain("masked_panels.why_method"): methods,
            plain("masked_panels.why_same_order"): found.agreement.tolist(),
        },
        code=program(masked_words.RANDOM_WEIGHTS, **asked.places, seed=0),
    )
