"""Both orders of a layer side by side: norms after each half, or in front of it."""

from __future__ import annotations

import streamlit as st

from bertviz_core.explorer import Explorer
from bertviz_core.figures.layer_diagram import DiagramWords, layer_boxes, layer_diagram
from pages.ui.answers import ask
from pages.ui.export import show_figure
from pages.ui.language import plain, t


def compare_orders(model: str) -> None:
    """Draws a layer of BERT and one of its successors.

    Args:
        model: its id; the page says which of the two it is.
    """
    st.markdown(t("layers.orders_intro"))
    is_pre = ask(Explorer.info)(model).config.pre_norm
    words = DiagramWords(
        attention=plain("layers.box_attention"),
        feed_forward=plain("layers.box_feed_forward"),
        norm=plain("layers.box_norm"),
        enters=plain("layers.box_enters"),
        leaves=plain("layers.box_leaves"),
    )
    for box, order in zip(st.columns(2, gap="large"), ("post", "pre"), strict=True):
        is_this = (order == "pre") == is_pre
        with box:
            st.subheader(t(f"layers.order_{order}"), anchor=False)
            st.caption(t("layers.order_this" if is_this else "layers.order_other"))
            show_figure(
                layer_diagram(order == "pre", words),
                name=f"layers_order_{order}",
                description=t(f"layers.order_{order}_described"),
                columns=_table(order == "pre"),
            )
    st.markdown(t("layers.orders_why"))


def _table(is_pre: bool) -> dict[str, list[str]]:
    boxes = layer_boxes(is_pre)
    return {
        plain("layers.box"): [plain(f"layers.box_{box.kind}") for box in boxes],
        plain("layers.box_where"): [
            plain("layers.on_stream" if box.is_on_stream else "layers.beside_stream")
            for box in boxes
        ],
    }
