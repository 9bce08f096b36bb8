"""The sheet of all formulas, to look at and to print."""

from __future__ import annotations

import streamlit as st

from bertviz_core.experiments.step_table import describe
from bertviz_core.explorer import Explorer
from bertviz_core.figures.formula_sheet import formula_sheet, shape_of, sheet_chapters
from pages.shared.answers import ask
from pages.shared.language import current_language, plain, t
from pages.shared.markdown import Markdown, escape
from pages.shared.models import title_of
from pages.shared.panel import download, panel


@panel
def offer_sheet(model: str) -> None:
    """Draws the formulas as they are printed, and the button that saves them."""
    info = ask(Explorer.info)(model)
    config = info.config
    st.markdown(t("read_model.sheet_intro"))
    download(
        "read_model.sheet_save",
        lambda: formula_sheet(
            config,
            info.heads,
            current_language(),
            _say,
            plain("read_model.sheet_title", model=title_of(model)),
        ),
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
