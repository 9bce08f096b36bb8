"""From what was chosen to what a run is asked for."""

from __future__ import annotations

import dataclasses

from bertviz_core.explorer import Explorer
from bertviz_core.finetune.data_check import DataCheck
from bertviz_core.finetune.run_estimate import RunEstimate
from bertviz_core.finetune.schedule import count_steps
from bertviz_core.finetune.settings import FinetuneSettings
from pages.fine_tune.balance import balance_of
from pages.fine_tune.lengths import max_tokens_of
from pages.fine_tune.state import FineTuneState
from pages.shared.answers import ask

# Where nothing was measured and nothing chosen: it takes minutes on any machine.
FIRST_LEVEL = "head"
# Settings that are chosen elsewhere than among the options.
_TIMED = ("batch_size", "num_top_layers", "precision")
_ELSEWHERE = ("level", "max_tokens", "class_weights", "oversample")


def settings_of(
    state: FineTuneState, check: DataCheck, recommended: str = FIRST_LEVEL
) -> FinetuneSettings:
    """The settings of the run.

    `recommended` is the level where none was chosen.

    Raises:
        TrainingError: a value that cannot be.
    """
    balance = balance_of(state, check)
    options = {key: value for key, value in state.options if key not in _ELSEWHERE}
    size = ask(Explorer.info)(state.model).config.hidden_size
    return FinetuneSettings.proposed(
        size,
        num_rows_seen(check, balance == "oversample"),
        level=state.level or recommended,
        max_tokens=max_tokens_of(state, check),
        class_weights=balance == "weights",
        oversample=balance == "oversample",
        **options,
    )


def timed_settings(state: FineTuneState, check: DataCheck) -> FinetuneSettings:
    """The settings that the time of all levels is asked for.

    What changes nothing about a step is left out, so that playing with it does not
    ask anew; `expected_seconds` takes the epochs into account.
    """
    timed = {key: value for key, value in state.options if key in _TIMED}
    plain_state = dataclasses.replace(state, level="", options=tuple(timed.items()))
    return settings_of(plain_state, check)


def expected_seconds(
    estimate: RunEstimate, settings: FinetuneSettings, num_rows: int
) -> float:
    """How long a run may take with as many epochs as were chosen.

    `estimate` is that of the level, with its own number of epochs.
    """
    return estimate.seconds_of(count_steps(settings, num_rows))


def num_rows_seen(check: DataCheck, oversample: bool) -> int:
    """Rows of an epoch: with oversampling, each class has as many as the largest."""
    return check.num_oversampled if oversample else check.num_train
