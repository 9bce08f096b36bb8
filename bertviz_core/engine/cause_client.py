"""The part of `Client` that asks what attention causes."""

from __future__ import annotations

from typing import cast

from bertviz_core.engine.engine import Engine
from bertviz_core.experiments.cause_results import (
    GradientMap,
    SparsePattern,
    SparsePrediction,
    SwitchedPrediction,
    Switches,
    Target,
)


class CauseClient:
    """Methods of `Client`; see there for what all of them raise."""

    _engine: Engine

    def switch_off(
        self,
        model: str,
        text: str,
        target: Target,
        switches: Switches,
        pair: str | None = None,
        cut: bool = False,
    ) -> SwitchedPrediction:
        """Predicts with parts of the model switched off.

        Args:
            model: its id.
            text: the first text.
            target: the answer that is watched.
            switches: what to switch off.
            pair: the second text.
            cut: leaves out what is beyond the last position.

        Raises:
            CheckpointError: the model lacks the target's head.
            TextError: empty, too long, or a row would be left without an edge.
        """
        answer = self._engine.call(
            "switch_off",
            model=model,
            text=text,
            target=target,
            switches=switches,
            pair=pair,
            cut=cut,
        )
        return cast(SwitchedPrediction, answer)

    def estimate_heads(
        self,
        model: str,
        text: str,
        target: Target,
        pair: str | None = None,
        cut: bool = False,
    ) -> GradientMap:
        """Estimates what each head does for the target; one backward pass.

        Args:
            model: its id.
            text: the first text.
            target: the answer that is watched.
            pair: the second text.
            cut: leaves out what is beyond the last position.

        Raises:
            CheckpointError: the model lacks the target's head.
            TextError: empty or too long.
        """
        answer = self._engine.call(
            "estimate_heads", model=model, text=text, target=target, pair=pair, cut=cut
        )
        return cast(GradientMap, answer)

    def predict_sparsely(
        self,
        model: str,
        text: str,
        target: Target,
        pattern: SparsePattern,
        pair: str | None = None,
        cut: bool = False,
    ) -> SparsePrediction:
        """Predicts under a sparse attention pattern.

        Args:
            model: its id.
            text: the first text.
            target: the answer that is watched.
            pattern: which tokens may look at which.
            pair: the second text.
            cut: leaves out what is beyond the last position.

        Raises:
            CheckpointError: the model lacks the target's head.
            TextError: empty or too long.
        """
        answer = self._engine.call(
            "predict_sparsely",
            model=model,
            text=text,
            target=target,
            pattern=pattern,
            pair=pair,
            cut=cut,
        )
        return cast(SparsePrediction, answer)
