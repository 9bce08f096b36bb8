"""Step 1, a table and its columns."""

from __future__ import annotations

from pages.ui.fine_tune.state import FineTuneState


def show(state: FineTuneState) -> None:
    """Draws this step.

    Args:
        state: see there.
    """
