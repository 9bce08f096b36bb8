"""Models: what is here, what was loaded, what a setting means, how to add one."""

import streamlit as st

from bertviz_core.explorer import Explorer
from pages.fine_tune.step_try import can_try, offer_to_try
from pages.models.add_model import add_model
from pages.models.model_report import (
    config_table,
    parity,
    show_parts,
    show_report,
    show_sizes,
    weight_names,
)
from pages.shared.answers import ask
from pages.shared.language import Markdown, t
from pages.shared.models import (
    known_models,
    model_picker,
    remove_uploaded,
    summary,
    title_of,
)
from pages.shared.panel import button

model = model_picker()
info = ask(Explorer.info)(model)

st.header(t("models.chosen", model=title_of(model)), anchor=False)
show_sizes(info)
parts, report = st.columns(2)
with parts:
    st.subheader(t("models.parts"), anchor=False)
    show_parts(info)
    if can_try(model):
        offer_to_try(model)
with report:
    st.subheader(t("models.report"), anchor=False)
    show_report(info.report)
with st.expander(t("models.settings")):
    st.markdown(config_table(info.config))
weights = st.expander(t("weight_names.title"), key="weights_open", on_change="rerun")
if weights.open:
    with weights:
        weight_names(model)
parity(model)

st.header(t("models.here"), anchor=False)
for key, entry in known_models().items():
    # A list, as the ids of uploads and trainings are too wide for a table on a phone.
    about = Markdown(summary(entry))
    listed = "models.at_hand" if key == entry.title else "models.at_hand_typed"
    st.markdown(t(listed, title=entry.title, about=about, id=key))
    if entry.origin == "upload":
        button(
            t("models.remove", title=entry.title),
            f"remove_{key}",
            "delete",
            remove_uploaded,
            key,
            help=t("models.remove_help"),
        )

st.header(t("models.add"), anchor=False)
add_model()
