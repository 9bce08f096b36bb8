"""Home: the sentence of the visit, the whole model in one picture, and the doors."""

from dataclasses import replace

import streamlit as st

from bertviz_core.experiments.whole_model import MOST_SHOWN, whole_model
from bertviz_core.explorer import Explorer
from bertviz_core.mask_text import split_words
from pages.home.whole_model import draw_whole_model
from pages.shared.answers import ask
from pages.shared.language import t
from pages.shared.models import default_model, model_picker
from pages.shared.navigation import FIRST, ICONS, link_to
from pages.shared.own_text import piece_in_focus, read_by, type_sentence
from pages.shared.panel import panel

CARDS_IN_ROW = 3


@panel
def show_sentence(model: str) -> None:
    """Draws the boxes of the sentence, and the whole model at work on it."""
    texts = type_sentence(model)
    if "mlm" not in ask(Explorer.info)(model).heads:
        st.info(t("home.no_head", model=model, default=default_model()))
    if texts.text.strip():
        # Of a text that is too long to be shown whole, a part is asked for below.
        words = split_words(f"{texts.text} {texts.pair or ''}", MOST_SHOWN)
        whole = [ask(whole_model).about(model, texts, None)]
        read = read_by(model, texts, *(whole if len(words) < MOST_SHOWN else ()))
        draw_whole_model(replace(read, token=piece_in_focus(read.tokenized)))
    else:
        st.info(t("app.no_text"), icon=":material/edit:")


model = model_picker()
sentence = st.container()

st.header(t("home.explore"), anchor=False)
others = [name for name in ICONS if name != FIRST]
for row in range(0, len(others), CARDS_IN_ROW):
    boxes = st.columns(CARDS_IN_ROW)
    for box, name in zip(boxes, others[row : row + CARDS_IN_ROW], strict=False):
        with box.container(border=True, height="stretch"):
            link_to(name)
            st.markdown(t(f"home.card_{name}"))

# The last, as a text that cannot be read ends the run; the doors above stay.
with sentence:
    show_sentence(model)
