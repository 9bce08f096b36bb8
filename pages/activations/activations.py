"""Activation functions: their curves, what is wrong with each, and GELU from Φ."""

import streamlit as st

from pages.activations.curves import explore_curves
from pages.activations.gelu import explore_approximation, explore_normal
from pages.activations.weaknesses import explore_weaknesses
from pages.masked_word.panels import PANEL, choose_panel
from pages.shared.language import t
from pages.shared.panel import button

st.header(t("activations.curves_title"), anchor=False)
explore_curves()

st.header(t("activations.weaknesses_title"), anchor=False)
st.markdown(t("activations.weaknesses_intro"))
explore_weaknesses()

st.header(t("activations.gelu_title"), anchor=False)
st.markdown(t("activations.gelu_intro"))
explore_normal()

st.header(t("activations.approximation_title"), anchor=False)
st.markdown(t("activations.approximation_intro"))
explore_approximation()

# What asks a model stands below this line, so that nothing above waits for one.
st.markdown(t("activations.gelu_on_model_intro"))
if button("activations.gelu_on_model", "act_to_masked", "edit_note"):
    choose_panel("gelu")
    # Without parameters, Streamlit refuses to leave an address with a choice in it.
    st.switch_page("pages/masked_word/masked_word.py", query_params={PANEL: "gelu"})
