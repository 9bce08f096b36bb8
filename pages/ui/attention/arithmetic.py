"""One attention probability, from two vectors to the last digit."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.experiments.attention_parts import pair_arithmetic
from bertviz_core.experiments.attention_results import PairArithmetic
from bertviz_core.figures.attention_formulas import attention_formulas
from bertviz_core.figures.value_map import value_map_figure
from bertviz_core.snippets import attention as programs
from bertviz_core.trace import TokenizedText
from pages.ui.answers import ask
from pages.ui.attention.pair import choose_pair
from pages.ui.code import show_code
from pages.ui.errors import shown_to_user
from pages.ui.export import download_csv, show_figure
from pages.ui.language import plain, t
from pages.ui.markdown import Markdown
from pages.ui.text_pair import Texts

# Of a weight: what single precision may make of it without a word on the page.
_MOST_APART = 1e-6


@st.fragment
def explore_arithmetic(
    model: str, texts: Texts, tokenized: TokenizedText, layer: int, head: int
) -> None:
    """Draws every step of the arithmetic for one pair of tokens.

    Args:
        model: its id.
        texts: what it reads.
        tokenized: the same, in tokens.
        layer: from 0.
        head: from 0.
    """
    st.markdown(t("attention.arithmetic_intro", layer=layer + 1, head=head + 1))
    with shown_to_user():
        row, column = choose_pair(tokenized, "edge_from", "looks_at")
        found = ask(pair_arithmetic)(model, texts, layer, head, row, column)
        _show_vectors(found)
        _show_formula(found)
        _show_softmax(found, tokenized)
        _show_value(found, tokenized.tokens[column])
        show_code(
            programs.ARITHMETIC,
            name="attention_arithmetic",
            model=model,
            text=texts.text,
            pair=texts.pair,
            layer=layer,
            head=head,
            query=row,
            key=column,
        )


def _show_vectors(found: PairArithmetic) -> None:
    rows = np.stack([found.query, found.key, found.products, found.running_sums])
    _show_rows(
        rows,
        ("q", "k", "product", "sum"),
        "attention_arithmetic",
        t(
            "attention.vectors_described",
            count=len(found.query),
            total=float(found.running_sums[-1]),
        ),
    )


def _show_value(found: PairArithmetic, token: str) -> None:
    """What the weight lets through: the other half of the head's work."""
    st.markdown(t("attention.value_intro", token=token, weight=found.prob))
    _show_rows(
        np.stack([found.value, found.weighted, found.output]),
        ("v", "weighted", "output"),
        "attention_values",
        t("attention.values_described", count=len(found.value), norm=found.norm),
    )


def _show_rows(
    rows: np.ndarray, keys: tuple[str, ...], name: str, description: str
) -> None:
    names = [plain(f"attention.row_{key}") for key in keys]
    size = rows.shape[1]
    show_figure(
        value_map_figure(
            rows,
            names,
            [str(index + 1) for index in range(size)],
            title=plain("attention.value"),
            row_title="",
            column_title=plain("attention.dimension"),
            is_signed=True,
        ),
        name=name,
        description=description,
        columns={
            plain("attention.dimension"): list(range(1, size + 1)),
            **{key: row.tolist() for key, row in zip(names, rows, strict=True)},
        },
    )


def _show_formula(found: PairArithmetic) -> None:
    for formula in attention_formulas(found):
        st.latex(formula)
    difference = abs(found.prob - found.exposed_prob)
    st.caption(
        t(
            "attention.agrees_with_model",
            exposed=found.exposed_prob,
            difference=Markdown(f"{difference:.0e}"),
        )
    )
    apart = abs(found.unrounded_prob - found.exposed_prob)
    if apart > _MOST_APART:
        st.caption(
            t(
                "attention.sum_rounded",
                rounding=Markdown(f"{found.rounding:+.0e}"),
                prob=found.unrounded_prob,
                difference=Markdown(f"{apart:.0e}"),
            )
        )


def _show_softmax(found: PairArithmetic, tokenized: TokenizedText) -> None:
    table = {
        plain("attention.token"): list(tokenized.tokens),
        plain("attention.score_s"): found.scores.tolist(),
        plain("attention.mask_m"): found.mask_terms.tolist(),
        plain("attention.weight_alpha"): found.probs.tolist(),
    }
    with st.expander(t("attention.whole_row"), icon=":material/table:"):
        st.dataframe(table, alt=t("attention.whole_row"))
        numbers = list(range(1, tokenized.num_tokens + 1))
        download_csv(
            {plain("attention.column_number"): numbers, **table},
            "attention_softmax_row",
        )
