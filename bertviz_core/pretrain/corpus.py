"""A corpus as token ids on the disk: encoded once, memory-mapped ever after."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bertviz_core.errors import TrainingError
from bertviz_core.pretrain.data_settings import CorpusSettings
from bertviz_core.tokenizer import BertTokenizer

INDEX_FILE = "corpus.json"
# Part of the key: a change of the layout or of the sentence rule must encode anew.
LAYOUT = 1
_ARRAYS = {
    "sentence_starts": "int64",
    "document_starts": "int64",
    "document_files": "uint16",
    "is_held_out": "bool",
}


@dataclass(frozen=True)
class EncodedCorpus:
    """Token ids of many documents, end to end, without special tokens.

    Args:
        tokens: uint16 or int32 `[num_tokens]`, mostly memory-mapped.
        sentence_starts: int64 `[num_sentences + 1]`, index into `tokens`.
        document_starts: int64 `[num_documents + 1]`, index into
            `sentence_starts`.
        document_files: uint16 `[num_documents]`, index into `file_names`.
        is_held_out: bool `[num_documents]`, kept for evaluation.
        file_names: the text files, without folders.
        settings: `CorpusSettings.encoding()` of them; empty if nobody noted it.
    """

    tokens: np.ndarray
    sentence_starts: np.ndarray
    document_starts: np.ndarray
    document_files: np.ndarray
    is_held_out: np.ndarray
    file_names: tuple[str, ...]
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def num_documents(self) -> int:
        """Documents, held-out ones counted."""
        return len(self.document_files)

    @property
    def document_tokens(self) -> np.ndarray:
        """Int64 `[num_documents]`, tokens in each document."""
        return np.diff(self.sentence_starts[self.document_starts])


def write_corpus(
    documents: Iterator[tuple[int, list[str]]],
    file_names: Sequence[str],
    tokenizer: BertTokenizer,
    settings: CorpusSettings,
    folder: Path,
) -> EncodedCorpus:
    """Encodes documents into a folder, which appears when it is complete.

    Args:
        documents: the index of the file and the sentences of each document.
        file_names: of the text files.
        tokenizer: saved beside the ids.
        settings: reads `held_out_rate`; all of them are noted beside the ids.
        folder: to make; one that exists is replaced.

    Raises:
        TrainingError: fewer than two documents, or no room on the disk.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".corpus-", dir=folder.parent))
        try:
            arrays = _write_tokens(documents, tokenizer, scratch / "tokens.bin")
            num_documents = len(arrays["document_files"])
            arrays["is_held_out"] = _held_out(num_documents, settings.held_out_rate)
            for name, dtype in _ARRAYS.items():
                np.save(scratch / f"{name}.npy", arrays[name].astype(dtype))
            tokenizer.save(scratch)
            _write_index(scratch, file_names, tokenizer, settings)
            shutil.rmtree(folder, ignore_errors=True)
            scratch.rename(folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        raise TrainingError(
            "The encoded corpus cannot be written to {folder}. Received: {reason}. "
            "Make room on the disk or choose another folder.",
            folder=folder.parent.name,
            reason=error.strerror or type(error).__name__,
        ) from error
    return open_corpus(folder)


def open_corpus(folder: Path) -> EncodedCorpus:
    """Maps an encoded corpus into memory.

    Raises:
        TrainingError: the folder is not one, or files of it are gone.
    """
    try:
        index = json.loads((folder / INDEX_FILE).read_text(encoding="utf-8"))
        tokens = np.memmap(folder / "tokens.bin", index["dtype"], mode="r")
        arrays = {name: np.load(folder / f"{name}.npy") for name in _ARRAYS}
        is_whole = len(tokens) == arrays["sentence_starts"][-1]
        names, settings = tuple(index["files"]), dict(index.get("settings", {}))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(folder) from error
    if not is_whole or index["layout"] != LAYOUT:
        raise _damaged(folder)
    return EncodedCorpus(tokens, file_names=names, settings=settings, **arrays)


def encode_documents(
    documents: Iterator[tuple[int, list[str]]], tokenizer: BertTokenizer
) -> EncodedCorpus:
    """Encodes documents in memory: for evaluation and small texts.

    Raises:
        TrainingError: no text in them.
    """
    parts = list(_encoded_parts(documents, tokenizer))
    arrays = _joined(parts)
    tokens = np.concatenate([part.tokens for part in parts] or [np.zeros(0, "int32")])
    if not len(tokens):
        raise _empty()
    held_out = np.zeros(len(arrays["document_files"]), bool)
    return EncodedCorpus(
        tokens, is_held_out=held_out, file_names=(), settings={}, **arrays
    )


@dataclass(frozen=True)
class _Part:
    """Some documents in a row, encoded."""

    tokens: np.ndarray
    sentence_lengths: np.ndarray
    document_lengths: np.ndarray  # in sentences
    document_files: np.ndarray


def _encoded_parts(
    documents: Iterator[tuple[int, list[str]]],
    tokenizer: BertTokenizer,
    num_sentences: int = 20_000,
) -> Iterator[_Part]:
    waiting: list[tuple[int, list[str]]] = []
    count = 0
    for document in documents:
        waiting.append(document)
        count += len(document[1])
        if count >= num_sentences:
            yield _encode(waiting, tokenizer)
            waiting, count = [], 0
    if waiting:
        yield _encode(waiting, tokenizer)


def _encode(documents: list[tuple[int, list[str]]], tokenizer: BertTokenizer) -> _Part:
    ids = tokenizer.encode_many([s for _, sentences in documents for s in sentences])
    lengths = np.array([len(sentence) for sentence in ids], "int64")
    owner = np.repeat(
        np.arange(len(documents)), [len(sentences) for _, sentences in documents]
    )
    full = lengths > 0  # a sentence of control characters has no pieces
    counts = np.bincount(owner[full], minlength=len(documents))
    files = np.array([file_index for file_index, _ in documents])
    return _Part(
        tokens=np.array([i for sentence in ids for i in sentence], "int32"),
        sentence_lengths=lengths[full],
        document_lengths=counts[counts > 0],
        document_files=files[counts > 0],
    )


def _joined(parts: Sequence[_Part]) -> dict[str, np.ndarray]:
    """Lengths of all parts to starts, the end of the last one included."""

    def gathered(name: str) -> np.ndarray:
        arrays = [getattr(part, name) for part in parts]
        return np.concatenate(arrays) if arrays else np.zeros(0, "int64")

    return {
        "sentence_starts": np.append(0, np.cumsum(gathered("sentence_lengths"))),
        "document_starts": np.append(0, np.cumsum(gathered("document_lengths"))),
        "document_files": gathered("document_files"),
    }


def _write_tokens(
    documents: Iterator[tuple[int, list[str]]], tokenizer: BertTokenizer, path: Path
) -> dict[str, np.ndarray]:
    dtype, parts = _dtype(tokenizer), []
    with path.open("wb") as file:
        for part in _encoded_parts(documents, tokenizer):
            part.tokens.astype(dtype).tofile(file)
            nothing = np.zeros(0, dtype)
            lengths = (part.sentence_lengths, part.document_lengths)
            parts.append(_Part(nothing, *lengths, part.document_files))
    arrays = _joined(parts)
    num_documents = len(arrays["document_files"])
    if not num_documents:
        raise _empty()
    if num_documents < 2:
        raise TrainingError(
            "The corpus is a single document; next-sentence prediction needs sentences "
            "from others, and some text is kept for evaluation. Put a blank line "
            "between documents, or give more text."
        )
    return arrays


def _held_out(num_documents: int, rate: float) -> np.ndarray:
    """At least one document for evaluation, and at least one to train on."""
    count = min(max(round(num_documents * rate), 1), num_documents - 1)
    chosen = np.random.default_rng(0).permutation(num_documents)[:count]
    return np.isin(np.arange(num_documents), chosen)


def _write_index(
    folder: Path,
    file_names: Sequence[str],
    tokenizer: BertTokenizer,
    settings: CorpusSettings,
) -> None:
    index = {
        "layout": LAYOUT,
        "dtype": _dtype(tokenizer),
        "files": list(file_names),
        "settings": settings.encoding(),
    }
    (folder / INDEX_FILE).write_text(json.dumps(index, indent=2), encoding="utf-8")


def _dtype(tokenizer: BertTokenizer) -> str:
    return "uint16" if tokenizer.vocab_size <= 2**16 else "int32"


def _empty() -> TrainingError:
    return TrainingError(
        "There is no text in the corpus. Give UTF-8 text files: a blank line between "
        "documents, one paragraph a line."
    )


def _damaged(folder: Path) -> TrainingError:
    return TrainingError(
        "The encoded corpus {folder} is damaged or from another version. Remove the "
        "folder; it is made anew from the text files.",
        folder=folder.name,
    )
