"""Whether rows, settings and model fit each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bertviz_core.errors import TrainingError
from bertviz_core.finetune.examples import TrainingData
from bertviz_core.finetune.settings import FinetuneSettings

if TYPE_CHECKING:
    from bertviz_core.checkpoints.library import LoadedModel


def require_fit(
    loaded: LoadedModel, data: TrainingData, settings: FinetuneSettings
) -> None:
    """Compares rows, settings and model before anything is built.

    Raises:
        TrainingError: no rows, too many tokens, or pairs for a model that knows one
            segment.
    """
    config = loaded.model.config
    if not len(data.train) or not len(data.test):
        raise TrainingError(
            "There is nothing to learn from or nothing to test on. Received: "
            "{train} training rows, {test} test rows. Give more rows.",
            train=len(data.train),
            test=len(data.test),
        )
    if settings.max_tokens > config.max_position_embeddings:
        raise TrainingError(
            "The training texts may be longer than the model reads. Received: "
            "max_tokens={max_tokens}; the model has {positions} positions. Choose a "
            "smaller length.",
            max_tokens=settings.max_tokens,
            positions=config.max_position_embeddings,
        )
    if data.has_pairs and config.type_vocab_size < 2:
        raise TrainingError(
            "The model {model} knows one text at a time, so it cannot learn from "
            "pairs. Take the second text column away, or choose another model.",
            model=loaded.model_id,
        )
