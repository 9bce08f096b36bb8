"""What the model would write at every place of a text, and how surprised it is."""

from collections.abc import Iterator

import numpy as np

from bertviz_core.analysis.logit_rows import (
    entropy_bits_of,
    log_softmax,
    ranks_of,
    top_words,
)
from bertviz_core.experiments.masked_rows import (
    head_logits,
    logits_at,
    piece_names,
    row_with,
)
from bertviz_core.experiments.word_results import EveryPosition
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import Progress, task, untold
from bertviz_core.trace import TokenizedText

# Rows of logits that are read at once; more only takes memory.
ROWS_AT_ONCE = 64


@task()
def predict_every_position(
    explorer: Explorer,
    text: str,
    masked: bool = True,
    top_k: int = 10,
    progress: Progress = untold,
) -> EveryPosition:
    """Predicts a word at each place of a text, cut: not at the added [CLS] and [SEP].

    Masks are predicted, too, with no word to compare. Either each place is hidden in
    turn, a row of a batch each; or one pass reads the text as it stands, and sees what
    it predicts.
    """
    explorer.require_head("mlm")
    tokenized = explorer.tokenize(text, cut=True)
    positions = np.flatnonzero(~tokenized.is_added)
    true_ids = tokenized.input_ids[positions]
    read = _read_masked if masked else _read_unmasked
    parts = [
        _read(logits, true_ids[chunk], top_k)
        for chunk, logits in read(explorer, tokenized, positions, progress)
    ]
    found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    hidden = true_ids == tokenized.mask_token_id
    found["surprisal_bits"][hidden], found["ranks"][hidden] = np.nan, 0
    return EveryPosition(
        tokenized=tokenized,
        positions=positions,
        top_tokens=tuple(piece_names(explorer, row) for row in found.pop("top_ids")),
        **found,
    )


def _read_masked(
    explorer: Explorer,
    tokenized: TokenizedText,
    positions: np.ndarray,
    progress: Progress,
) -> Iterator[tuple[slice, np.ndarray]]:
    mask = tokenized.mask_token_id
    rows = [row_with(tokenized, place, mask, place) for place in positions.tolist()]
    return head_logits(explorer, "mlm", rows, progress, "positions")


def _read_unmasked(
    explorer: Explorer,
    tokenized: TokenizedText,
    positions: np.ndarray,
    progress: Progress,
) -> Iterator[tuple[slice, np.ndarray]]:
    logits = logits_at(explorer, tokenized, positions)
    for start in range(0, len(positions), ROWS_AT_ONCE):
        chunk = slice(start, start + ROWS_AT_ONCE)
        yield chunk, logits[chunk]
    progress(1.0, "positions")


def _read(
    logits: np.ndarray, true_ids: np.ndarray, top_k: int
) -> dict[str, np.ndarray]:
    """What is kept of some rows `[r, V]` whose true words are known."""
    log_probs = log_softmax(logits)
    top_ids = top_words(logits, top_k)
    true = np.take_along_axis(log_probs, true_ids[:, None].astype(np.int64), axis=1)
    return {
        "top_ids": top_ids,
        "top_log_probs": np.take_along_axis(log_probs, top_ids, axis=1),
        "entropy_bits": entropy_bits_of(log_probs),
        # A certain word gives -0.0, which would be shown with its sign.
        "surprisal_bits": np.abs(true[:, 0]) / np.log(2),
        "ranks": ranks_of(logits, true_ids),
    }
