"""What contributes to a word: its tokens, layers and heads, and a check of that."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.attribution import attribute
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.layer_results import Attribution
from bertviz_core.experiments.random_weights import check_with_random_weights
from bertviz_core.figures.bars import signed_bars_figure
from bertviz_core.snippets import masked_words
from pages.masked_word.question import Question, choose_words
from pages.shared.answers import ask, ask_job
from pages.shared.attribution import BASELINES, METHODS, is_soon, show_completeness
from pages.shared.choices import choose_named
from pages.shared.export import show_figure, show_table
from pages.shared.language import Markdown, in_a_row, plain, t
from pages.shared.navigation import link_to
from pages.shared.panel import panel, program


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
    def name(self) -> str:
        """The word as it stands in the vocabulary."""
        return ask(vocabulary)(self.question.model)[self.word]


def show_check(asked: Reason) -> None:
    """Draws how much each method agrees with itself on a model of random weights."""
    found = ask_job(
        "masked_why_check",
        "masked.compute",
        ask(check_with_random_weights).about(*asked.asked, baseline=asked.baseline),
    )
    if found is None:
        return
    methods = [plain(f"masked.why_{name}") for name in found.own.methods]
    if np.isnan(found.agreement).all():
        st.caption(t("masked.why_no_order"))
        return
    show_figure(
        signed_bars_figure(methods, found.agreement, plain("masked.why_same_order")),
        name="masked_why_check",
        description=t("masked.why_check_described"),
        columns={
            "masked.why_method": methods,
            "masked.why_same_order": found.agreement,
        },
        code=program(masked_words.RANDOM_WEIGHTS, **asked.places, seed=0),
    )


@panel
def explore_reasons(question: Question) -> None:
    """Draws the choice of a word, and what contributes to it."""
    st.markdown(t("masked.why_intro"))
    asked = _ask(question)
    if asked is None:
        return
    look = choose_named("masked.why_look", list(LOOKS))
    st.markdown(t(f"masked.why_look_{look}_help"))
    LOOKS[look](asked)
    chosen = {
        "attention_panel": "maps",
        "attention_target": str(question.mask_index),
        "attention_word": asked.name,
    }
    link_to("attention", "masked.why_heads", params=chosen, word=asked.name)


def _show_tokens(asked: Reason) -> None:
    found = ask_job(
        "masked_why",
        "masked.compute",
        ask(attribute).about(*asked.asked, baseline=asked.baseline),
        at_once=is_soon(asked.question.model, asked.question.tokenized.num_tokens),
    )
    if found is not None:
        method = choose_named("masked.why_method", METHODS, "why")
        st.caption(t(f"masked.why_{method}_help"))
        values = {"value": found.value, "baseline_value": found.baseline_value}
        numbers = {
            f"masked.why_{name}": t("masked.log_value", value=value)
            for name, value in values.items()
        }
        show_completeness(numbers, found)
        _show_scores(found, method, asked)
        st.markdown(f"**{t('masked.why_agreement')}**")
        if np.isnan(found.agreement).all():
            st.caption(t("masked.why_no_order"))
            return
        keys, columns = _titles(found), found.agreement.T.round(2)
        names = {"masked.why_method": [plain(key) for key in keys]}
        table = names | dict(zip(keys, columns, strict=True))
        said = t("masked.why_agreement_described")
        show_table(table, said, "masked_why_agreement", said)


LOOKS: dict[str, Callable[[Reason], None]] = {
    "tokens": _show_tokens,
    "check": show_check,
}


def _ask(question: Question) -> Reason | None:
    word, *others = choose_words(question, "why")
    contrast = others[0] if others else None
    baseline = choose_named("masked.why_baseline", BASELINES, "why")
    if contrast == word:
        st.info(t("masked.why_same_word"), icon=":material/info:")
        return None
    return Reason(question, word, contrast, baseline)


def _show_scores(found: Attribution, method: str, asked: Reason) -> None:
    tokens = found.tokenized.tokens
    scores = found.scores[found.methods.index(method)]
    name = asked.name
    if found.contrast is not None:
        other = ask(vocabulary)(asked.question.model)[found.contrast]
        name = Markdown(t("masked.why_instead", word=name, other=other))
    is_length = method == "gradient_norm"  # which has no direction
    known = np.nan_to_num(scores)
    best, worst = int(known.argmax()), int(known.argmin())
    if is_length:
        said = [_named("reacts", tokens[best], known[best], word=name)]
    else:  # the strongest token on either side, where there is one
        said = [t("masked.why_described", word=name)]
        if known[best] > 0:
            said.append(_named("most_for", tokens[best], known[best]))
        if known[worst] < 0:
            said.append(_named("most_against", tokens[worst], known[worst]))
    show_figure(
        signed_bars_figure(
            [f"{i + 1} {token}" for i, token in enumerate(tokens)],
            scores,
            plain(f"masked.{'why_gradient_norm' if is_length else 'why_speaks'}"),
        ),
        name="masked_why",
        description=in_a_row([*said, t("masked.why_without_bar")]),
        columns={
            "masked.token": tokens,
            **dict(zip(_titles(found), found.scores, strict=True)),
        },
        code=program(masked_words.REASONS, **asked.places),
    )


def _named(kind: str, token: str, value: float, **more: str) -> str:
    return t(f"masked.why_{kind}", token=token, value=float(value), **more)


def _titles(found: Attribution) -> list[str]:
    return [f"masked.why_{method}" for method in found.methods]
