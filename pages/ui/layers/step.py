"""One step: what it does, its formula, its numbers, its lines of code."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from bertviz_core.experiments.step_results import LayerStep, PartNumbers
from bertviz_core.explorer import Explorer
from bertviz_core.snippets import layers
from bertviz_core.trace import TokenizedText
from pages.ui.answers import ask
from pages.ui.code import show_code
from pages.ui.language import t
from pages.ui.layers.all_tokens import offer_all_tokens
from pages.ui.layers.picture import show_numbers
from pages.ui.layers.state import go_to
from pages.ui.layers.wording import about_step, operation_name, shape_text, step_name
from pages.ui.markdown import Markdown


def show_step(
    model: str,
    steps: tuple[LayerStep, ...],
    step: LayerStep,
    numbers_of: Callable[[str], PartNumbers],
    tokenized: TokenizedText,
) -> None:
    """Draws a step.

    Args:
        model: its id.
        steps: all of them.
        step: the one to draw.
        numbers_of: gives the numbers of a part of the network.
        tokenized: what the model reads.
    """
    token = numbers_of(step.part).token
    st.subheader(step_name(step), anchor=False)
    words, formula = st.columns([1, 1], gap="medium")
    pre_norm = ask(Explorer.info)(model).config.pre_norm
    # One element in place of two: a browser takes milliseconds for each.
    words.markdown("\n\n".join((about_step(step, pre_norm), _shape(step))))
    with formula:
        st.latex(step.formula)
    _show_inputs(steps, step)
    show_numbers(model, steps, step, numbers_of, tokenized)
    offer_all_tokens(model, step, token, tokenized)
    _show_code(step)
    show_code(
        layers.STEP,
        name="layers_numbers",
        model=model,
        text=tokenized.text,
        pair=tokenized.pair,
        part=step.part,
        token=0 if step.is_pooled else token,
        step=step.name,
    )


def _shape(step: LayerStep) -> str:
    count = 1
    for size in step.shape:
        count *= size
    return t(_shape_key(step), sizes=shape_text(step), count=count)


def _shape_key(step: LayerStep) -> str:
    """Not every step is done for the whole sentence."""
    if step.is_pooled:
        return "layers.shape_pooled"
    return "layers.shape_asked" if "P" in step.axes else "layers.shape"


def _show_inputs(steps: tuple[LayerStep, ...], step: LayerStep) -> None:
    """The steps that this one reads; each is a way to it."""
    if not step.inputs:
        return
    by_name = {other.name: other for other in steps}
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(t("layers.computed_from"), width="content")
        for name in step.inputs:
            source = by_name[name]
            is_near = source.part == step.part
            st.button(
                Markdown(operation_name(source) if is_near else step_name(source)),
                key=f"layers_input_{name}",
                type="tertiary",
                on_click=go_to,
                args=(name,),
            )


def _show_code(step: LayerStep) -> None:
    place = step.place
    st.code(place.code, language="python", wrap_lines=True)
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
