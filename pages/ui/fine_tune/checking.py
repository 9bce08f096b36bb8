"""Step 2, what is odd about the data."""

from __future__ import annotations

from pages.ui.fine_tune.state import FineTuneState


def show(state: FineTuneState) -> None:
    """Draws this step.

    Args:
        state: see there.
    """
