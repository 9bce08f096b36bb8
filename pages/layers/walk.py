"""The walk: one step after another, with a strip of all of them."""

from __future__ import annotations

import functools
import math

import streamlit as st

from bertviz_core.experiments.step_results import CodePlace, LayerStep
from bertviz_core.experiments.token_numbers import part_numbers, steps_for_one_token
from bertviz_core.explorer import Explorer
from bertviz_core.trace import Texts, TokenizedText
from pages.layers.all_tokens import offer_all_tokens
from pages.layers.picture import show_numbers
from pages.layers.strip import STEP, go_to, step_strip
from pages.layers.wording import about_step, shape_text, step_name
from pages.shared.answers import ask
from pages.shared.choices import put_into_address
from pages.shared.language import in_a_row, t
from pages.shared.markdown import Markdown
from pages.shared.navigation import is_arrival, is_way_back
from pages.shared.panel import panel


@panel
def walk(model: str, texts: Texts, tokenized: TokenizedText, token: int) -> None:
    """Draws the chosen step: what it does, its formula, its numbers, its lines of code.

    Only this part of the page runs again when the step changes, and the numbers of a
    layer come in one piece: each runs once for a token.
    """
    steps = ask(steps_for_one_token)(model, texts)
    step = _current(steps)
    step_strip(steps, step)
    name_missing_heads(model)
    numbers_of = functools.partial(ask(part_numbers), model, texts, token=token)
    token = numbers_of(step.part).token
    st.subheader(step_name(step), anchor=False)
    show_numbers(model, steps, step, numbers_of, tokenized)
    words, formula = st.columns([1, 1], gap="medium")
    pre_norm = ask(Explorer.info)(model).config.pre_norm
    # One element in place of two: a browser takes milliseconds for each.
    words.markdown("\n\n".join((about_step(step, pre_norm), shape_sentence(step))))
    formula.latex(step.formula)
    _show_inputs(steps, step)
    offer_all_tokens(model, step, token, tokenized)
    show_lines(step.place)


def _current(steps: tuple[LayerStep, ...]) -> LayerStep:
    """The chosen step; of a smaller model, the same one further in front."""
    by_name = {step.name: step for step in steps}
    linked = st.query_params.get(STEP) or ""
    is_linked = is_way_back() or (linked and is_arrival())
    name = linked if is_linked else st.session_state.get(STEP) or linked
    if name not in by_name:
        operation = name.rpartition("/")[2]
        alike = [step.name for step in steps if step.operation == operation]
        name = alike[-1] if alike else steps[0].name
    st.session_state[STEP] = name
    put_into_address({STEP: [] if name == steps[0].name else [name]})
    return by_name[name]


def name_missing_heads(model: str) -> None:
    """Why the way out is shorter than that of a pre-trained BERT."""
    heads = ask(Explorer.info)(model).heads
    missing = [head for head in ("mlm", "pooler", "nsp") if head not in heads]
    if "pooler" in missing:  # what next sentence is read from
        missing.remove("nsp")
    if missing:
        st.caption(in_a_row(t(f"layers.without_{head}") for head in missing))


def shape_sentence(step: LayerStep) -> str:
    """The sizes; not every step is done for the whole sentence."""
    key = "layers.shape_asked" if "P" in step.axes else "layers.shape"
    key = "layers.shape_pooled" if step.is_pooled else key
    return t(key, sizes=shape_text(step), count=math.prod(step.shape))


def _show_inputs(steps: tuple[LayerStep, ...], step: LayerStep) -> None:
    """The steps that this one reads; each is a way to it."""
    if not step.inputs:
        return
    by_name = {other.name: other for other in steps}
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(t("layers.computed_from"), width="content")
        for name in step.inputs:
            st.button(
                Markdown(step_name(by_name[name], beside=step)),
                key=f"layers_input_{name}",
                type="tertiary",
                on_click=go_to,
                args=(name,),
            )


def show_lines(place: CodePlace) -> None:
    """Draws lines of the core, and where they stand.

    Without Streamlit's colours, some of which are too pale to read well.
    """
    st.code(place.code, None, wrap_lines=True)
    is_one = place.line == place.last_line
    st.caption(
        t(
            "layers.code_place" if is_one else "layers.code_places",
            file=place.module.replace(".", "/") + ".py",
            line=place.line,
            function=place.qualified_name,
            **({} if is_one else {"last": place.last_line}),
        )
    )
