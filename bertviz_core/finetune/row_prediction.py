"""What a trained classifier says of texts, of one or of many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertviz_core.errors import TextError
from bertviz_core.experiments.masked_rows import Progress
from bertviz_core.explorer import Explorer
from bertviz_core.finetune.batches import TokenRows, by_length, tokenize
from bertviz_core.finetune.examples import Examples
from bertviz_core.finetune.finetuned_results import ReadText, RowPredictions
from bertviz_core.tasks import task

# Of the work on a table, cutting texts into tokens is the smaller part.
_TOKENIZING = 0.1
# Rows times tokens of one pass, padding counted.
_TOKENS_A_PASS = 4096
_LOGITS = "class_logits"


@task()
def read_text(
    explorer: Explorer, text: str, pair: str | None = None, max_tokens: int = 0
) -> ReadText:
    """Asks the classifier about one text.

    Args:
        explorer: of a model with a classifier.
        text: the text, or the first of two.
        pair: the second text.
        max_tokens: what is beyond is cut; 0 for the length that the model learned
            with, or, where that is not known, for its positions.

    Raises:
        CheckpointError: the model has no classifier.
        TextError: see `Explorer.tokenize`.
    """
    explorer.require_head("classifier")
    whole = explorer.tokenize(text, pair, cut=True)
    text, pair = cut_texts(explorer, text, pair, max_tokens)
    tokenized = explorer.tokenize(text, pair, cut=True)
    logits = explorer.forward(tokenized.inputs, (_LOGITS,))[_LOGITS]
    return ReadText(
        model_id=explorer.model_id,
        labels=explorer.loaded.labels,
        text=text,
        pair=pair,
        tokenized=tokenized,
        num_tokens_uncut=whole.num_tokens_uncut,
        outputs=_outputs(logits)[0],
        is_regression=logits.shape[1] == 1,
    )


def cut_texts(
    explorer: Explorer, text: str, pair: str | None, max_tokens: int
) -> tuple[str, str | None]:
    """Shortens texts so that they become at most so many tokens.

    Whoever reads the result with a tokenizer that cuts nothing gets the tokens
    that one with `max_tokens` would have kept, if these have room for a token of
    each text.

    Args:
        explorer: whose tokenizer cuts.
        text: the text, or the first of two.
        pair: the second text.
        max_tokens: special tokens counted; 0 as in `read_text`.
    """
    limit = _limit(explorer, max_tokens)
    kept = explorer.tokenizer.encode(text, pair, limit, cut=True)
    if not kept.was_cut:
        return text, pair
    own = ~kept.is_added
    ends = [
        int(kept.offsets[own & (kept.token_type_ids == segment), 1].max(initial=0))
        for segment in (0, 1)
    ]
    return text[: ends[0]], None if pair is None else pair[: ends[1]]


def predict_rows(
    explorer: Explorer,
    texts: Sequence[str],
    pairs: Sequence[str] | None = None,
    max_tokens: int = 0,
    progress: Progress | None = None,
) -> RowPredictions:
    """Asks the classifier about many texts.

    Rows of nearly the same length go through the network together.

    Args:
        explorer: of a model with a classifier.
        texts: R texts; an empty one is read as such.
        pairs: R second texts.
        max_tokens: see `read_text`.
        progress: told the share of the work done; may raise to cancel.

    Raises:
        CheckpointError: the model has no classifier.
        TextError: no rows.
    """
    explorer.require_head("classifier")
    rows = token_rows(explorer, texts, pairs, max_tokens, progress)
    # A million rows of many classes would not fit in double precision.
    shape = (len(texts), explorer.loaded.model.num_labels)
    outputs = np.empty(shape, np.float32)
    done, total = 0, int(rows.lengths.sum())
    for chosen in by_tokens(rows.lengths):
        logits = explorer.forward(rows.batch(chosen), (_LOGITS,))[_LOGITS]
        outputs[chosen] = _outputs(logits)
        done += int(rows.lengths[chosen].sum())  # the longest rows come last
        if progress is not None:
            share = _TOKENIZING + (1 - _TOKENIZING) * (done / total)
            progress(share, "predict")
    limit = _limit(explorer, max_tokens)
    return RowPredictions(
        model_id=explorer.model_id,
        labels=explorer.loaded.labels,
        outputs=outputs,
        is_regression=outputs.shape[1] == 1,
        num_cut=int((_uncut_lengths(explorer, texts, pairs, rows) > limit).sum()),
    )


def token_rows(
    explorer: Explorer,
    texts: Sequence[str],
    pairs: Sequence[str] | None,
    max_tokens: int,
    progress: Progress | None = None,
) -> TokenRows:
    """Splits many texts as the classifier reads them.

    Args:
        explorer: whose tokenizer splits.
        texts: R texts.
        pairs: R second texts, or `None`.
        max_tokens: see `read_text`.
        progress: told how far it is, as the first tenth of the whole.

    Raises:
        TextError: no rows, or pairs for a model that reads one text at a time.
    """
    if not texts:
        raise TextError("There are no texts to read. Give at least one.")
    if pairs is not None:
        # One pair says for all whether the model knows two segments.
        explorer.tokenize("a", "a", cut=True)

    def told(share: float) -> None:
        if progress is not None:
            progress(share * _TOKENIZING, "tokenize")

    nothing = np.zeros(len(texts), "int32")
    examples = Examples(
        tuple(texts), None if pairs is None else tuple(pairs), nothing, nothing
    )
    limit = _limit(explorer, max_tokens)
    return tokenize(explorer.tokenizer, examples, limit, told)


def by_tokens(
    lengths: np.ndarray, tokens_a_pass: int = _TOKENS_A_PASS
) -> list[np.ndarray]:
    """Rows in batches of about as many tokens, from the shortest to the longest.

    Args:
        lengths: int `[R]`, tokens of each row.
        tokens_a_pass: of a batch at most, unless a single row has more.
    """
    batches: list[np.ndarray] = []
    for batch in by_length(lengths, 64):
        size = max(1, tokens_a_pass // int(lengths[batch].max()))
        batches += [batch[i : i + size] for i in range(0, len(batch), size)]
    return batches


def _uncut_lengths(
    explorer: Explorer,
    texts: Sequence[str],
    pairs: Sequence[str] | None,
    rows: TokenRows,
) -> np.ndarray:
    """Tokens of each row before cutting; only full rows are read again."""
    lengths = rows.lengths
    for row in np.flatnonzero(lengths == rows.max_tokens).tolist():
        pair = None if pairs is None else pairs[row]
        read = explorer.tokenizer.encode(texts[row], pair, rows.max_tokens, cut=True)
        lengths[row] = read.num_tokens_uncut
    return lengths


def _limit(explorer: Explorer, max_tokens: int) -> int:
    positions = explorer.config.max_position_embeddings
    wanted = max_tokens or explorer.loaded.trained_inputs.max_tokens
    return min(wanted, positions) if wanted else positions


def _outputs(logits: np.ndarray) -> np.ndarray:
    """Probabilities `[R, C]`, or the numbers themselves `[R, 1]`."""
    if logits.shape[1] == 1:
        return logits.astype(np.float64)
    from scipy.special import softmax

    return softmax(logits.astype("float64"), axis=1)
