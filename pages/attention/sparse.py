"""What a prediction loses when tokens may look at a few others only."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.experiments.cause_results import SparsePattern, SparsePrediction
from bertviz_core.experiments.sparsity import predict_sparsely
from bertviz_core.figures.value_map import value_map_figure
from bertviz_core.trace import Texts, TokenizedText
from pages.attention.before_after import show_before_and_after
from pages.attention.maps import show_head_map
from pages.attention.token_table import PairColumns
from pages.shared.answers import ask
from pages.shared.export import show_figure
from pages.shared.language import plain, t
from pages.shared.panel import panel
from pages.shared.watched_answer import Watched

_DOT = "•"  # an arrow that is left, for colour alone says nothing to some
_MOST_DRAWN = 64  # tokens on a side of the pattern's picture


@panel
def explore_patterns(
    model: str, texts: Texts, tokenized: TokenizedText, watched: Watched
) -> None:
    """Draws the settings of a sparse pattern, and the prediction under it."""
    st.markdown(t("attention.sparse_intro"))
    pattern = _choose_pattern()
    result = ask(predict_sparsely)(
        model, texts.text, watched.target, pattern, pair=texts.pair, cut=True
    )
    show_before_and_after(result, model, watched, "attention_sparse_answer")
    first, second = st.columns(2)
    with first:
        _show_edges(result, tokenized)
    with second:
        show_head_map(
            result.cut_mass,
            plain("attention.cut_mass"),
            name="attention_sparse_mass",
            description=t(
                "attention.cut_mass_described", share=float(result.cut_mass.mean())
            ),
        )


def _choose_pattern() -> SparsePattern:
    ranges = {
        "window": (0, 64, 2),
        "stride": (0, 64, 0),
        "num_global": (0, 16, 1),
        "block": (1, 32, 1),
    }
    chosen = {
        name: box.number_input(
            t(f"attention.sparse_{name}"),
            *ends_and_value,
            key=f"attention_sparse_{name}",
            help=t(f"attention.sparse_{name}_help"),
            bind="query-params",
        )
        for box, (name, ends_and_value) in zip(
            st.columns(4), ranges.items(), strict=True
        )
    }
    return SparsePattern(**{name: int(value) for name, value in chosen.items()})


def _show_edges(result: SparsePrediction, tokenized: TokenizedText) -> None:
    names = list(tokenized.tokens)
    drawn = names[:_MOST_DRAWN]
    edges = result.edges[:_MOST_DRAWN, :_MOST_DRAWN]
    show_figure(
        value_map_figure(
            edges.astype(float),
            drawn,
            drawn,
            title=plain("attention.may_look"),
            row_title=plain("attention.from_token"),
            column_title=plain("attention.to_token"),
            is_signed=False,
            digits=0,
            marks=np.where(edges, _DOT, "").tolist(),
        ),
        name="attention_sparse_edges",
        description=t("attention.edges_described", share=result.kept_share),
        columns=PairColumns(names, result.edges, plain("attention.may_look")),
    )
