"""Settings of maps: how many axes, and what t-SNE asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.ui.address import choose_linked
from pages.ui.jobs import Wording
from pages.ui.language import plain, t

PERPLEXITY = 30.0
# The library works in stages that nothing interrupts, see `tsne_map`.
TSNE_WORDING = Wording(stopped=lambda: t("embeddings.tsne_stopped"))


def choose_axes(key: str) -> int:
    """Draws the choice of a flat or a deep map.

    Args:
        key: of the widget, and of the choice in the address.

    Returns:
        2 or 3.
    """
    chosen = choose_linked(
        st.segmented_control,
        t("embeddings.num_axes"),
        ("2", "3"),
        key=key,
        required=True,
        format_func=lambda name: plain(f"embeddings.num_axes_{name}"),
    )
    return int(chosen)


def choose_tsne(key: str) -> tuple[int, float]:
    """Draws seed and perplexity.

    Args:
        key: the beginning of the widgets' keys.

    Returns:
        Seed and perplexity.
    """
    boxes = st.columns(2)
    perplexity = boxes[0].slider(
        t("embeddings.perplexity"),
        5.0,
        60.0,
        PERPLEXITY,
        5.0,
        key=f"{key}_perplexity",
        help=t("embeddings.perplexity_help"),
        bind="query-params",
        persist_state="session",
    )
    with boxes[1]:
        seed = choose_seed(key)
    return seed, float(perplexity)


def choose_seed(
    key: str,
    on_change: Callable[..., None] | None = None,
    args: tuple[Any, ...] = (),
) -> int:
    """Draws the seed, from which all that is drawn at random follows.

    Args:
        key: the beginning of the widget's key.
        on_change: called when it has changed.
        args: of the call.
    """
    seed = st.number_input(
        t("embeddings.seed"),
        0,
        9999,
        0,
        key=f"{key}_seed",
        help=t("embeddings.seed_help"),
        on_change=on_change,
        args=args,
        bind="query-params",
        persist_state="session",
    )
    return int(seed)
