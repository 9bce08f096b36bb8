"""Taking the model away."""

from __future__ import annotations

from pages.ui.fine_tune.state import FineTuneState


def show(state: FineTuneState) -> None:
    """Draws this part; it is called only when `state.is_trained`.

    Args:
        state: its `run_id` is that of a run that has left a model.
    """
