"""How far training has moved the weights of each layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.engine.finetuned_tasks import weight_change
from bertviz_core.figures.before_after import ChangeWords, moved_figure
from bertviz_core.figures.masked_word import percent
from bertviz_core.figures.value_map import value_map_figure
from bertviz_core.finetune.finetuned_results import WeightChange
from pages.shared.answers import ask
from pages.shared.export import show_figure
from pages.shared.language import plain, t, words_of
from pages.shared.markdown import Markdown


def show_weights(run: str) -> None:
    """Draws the change of each layer, and of its parts."""
    found = ask(weight_change)(run)
    names = [layer_name(layer) for layer in found.layers]
    most = int(np.nan_to_num(found.totals).argmax())
    show_figure(
        moved_figure(names, found.totals, words_of(ChangeWords, "fine_tune_results")),
        name="ft_compare_weights",
        description=_description(found, names, most),
        columns={
            plain("fine_tune_results.part_of_model"): names,
            plain("fine_tune_results.figure_moved"): found.totals.tolist(),
        },
    )
    parts = [plain(f"fine_tune_results.part_{part}") for part in found.parts]
    if st.toggle(
        t("fine_tune_results.show_parts"),
        key="ft_compare_parts",
        bind="query-params",
        help=t("fine_tune_results.show_parts_help"),
    ):
        _show_parts(found, names, parts)


def layer_name(layer: str) -> str:
    """What a part of the model is called on the page."""
    if layer.startswith("layer_"):
        number = int(layer.removeprefix("layer_")) + 1
        return plain("fine_tune_results.layer_number", number=number)
    return plain(f"fine_tune_results.part_{layer}")


def _description(found: WeightChange, names: list[str], most: int) -> str:
    totals = np.nan_to_num(found.totals)
    if not totals.any():
        return t("fine_tune_results.weights_still")
    return t(
        "fine_tune_results.weights_described",
        layer=names[most],
        share=Markdown(percent(float(totals[most]))),
        still=int((totals == 0).sum()),
        count=len(totals),
    )


def _show_parts(found: WeightChange, names: list[str], parts: list[str]) -> None:
    known = np.nan_to_num(found.shares)
    row, column = np.unravel_index(int(known.argmax()), known.shape)
    show_figure(
        value_map_figure(
            found.shares,
            names,
            parts,
            title=plain("fine_tune_results.figure_moved"),
            row_title="",
            column_title="",
            is_signed=False,
        ),
        name="ft_compare_weight_parts",
        description=t(
            "fine_tune_results.parts_described",
            layer=names[int(row)],
            part=parts[int(column)],
            share=Markdown(percent(float(known[row, column]))),
        ),
        columns=_table(found, names, parts),
    )


def _table(
    found: WeightChange, names: list[str], parts: list[str]
) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {plain("fine_tune_results.part_of_model"): names}
    for part, values in zip(parts, found.shares.T, strict=True):
        columns[part] = values.tolist()
    return columns
