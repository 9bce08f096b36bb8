"""Norms after each half of a layer or in front of it, formula beside formula."""

from __future__ import annotations

import streamlit as st

from bertviz_core.experiments.norm_orders import spread_in_both_orders
from bertviz_core.experiments.primer import both_orders_of_a_block
from bertviz_core.experiments.step_table import describe, layer_operations
from bertviz_core.explorer import Explorer
from bertviz_core.trace import Texts
from pages.layers.norms import compare_orders
from pages.layers.walk import show_lines
from pages.shared.answers import ask
from pages.shared.export import show_curves
from pages.shared.language import plain, t
from pages.shared.markdown import Markdown
from pages.shared.panel import panel


@panel
def read_both_orders(model: str, texts: Texts) -> None:
    """Draws both orders from the model's own configuration, their lines, and a run."""
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
    _show_run(model, texts)


def _show_run(model: str, texts: Texts) -> None:
    """Draws what the same numbers make of the text in either order."""
    st.subheader(t("read_model.orders_run"), anchor=False)
    st.markdown(t("read_model.orders_run_intro"))
    spreads = ask(spread_in_both_orders)(model, texts.text, texts.pair)
    *levels, _ = map(str, range(len(spreads["pre"])))
    show_curves(
        {f"layers.order_{order}": row for order, row in spreads.items()},
        "read_model.level",
        [*levels, plain("read_model.to_heads")],
        "read_model.orders_spread",
        name="read_orders",
        description=t(
            "read_model.orders_described",
            post=float(spreads["post"][-2]),
            pre=float(spreads["pre"][-2]),
            normed=float(spreads["pre"][-1]),
        ),
    )
