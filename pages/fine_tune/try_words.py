"""Which words of a text speak for a class."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.analysis.word_scores import WordScores, word_scores
from bertviz_core.experiments.attribution import AttributionSettings, attribute
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.layer_results import Attribution
from bertviz_core.figures.masked_panels import signed_bars_figure
from bertviz_core.finetune.finetuned_results import ReadText
from pages.shared.answers import ask
from pages.shared.attribution import BASELINES, METHODS, is_soon, show_completeness
from pages.shared.choices import choose_named
from pages.shared.export import show_figure
from pages.shared.jobs import ask_job
from pages.shared.language import plain, t

_CLASS = "ft_try_class"
_MOST_DRAWN = 25
_LARGE = 0.1  # smaller scores need more digits


def show_words(read: ReadText) -> None:
    """Draws the choice of a class and a method, and the words' scores."""
    index = _choose_class(read)
    method, baseline = _choose_method()
    found = ask_job(
        "ft_try_words",
        t("fine_tune_results.compute"),
        ask(attribute).about(
            read.model_id,
            read.text,
            Target("classifier", index),
            pair=read.pair,
            settings=AttributionSettings(baseline=baseline),
            cut=True,
        ),
        at_once=is_soon(read.model_id, read.tokenized.num_tokens),
    )
    if found is None:
        return
    _show_numbers(found, read, index)
    scores = found.scores[found.methods.index(method)]
    _draw(word_scores(found.tokenized, scores), found, read, index)


def _choose_class(read: ReadText) -> int:
    if read.is_regression:
        return 0
    chosen = st.selectbox(
        t("fine_tune_results.why_class"),
        range(len(read.labels)),
        index=read.best,
        format_func=lambda index: read.labels[index],
        # With another answer of the model the choice begins there again.
        key=f"{_CLASS}_{read.best}",
        help=t("fine_tune_results.why_class_help"),
    )
    return read.best if chosen is None else chosen


def _choose_method() -> tuple[str, str]:
    method = choose_named(
        "fine_tune_results.method", METHODS, "why", key="ft_try_method"
    )
    st.caption(t(f"fine_tune_results.why_{method}_help"))
    baseline = BASELINES[0]
    if method == "integrated_gradients":
        baseline = choose_named(
            "fine_tune_results.why_baseline", BASELINES, "why", key="ft_try_baseline"
        )
    return method, baseline


def _show_numbers(found: Attribution, read: ReadText, index: int) -> None:
    kind = "number" if read.is_regression else "log"
    numbers = {
        f"fine_tune_results.why_{kind}_value": found.value,
        "fine_tune_results.why_start_value": found.baseline_value,
    }
    show_completeness(
        {
            name: plain("fine_tune_results.three_digits", value=value)
            for name, value in numbers.items()
        },
        found,
        label=read.labels[index],
    )


def _draw(words: WordScores, found: Attribution, read: ReadText, index: int) -> None:
    known = np.nan_to_num(words.values)
    strongest = int(np.abs(known).argmax())
    # The strongest words, in the order of the text.
    chosen = np.sort(np.argsort(-np.abs(known), kind="stable")[:_MOST_DRAWN])
    names = [f"{i + 1} {words.words[i]}" for i in chosen.tolist()]
    largest, is_number = float(np.abs(known).max()), read.is_regression
    show_figure(
        signed_bars_figure(
            names,
            words.values[chosen],
            plain(f"fine_tune_results.why_{'raises' if is_number else 'speaks'}"),
            digits=2 if largest >= _LARGE else 4,
        ),
        name="ft_try_words",
        description=t(
            "fine_tune_results.why_described",
            label=read.labels[index],
            word=words.words[strongest],
            value=float(known[strongest]),
        ),
        columns={
            plain("fine_tune_results.token"): list(found.tokenized.tokens),
            **{
                plain(f"fine_tune_results.why_{one}"): row.tolist()
                for one, row in zip(found.methods, found.scores, strict=True)
            },
        },
    )
    if len(chosen) < len(words.words):
        st.caption(t("fine_tune_results.words_left_out", count=len(chosen)))
