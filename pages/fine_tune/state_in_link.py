"""What was chosen on the fine-tuning page, as part of the address.

A choice stands there as "ft_" and its name, unless it is what a first visitor has.
An address that somebody wrote by hand may hold anything: what does not fit is left.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from bertviz_core.errors import BertVizError
from bertviz_core.finetune.remedies import REMEDIES
from bertviz_core.finetune.settings import LEVELS, FinetuneSettings
from bertviz_core.finetune.table_encoding import ENCODINGS
from bertviz_core.finetune.table_layout import SEPARATORS

if TYPE_CHECKING:
    from pages.fine_tune.state import FineTuneState

PREFIX = "ft_"
MAX_SEED = 2**31 - 1
MIN_RATE, MAX_RATE = 0.05, 0.5
_ONE_OF = {
    "encoding": ENCODINGS,
    "separator": SEPARATORS,
    "header": ("yes", "no"),
    "kind": ("class", "number"),
    "balance": REMEDIES,
    "level": LEVELS,
}
# The table to judge by has a layout of its own.
_ONE_OF |= {
    f"validation_{name}": _ONE_OF[name] for name in ("encoding", "separator", "header")
}
_LONGEST = 200  # characters
_OPTIONS = "options"


def read_link(fresh: FineTuneState) -> FineTuneState:
    """The choices of the address."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(fresh):
        name, default = field.name, getattr(fresh, field.name)
        written = st.query_params.get(PREFIX + name)
        if name == "model" or not written:
            continue
        if name == _OPTIONS:
            found[name] = _options(st.query_params.get_all(PREFIX + name))
        elif isinstance(default, str) and written in _ONE_OF.get(name, (written,)):
            found[name] = written[:_LONGEST]
        elif isinstance(default, int | float):
            found |= _number(name, written, default)
    return dataclasses.replace(fresh, **found)


def write_link(
    state: FineTuneState, fresh: FineTuneState, names: Sequence[str]
) -> None:
    """Puts the choices into the address."""
    for name in names:
        value, key = getattr(state, name), PREFIX + name
        if value == getattr(fresh, name):
            st.query_params.pop(key, None)
            continue
        wanted = (
            [f"{option}:{json.dumps(chosen)}" for option, chosen in value]
            if name == _OPTIONS
            else [str(value)]
        )
        if st.query_params.get_all(key) != wanted:
            st.query_params[key] = wanted


def _number(name: str, written: str, default: float) -> dict[str, float]:
    try:
        value = type(default)(written)
    except ValueError:
        return {}
    least, most = (MIN_RATE, MAX_RATE) if name == "validation_rate" else (0, MAX_SEED)
    return {name: value} if least <= value <= most else {}


def _options(written: Sequence[str]) -> tuple[tuple[str, Any], ...]:
    """Settings by name; one that a run would refuse is left out."""
    found: dict[str, Any] = {}
    for pair in written:
        name, _, value = pair.partition(":")
        try:
            parsed = json.loads(value[:_LONGEST])
            FinetuneSettings.from_dict({name: parsed})
        except (ValueError, BertVizError):
            continue
        if isinstance(parsed, float) and not math.isfinite(parsed):
            continue
        found[name] = parsed
    return tuple(found.items())
