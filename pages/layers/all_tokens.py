"""A step's numbers for the whole sentence, a row for each token."""

from __future__ import annotations

import streamlit as st

from bertviz_core.experiments.step_results import LayerStep, StepTable
from bertviz_core.experiments.token_numbers import step_table
from bertviz_core.figures.layer_strip import strip_figure
from bertviz_core.trace import Texts, TokenizedText
from pages.layers.wording import column_name, numbered, step_name
from pages.shared.answers import ask
from pages.shared.choices import choose_linked, switch_linked
from pages.shared.export import show_figure
from pages.shared.language import plain, t


def offer_all_tokens(
    model: str, step: LayerStep, token: int, tokenized: TokenizedText
) -> None:
    """Draws a switch, and the table when it is on; not for a step without tokens."""
    if not set(step.axes) & set("TQK"):
        return
    if switch_linked("layers.all_tokens", key="layers_all_tokens"):
        head = _choose_head(step.shape[0]) if "N" in step.axes else 0
        texts = Texts(tokenized.text, tokenized.pair)
        table = ask(step_table)(model, texts, step.name, token, head)
        _show(step, table, token, tokenized)


def _choose_head(num_heads: int) -> int:
    numbers = [str(index + 1) for index in range(num_heads)]
    label, key = t("layers.head_shown"), "layers_head"
    return int(choose_linked(st.selectbox, label, numbers, key=key, width=160)) - 1


def _show(
    step: LayerStep, table: StepTable, token: int, tokenized: TokenizedText
) -> None:
    last = table.first + len(table.values)
    every_name = numbered(tokenized.tokens)
    names = every_name[table.first : last]
    is_square = step.axes[-1] == "K"
    columns = names if is_square else map(str, range(1, table.values.shape[1] + 1))
    show_figure(
        strip_figure(
            table.values,
            names,
            names if is_square else None,
            title=plain("layers.value"),
            row_title=plain("layers.looks") if is_square else "",
            column_title=plain("layers.seen") if is_square else column_name(step),
            is_signed=step.operation != "attention_probs",
        ),
        name="layers_all",
        description=t(
            "layers.table_described",
            step=step_name(step),
            first=table.first + 1,
            last=last,
            low=float(table.values.min()),
            high=float(table.values.max()),
            token=every_name[token],
        ),
        columns={plain("layers.one_token"): names}
        | dict(zip(columns, table.values.T.tolist(), strict=True)),
    )
