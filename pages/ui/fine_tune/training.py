"""Step 3, settings, the run, and how it goes."""

from __future__ import annotations

from pages.ui.fine_tune.state import FineTuneState


def show(state: FineTuneState) -> None:
    """Draws this step.

    Args:
        state: see there.
    """
