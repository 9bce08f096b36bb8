"""Norms after each half of a layer or in front of it, formula beside formula."""

from __future__ import annotations

import streamlit as st

from bertviz_core.experiments.primer import both_orders_of_a_block
from bertviz_core.experiments.step_table import describe, layer_operations
from bertviz_core.explorer import Explorer
from pages.layers.norm_order import compare_orders
from pages.layers.walk import show_lines
from pages.shared.answers import ask
from pages.shared.language import plain, t
from pages.shared.markdown import Markdown
from pages.shared.panel import panel


@panel
def read_both_orders(model: str) -> None:
    """Draws both orders from the model's own configuration, and the lines of both."""
    config = ask(Explorer.info)(model).config
    st.markdown(t("read_model.orders_intro"))
    for column, pre_norm in zip(st.columns(2, gap="large"), (False, True), strict=True):
        operations = (*layer_operations(pre_norm), *(["final_norm"] * pre_norm))
        lines = [
            t(
                "read_model.order_line",
                name=plain(f"layer_steps.name_{name}"),
                formula=Markdown(
                    f"${describe(name, pre_norm, config.hidden_act).formula}$"
                ),
            )
            for name in operations
        ]
        with column:
            order = "pre" if pre_norm else "post"
            st.subheader(t(f"layers.order_{order}"), anchor=False)
            st.markdown("\n".join(lines))
    st.markdown(t("read_model.orders_code"))
    show_lines(ask(both_orders_of_a_block)())
    compare_orders(model)
