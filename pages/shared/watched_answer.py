"""An answer of the model that experiments watch, with its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from bertviz_core.experiments.cause_results import Prediction, Target
from pages.shared.language import t


@dataclass(frozen=True)
class Watched:
    """A target with its name.

    `is_number`: the model says a number there and no probability.
    """

    target: Target
    name: str
    is_number: bool = False

    @property
    def literals(self) -> dict[str, Any]:
        """The target in a program, see `snippets.attention`."""
        target = self.target
        return {"kind": target.head, "index": target.index, "position": target.position}


def show_numbers(before: Prediction, after: Prediction, titles: Sequence[str]) -> None:
    """Draws what a model says that says a number, twice, and the change, in its unit.

    `titles` are of the number before, of that after, and of the change.
    """
    shown = (
        t("attention.number", value=before.value),
        t("attention.number", value=after.value),
        t("attention.number_change", value=after.value - before.value),
    )
    for box, title, number in zip(st.columns(3), titles, shown, strict=True):
        box.metric(title, number)
