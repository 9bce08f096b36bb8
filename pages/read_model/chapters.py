"""The forward pass: Keras on the shortest layer, each step a line, a sheet to print."""

import numpy as np
import streamlit as st

from bertviz_core.experiments.primer import keras_primer
from bertviz_core.experiments.step_results import LayerStep
from bertviz_core.experiments.step_table import describe
from bertviz_core.experiments.token_numbers import part_numbers, steps_for_one_token
from bertviz_core.explorer import Explorer
from bertviz_core.figures.formula_sheet import (
    chapter_of,
    formula_sheet,
    shape_of,
    sheet_chapters,
)
from bertviz_core.snippets import layers as snippets
from pages.layers.walk import (
    STEP,
    name_missing_heads,
    picture_of,
    shape_sentence,
    show_lines,
)
from pages.layers.wording import about_step, operation_name
from pages.shared.answers import ask
from pages.shared.choices import choose_linked, choose_named, is_way_back, write_linked
from pages.shared.export import show_figure
from pages.shared.language import Markdown, current_language, escape, plain, t
from pages.shared.models import title_of
from pages.shared.navigation import link_to
from pages.shared.own_text import Reading
from pages.shared.panel import download, panel, program

_METHODS = ("init", "build", "call")


@panel
def keras_primer_told() -> None:
    """Draws the three methods side by side, with what there is after each has run."""
    st.markdown(t("read_model.primer_intro"))
    primer = ask(keras_primer)()
    for name, moment in zip(_METHODS, primer.moments, strict=True):
        st.markdown(t(f"read_model.primer_{name}"))
        show_lines(moment.place)
    with st.expander(t("read_model.primer_numbers"), icon=":material/calculate:"):
        for name, moment in zip(_METHODS, primer.moments, strict=True):
            count = len(moment.weights)
            st.markdown(t(f"read_model.primer_after_{name}", count=count))
            if name == "build":
                for weight, values in moment.weights.items():
                    st.latex(_equation(weight, _matrix(values)))
        kernel, bias = primer.moments[-1].weights.values()
        x, y = _matrix(primer.x), _matrix(primer.y)
        st.latex(_equation("y", rf"{x}\,{_matrix(kernel)} + {_matrix(bias)} = {y}"))


def _equation(name: str, right: str) -> str:
    return rf"\mathrm{{{name}}} = {right}"


def _matrix(values: np.ndarray) -> str:
    rows = r" \\ ".join(
        " & ".join(f"{x:z.4g}" for x in row) for row in np.atleast_2d(values)
    )
    return rf"\begin{{bmatrix}} {rows} \end{{bmatrix}}"


_LAYER = "read_layer"
_CHAPTERS = ("embeddings", "layer", "final_norm", "pooled", "words")
_ALL = "all"


def read_chapters(read: Reading, depth: str) -> None:
    """Draws the chapters one below the other, or the one that is chosen."""
    steps = ask(steps_for_one_token)(*read.asked)
    found = {chapter_of(step.operation) for step in steps}
    offered = [_ALL, *(name for name in _CHAPTERS if name in found)]
    chosen = choose_named("read_model.chapter", offered, widget=st.pills)
    name_missing_heads(read.model)
    for name in offered[1:] if chosen == _ALL else [chosen]:
        _read(read, depth, name)


@panel
def _read(read: Reading, depth: str, chapter: str) -> None:
    st.subheader(t(f"read_model.chapter_{chapter}"), anchor=False)
    st.markdown(t(f"read_model.about_{chapter}"))
    steps = ask(steps_for_one_token)(*read.asked)
    layer = None
    if chapter == "layer":
        count = ask(Explorer.info)(read.model).config.num_hidden_layers
        numbers = [str(number + 1) for number in range(count)]
        label = t("read_model.layer_shown")
        layer = int(choose_linked(st.selectbox, label, numbers, key=_LAYER)) - 1
    shown = [
        s for s in steps if chapter_of(s.operation) == chapter and s.layer == layer
    ]
    linked = st.query_params.get(f"read_{chapter}_open", "").split(",")
    opened = []
    for step in shown:
        key = f"read_{step.operation}_{depth}"
        if key not in st.session_state or is_way_back():
            st.session_state[key] = depth != "lines" or step.operation in linked
        sizes = " × ".join(f"{size:,}" for size in step.shape)
        name, formula = operation_name(step), Markdown(f"${step.formula}$")
        line = t("read_model.line", name=name, formula=formula, sizes=sizes)
        box = st.expander(line, key=key, on_change="rerun")
        if box.open:
            opened.append(step.operation)
            with box:
                _open(read, steps, step, depth)
    if depth == "lines":
        write_linked(f"read_{chapter}_open", ",".join(opened), "")


def _open(
    read: Reading, steps: tuple[LayerStep, ...], step: LayerStep, depth: str
) -> None:
    words, lines = st.columns([2, 3], gap="medium")
    pre_norm = ask(Explorer.info)(read.model).config.pre_norm
    words.markdown("\n\n".join((about_step(step, pre_norm), shape_sentence(step))))
    with words:
        params = {**st.query_params, STEP: step.name}
        link_to("layers", "read_model.walk_there", params=params)
    with lines:
        show_lines(step.place)
    if depth == "code":
        return
    numbers = ask(part_numbers)(*read.asked, step.part, read.token)
    shown = picture_of(read, steps, step, numbers)
    show_figure(
        shown.drawing.figure(),
        name=f"read_{step.operation}",
        description=shown.description,
        columns=shown.columns(),
        code=program(
            snippets.STEP,
            *read.asked,
            part=step.part,
            token=0 if step.is_pooled else read.token,
            step=step.name,
        ),
    )


@panel
def offer_sheet(model: str) -> None:
    """Draws the formulas as they are printed, and the button that saves them."""
    info = ask(Explorer.info)(model)
    config, title = info.config, plain("read_model.sheet_title", model=title_of(model))
    download(
        "read_model.sheet_save",
        lambda: formula_sheet(config, info.heads, current_language(), _say, title),
        plain("read_model.sheet_file"),
        "text/html",
        "read_sheet_file",
        "print",
    )
    for chapter in sheet_chapters(config.pre_norm, info.heads):
        st.markdown(f"**{t(f'read_model.chapter_{chapter.name}')}**")
        lines = []
        for name in chapter.operations:
            found = describe(name, config.pre_norm, config.hidden_act)
            cells = plain(f"layer_steps.name_{name}"), shape_of(found.axes, config)
            named, shape = map(escape, cells)
            lines.append(f"| {named} | ${found.formula}$ | {shape} |")
        header = "| " + " | ".join(
            t(f"read_model.sheet_{column}") for column in ("step", "formula", "shape")
        )
        st.markdown(Markdown("\n".join([f"{header} |", "|---|---|---|", *lines])))


def _say(name: str) -> str:
    """What the sheet says, in the visitor's language."""
    if name == "signs":
        return plain("glossary.signs_meaning")
    if name == "intro":
        return plain("read_model.sheet_note")
    if name.startswith("chapter_"):
        return plain(f"read_model.{name}")
    return plain(f"layer_steps.name_{name}")
