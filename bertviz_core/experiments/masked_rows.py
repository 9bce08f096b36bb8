"""Many variants of a text through the network, chunk by chunk.

R is the number of rows (variants), T tokens, V vocabulary.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.wordlists import entries_of_kind
from bertviz_core.errors import require_index, require_positions
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import Progress, untold
from bertviz_core.trace import LOGITS, TokenizedText

# Rows times tokens of one pass: 64 texts of 64 tokens. More only takes memory.
TOKENS_A_PASS = 4096


@dataclass(frozen=True)
class Row:
    """One variant of a text, with the place to predict a word at."""

    input_ids: np.ndarray  # int [T]
    token_type_ids: np.ndarray  # int [T]
    position: int  # token index of the prediction


def row_with(
    tokenized: TokenizedText, places: int | np.ndarray, token_id: int, position: int
) -> Row:
    """A text with another token at one place or several."""
    input_ids = tokenized.input_ids.copy()
    input_ids[places] = token_id
    return Row(input_ids, tokenized.token_type_ids, position)


def head_logits(
    explorer: Explorer,
    head: str,
    rows: Sequence[Row],
    progress: Progress = untold,
    done: str = "",
) -> Iterator[tuple[slice, np.ndarray]]:
    """Asks one head about each row; yields as chunks are ready.

    Rows of several lengths are padded; padding takes no attention. Only "mlm" reads the
    row's position.

    Yields:
        Which rows, and their logits, float32 `[r, C]`; C is V for "mlm".

    Raises:
        TextError: a row has more tokens than the model has positions.
    """
    explorer.require_head(head)
    if not rows:
        return
    longest = max(len(row.input_ids) for row in rows)
    require_positions(longest, explorer.config.max_position_embeddings)
    size = max(1, TOKENS_A_PASS // longest)
    for start in range(0, len(rows), size):
        chunk = rows[start : start + size]
        inputs = padded(chunk, explorer.tokenizer.pad_token_id)
        if head == "mlm":
            starts = inputs["input_ids"].shape[1] * np.arange(len(chunk))
            inputs["mlm_positions"] = starts + [row.position for row in chunk]
        name = LOGITS[head]
        logits = explorer.forward(inputs, (name,))[name]
        yield slice(start, start + len(chunk)), logits
        progress((start + len(chunk)) / len(rows), done)


def all_word_logits(explorer: Explorer, rows: Sequence[Row]) -> np.ndarray:
    """The words' logits of every row at once, float32 `[R, V]`; see `head_logits`."""
    chunks = [logits for _, logits in head_logits(explorer, "mlm", rows)]
    if not chunks:
        return np.zeros((0, explorer.config.vocab_size), "float32")
    return np.concatenate(chunks)


def logits_at(
    explorer: Explorer, tokenized: TokenizedText, positions: np.ndarray
) -> np.ndarray:
    """The logits at several places of one text, in one pass, float32 `[P, V]`."""
    explorer.require_head("mlm")
    inputs = tokenized.inputs | {"mlm_positions": positions}
    return explorer.forward(inputs, ("mlm_logits",))["mlm_logits"]


def mask_position(tokenized: TokenizedText, mask_index: int) -> int:
    """Token index of a mask, counted from the left."""
    positions = tokenized.mask_positions
    require_index("mask_index", mask_index, len(positions))
    return int(positions[mask_index])


def is_word_allowed(explorer: Explorer) -> np.ndarray:
    """Which ids are words that a text can hold, bool `[V]`.

    Left out are the special tokens, [UNK] among them, the unused places that
    Google's vocabularies keep free, and rows of the embeddings without a word.
    """
    pieces, kinds = explorer.vocabulary, ("special", "unused", "empty")
    return ~np.any([entries_of_kind(pieces, kind) for kind in kinds], axis=0)


def piece_names(explorer: Explorer, ids: Iterable[int]) -> tuple[str, ...]:
    """The pieces of some ids, see `Explorer.vocabulary`."""
    return tuple(explorer.vocabulary[index] for index in ids)


def padded(
    texts: Sequence[Row | TokenizedText], pad_token_id: int
) -> dict[str, np.ndarray]:
    """Texts of several lengths as the model's inputs; padding takes no attention."""
    shape = len(texts), max(len(text.input_ids) for text in texts)
    input_ids = np.full(shape, pad_token_id, "int32")
    token_type_ids, attention_mask = np.zeros((2, *shape), "int32")
    for index, text in enumerate(texts):
        size = len(text.input_ids)
        input_ids[index, :size] = text.input_ids
        token_type_ids[index, :size] = text.token_type_ids
        attention_mask[index, :size] = 1
    return {
        "input_ids": input_ids,
        "attention_mask": attention_mask,
        "token_type_ids": token_type_ids,
    }


def equally_long(
    texts: Sequence[TokenizedText], tokens_a_pass: int
) -> Iterator[tuple[list[int], dict[str, np.ndarray]]]:
    """Texts of one length together, so that each gives the numbers it gives alone.

    Yields:
        Indices of texts, and their inputs, int32 `[R, T]`; so many tokens at most, or
        one text.
    """
    by_length: dict[int, list[int]] = defaultdict(list)
    for index, text in enumerate(texts):
        by_length[text.num_tokens].append(index)
    for num_tokens, alike in sorted(by_length.items()):
        size = max(1, tokens_a_pass // num_tokens)
        for start in range(0, len(alike), size):
            together = alike[start : start + size]
            read = [texts[index].inputs for index in together]
            yield (
                together,
                {name: np.concatenate([one[name] for one in read]) for name in read[0]},
            )
