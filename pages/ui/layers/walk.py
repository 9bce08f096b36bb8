"""The walk: one step after another, with a strip of all of them."""

from __future__ import annotations

import functools

import streamlit as st

from bertviz_core.experiments.step_results import LayerStep
from bertviz_core.experiments.token_numbers import part_numbers, steps_for_one_token
from bertviz_core.explorer import Explorer
from bertviz_core.trace import TokenizedText
from pages.ui.answers import ask
from pages.ui.errors import shown_to_user
from pages.ui.language import in_a_row, t
from pages.ui.layers.state import STEP
from pages.ui.layers.step import show_step
from pages.ui.layers.strip import step_strip
from pages.ui.text_pair import Texts


@st.fragment
def walk(model: str, texts: Texts, tokenized: TokenizedText, token: int) -> None:
    """Draws the chosen step, and the ways to another one.

    Only this part of the page runs again when the step changes, and the numbers of a
    layer come in one piece: each runs once for a token.

    Args:
        model: its id.
        texts: what it reads.
        tokenized: the same, in tokens.
        token: index of the token that is followed.
    """
    with shown_to_user():
        steps = ask(steps_for_one_token)(model, texts)
        step = _current(steps)
        step_strip(steps, step)
        _name_missing_heads(model)
        numbers_of = functools.partial(ask(part_numbers), model, texts, token=token)
        numbers_of(step.part)
        show_step(model, steps, step, numbers_of, tokenized)


def _current(steps: tuple[LayerStep, ...]) -> LayerStep:
    """The chosen step; of a smaller model, the same one further in front."""
    by_name = {step.name: step for step in steps}
    name = st.session_state.get(STEP) or st.query_params.get(STEP) or ""
    if name not in by_name:
        operation = name.rpartition("/")[2]
        alike = [step.name for step in steps if step.operation == operation]
        name = alike[-1] if alike else steps[0].name
    st.session_state[STEP] = name
    if name == steps[0].name:
        st.query_params.pop(STEP, None)
    elif st.query_params.get(STEP) != name:
        st.query_params[STEP] = name
    return by_name[name]


def _name_missing_heads(model: str) -> None:
    """Why the way out is shorter than that of a pre-trained BERT."""
    heads = ask(Explorer.info)(model).heads
    missing = [head for head in ("mlm", "pooler", "nsp") if head not in heads]
    if "pooler" in missing:  # what next sentence is read from
        missing.remove("nsp")
    if missing:
        reasons = in_a_row(t(f"layers.without_{head}") for head in missing)
        st.caption(reasons)
