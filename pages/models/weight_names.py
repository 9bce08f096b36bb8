"""Every weight by its three names, and what the numbers of one look like."""

from __future__ import annotations

import io
import math

import numpy as np
import streamlit as st

from bertviz_core.checkpoints.names import (
    COPIES,
    GOOGLE,
    HUGGINGFACE,
    Weight,
    weights_of,
)
from bertviz_core.experiments.weight_pictures import weight_picture, weight_values
from bertviz_core.explorer import Explorer
from bertviz_core.figures.bars import histogram_figure
from bertviz_core.snippets import read_model as snippets
from pages.shared.answers import ask
from pages.shared.choices import choose_linked, type_linked
from pages.shared.export import show_figure, show_table
from pages.shared.language import plain, t
from pages.shared.markdown import Markdown
from pages.shared.panel import download, panel
from pages.shared.tools import program

_BYTES_A_NUMBER = 4
# A download lies in memory until the page runs again.
_MOST_BYTES = 64 * 2**20

Pair = tuple[Weight, Weight]  # as Google and as Hugging Face store it


@panel
def weight_names(model: str) -> None:
    """Draws the table, a filter, and the picture of the weight that is chosen."""
    info = ask(Explorer.info)(model)
    num_labels = len(info.labels) or 2
    both = (
        weights_of(info.config, info.heads, kind, num_labels)
        for kind in (GOOGLE, HUGGINGFACE)
    )
    pairs = tuple(zip(*both, strict=True))
    st.markdown(t("weight_names.intro"))
    wanted = type_linked(
        *(st.text_input, "weight_names.filter", ""),
        key="weights_filter",
        max_chars=100,
        placeholder=t("weight_names.filter_example"),
    ).lower()
    shown = [pair for pair in pairs if wanted in _all_names(pair)]
    st.caption(t("weight_names.shown", count=len(shown), total=len(pairs)))
    if not shown:
        st.info(t("weight_names.none"), icon=":material/search_off:")
        return
    columns = _columns(shown)
    show_table(columns, plain("weight_names.alt"), "weight_names", height=300)
    copies = [f"- `{copy}` = `{original}`" for copy, original in COPIES.items()]
    st.caption(t("weight_names.notes", copies=Markdown("\n".join(copies))))
    name = choose_linked(
        st.selectbox,
        "weight_names.weight",
        [ours.ours for ours, _ in shown],
        key="weights_name",
    )
    _show_weight(model, name)


def _all_names(pair: Pair) -> str:
    google, huggingface = pair
    return " ".join((google.ours, google.stored, huggingface.stored)).lower()


def _columns(pairs: list[Pair]) -> dict[str, list[str]]:
    def stored(weight: Weight) -> str:
        if not weight.stored:
            return plain("weight_names.not_there")
        turned = plain("weight_names.transposed") if weight.transposed else ""
        return f"{_sizes(weight.stored_shape)} {turned}".strip()

    return {
        "weight_names.ours": [google.ours for google, _ in pairs],
        "weight_names.shape": [_sizes(google.shape) for google, _ in pairs],
        "weight_names.google": [google.stored for google, _ in pairs],
        "weight_names.google_shape": [stored(google) for google, _ in pairs],
        "weight_names.huggingface": [theirs.stored for _, theirs in pairs],
        "weight_names.huggingface_shape": [stored(hf) for _, hf in pairs],
    }


def _sizes(shape: tuple[int, ...]) -> str:
    return " × ".join(f"{size:,}" for size in shape)


def _show_weight(model: str, name: str) -> None:
    found = ask(weight_picture)(model, name)
    middles = (found.edges[:-1] + found.edges[1:]) / 2
    show_figure(
        histogram_figure(
            found.counts,
            found.edges,
            x_title=plain("weight_names.number"),
            y_title=plain("weight_names.how_many"),
        ),
        name="weight_picture",
        description=t(
            "weight_names.described",
            name=name,
            count=math.prod(found.shape),
            mean=found.mean,
            spread=found.spread,
            low=found.low,
            high=found.high,
        ),
        columns={"weight_names.number": middles, "weight_names.how_many": found.counts},
        code=program(snippets.WEIGHT, model, name=name),
    )
    if math.prod(found.shape) * _BYTES_A_NUMBER > _MOST_BYTES:
        st.caption(t("weight_names.too_large"))
        return
    download(
        "weight_names.save",
        lambda: _npy(ask(weight_values)(model, name)),
        plain("weight_names.file", name=name.replace("/", ".")),
        "application/octet-stream",
        "weight_file",
        "download",
    )


def _npy(values: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, values, allow_pickle=False)
    return file.getvalue()
