"""How BERT learns: a tiny one is pre-trained on a page of text, as one looks."""

import streamlit as st

from bertviz_core.experiments.tiny_results import COMMAND
from bertviz_core.figures.pretraining import LOSS_FORMULA
from bertviz_core.trace import Texts
from pages.pretraining.objective import (
    show_blocks_anew,
    show_decoding,
    show_layer_drop,
    show_objective,
)
from pages.pretraining.tiny_run import explore_pretraining
from pages.shared.choices import choose_named
from pages.shared.language import t
from pages.shared.models import model_picker
from pages.shared.own_text import read_by, type_sentence

explore_pretraining()

st.header(t("pretraining.how_title"), anchor=False)
st.markdown(t("pretraining.how"))
st.latex(LOSS_FORMULA)
st.markdown(t("pretraining.at_home"))
st.code(COMMAND, language="bash")


def text_of_visit() -> tuple[str, Texts]:
    """Draws the choice of a model and the boxes of its text."""
    model = model_picker()
    texts = type_sentence(model)
    read_by(model, texts)
    return model, texts


st.header(t("objective.title"), anchor=False)
parts = {  # only what is asked is computed, and needs a model
    "losses": lambda: show_objective(*text_of_visit()),
    "decoder": lambda: show_decoding(*text_of_visit()),
    "drop": show_layer_drop,
    "anew": show_blocks_anew,
}
parts[choose_named("objective.part", list(parts), widget=st.pills)]()
