"""How many rows each class has, or where the numbers lie, and the remedy."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.figures.finetune_data import (
    MAX_BARS,
    DataWords,
    balance_figure,
    numbers_figure,
)
from bertviz_core.finetune.data_check import DataCheck
from bertviz_core.finetune.remedies import REMEDIES
from pages.fine_tune.state import FineTuneState
from pages.fine_tune.state_widgets import choose_field
from pages.shared.export import show_figure
from pages.shared.language import plain, t, words_of


def show_balance(state: FineTuneState, check: DataCheck) -> None:
    """Draws the chart, and the choice of a remedy where there are classes."""
    if check.is_regression:
        _show_numbers(check)
        return
    _show_classes(check)

    def say(name: str) -> str:
        text = plain(f"fine_tune.remedy_{name}")
        is_proposed = name == check.remedy
        return plain("fine_tune.proposed", name=text) if is_proposed else text

    choose_field(
        st.segmented_control,
        t("fine_tune.remedy"),
        REMEDIES,
        balance_of(state, check),
        name="balance",
        required=True,
        say=say,
        help=t("fine_tune.remedy_help"),
    )
    st.caption(t(f"fine_tune.remedy_{balance_of(state, check)}_explained"))


def balance_of(state: FineTuneState, check: DataCheck) -> str:
    """What is done about unequal classes, one of `REMEDIES`."""
    return "none" if check.is_regression else state.balance or check.remedy


def _show_classes(check: DataCheck) -> None:
    train, validation = check.train_counts, check.validation_counts
    names, by_size = check.label_names, check.by_size
    shown = np.arange(len(names))
    if len(names) > MAX_BARS:
        shown = np.sort(by_size[:MAX_BARS])
        st.caption(t("fine_tune.largest_classes", shown=MAX_BARS, count=len(names)))
    most, least = int(by_size[0]), int(by_size[-1])
    show_figure(
        balance_figure(
            [names[index] for index in shown],
            train[shown],
            validation[shown],
            words_of(DataWords, "fine_tune"),
        ),
        name="fine_tune_balance",
        description=t(
            "fine_tune.balance_described",
            count=len(names),
            largest=names[most],
            most=int(train[most]),
            most_check=int(validation[most]),
            smallest=names[least],
            least=int(train[least]),
            least_check=int(validation[least]),
        ),
        columns={
            plain("fine_tune.label_column"): names,
            plain("fine_tune.figure_train"): train.tolist(),
            plain("fine_tune.figure_check"): validation.tolist(),
        },
    )


def _show_numbers(check: DataCheck) -> None:
    edges = check.label_edges
    show_figure(
        numbers_figure(
            edges,
            check.train_counts,
            check.validation_counts,
            check.label_names[0],
            words_of(DataWords, "fine_tune"),
        ),
        name="fine_tune_numbers",
        description=t(
            "fine_tune.numbers_described",
            name=check.label_names[0],
            low=float(edges[0]),
            high=float(edges[-1]),
        ),
        columns={
            plain("fine_tune.figure_from"): edges[:-1].tolist(),
            plain("fine_tune.figure_to"): edges[1:].tolist(),
            plain("fine_tune.figure_train"): check.train_counts.tolist(),
            plain("fine_tune.figure_check"): check.validation_counts.tolist(),
        },
    )
