"""The part of `Client` that asks about models that were trained here."""

from __future__ import annotations

from typing import cast

from bertviz_core.engine.engine import Engine
from bertviz_core.experiments.finetuned_results import (
    HeadChange,
    ReadText,
    WeightChange,
)


class FinetunedClient:
    """Methods of `Client`; see there for what all of them raise."""

    _engine: Engine

    def read_class(
        self, model: str, text: str, pair: str | None = None, max_tokens: int = 0
    ) -> ReadText:
        """Asks a classifier about one text.

        Args:
            model: its id.
            text: the first text.
            pair: the second text.
            max_tokens: what is beyond is cut; 0 for the positions of the model.

        Raises:
            CheckpointError: the model has no classifier.
            TextError: empty.
        """
        answer = self._engine.call(
            "read_class", model=model, text=text, pair=pair, max_tokens=max_tokens
        )
        return cast(ReadText, answer)

    def weight_change(self, run: str) -> WeightChange:
        """Measures how far a training has moved the weights of each layer.

        Args:
            run: its id.

        Raises:
            CheckpointError: the model that it began with is gone.
            TrainingError: the run is gone, or has no model.
        """
        return cast(WeightChange, self._engine.call("weight_change", run=run))

    def head_change(self, run: str, text: str, pair: str | None = None) -> HeadChange:
        """Measures how much of each head's attention went elsewhere.

        Args:
            run: its id.
            text: the first text; what is beyond the last position is left out.
            pair: the second text.

        Raises:
            CheckpointError: the model that it began with is gone.
            TextError: empty.
            TrainingError: the run is gone, or has no model.
        """
        answer = self._engine.call("head_change", run=run, text=text, pair=pair)
        return cast(HeadChange, answer)
