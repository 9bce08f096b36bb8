"""From sentences to token ids, so many at a time: a document may be of any length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.tokenizer import BertTokenizer

# The index of the text file and the sentences of each document, in order; the
# sentences of one are read before the next one is asked for.
Documents = Iterable[tuple[int, Iterable[str]]]


@dataclass(frozen=True)
class Part:
    """Some sentences in a row, encoded.

    Args:
        tokens: int32 `[num_tokens]`, end to end.
        sentence_lengths: int64 `[S]`, tokens of each sentence.
        documents: int64 `[S]`, number of the document that each is of.
        files: int64 `[S]`, index of the text file that each is of.
    """

    tokens: np.ndarray
    sentence_lengths: np.ndarray
    documents: np.ndarray
    files: np.ndarray


def encoded_parts(
    documents: Documents, tokenizer: BertTokenizer, num_sentences: int = 20_000
) -> Iterator[Part]:
    """Encodes documents; a part may begin or end within one.

    Args:
        documents: the text.
        tokenizer: of its words.
        num_sentences: of a part; fewer in the last one.
    """
    texts: list[str] = []
    owners: list[tuple[int, int]] = []
    for number, (file_index, sentences) in enumerate(documents):
        for sentence in sentences:
            texts.append(sentence)
            owners.append((number, file_index))
            if len(texts) == num_sentences:
                yield _encode(texts, owners, tokenizer)
                texts, owners = [], []
    if texts:
        yield _encode(texts, owners, tokenizer)


def joined(parts: Sequence[Part]) -> dict[str, np.ndarray]:
    """What all parts come to, tokens aside.

    Returns:
        "sentence_starts", "document_starts" and "document_files" of `EncodedCorpus`.
    """

    def gathered(name: str) -> np.ndarray:
        arrays = [getattr(part, name) for part in parts]
        return np.concatenate(arrays) if arrays else np.zeros(0, "int64")

    owners = gathered("documents")
    # Documents without a word are in none of the parts.
    firsts = np.flatnonzero(np.diff(owners, prepend=-1))
    return {
        "sentence_starts": np.append(0, np.cumsum(gathered("sentence_lengths"))),
        "document_starts": np.append(firsts, len(owners)),
        "document_files": gathered("files")[firsts],
    }


def _encode(
    texts: list[str], owners: list[tuple[int, int]], tokenizer: BertTokenizer
) -> Part:
    ids = tokenizer.encode_many(texts)
    lengths = np.array([len(sentence) for sentence in ids], "int64")
    full = lengths > 0  # a sentence of control characters has no pieces
    documents, files = np.array(owners, "int64").T
    return Part(
        tokens=np.array([i for sentence in ids for i in sentence], "int32"),
        sentence_lengths=lengths[full],
        documents=documents[full],
        files=files[full],
    )
