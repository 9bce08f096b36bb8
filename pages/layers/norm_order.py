"""Both orders of a layer side by side: norms after each half, or in front of it."""

from __future__ import annotations

import streamlit as st

from bertviz_core.explorer import Explorer
from bertviz_core.figures.layer_diagram import layer_boxes, layer_diagram
from pages.shared.answers import ask
from pages.shared.export import show_figure
from pages.shared.language import plain, t
from pages.shared.panel import panel


@panel
def compare_orders(model: str) -> None:
    """Draws a layer of BERT and one of its successors, and says which one this is."""
    st.markdown(t("layers.orders_intro"))
    is_pre = ask(Explorer.info)(model).config.pre_norm
    for column, order in zip(st.columns(2, gap="large"), ("post", "pre"), strict=True):
        is_this = (order == "pre") == is_pre
        boxes = layer_boxes(order == "pre")
        with column:
            st.subheader(t(f"layers.order_{order}"), anchor=False)
            st.caption(t("layers.order_this" if is_this else "layers.order_other"))
            show_figure(
                layer_diagram(order == "pre", lambda name: plain(f"layers.box_{name}")),
                name=f"layers_order_{order}",
                description=t(f"layers.order_{order}_described"),
                columns={
                    "layers.box": [plain(f"layers.box_{box.kind}") for box in boxes],
                    "layers.box_where": [
                        plain(
                            "layers.on_stream"
                            if box.is_on_stream
                            else "layers.beside_stream"
                        )
                        for box in boxes
                    ],
                },
            )
    st.markdown(t("layers.orders_why"))
