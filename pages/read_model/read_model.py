"""Read the model: the forward pass from top to bottom, formula by formula."""

import streamlit as st

from bertviz_core.experiments.token_numbers import steps_for_one_token
from pages.read_model.chapters import keras_primer_told, offer_sheet, read_chapters
from pages.read_model.other_formulas import read_both_orders, try_wrong_formulas
from pages.read_model.padding import see_padding
from pages.shared.answers import ask
from pages.shared.choices import choose_named
from pages.shared.language import t
from pages.shared.models import model_picker
from pages.shared.own_text import choose_piece_in_focus, read_by, type_sentence
from pages.shared.panel import panel


@panel
def show_pass(model: str) -> None:
    """Draws the sentence, its way through the model, and what is asked further."""
    texts = type_sentence(model)
    steps = ask(steps_for_one_token).about(model, texts)
    read = choose_piece_in_focus(read_by(model, texts, steps))
    depths = ("lines", "code", "numbers")
    depth = choose_named("read_model.depth", depths)
    read_chapters(read, depth)

    st.header(t("read_model.further_title"), anchor=False)
    further = {  # only what is asked is computed
        "orders": lambda: read_both_orders(model, texts),
        "wrong": lambda: try_wrong_formulas(read),
        "padding": lambda: see_padding(model, texts),
        "sheet": lambda: offer_sheet(model),
    }
    asked = choose_named("read_model.panel", list(further), widget=st.pills)
    st.markdown(t(f"read_model.{asked}_intro"))
    further[asked]()


model = model_picker()

st.header(t("read_model.primer_title"), anchor=False)
keras_primer_told()

st.header(t("read_model.pass_title"), anchor=False)
st.markdown(t("read_model.pass_intro"))
show_pass(model)
