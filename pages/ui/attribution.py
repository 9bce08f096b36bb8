"""What every page that explains an answer by its words has in common."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.experiments.layer_results import Attribution
from pages.ui.language import t

# In the order of the choice; the first one is the default.
METHODS = (
    "integrated_gradients",
    "occlusion_mask",
    "occlusion_delete",
    "gradient_x_input",
    "gradient_norm",
)
BASELINES = ("mask", "pad")

_MOST_MISSED = 0.05  # share of the change; with more, the parts are not the whole


def show_completeness(box: DeltaGenerator, found: Attribution) -> None:
    """Draws how far integrated gradients miss what they explain, where they are.

    Where they miss it by much, a warning follows below.

    Args:
        box: to draw the number in.
        found: of any answer.
    """
    if found.completeness_error is None:
        return
    box.metric(
        t("masked_panels.completeness"),
        t("masked_panels.share", value=found.completeness_error),
        t("masked_panels.why_points", count=found.num_steps),
        delta_color="off",
        delta_arrow="off",
        help=t("masked_panels.completeness_help"),
    )
    if found.completeness_error > _MOST_MISSED:
        st.warning(
            t(
                "masked_panels.completeness_warning",
                missed=found.completeness_error,
                most=_MOST_MISSED,
            ),
            icon=":material/warning:",
        )
