"""What pages share that attribute an answer to the tokens of its text."""

from collections.abc import Mapping

import streamlit as st

from bertviz_core.experiments.layer_results import Attribution
from pages.shared.answers import is_short
from pages.shared.language import t
from pages.shared.panel import show_numbers

# In the order of the choice; the first one is the default.
METHODS = (
    *("integrated_gradients", "occlusion_mask", "occlusion_delete"),
    *("gradient_x_input", "gradient_norm"),
)
BASELINES = ("mask", "pad")

_BACKWARD = 3  # a step forward and back costs about three forward passes
_NUM_POINTS = 32
_MOST_MISSED = 0.05  # share of the change; beyond it the parts miss the whole


def is_soon(model: str, num_tokens: int) -> bool:
    """Whether all methods together are cheap enough to run without being asked for."""
    return is_short(model, _BACKWARD * _NUM_POINTS + 2 * num_tokens, num_tokens)


def show_completeness(
    numbers: Mapping[str, str], found: Attribution, **places: object
) -> None:
    """Draws numbers, see `show_numbers`, and how far integrated gradients miss.

    If they miss what they explain by much, a warning follows.
    """
    missed = found.completeness_error
    share = t("masked.share", value=missed)
    points = t("masked.why_points", count=found.num_steps)
    show_numbers({**numbers, "masked.completeness": (share, points)}, **places)
    if missed > _MOST_MISSED:
        said = t("masked.completeness_warning", missed=missed, most=_MOST_MISSED)
        st.warning(said, icon=":material/warning:")
