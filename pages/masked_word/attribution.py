"""Attribution: how much each token of the text contributes to a word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.attribution import attribute
from bertviz_core.experiments.layer_results import Attribution
from bertviz_core.figures.masked_panels import signed_bars_figure
from bertviz_core.snippets import masked_words
from pages.masked_word.attribution_checks import (
    Reason,
    show_check,
    show_heads,
    show_layers,
)
from pages.masked_word.question import Question, choose_word
from pages.shared.answers import ask
from pages.shared.attribution import BASELINES, METHODS, show_completeness
from pages.shared.choices import choose_named, switch_linked
from pages.shared.code import program
from pages.shared.export import download_csv, show_figure
from pages.shared.jobs import ask_job
from pages.shared.language import in_a_row, plain, t
from pages.shared.markdown import Markdown
from pages.shared.panel import panel


@panel
def explore_reasons(question: Question) -> None:
    """Draws the choice of a word, and what contributes to it."""
    st.markdown(t("masked_panels.why_intro"))
    asked = _ask(question)
    if asked is None:
        return
    look = choose_named(
        "masked_panels.why_look", list(LOOKS), "why_look", key="masked_why_look"
    )
    st.markdown(t(f"masked_panels.why_look_{look}_help"))
    LOOKS[look](asked)


def _show_tokens(asked: Reason) -> None:
    found = ask_job(
        "masked_why",
        t("masked_panels.compute"),
        ask(attribute).about(*asked.asked, settings=asked.settings),
        at_once=asked.is_short,
    )
    if found is not None:
        method = choose_named(
            "masked_panels.why_method", METHODS, "why", key="masked_why_method"
        )
        st.caption(t(f"masked_panels.why_{method}_help"))
        numbers = {
            "masked_panels.why_value": found.value,
            "masked_panels.why_baseline_value": found.baseline_value,
        }
        show_completeness(
            {
                name: t("masked_panels.log_value", value=value)
                for name, value in numbers.items()
            },
            found,
        )
        _show_scores(found, method, asked)
        _show_agreement(found)


LOOKS: dict[str, Callable[[Reason], None]] = {
    "tokens": _show_tokens,
    "layers": show_layers,
    "heads": show_heads,
    "check": show_check,
}


def _ask(question: Question) -> Reason | None:
    first, second = st.columns(2)
    with first:
        word = choose_word(question, t("masked_panels.why_word"), "masked_why_word")
    contrast = None
    with second:
        if switch_linked("masked_panels.why_contrast", key="masked_why_contrast"):
            label = t("masked_panels.why_other_word")
            contrast = choose_word(question, label, "masked_why_other", first=1)
    baseline = choose_named(
        "masked_panels.why_baseline", BASELINES, "why", key="masked_why_baseline"
    )
    if contrast == word:
        st.info(t("masked_panels.why_same_word"), icon=":material/info:")
        return None
    return Reason(question, word, contrast, baseline)


def _show_scores(found: Attribution, method: str, asked: Reason) -> None:
    tokens = found.tokenized.tokens
    scores = found.scores[found.methods.index(method)]
    name = asked.name
    if found.contrast is not None:
        other = ask(vocabulary)(asked.question.model)[found.contrast]
        name = Markdown(t("masked_panels.why_instead", word=name, other=other))
    is_length = method == "gradient_norm"  # which has no direction
    show_figure(
        signed_bars_figure(
            [f"{i + 1} {token}" for i, token in enumerate(tokens)],
            scores,
            plain(
                f"masked_panels.{'why_gradient_norm' if is_length else 'why_speaks'}"
            ),
        ),
        name="masked_why",
        description=_described(name, tokens, np.nan_to_num(scores), is_length),
        columns={
            plain("masked_panels.token"): list(tokens),
            **{
                plain(f"masked_panels.why_{one}"): row.tolist()
                for one, row in zip(found.methods, found.scores, strict=True)
            },
        },
        code=program(masked_words.REASONS, **asked.places),
    )


def _described(
    word: str, tokens: Sequence[str], scores: np.ndarray, is_length: bool
) -> str:
    """The strongest token on either side, where there is one."""
    best, worst = int(scores.argmax()), int(scores.argmin())
    if is_length:
        said = [_named("reacts", tokens[best], scores[best], word=word)]
    else:
        said = [t("masked_panels.why_described", word=word)]
        if scores[best] > 0:
            said.append(_named("most_for", tokens[best], scores[best]))
        if scores[worst] < 0:
            said.append(_named("most_against", tokens[worst], scores[worst]))
    return in_a_row([*said, t("masked_panels.why_without_bar")])


def _named(kind: str, token: str, value: float, **more: str) -> str:
    return t(f"masked_panels.why_{kind}", token=token, value=float(value), **more)


def _show_agreement(found: Attribution) -> None:
    st.markdown(f"**{t('masked_panels.why_agreement')}**")
    if np.isnan(found.agreement).all():
        st.caption(t("masked_panels.why_no_order"))
        return
    names = [plain(f"masked_panels.why_{method}") for method in found.methods]
    columns: dict[str, list[Any]] = {plain("masked_panels.why_method"): names}
    for name, column in zip(names, found.agreement.T, strict=True):
        columns[name] = column.round(2).tolist()
    st.dataframe(
        columns, hide_index=True, alt=plain("masked_panels.why_agreement_described")
    )
    st.caption(t("masked_panels.why_agreement_described"))
    download_csv(columns, "masked_why_agreement")
