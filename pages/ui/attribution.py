"""What every page that explains an answer by its words has in common."""

from __future__ import annotations

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


def show_completeness(box: DeltaGenerator, found: Attribution) -> None:
    """Draws how far integrated gradients miss what they explain, where they are.

    Args:
        box: to draw in.
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
