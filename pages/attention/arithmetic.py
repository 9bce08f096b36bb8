"""One attention probability, from two vectors to the last digit."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from bertviz_core.experiments.attention_parts import pair_arithmetic
from bertviz_core.experiments.attention_results import PairArithmetic
from bertviz_core.figures.number_formulas import attention_formulas
from bertviz_core.snippets import attention as programs
from bertviz_core.trace import TokenizedText
from pages.attention.canvas import View
from pages.attention.pictures import choose_pair
from pages.shared.answers import ask
from pages.shared.export import download_csv, show_map, show_table
from pages.shared.language import plain, t
from pages.shared.own_text import Reading
from pages.shared.panel import Program, panel, program

# Of a weight: what single precision may make of it without a word on the page.
_MOST_APART = 1e-6


@panel
def explore_arithmetic(read: Reading, view: View) -> None:
    """Draws every step of the arithmetic for one pair of tokens."""
    layer, head = view.layer, view.head
    st.markdown(t("attention.arithmetic_intro", layer=layer + 1, head=head + 1))
    row, column = choose_pair(read, view, "looks_at")
    found = ask(pair_arithmetic)(*read.asked, layer, head, row, column)
    places = {"count": len(found.query), "total": float(found.running_sums[-1])}
    _show_rows(
        [found.query, found.key, found.products, found.running_sums],
        ("q", "k", "product", "sum"),
        "attention_arithmetic",
        t("attention.vectors_described", **places),
    )
    _show_formula(found)
    _show_softmax(found, read.tokenized)
    # What the weight lets through: the other half of the head's work.
    token = read.tokenized.tokens[column]
    st.markdown(t("attention.value_intro", token=token, weight=found.prob))
    chosen = {"layer": layer, "head": head, "query": row, "key": column}
    _show_rows(
        [found.value, found.weighted, found.output],
        ("v", "weighted", "output"),
        "attention_values",
        t("attention.values_described", count=len(found.value), norm=found.norm),
        program(programs.ARITHMETIC, *read.asked, **chosen),
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
    show_map(
        name,
        np.stack(rows),
        names,
        numbers,
        ("attention.value", "", "attention.dimension"),
        description,
        table={"attention.dimension": numbers, **dict(zip(names, rows, strict=True))},
        code=code,
        is_signed=True,
    )


def _show_formula(found: PairArithmetic) -> None:
    for formula in attention_formulas(found):
        st.latex(formula)
    off, apart = (
        f"{abs(prob - found.exposed_prob):.0e}"
        for prob in (found.prob, found.unrounded_prob)
    )
    exposed = found.exposed_prob
    st.caption(t("attention.agrees_with_model", exposed=exposed, difference=off))
    if abs(found.unrounded_prob - exposed) > _MOST_APART:
        places = {"rounding": f"{found.rounding:+.0e}", "difference": apart}
        st.caption(t("attention.sum_rounded", **places, prob=found.unrounded_prob))


def _show_softmax(found: PairArithmetic, tokenized: TokenizedText) -> None:
    table = {
        "attention.token": list(tokenized.tokens),
        "attention.score_s": found.scores,
        "attention.mask_m": found.mask_terms,
        "attention.weight_alpha": found.probs,
    }
    with st.expander(t("attention.whole_row"), icon=":material/table:"):
        show_table(table, t("attention.whole_row"), hide_index=False)
        numbers = list(range(1, tokenized.num_tokens + 1))
        numbered = {"attention.column_number": numbers, **table}
        download_csv(numbered, "attention_softmax_row")
