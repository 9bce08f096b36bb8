"""Several masks filled together, step by step or as exact pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.experiments.word_results import FillStep, JointFilling, PairFilling
from bertviz_core.figures.masked_word import percent
from bertviz_core.mask_text import MASK
from bertviz_core.trace import TokenizedText
from pages.ui.address import choose_linked
from pages.ui.errors import shown_to_user
from pages.ui.export import download_csv
from pages.ui.jobs import ask_job
from pages.ui.language import plain, t
from pages.ui.markdown import Markdown, escape
from pages.ui.masked_word.answers import fill_masks
from pages.ui.masked_word.asking import Question, is_short

MODES = ("most_confident_first", "left_to_right", "independent", "pairs")
_STEP = "masked_fill_step"
_PLAYING = "masked_fill_playing"
_SECONDS_A_STEP = 0.9
_TOP_K = 20
_NUM_ALTERNATIVES = 4


@st.fragment
def explore_filling(question: Question) -> None:
    """Draws the choice of an order, and how the masks are filled in it."""
    st.markdown(t("masked_panels.fill_intro"))
    with shown_to_user():
        mode = choose_linked(
            st.segmented_control,
            t("masked_panels.fill_mode"),
            MODES,
            key="masked_fill_mode",
            required=True,
            format_func=lambda name: plain(f"masked_panels.fill_{name}"),
        )
        st.caption(t(f"masked_panels.fill_{mode}_help"))
        if mode == "pairs":
            _show_pairs(question)
            return
        filling = fill_masks(question.model, question.text, mode)
        playing = bool(st.session_state.get(_PLAYING))
        every = _SECONDS_A_STEP if playing else None
        st.fragment(_show_steps, run_every=every)(filling)
        _show_table(filling)


def _show_steps(filling: JointFilling) -> None:
    """The sentence after a step; a fragment that repeats itself while it plays."""
    total = len(filling.steps)
    step = min(st.session_state.get(_STEP, total), total)
    if st.session_state.get(_PLAYING):
        step = min(step + 1, total)
    st.session_state[_STEP] = step
    slider_box, play_box = st.columns([4, 1], vertical_alignment="bottom")
    slider_box.slider(t("masked_panels.fill_step"), 0, total, key=_STEP)
    play_box.button(
        t("masked_panels.fill_play"),
        icon=":material/play_arrow:",
        key="masked_fill_play",
        on_click=st.session_state.update,
        args=({_STEP: 0, _PLAYING: True},),
    )
    with st.container(border=True):
        st.markdown(filled_sentence(filling.tokenized, filling.steps[:step]))
    if step:
        done = filling.steps[step - 1]
        st.caption(
            t(
                "masked_panels.fill_did",
                step=step,
                word=done.token,
                mask=done.mask_index + 1,
                share=Markdown(percent(float(np.exp(done.log_prob)))),
            )
        )
    if st.session_state.get(_PLAYING) and step == total:
        st.session_state[_PLAYING] = False
        st.rerun()
    elif st.session_state.get(_PLAYING) and step == 0:
        st.rerun()  # starts the clock


def filled_sentence(tokenized: TokenizedText, steps: tuple[FillStep, ...]) -> Markdown:
    """The text with these masks filled, the last one marked; as Markdown.

    Args:
        tokenized: the text with its masks.
        steps: those done so far.
    """
    words = {step.mask_index: step.token.removeprefix("##") for step in steps}
    last = steps[-1].mask_index if steps else None
    parts: list[str] = []
    end = 0
    for index, position in enumerate(tokenized.mask_positions):
        start, stop = (int(place) for place in tokenized.offsets[position])
        parts.append(escape(tokenized.text[end:start], 10**6))
        # `escape` takes outer spaces away.
        parts.append(" " * tokenized.text[end:start].endswith(" "))
        word = escape(words.get(index, MASK), 40)
        marked = f":blue-badge[{word}]" if index not in words else f"**{word}**"
        parts.append(f":green-badge[{word}]" if index == last else marked)
        end = stop
        parts.append(" " * tokenized.text[end:].startswith(" "))
    parts.append(escape(tokenized.text[end:], 10**6))
    return Markdown("".join(parts))


def _show_table(filling: JointFilling) -> None:
    steps = filling.steps
    probs = [float(np.exp(step.log_prob)) for step in steps]
    shown: dict[str, list[Any]] = {
        plain("masked_panels.step"): list(range(1, len(steps) + 1)),
        plain("masked_panels.mask"): [step.mask_index + 1 for step in steps],
        plain("masked_panels.word"): [step.token for step in steps],
        plain("masked_panels.probability"): [percent(prob) for prob in probs],
        plain("masked_panels.alternatives"): [_alternatives(step) for step in steps],
    }
    st.dataframe(shown, hide_index=True, alt=plain("masked_panels.fill_table"))
    joint = Markdown(f"{np.exp(filling.log_prob):.3g}")
    st.caption(t("masked_panels.fill_joint", joint=joint, log_prob=filling.log_prob))
    download_csv(shown | {plain("masked_panels.probability"): probs}, "masked_filling")


def _alternatives(step: FillStep) -> str:
    pairs = zip(step.top_tokens, step.top_log_probs, strict=True)
    some = list(pairs)[1 : 1 + _NUM_ALTERNATIVES]
    return ", ".join(f"{word} {percent(float(np.exp(p)))}" for word, p in some)


def _show_pairs(question: Question) -> None:
    if len(question.tokenized.mask_positions) != 2:
        st.info(t("masked_panels.pairs_need_two"), icon=":material/info:")
        return
    size = question.tokenized.num_tokens
    pairs: PairFilling | None = ask_job(
        "masked_pairs",
        t("masked_panels.compute"),
        "best_pairs",
        at_once=is_short(question.model, 3 * _TOP_K, size),
        model=question.model,
        text=question.text,
        top_k=_TOP_K,
    )
    if pairs is None:
        return
    numbers = {
        plain("masked_panels.forward"): np.exp(pairs.log_prob_forward),
        plain("masked_panels.backward"): np.exp(pairs.log_prob_backward),
        plain("masked_panels.apart"): np.exp(pairs.log_prob_independent),
    }
    words = {
        plain("masked_panels.first_word"): [first for first, _ in pairs.tokens],
        plain("masked_panels.second_word"): [second for _, second in pairs.tokens],
    }
    shown = {name: [percent(float(v)) for v in row] for name, row in numbers.items()}
    st.dataframe(words | shown, hide_index=True, alt=plain("masked_panels.pairs_table"))
    bounds = (float(np.exp(b)) for b in (pairs.bound_forward, pairs.bound_backward))
    forward, backward = (Markdown(percent(bound)) for bound in bounds)
    st.caption(t("masked_panels.pairs_bound", forward=forward, backward=backward))
    st.caption(t("masked_panels.pairs_lesson"))
    download_csv(
        words | {name: row.tolist() for name, row in numbers.items()}, "masked_pairs"
    )
