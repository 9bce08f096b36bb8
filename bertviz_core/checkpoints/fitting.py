"""Whether a folder that came from elsewhere will open, before anyone tries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bertviz_core.checkpoints import assign
from bertviz_core.checkpoints.folder import open_folder
from bertviz_core.checkpoints.stored import Checkpoint, Note

if TYPE_CHECKING:
    from bertviz_core.tokenizer import BertTokenizer


def require_fitting(folder: Path) -> None:
    """Compares config, weights and vocabulary, and reads every weight once.

    Raises:
        CheckpointError: they do not fit each other, or a file is damaged or holds what
            is not a finite number.
        ConfigError: the config is broken or not BERT's.
        TokenizerError: the vocabulary is absent or broken.
    """
    checkpoint = open_folder(folder)
    agreed = assign.plan(checkpoint)
    fitting_tokenizer(folder, checkpoint)
    for weight in agreed.weights:
        assign.read_weight(checkpoint, weight)


def fitting_tokenizer(
    folder: Path, checkpoint: Checkpoint
) -> tuple[BertTokenizer, tuple[Note, ...]]:
    """Reads the tokenizer of a checkpoint, unless its vocabulary is too long.

    A line of the file becomes a hundred times as many bytes in a tokenizer, so the
    lines are counted before one is built.

    Returns:
        The tokenizer, and notes on what was guessed and on rows to spare.

    Raises:
        CheckpointError: word pieces without an embedding.
        TokenizerError: the vocabulary is absent or broken.
    """
    # Both load `tokenizers`.
    from bertviz_core.checkpoints.casing import count_pieces, open_tokenizer

    assign.require_vocabulary(checkpoint, count_pieces(folder))
    tokenizer, notes = open_tokenizer(folder)
    return tokenizer, notes + assign.require_vocabulary(
        checkpoint, tokenizer.vocab_size
    )
