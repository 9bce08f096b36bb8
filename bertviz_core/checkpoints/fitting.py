"""Whether a folder that came from elsewhere will open, before anyone tries."""

from __future__ import annotations

from pathlib import Path

from bertviz_core.checkpoints import assign
from bertviz_core.checkpoints.folder import open_folder


def require_fitting(folder: Path) -> None:
    """Compares config, weights and vocabulary; reads no weights.

    Args:
        folder: of one checkpoint.

    Raises:
        CheckpointError: they do not fit each other, or a file is damaged.
        ConfigError: the config is broken or not BERT's.
        TokenizerError: the vocabulary is absent or broken.
    """
    from bertviz_core.checkpoints.casing import open_tokenizer  # loads tokenizers

    checkpoint = open_folder(folder)
    assign.plan(checkpoint)
    tokenizer, _ = open_tokenizer(folder)
    assign.require_vocabulary(checkpoint, tokenizer.vocab_size)
