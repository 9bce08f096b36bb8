"""Padding seen: two texts in one batch, the mask between them, and what it costs."""

import numpy as np
import streamlit as st

from bertviz_core.analysis.padding import mask_arithmetic
from bertviz_core.experiments.padding import NUM_SENTENCES, padded_pair, padding_costs
from bertviz_core.experiments.read_model_results import PaddedPair
from bertviz_core.sentences import bundled_sentences
from bertviz_core.snippets import read_model as snippets
from bertviz_core.trace import Texts
from pages.shared.answers import ask
from pages.shared.export import show_curves, show_table
from pages.shared.language import plain, t, table
from pages.shared.models import language_of
from pages.shared.own_text import type_other
from pages.shared.panel import panel, program

_LONG = 6  # among the bundled sentences: one of some length


@panel
def see_padding(model: str, texts: Texts) -> None:
    """Draws the two rows, what leaks without a mask, precisions and costs."""
    language = language_of(model)
    offered = bundled_sentences(language)[_LONG].text
    other = type_other("padding.other", offered, "read_padding_text")
    if not other:
        st.info(t("app.no_text"), icon=":material/edit:")
        return
    pair = ask(padded_pair)(model, texts.text, other)
    st.subheader(t("padding.rows"), anchor=False)
    is_real = [token != "[PAD]" for token in pair.tokens]
    columns = {
        "padding.row_text": pair.tokens,
        "padding.row_other": pair.other_tokens,
        "padding.mask": [str(int(one)) for one in is_real],
        "padding.added": ["0" if one else "−10000" for one in is_real],
    }
    show_table(columns, plain("padding.rows_alt"), height=260, hide_index=False)
    _show_leak(model, texts.text, other, pair)
    st.subheader(t("padding.precisions"), anchor=False)
    st.markdown(t("padding.precisions_intro"))
    names = ("precision", "hiding", "stored", "leaks", "all_hidden")
    rows = []
    for one in mask_arithmetic():
        shares = " : ".join(f"{share:.2f}" for share in one.all_hidden)
        numbers = (f"{x:,.0f}" for x in (one.hiding, one.stored))
        signed = (number.replace("-", "−") for number in numbers)
        rows.append([one.precision, *signed, f"{one.leak:g}", shares])
    st.markdown(table([plain(f"padding.{name}") for name in names], rows))
    st.caption(t("padding.precisions_read"))
    _show_costs(model, language, pair)


def _show_leak(model: str, text: str, other: str, pair: PaddedPair) -> None:
    st.subheader(t("padding.leak"), anchor=False)
    show_curves(
        {
            "padding.without": pair.unmasked_differences,
            "padding.with": pair.masked_differences,
        },
        "read_model.level",
        title="padding.difference",
        name="read_padding",
        description=t(
            "padding.described",
            without=float(pair.unmasked_differences.max()),
            masked=float(pair.masked_differences.max()),
            share=float(pair.unmasked_shares.mean()),
            left=float(pair.masked_shares.max()),
        ),
        more={"padding.share": np.append(np.nan, pair.unmasked_shares)},
        code=program(snippets.PADDING, model, text=text, other=other),
    )


def _show_costs(model: str, language: str, pair: PaddedPair) -> None:
    st.subheader(t("padding.costs", count=NUM_SENTENCES), anchor=False)
    names = ("way", "num_rows", "places", "padding_share", "pair_share")
    rows = [
        [
            plain(f"padding.way_{way}"),
            f"{cost.num_rows:,}",
            f"{cost.num_places:,}",
            f"{cost.padding_share:.0%}",
            f"{cost.pair_share:.0%}",
        ]
        for way, cost in ask(padding_costs)(model, language).items()
    ]
    st.markdown(table([plain(f"padding.{name}") for name in names], rows))
    together, alone = (1000 * seconds for seconds in pair.seconds)
    st.caption(t("padding.costs_read", together=together, alone=alone))
