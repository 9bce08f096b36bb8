"""Which words of a text speak for a class."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.analysis.word_scores import WordScores, word_scores
from bertviz_core.experiments.attribution import AttributionSettings, attribute
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.finetuned_results import ReadText
from bertviz_core.experiments.layer_results import Attribution
from bertviz_core.figures.masked_panels import signed_bars_figure
from pages.ui.address import choose_linked
from pages.ui.answers import ask
from pages.ui.attribution import BASELINES, METHODS, show_completeness
from pages.ui.export import show_figure
from pages.ui.jobs import ask_job, is_short
from pages.ui.language import plain, t

_CLASS = "ft_try_class"
_BACKWARD = 3  # a step forward and back costs about three forward passes
_NUM_POINTS = 32
_MOST_DRAWN = 25
_LARGE = 0.1  # smaller scores need more digits


def show_words(read: ReadText) -> None:
    """Draws the choice of a class and a method, and the words' scores.

    Args:
        read: what the model says of the text.
    """
    index = _choose_class(read)
    method, baseline = _choose_method()
    size = read.tokenized.num_tokens
    found: Attribution | None = ask_job(
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
        at_once=is_short(read.model_id, _BACKWARD * _NUM_POINTS + 2 * size, size),
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
    method = choose_linked(
        st.segmented_control,
        t("fine_tune_results.method"),
        METHODS,
        key="ft_try_method",
        required=True,
        format_func=lambda name: plain(f"fine_tune_results.why_{name}"),
    )
    st.caption(t(f"fine_tune_results.why_{method}_help"))
    baseline = BASELINES[0]
    if method == "integrated_gradients":
        baseline = choose_linked(
            st.segmented_control,
            t("fine_tune_results.why_baseline"),
            BASELINES,
            key="ft_try_baseline",
            required=True,
            help=t("fine_tune_results.why_baseline_help"),
            format_func=lambda name: plain(f"fine_tune_results.why_{name}"),
        )
    return method, baseline


def _show_numbers(found: Attribution, read: ReadText, index: int) -> None:
    boxes = st.columns(3)
    kind = "number" if read.is_regression else "log"
    boxes[0].metric(
        t(f"fine_tune_results.why_{kind}_value", label=read.labels[index]),
        plain("fine_tune_results.three_digits", value=found.value),
        help=t(f"fine_tune_results.why_{kind}_value_help"),
    )
    boxes[1].metric(
        t("fine_tune_results.why_start_value"),
        plain("fine_tune_results.three_digits", value=found.baseline_value),
        help=t("fine_tune_results.why_start_value_help"),
    )
    show_completeness(boxes[2], found)


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
                plain(f"fine_tune_results.why_{one}"): [
                    None if np.isnan(value) else float(value) for value in row
                ]
                for one, row in zip(found.methods, found.scores, strict=True)
            },
        },
    )
    if len(chosen) < len(words.words):
        st.caption(t("fine_tune_results.words_left_out", count=len(chosen)))
