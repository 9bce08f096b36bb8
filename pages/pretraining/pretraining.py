"""How BERT learns: a tiny one is pre-trained on a page of text, as one looks."""

import streamlit as st

from bertviz_core.experiments.tiny_results import COMMAND
from bertviz_core.figures.tiny_pretraining import LOSS_FORMULA
from pages.pretraining.tiny_run import explore_pretraining
from pages.shared.language import t

explore_pretraining()

st.header(t("pretraining.how_title"), anchor=False)
st.markdown(t("pretraining.how"))
st.latex(LOSS_FORMULA)
st.markdown(t("pretraining.at_home"))
st.code(COMMAND, language="bash")
