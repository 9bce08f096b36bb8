"""One attention probability, from two vectors to the last digit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from bertviz_core.experiments.attention_parts import pair_arithmetic
from bertviz_core.experiments.attention_results import PairArithmetic
from bertviz_core.figures.attention_formulas import attention_formulas
from bertviz_core.figures.value_map import value_map_figure
from bertviz_core.snippets import attention as programs
from bertviz_core.trace import Texts, TokenizedText
from pages.attention.locked_tokens import choose_pair
from pages.shared.answers import ask
from pages.shared.code import Program, program
from pages.shared.export import download_csv, show_figure
from pages.shared.language import plain, t
from pages.shared.markdown import Markdown
from pages.shared.panel import panel

# Of a weight: what single precision may make of it without a word on the page.
_MOST_APART = 1e-6


@panel
def explore_arithmetic(
    model: str, texts: Texts, tokenized: TokenizedText, layer: int, head: int
) -> None:
    """Draws every step of the arithmetic for one pair of tokens."""
    st.markdown(t("attention.arithmetic_intro", layer=layer + 1, head=head + 1))
    row, column = choose_pair(tokenized, "edge_from", "looks_at")
    found = ask(pair_arithmetic)(model, texts, layer, head, row, column)
    _show_rows(
        [found.query, found.key, found.products, found.running_sums],
        ("q", "k", "product", "sum"),
        "attention_arithmetic",
        t(
            "attention.vectors_described",
            count=len(found.query),
            total=float(found.running_sums[-1]),
        ),
    )
    _show_formula(found)
    _show_softmax(found, tokenized)
    # What the weight lets through: the other half of the head's work.
    token = tokenized.tokens[column]
    st.markdown(t("attention.value_intro", token=token, weight=found.prob))
    _show_rows(
        [found.value, found.weighted, found.output],
        ("v", "weighted", "output"),
        "attention_values",
        t("attention.values_described", count=len(found.value), norm=found.norm),
        program(
            programs.ARITHMETIC,
            model=model,
            text=texts.text,
            pair=texts.pair,
            layer=layer,
            head=head,
            query=row,
            key=column,
        ),
    )


def _show_rows(
    rows: Sequence[np.ndarray],
    keys: Sequence[str],
    name: str,
    description: str,
    code: Program | None = None,
) -> None:
    names = [plain(f"attention.row_{key}") for key in keys]
    numbers = range(1, len(rows[0]) + 1)
    show_figure(
        value_map_figure(
            np.stack(rows),
            names,
            list(map(str, numbers)),
            title=plain("attention.value"),
            row_title="",
            column_title=plain("attention.dimension"),
            is_signed=True,
        ),
        name=name,
        description=description,
        columns={
            plain("attention.dimension"): numbers,
            **{key: row.tolist() for key, row in zip(names, rows, strict=True)},
        },
        code=code,
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
