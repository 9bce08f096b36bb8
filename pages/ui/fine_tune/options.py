"""The settings of a run, each explained; those that few need are folded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from bertviz_core.finetune.data_check import DataCheck
from bertviz_core.finetune.settings import DECAYS, PRECISIONS, FinetuneSettings
from pages.ui.answers import describe_model
from pages.ui.fine_tune.link import MAX_SEED
from pages.ui.fine_tune.state import FineTuneState, remember
from pages.ui.language import plain, t

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


def choose_options(
    state: FineTuneState, settings: FinetuneSettings, check: DataCheck
) -> None:
    """Draws the settings.

    Args:
        state: what was chosen.
        settings: what that makes.
        check: of the rows.
    """
    epochs, rate, batch = st.columns(3)
    _enter(epochs.number_input, settings, "epochs")
    step = settings.learning_rate / 10
    _enter(rate.number_input, settings, "learning_rate", step=step, format="%.1e")
    _enter(batch.number_input, settings, "batch_size", max_value=check.num_train)
    with st.expander(t("fine_tune.more_settings"), icon=":material/tune:"):
        _more_options(state, settings)
    if state.options:
        st.button(
            t("fine_tune.reset_settings"),
            key="ft_reset",
            icon=":material/restart_alt:",
            on_click=_reset,
        )


def _more_options(state: FineTuneState, settings: FinetuneSettings) -> None:
    first, second, third = st.columns(3)
    if settings.level == "top":
        num_layers = int(str(describe_model(state.model).config["num_hidden_layers"]))
        name = "num_top_layers"
        _enter(first.number_input, settings, name, max_value=num_layers)
    _enter(first.number_input, settings, "patience")
    _enter(first.number_input, settings, "seed")
    _enter(second.slider, settings, "warmup_rate", format="percent")
    _pick(second, settings, "decay", DECAYS)
    if settings.decay == "exponential":
        _enter(second.number_input, settings, "epoch_factor")
    _enter(third.number_input, settings, "weight_decay", format="%.3f")
    _enter(third.number_input, settings, "clip_norm")
    _pick(third, settings, "precision", PRECISIONS)


def _enter(
    widget: Callable[..., object],
    settings: FinetuneSettings,
    name: str,
    **arguments: Any,
) -> None:
    value, key = getattr(settings, name), _key(name)
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
        args=(name, settings.level),
        **bounds,
    )


def _pick(
    box: Any, settings: FinetuneSettings, name: str, options: tuple[str, ...]
) -> None:
    key = _key(name)
    st.session_state[key] = getattr(settings, name)
    names = {option: _named(name, option) for option in options}
    box.selectbox(
        t(f"fine_tune.option_{name}"),
        options,
        key=key,
        format_func=names.__getitem__,
        help=t(f"fine_tune.option_{name}_help"),
        on_change=_take,
        args=(name, settings.level),
    )


def _named(name: str, option: str) -> str:
    # The other precisions are names of number formats, in any language.
    if name == "precision" and option != "auto":
        return option
    return plain(f"fine_tune.option_{name}_{option}")


def _key(name: str) -> str:
    return f"ft_option_{name}"


def _take(name: str, level: str) -> None:
    """Keeps a setting with the level that it was made for, unless it is the default."""
    value = st.session_state[_key(name)]
    others = tuple((key, old) for key, old in remember().options if key != name)
    usual = getattr(FinetuneSettings(level=level), name)
    changed = others if value == usual else (*others, (name, value))
    remember(level=level, options=changed)


def _reset() -> None:
    remember(options=())
