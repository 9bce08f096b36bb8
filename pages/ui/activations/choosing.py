"""Choices that several parts of the page offer."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from bertviz_core.analysis.activations import ACTIVATIONS
from pages.ui.activations.wording import LABELS
from pages.ui.address import choose_linked
from pages.ui.language import t

_BIGGEST_SEED = 2**31 - 1


def choose_functions(key: str, default: list[str], explanation: str) -> list[str]:
    """Draws the functions to choose from.

    Args:
        key: of the widget.
        default: the names chosen at first.
        explanation: behind the question mark.

    Returns:
        Names in the order of `ACTIVATIONS`, however they were clicked.
    """
    names = st.pills(
        t("activations.functions"),
        list(ACTIVATIONS),
        selection_mode="multi",
        default=default,
        format_func=LABELS.__getitem__,
        key=key,
        bind="query-params",
        help=explanation,
    )
    return [name for name in ACTIVATIONS if name in names]


def choose_one(key: str, options: Sequence[str], label: str = "") -> str:
    """Draws a choice that stands in the address in the same words in any language.

    Args:
        key: of the widget, its name in the address, and the beginning of the keys of
            its texts: "activations.<key>_<option>".
        options: the first one is the default.
        label: above the choice; none if empty.
    """
    return choose_linked(
        st.segmented_control,
        label or t(f"activations.{key}"),
        options,
        key=key,
        required=True,
        format_func=lambda option: t(f"activations.{key}_{option}"),
        label_visibility="visible" if label else "collapsed",
        help=t(f"activations.{key}_help") if label else None,
    )


def choose_seed(key: str, default: int) -> int:
    """Draws the box for a seed.

    Args:
        key: of the widget.
        default: the first seed.
    """
    seed = st.number_input(
        t("activations.seed"),
        0,
        _BIGGEST_SEED,
        default,
        key=key,
        bind="query-params",
        help=t("activations.seed_help"),
    )
    return int(seed)
