"""Choices that several parts of the page offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import streamlit as st

from bertviz_core.analysis.activations import ACTIVATIONS
from pages.activations.wording import LABELS
from pages.shared.choices import choose_linked, choose_number, choose_several
from pages.shared.language import t

N = TypeVar("N", int, float)
_BIGGEST_SEED = 2**31 - 1


def choose_functions(key: str, default: list[str], explanation: str) -> list[str]:
    """Draws which of `ACTIVATIONS` are wanted, in their order, however clicked."""
    names = choose_several(
        t("activations.functions"),
        list(ACTIVATIONS),
        default,
        key=key,
        format_func=LABELS.__getitem__,
        help=explanation,
    )
    return list(names)


def slide(
    box: Any,
    name: str,
    low: N,
    high: N,
    default: N,
    step: N | None = None,
    *,
    key: str = "",
    label: str = "",
    hint: str | None = "",
    **arguments: Any,
) -> N:
    """Draws a slider that is part of the address.

    Its texts are NAME and NAME_help, unless a label and the name of a hint are given
    (`None` for no hint); its key is act_NAME, unless that is given.
    """
    return choose_number(
        *(box.slider, label or t(f"activations.{name}"), low, high, default),
        key=key or f"act_{name}",
        step=step,
        help=None if hint is None else t(f"activations.{hint or f'{name}_help'}"),
        **arguments,
    )


def choose_function(
    box: Any, name: str, options: Sequence[str], *, key: str, hint: str, first: int = 0
) -> str:
    """Draws the choice of one of `ACTIVATIONS`; `name` and `hint` are of its texts."""
    return choose_linked(
        *(box.selectbox, t(f"activations.{name}"), options, options[first]),
        key=key,
        format_func=LABELS.__getitem__,
        help=t(f"activations.{hint}"),
    )


def choose_one(key: str, options: Sequence[str], label: str = "") -> str:
    """Draws a choice that stands in the address in the same words in any language.

    The keys of its texts begin with `key`: "activations.<key>_<option>".
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
    """Draws the box for a seed."""
    return choose_number(
        *(st.number_input, t("activations.seed"), 0, _BIGGEST_SEED, default),
        key=key,
        help=t("activations.seed_help"),
    )
