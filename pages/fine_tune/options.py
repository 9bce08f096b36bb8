"""The settings of a run, each explained; those that few need are folded."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from bertviz_core.explorer import Explorer
from bertviz_core.finetune.data_check import DataCheck
from bertviz_core.finetune.settings import DECAYS, PRECISIONS, FinetuneSettings
from pages.fine_tune.run_settings import settings_of
from pages.fine_tune.state import FineTuneState, change, remember
from pages.fine_tune.state_in_link import MAX_SEED
from pages.fine_tune.wording import choice_name
from pages.shared.answers import ask
from pages.shared.language import t

_BOUNDS: dict[str, dict[str, float]] = {
    "epochs": {"min_value": 1, "max_value": 500, "step": 1},
    "learning_rate": {"min_value": 1e-7, "max_value": 1.0},
    "batch_size": {"min_value": 1, "step": 1},
    "num_top_layers": {"min_value": 1, "step": 1},
    "patience": {"min_value": 0, "max_value": 500, "step": 1},
    "seed": {"min_value": 0, "max_value": MAX_SEED, "step": 1},
    "warmup_rate": {"min_value": 0.0, "max_value": 0.95, "step": 0.05},
    "epoch_factor": {"min_value": 0.05, "max_value": 1.0, "step": 0.05},
    "weight_decay": {"min_value": 0.0, "max_value": 1.0, "step": 0.01},
    "clip_norm": {"min_value": 0.0, "max_value": 100.0, "step": 0.5},
}
# What `FinetuneSettings.proposed` makes of the table and the model.
_PROPOSED = ("epochs", "learning_rate")


def choose_options(
    state: FineTuneState, settings: FinetuneSettings, check: DataCheck
) -> None:
    """Draws the settings."""
    epochs, rate, batch = st.columns(3)
    boxes = _Boxes(settings, _usual(state, settings, check))
    boxes.enter(epochs.number_input, "epochs")
    step = settings.learning_rate / 10
    boxes.enter(rate.number_input, "learning_rate", step=step, format="%.1e")
    boxes.enter(batch.number_input, "batch_size", max_value=check.num_train)
    with st.expander(t("fine_tune.more_settings"), icon=":material/tune:"):
        _more_options(state, boxes)
    if state.options:
        st.button(
            t("fine_tune.reset_settings"),
            key="ft_reset",
            icon=":material/restart_alt:",
            on_click=change,
            kwargs={"options": ()},
        )


def _usual(
    state: FineTuneState, settings: FinetuneSettings, check: DataCheck
) -> dict[str, Any]:
    """What each box would hold if nothing had been entered into it.

    The proposals depend on the table, the model and other boxes, so they are not
    the defaults of the level.
    """
    usual = FinetuneSettings(level=settings.level).to_dict()
    for name in _PROPOSED:
        others = tuple(pair for pair in state.options if pair[0] != name)
        without = dataclasses.replace(state, options=others)
        usual[name] = getattr(settings_of(without, check, settings.level), name)
    return usual


def _more_options(state: FineTuneState, boxes: _Boxes) -> None:
    first, second, third = st.columns(3)
    settings = boxes.settings
    if settings.level == "top":
        num_layers = ask(Explorer.info)(state.model).config.num_hidden_layers
        boxes.enter(first.number_input, "num_top_layers", max_value=num_layers)
    boxes.enter(first.number_input, "patience")
    boxes.enter(first.number_input, "seed")
    boxes.enter(second.slider, "warmup_rate", format="percent")
    boxes.pick(second, "decay", DECAYS)
    if settings.decay == "exponential":
        boxes.enter(second.number_input, "epoch_factor")
    boxes.enter(third.number_input, "weight_decay", format="%.3f")
    boxes.enter(third.number_input, "clip_norm")
    boxes.pick(third, "precision", PRECISIONS)


@dataclass(frozen=True)
class _Boxes:
    """Draws settings.

    Args:
        settings: as they are now.
        usual: what is no choice of the visitor's, by name.
    """

    settings: FinetuneSettings
    usual: Mapping[str, Any]

    def enter(self, widget: Callable[..., object], name: str, **arguments: Any) -> None:
        """Draws a number."""
        value, key = getattr(self.settings, name), _key(name)
        st.session_state[key] = value
        bounds = {**_BOUNDS[name], **arguments}
        # A link may ask for more than the box offers, and a run would take it.
        bounds["min_value"] = min(bounds["min_value"], value)
        bounds["max_value"] = max(bounds["max_value"], value)
        widget(
            t(f"fine_tune.option_{name}"),
            key=key,
            help=t(f"fine_tune.option_{name}_help"),
            on_change=_take,
            args=(name, self.settings.level, self.usual[name]),
            **bounds,
        )

    def pick(self, box: Any, name: str, options: tuple[str, ...]) -> None:
        """Draws a choice."""
        key = _key(name)
        st.session_state[key] = getattr(self.settings, name)
        names = {option: choice_name(name, option) for option in options}
        box.selectbox(
            t(f"fine_tune.option_{name}"),
            options,
            key=key,
            format_func=names.__getitem__,
            help=t(f"fine_tune.option_{name}_help"),
            on_change=_take,
            args=(name, self.settings.level, self.usual[name]),
        )


def _key(name: str) -> str:
    return f"ft_option_{name}"


def _take(name: str, level: str, usual: Any) -> None:
    """Keeps a setting with the level that it was made for, unless it is usual."""
    value = st.session_state[_key(name)]
    others = tuple((key, old) for key, old in remember().options if key != name)
    changed = others if value == usual else (*others, (name, value))
    remember(level=level, options=changed)
