"""One attention probability, from two vectors to the last digit."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.experiments.attention_results import PairArithmetic
from bertviz_core.figures.attention_formulas import attention_formulas
from bertviz_core.figures.value_map import value_map_figure
from bertviz_core.trace import TokenizedText
from pages.ui.attention.answers import pair_arithmetic
from pages.ui.attention.texts import Texts
from pages.ui.errors import shown_to_user
from pages.ui.export import show_figure
from pages.ui.language import plain, t
from pages.ui.markdown import Markdown

FROM, TO = "attention_from", "attention_to"


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
        row, column = _choose_pair(tokenized)
        found = pair_arithmetic(model, texts, layer, head, row, column)
        _show_vectors(found)
        _show_formula(found)
        _show_softmax(found, tokenized)


def _choose_pair(tokenized: TokenizedText) -> tuple[int, int]:
    names = [f"{i + 1} {token}" for i, token in enumerate(tokenized.tokens)]
    chosen = []
    for box, key, text in zip(
        st.columns(2), (FROM, TO), ("edge_from", "looks_at"), strict=True
    ):
        # A text that got shorter may have lost the token.
        if st.session_state.get(key, 0) >= len(names):
            st.session_state[key] = 0
        chosen.append(
            box.selectbox(
                t(f"attention.{text}"),
                range(len(names)),
                index=min(1, len(names) - 1),
                format_func=names.__getitem__,
                key=key,
            )
        )
    return chosen[0] or 0, chosen[1] or 0


def _show_vectors(found: PairArithmetic) -> None:
    rows = np.stack([found.query, found.key, found.products, found.running_sums])
    names = [plain(f"attention.row_{name}") for name in ("q", "k", "product", "sum")]
    size = len(found.query)
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
        name="attention_arithmetic",
        description=t(
            "attention.vectors_described",
            count=size,
            total=float(found.running_sums[-1]),
        ),
        columns={
            plain("attention.dimension"): list(range(1, size + 1)),
            **{name: row.tolist() for name, row in zip(names, rows, strict=True)},
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


def _show_softmax(found: PairArithmetic, tokenized: TokenizedText) -> None:
    table = {
        plain("attention.token"): list(tokenized.tokens),
        plain("attention.score_s"): found.scores.tolist(),
        plain("attention.weight_alpha"): found.probs.tolist(),
    }
    with st.expander(t("attention.whole_row"), icon=":material/table:"):
        st.dataframe(table, alt=t("attention.whole_row"))
