"""Text files as token ids on the disk: encoded once, memory-mapped ever after."""

import hashlib
import itertools
import json
import lzma
import operator
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import filelock
import numpy as np
from tokenizers import trainers

from bertviz_core.errors import TrainingError, reason_of
from bertviz_core.sentence_splitting import sentences_of
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.trace import SPECIAL_TOKENS
from bertviz_core.training.pretrain.settings import CorpusSettings, PretrainSettings
from bertviz_core.whole_files import new_folder

# Pieces of text in their order, each with the number of its document in its text file,
# and the index of that file.
Owned = Iterable[tuple[str, int, int]]


def read_paragraphs(path: Path) -> Iterator[tuple[str, int]]:
    """Reads a UTF-8 file, plain or `.xz`, a paragraph a line, blank between documents.

    Yields a paragraph, without white space around, and the number of its document, from
    0. A file that is absent, damaged, or not text is a `TrainingError`.
    """
    number, is_begun = 0, False
    is_packed, encoding = path.suffix == ".xz", "utf-8-sig"
    try:
        with (
            lzma.open(path, "rt", encoding=encoding)
            if is_packed
            else path.open(encoding=encoding)
        ) as file:
            for line in file:
                if "\0" in line:
                    raise UnicodeError(line)
                if paragraph := line.strip():
                    yield paragraph, number
                    is_begun = True
                elif is_begun:
                    number, is_begun = number + 1, False
    except UnicodeError as error:
        raise TrainingError(
            "The file {name} is not plain text in UTF-8. Save it as UTF-8 text: a "
            "blank line between documents, one paragraph a line.",
            name=path.name,
        ) from error
    except (lzma.LZMAError, EOFError) as error:
        raise TrainingError(
            "The file {name} is not a whole .xz file. Copy it again, or unpack it and "
            "give the plain text.",
            name=path.name,
        ) from error
    except OSError as error:
        raise _not_read(path, error) from error


def _not_read(path: Path, error: OSError) -> TrainingError:
    return TrainingError(
        "The text file {name} cannot be read. Received: {reason}. Check the path and "
        "the rights.",
        name=path.name,
        reason=reason_of(error),
    )


# Below this not even the letters have a place each.
SMALLEST_VOCABULARY = 64


def train_vocabulary(
    texts: Iterable[str],
    vocab_size: int,
    lower_case: bool,
    max_characters: int | None = None,
) -> tuple[str, ...]:
    """Learns the word pieces that a text is best cut into, special tokens first.

    Starts from single characters and joins the commonest neighbours within a word until
    the vocabulary is full, or the text used up; Chinese characters stay single. Chance
    decides between equally common neighbours, so that two calls may differ in rare
    pieces and in the order of ids. Of characters the `max_characters` commonest are
    kept; text with others is `[UNK]`. `lower_case` folds case and accents. No room for
    the letters is a `TrainingError`.

    Source: Schuster and Nakajima 2012, "Japanese and Korean voice search", as built
    into Hugging Face `tokenizers`, which joins by frequency.
    """
    if vocab_size < SMALLEST_VOCABULARY:
        raise TrainingError(
            "The vocabulary is too small. Received: vocab_size={vocab_size}. Give at "
            "least {smallest}.",
            vocab_size=vocab_size,
            smallest=SMALLEST_VOCABULARY,
        )
    options: dict[str, Any] = (
        {} if max_characters is None else {"limit_alphabet": max_characters}
    )
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        special_tokens=list(SPECIAL_TOKENS),
        show_progress=False,
        **options,
    )
    # A tokenizer without a vocabulary: it normalises and cuts into words.
    untrained = BertTokenizer(SPECIAL_TOKENS, lower_case=lower_case)
    return untrained.learn_vocabulary(texts, trainer)


def encoded_parts(
    sentences: Owned, tokenizer: BertTokenizer, num_sentences: int = 20_000
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Encodes sentences; a part may begin or end within a document.

    Yields:
        int32 `[num_tokens]`, end to end; and int64 `[S, 3]`: of each sentence its
        tokens, the number of its document, and the index of its text file.
    """
    waiting = iter(sentences)
    while part := list(itertools.islice(waiting, num_sentences)):
        ids = tokenizer.encode_many([sentence for sentence, _, _ in part])
        rows = np.array(
            [(len(i), *owner) for i, (_, *owner) in zip(ids, part, strict=True)],
            "int64",
        )
        # A sentence of control characters has no pieces.
        yield np.array(list(itertools.chain(*ids)), "int32"), rows[rows[:, 0] > 0]


def joined(parts: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """What all parts come to: `sentence_starts` and `document_*` of `EncodedCorpus`."""
    rows = np.concatenate([np.zeros((0, 3), "int64"), *parts])
    lengths, files = rows[:, 0], rows[:, 2]
    # Documents without a word are in none of the parts.
    is_first = np.diff(rows[:, 1:], axis=0, prepend=-1).any(axis=1)
    firsts = np.flatnonzero(is_first)
    return {
        "sentence_starts": np.append(0, np.cumsum(lengths)),
        "document_starts": np.append(firsts, len(rows)),
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
    """Token ids of many documents, end to end, without special tokens."""

    tokens: np.ndarray  # uint16 or int32 [num_tokens], mostly memory-mapped
    sentence_starts: np.ndarray  # int64 [num_sentences + 1], index into `tokens`
    document_starts: np.ndarray  # int64 [num_documents + 1], into `sentence_starts`
    document_files: np.ndarray  # uint16 [num_documents], index into `file_names`
    is_held_out: np.ndarray  # bool [num_documents], kept for evaluation
    file_names: tuple[str, ...]  # the text files, without folders
    # `CorpusSettings.encoding()` of them; empty if nobody noted it.
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
    sentences: Owned,
    file_names: Sequence[str],
    tokenizer: BertTokenizer,
    settings: CorpusSettings,
    folder: Path,
    say: Callable[[str], object] = str,
    should_stop: Callable[[], bool] = lambda: False,
) -> EncodedCorpus:
    """Encodes text into a folder, which appears, or is replaced, when it is complete.

    The tokenizer is saved and all settings are noted beside the ids. `should_stop` is
    asked while another process encodes. Fewer than two documents, or no room on the
    disk, are a `TrainingError`.
    """
    dtype = "uint16" if tokenizer.vocab_size <= 2**16 else "int32"
    index = {
        "layout": LAYOUT,
        "dtype": dtype,
        "files": list(file_names),
        "settings": settings.encoding(),
    }
    parts = []
    try:
        with _new_corpus(folder, say, should_stop) as scratch:
            with (scratch / "tokens.bin").open("wb") as file:
                for tokens, rows in encoded_parts(sentences, tokenizer):
                    tokens.astype(dtype).tofile(file)
                    parts.append(rows)
            arrays = joined(parts)
            _require_documents(len(arrays["document_files"]))
            lengths = np.diff(arrays["sentence_starts"][arrays["document_starts"]])
            arrays["is_held_out"] = held_out_documents(lengths, settings.held_out_rate)
            for name, kind in _ARRAYS.items():
                np.save(scratch / f"{name}.npy", arrays[name].astype(kind))
            tokenizer.save(scratch)
            text = json.dumps(index, indent=2)
            (scratch / INDEX_FILE).write_text(text, encoding="utf-8")
    except OSError as error:
        raise TrainingError(
            "The encoded corpus cannot be written to {folder}. Received: {reason}. "
            "Make room on the disk or choose another folder.",
            folder=folder.parent.name,
            reason=reason_of(error),
        ) from error
    return open_corpus(folder)


def open_corpus(folder: Path) -> EncodedCorpus:
    """Maps an encoded corpus into memory; without all files it is a `TrainingError`."""
    try:
        index = json.loads((folder / INDEX_FILE).read_text(encoding="utf-8"))
        tokens = np.memmap(folder / "tokens.bin", index["dtype"], mode="r")
        arrays = {name: np.load(folder / f"{name}.npy") for name in _ARRAYS}
        names, settings = tuple(index["files"]), dict(index.get("settings", {}))
        if (len(tokens), LAYOUT) != (arrays["sentence_starts"][-1], index["layout"]):
            raise ValueError(folder)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TrainingError(
            "The encoded corpus {folder} is damaged or from another version. Remove "
            "the folder; it is made anew from the text files.",
            folder=folder.name,
        ) from error
    return EncodedCorpus(tokens, file_names=names, settings=settings, **arrays)


def encode_sentences(sentences: Owned, tokenizer: BertTokenizer) -> EncodedCorpus:
    """Encodes text in memory, for evaluation; `TrainingError` where there is none."""
    parts = list(encoded_parts(sentences, tokenizer))
    arrays = joined([rows for _, rows in parts])
    tokens = np.concatenate([np.zeros(0, "int32"), *(ids for ids, _ in parts)])
    if not len(tokens):
        raise _empty()
    held_out = np.zeros(len(arrays["document_files"]), bool)
    return EncodedCorpus(
        tokens, is_held_out=held_out, file_names=(), settings={}, **arrays
    )


@contextmanager
def _new_corpus(
    folder: Path, say: Callable[[str], object], should_stop: Callable[[], bool]
) -> Iterator[Path]:
    """Where to write a corpus that then appears; who writes beside it is waited for.

    What another process left that was killed is cleared away.
    """
    cache = folder.parent
    cache.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(cache / ".corpus.lock")
    try:
        held = lock.acquire(timeout=0)
    except filelock.Timeout:
        say("Waiting for another process, which encodes text")
        try:
            held = lock.acquire(cancel_check=should_stop)
        except filelock.Timeout:
            raise _Stopped from None
    with held:
        for left in cache.glob(f".{'?' * 32}.new"):  # see `corpus_key`
            shutil.rmtree(left, ignore_errors=True)
        with new_folder(folder) as scratch:
            yield scratch


def _require_documents(count: int) -> None:
    if not count:
        raise _empty()
    if count < 2:
        raise TrainingError(
            "The corpus is a single document; next-sentence prediction needs sentences "
            "from others, and some text is kept for evaluation. Put a blank line "
            "between documents, or give more text."
        )


def _empty() -> TrainingError:
    return TrainingError(
        "There is no text in the corpus. Give UTF-8 text files: a blank line between "
        "documents, one paragraph a line."
    )


def held_out_documents(document_tokens: np.ndarray, rate: float) -> np.ndarray:
    """Chooses the documents that are kept for evaluation, bool `[num_documents]`.

    Drawn without a look at their lengths, which is fair where there are many. One with
    which hardly anything would be left to train on is passed over: of two documents one
    may be nearly all of the text. At least one is kept; the others hold half of
    `1 - rate` of all tokens, or more.
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


class _Stopped(Exception):
    """Somebody asked for an end while the text was being encoded."""


def prepare_corpus(
    paths: Sequence[Path],
    settings: PretrainSettings,
    cache: Path,
    say: Callable[[str], object],
    should_stop: Callable[[], bool] = lambda: False,
    words: BertTokenizer | None = None,
) -> Path | None:
    """Encodes text files, or finds what an earlier call encoded; returns the folder.

    Its name is made of its content, its `vocab.txt` is inside; given for `paths`, it is
    returned. `should_stop` is asked before each paragraph; where it said so, there is
    no folder.

    Raises:
        TrainingError: a file is absent, no text, empty, or the same as another; two
            have one name; a single document; the vocabulary does not fit the config; a
            file has a weight but is not there; no room on the disk.
        TokenizerError: a vocabulary file that is none.
    """
    if _is_encoded(paths):
        return paths[0]
    # Before the minutes that encoding takes.
    _require_weighed([path.name for path in paths], settings)
    known = () if words is None else words.vocabulary
    folder = cache / corpus_key(
        paths, settings.corpus, settings.model.vocab_size, known
    )
    if (folder / INDEX_FILE).is_file():
        return folder

    def paragraphs(
        say: Callable[[str], object] = str,
    ) -> Iterator[tuple[str, int, int]]:
        for index, path in enumerate(paths):
            say(f"Reading {path.name}")
            for paragraph, number in read_paragraphs(path):
                if should_stop():
                    raise _Stopped
                yield paragraph, number, index

    try:
        # A single one is refused before words are learnt.
        documents = itertools.groupby(paragraphs(), operator.itemgetter(1, 2))
        _require_documents(sum(1 for _ in itertools.islice(documents, 2)))
        if words is None:
            words = _tokenizer((text for text, _, _ in paragraphs()), settings, say)
        say(f"Encoding with {words.vocab_size} word pieces")
        corpus = write_corpus(
            (
                (sentence, number, file)
                for paragraph, number, file in paragraphs(say)
                for sentence in sentences_of(paragraph)
            ),
            [path.name for path in paths],
            words,
            settings.corpus,
            folder,
            say,
            should_stop,
        )
    except _Stopped:
        say("Stopped while the text was being encoded; nothing is left behind")
        return None
    lengths, held_out = corpus.document_tokens, corpus.is_held_out
    say(
        f"To train on: {lengths[~held_out].sum():,} tokens "
        f"(documents: {(~held_out).sum():,}); kept apart: "
        f"{lengths[held_out].sum():,} (documents: {held_out.sum():,})"
    )
    return folder


def require_encoded(paths: Sequence[Path]) -> None:
    """Refuses text files, for several machines, with a `TrainingError`.

    Each would encode them for itself; and words that are learnt twice may have other
    ids, see `train_vocabulary`.
    """
    if not _is_encoded(paths):
        raise TrainingError(
            "Several machines train on text that was encoded once. Received: text "
            "files. Encode them with --prepare-only, and give all machines the folder "
            "that it names as --corpus."
        )


def open_prepared(
    folder: Path, settings: PretrainSettings, words: BertTokenizer | None = None
) -> tuple[EncodedCorpus, BertTokenizer]:
    """Opens what `prepare_corpus` returned; arguments as there.

    Raises:
        TrainingError: it is damaged, was encoded in another way, or has more words
            or other files than the settings say.
    """
    corpus = open_corpus(folder)
    _require_same_encoding(corpus, settings.corpus)
    tokenizer = BertTokenizer.from_folder(folder)
    if tokenizer.vocab_size > settings.model.vocab_size:
        raise _vocabulary_misfit(tokenizer, settings)
    if words is not None and words.vocabulary != tokenizer.vocabulary:
        raise TrainingError(
            "The corpus was encoded with other words than those of the model to begin "
            "with. Received: {model}. Give the text files, or another model.",
            model=str(settings.initial_model)[:80],
        )
    if settings.corpus.vocabulary_file:
        asked = BertTokenizer.from_vocab_file(Path(settings.corpus.vocabulary_file))
        if asked.vocabulary != tokenizer.vocabulary:
            raise TrainingError(
                "The corpus was encoded with other words than those of the vocabulary "
                "file. Received: {file}. Give the text files, or leave "
                "vocabulary_file out.",
                file=Path(settings.corpus.vocabulary_file).name,
            )
    _require_weighed(corpus.file_names, settings)
    return corpus, tokenizer


def corpus_key(
    paths: Sequence[Path],
    settings: CorpusSettings,
    vocab_size: int,
    words: Sequence[str] = (),
) -> str:
    """Names a corpus by its content and by all that decides its token ids.

    The order of the files counts. The name has 32 hexadecimal digits. A file that
    cannot be read, or is the same as another in text or name, is a `TrainingError`.
    """
    encoding = json.dumps(settings.encoding(), sort_keys=True)
    digest = hashlib.sha256(f"{LAYOUT} {vocab_size} {encoding}".encode())
    if words:
        digest.update("\n".join(words).encode())
    names_by_text: dict[bytes, str] = {}
    for path in paths:
        text = _content_of(path)
        # What is kept apart of a text must not be trained on in its double.
        if text in names_by_text:
            raise TrainingError(
                "The same text was given twice. Received: {first} and {second}. Leave "
                "one of them out; a weight has a file read more often.",
                first=names_by_text[text],
                second=path.name,
            )
        if path.name in names_by_text.values():
            raise TrainingError(
                "Two text files have the same name. Received: {name}. Rename one of "
                "them: weights and --file find a file by its name.",
                name=path.name,
            )
        names_by_text[text] = path.name
        digest.update(path.name.encode() + text)
    if settings.vocabulary_file:
        path = Path(settings.vocabulary_file)
        digest.update(path.name.encode() + _content_of(path))
    return digest.hexdigest()[:32]


def _content_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        raise _not_read(path, error) from error


def _is_encoded(paths: Sequence[Path]) -> bool:
    return len(paths) == 1 and (paths[0] / INDEX_FILE).is_file()


def _tokenizer(
    paragraphs: Iterable[str], settings: PretrainSettings, say: Callable[[str], object]
) -> BertTokenizer:
    asked = settings.corpus
    if asked.vocabulary_file:
        tokenizer = BertTokenizer.from_vocab_file(
            Path(asked.vocabulary_file), lower_case=asked.lower_case
        )
        if tokenizer.vocab_size != settings.model.vocab_size:
            raise _vocabulary_misfit(tokenizer, settings)
        return tokenizer
    say("Learning word pieces")
    vocabulary = train_vocabulary(
        paragraphs, settings.model.vocab_size, asked.lower_case, asked.max_characters
    )
    return BertTokenizer(vocabulary, lower_case=asked.lower_case)


def _require_same_encoding(corpus: EncodedCorpus, asked: CorpusSettings) -> None:
    """An encoded folder that was given may stem from other settings."""
    there = corpus.settings
    changed = [k for k, v in asked.encoding().items() if there.get(k, v) != v]
    if changed:
        raise TrainingError(
            "The corpus was encoded with other settings. Received: {asked}; encoded "
            "with: {there}. Take those settings, or give the text files.",
            asked=", ".join(f"{key}={asked.encoding()[key]}" for key in changed),
            there=", ".join(f"{key}={there[key]}" for key in changed),
        )


def _require_weighed(file_names: Sequence[str], settings: PretrainSettings) -> None:
    weighed = [settings.corpus.weights, *(p.weights or {} for p in settings.phases)]
    for name in sorted(set().union(*weighed, settings.corpus.pair_rates)):
        if name not in file_names:
            raise TrainingError(
                "The settings weigh a text file that is not in the corpus. Received: "
                "{name}. In the corpus: {known}.",
                name=name[:60],
                known=", ".join(file_names),
            )


def _vocabulary_misfit(
    tokenizer: BertTokenizer, settings: PretrainSettings
) -> TrainingError:
    return TrainingError(
        "The vocabulary does not fit the model. Received: {pieces} word pieces; "
        "vocab_size={vocab_size}. Set vocab_size to the number of pieces, or use the "
        "vocabulary that belongs to these settings.",
        pieces=tokenizer.vocab_size,
        vocab_size=settings.model.vocab_size,
    )
