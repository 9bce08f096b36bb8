"""A corpus as token ids on the disk: encoded once, memory-mapped ever after."""

from __future__ import annotations

import itertools
import json
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import filelock
import numpy as np

from bertviz_core.errors import TrainingError, reason_of
from bertviz_core.pretrain.settings import CorpusSettings
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.whole_files import replace_folder

# The index of the text file and the sentences of each document, in order; the
# sentences of one are read before the next one is asked for.
Documents = Iterable[tuple[int, Iterable[str]]]


def encoded_parts(
    documents: Documents, tokenizer: BertTokenizer, num_sentences: int = 20_000
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Encodes documents; a part may begin or end within one.

    Args:
        documents: the text.
        tokenizer: of its words.
        num_sentences: of a part; fewer in the last one.

    Yields:
        int32 `[num_tokens]`, end to end; and int64 `[S, 3]`: of each sentence its
        tokens, the number of its document, and the index of its text file.
    """
    sentences = (
        (sentence, number, file)
        for number, (file, sentences) in enumerate(documents)
        for sentence in sentences
    )
    while part := list(itertools.islice(sentences, num_sentences)):
        ids = tokenizer.encode_many([sentence for sentence, _, _ in part])
        rows = np.array(
            [(len(i), *owner) for i, (_, *owner) in zip(ids, part, strict=True)],
            "int64",
        )
        # A sentence of control characters has no pieces.
        yield np.array(list(itertools.chain(*ids)), "int32"), rows[rows[:, 0] > 0]


def joined(parts: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """What the sentences of all parts come to.

    Returns:
        "sentence_starts", "document_starts" and "document_files" of `EncodedCorpus`.
    """
    lengths, owners, files = np.concatenate([np.zeros((0, 3), "int64"), *parts]).T
    # Documents without a word are in none of the parts.
    firsts = np.flatnonzero(np.diff(owners, prepend=-1))
    return {
        "sentence_starts": np.append(0, np.cumsum(lengths)),
        "document_starts": np.append(firsts, len(owners)),
        "document_files": files[firsts],
    }


INDEX_FILE = "corpus.json"
# Part of the key: a change of the layout or of the sentence rule must encode anew.
LAYOUT = 1
_COUNTED_AT_ONCE = 1 << 22  # tokens; counting makes each one eight bytes long
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

    def counts(self, vocab_size: int) -> np.ndarray:
        """Int64 `[vocab_size]`, how often each piece stands in the text."""
        counts = np.zeros(vocab_size, "int64")
        for start in range(0, len(self.tokens), _COUNTED_AT_ONCE):
            part = self.tokens[start : start + _COUNTED_AT_ONCE]
            counts += np.bincount(part, minlength=vocab_size)
        return counts


def write_corpus(
    documents: Documents,
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
        with _scratch_folder(folder.parent) as scratch:
            arrays = _write_tokens(documents, tokenizer, scratch / "tokens.bin")
            lengths = np.diff(arrays["sentence_starts"][arrays["document_starts"]])
            arrays["is_held_out"] = held_out_documents(lengths, settings.held_out_rate)
            for name, dtype in _ARRAYS.items():
                np.save(scratch / f"{name}.npy", arrays[name].astype(dtype))
            tokenizer.save(scratch)
            _write_index(scratch, file_names, tokenizer, settings)
            replace_folder(scratch, folder)
    except OSError as error:
        raise TrainingError(
            "The encoded corpus cannot be written to {folder}. Received: {reason}. "
            "Make room on the disk or choose another folder.",
            folder=folder.parent.name,
            reason=reason_of(error),
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


def encode_documents(documents: Documents, tokenizer: BertTokenizer) -> EncodedCorpus:
    """Encodes documents in memory: for evaluation and small texts.

    Raises:
        TrainingError: no text in them.
    """
    parts = list(encoded_parts(documents, tokenizer))
    arrays = joined([sentences for _, sentences in parts])
    tokens = np.concatenate([np.zeros(0, "int32"), *(ids for ids, _ in parts)])
    if not len(tokens):
        raise _empty()
    held_out = np.zeros(len(arrays["document_files"]), bool)
    return EncodedCorpus(
        tokens, is_held_out=held_out, file_names=(), settings={}, **arrays
    )


@contextmanager
def _scratch_folder(parent: Path) -> Iterator[Path]:
    """A folder to write in, which is gone in the end.

    It is locked, so that what another process is writing is told from what one left
    that was killed; the latter is cleared away.
    """
    parent.mkdir(parents=True, exist_ok=True)
    for left in {path.with_suffix("") for path in parent.glob(".corpus-*")}:
        _clear_away(left, _lock_of(left))
    scratch = parent / f".corpus-{uuid.uuid4().hex}"
    lock = _lock_of(scratch)
    lock.acquire()
    try:
        scratch.mkdir()
        yield scratch
    finally:
        _clear_away(scratch, lock)


def _lock_of(scratch: Path) -> filelock.FileLock:
    return filelock.FileLock(scratch.with_suffix(".lock"))


def _clear_away(scratch: Path, lock: filelock.FileLock) -> None:
    """Removes a folder and its lock, unless another process holds it."""
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        return
    shutil.rmtree(scratch, ignore_errors=True)
    lock.release(force=True)
    Path(lock.lock_file).unlink(missing_ok=True)


def _write_tokens(
    documents: Documents, tokenizer: BertTokenizer, path: Path
) -> dict[str, np.ndarray]:
    dtype, parts = _dtype(tokenizer), []
    with path.open("wb") as file:
        for tokens, sentences in encoded_parts(documents, tokenizer):
            tokens.astype(dtype).tofile(file)
            parts.append(sentences)
    arrays = joined(parts)
    require_documents(len(arrays["document_files"]))
    return arrays


def require_documents(count: int) -> None:
    """Refuses a corpus of fewer than two documents.

    Raises:
        TrainingError: there is none, or only one.
    """
    if not count:
        raise _empty()
    if count < 2:
        raise TrainingError(
            "The corpus is a single document; next-sentence prediction needs sentences "
            "from others, and some text is kept for evaluation. Put a blank line "
            "between documents, or give more text."
        )


def held_out_documents(document_tokens: np.ndarray, rate: float) -> np.ndarray:
    """Chooses the documents that are kept for evaluation.

    Drawn without a look at their lengths, which is fair where there are many. One
    with which hardly anything would be left to train on is passed over: of two
    documents one may be nearly all of the text.

    Args:
        document_tokens: int `[num_documents]`, two or more.
        rate: share of the documents; at least one is kept, and one trained on.

    Returns:
        bool `[num_documents]`. The others hold half of `1 - rate` of all tokens, or
        more.
    """
    num_documents = len(document_tokens)
    count = min(max(round(num_documents * rate), 1), num_documents - 1)
    room = document_tokens.sum() * (1 + rate) / 2
    is_held_out = np.zeros(num_documents, bool)
    for index in np.random.default_rng(0).permutation(num_documents):
        if count and document_tokens[index] <= room:
            is_held_out[index] = True
            room -= document_tokens[index]
            count -= 1
    return is_held_out


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
