"""From text files to a vocabulary and an encoded corpus in a cache."""

from __future__ import annotations

import hashlib
import itertools
import lzma
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from tokenizers import trainers

from bertviz_core.errors import TrainingError, reason_of
from bertviz_core.pretrain.corpus import (
    INDEX_FILE,
    LAYOUT,
    Documents,
    EncodedCorpus,
    open_corpus,
    require_documents,
    write_corpus,
)
from bertviz_core.pretrain.settings import CorpusSettings, PretrainSettings
from bertviz_core.sentence_splitting import sentences_of
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.trace import SPECIAL_TOKENS


def read_paragraphs(path: Path) -> Iterator[tuple[int, str]]:
    """Reads a text file, plain or `.xz`, a paragraph at a time.

    Args:
        path: UTF-8; a blank line between documents, one paragraph a line.

    Yields:
        The number of the document, from 0, and a paragraph of it, without white space
        around.

    Raises:
        TrainingError: the file is absent, damaged, or not text.
    """
    number, is_begun = 0, False
    for line in _lines(path):
        if paragraph := line.strip():
            yield number, paragraph
            is_begun = True
        elif is_begun:
            number, is_begun = number + 1, False


def sentences_by_document(
    paragraphs: Iterable[tuple[int, str]],
) -> Iterator[Iterator[str]]:
    """The sentences of each document; to be read before the next one is asked for.

    Args:
        paragraphs: as `read_paragraphs` gives them.
    """
    for _, group in itertools.groupby(paragraphs, key=operator.itemgetter(0)):
        yield (sentence for _, p in group for sentence in sentences_of(p))


def _lines(path: Path) -> Iterator[str]:
    try:
        with _open(path) as file:
            for line in file:
                if "\0" in line:
                    raise _not_text(path)
                yield line
    except UnicodeDecodeError as error:
        raise _not_text(path) from error
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


def _open(path: Path) -> TextIO:
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf-8-sig")
    return path.open(encoding="utf-8-sig")


def _not_text(path: Path) -> TrainingError:
    return TrainingError(
        "The file {name} is not plain text in UTF-8. Save it as UTF-8 text: a blank "
        "line between documents, one paragraph a line.",
        name=path.name,
    )


# Below this not even the letters have a place each.
SMALLEST_VOCABULARY = 64


def train_vocabulary(
    texts: Iterable[str],
    vocab_size: int,
    lower_case: bool,
    max_characters: int | None = None,
) -> tuple[str, ...]:
    """Learns the word pieces that a text is best cut into.

    Starts from single characters and joins the commonest neighbours within a
    word until the vocabulary is full; Chinese characters stay single. Chance
    decides between equally common neighbours, so that two calls may differ in rare
    pieces and in the order of ids.

    Args:
        texts: any number of paragraphs, read once.
        vocab_size: word pieces at most; a short text yields fewer.
        lower_case: folds case and accents.
        max_characters: keeps that many of the commonest characters; text with
            others is `[UNK]`. `None` keeps all.

    Returns:
        The pieces by id; the five special tokens come first.

    Raises:
        TrainingError: `vocab_size` leaves no room for the letters.

    Source:
        Schuster and Nakajima 2012, "Japanese and Korean voice search", as built
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


Say = Callable[[str], None]  # told in a line what is being done
ShouldStop = Callable[[], bool]


class Stopped(Exception):
    """Somebody asked for an end while the text was being encoded."""


def prepare_corpus(
    paths: Sequence[Path],
    settings: PretrainSettings,
    cache: Path,
    say: Say,
    should_stop: ShouldStop = lambda: False,
    words: BertTokenizer | None = None,
) -> Path:
    """Encodes text files, or finds what an earlier call encoded.

    Args:
        paths: text files; or one folder that an earlier call returned.
        settings: reads `corpus` and `model.vocab_size`.
        cache: folder for encoded corpora, each under a name made of its content.
        say: told what is being done.
        should_stop: asked before each paragraph.
        words: those of the model to begin with; `None` learns some, or reads the
            vocabulary file.

    Returns:
        The folder of the encoded corpus, its `vocab.txt` inside.

    Raises:
        Stopped: `should_stop` said so; nothing is left behind.
        TrainingError: a file is absent, no text, empty, or the same as another; two
            have one name; a single document; the vocabulary does not fit the config;
            a file has a weight but is not there; no room on the disk.
        TokenizerError: a vocabulary file that is none.
    """
    if _is_encoded(paths):
        return paths[0]
    # Before the minutes that encoding takes.
    _require_weighed([path.name for path in paths], settings)
    known = () if words is None else words.vocabulary
    key = corpus_key(paths, settings.corpus, settings.model.vocab_size, known)
    folder = cache / key
    if not (folder / INDEX_FILE).is_file():
        _require_two_documents(paths, should_stop)
        tokenizer = words or _tokenizer(paths, settings, say, should_stop)
        say(f"Encoding with {tokenizer.vocab_size} word pieces")
        corpus = write_corpus(
            _documents(paths, say, should_stop),
            [path.name for path in paths],
            tokenizer,
            settings.corpus,
            folder,
        )
        say(_amounts(corpus))
    return folder


def require_encoded(paths: Sequence[Path]) -> None:
    """Refuses text files, for several machines.

    Each would encode them for itself; and words that are learnt twice may have other
    ids, see `train_vocabulary`.

    Raises:
        TrainingError: it is not one folder that `prepare_corpus` returned.
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

    Args:
        paths: of the text files; their order counts.
        settings: of the vocabulary.
        vocab_size: word pieces at most.
        words: pieces that are not learned but given; none for learned ones.

    Returns:
        32 hexadecimal digits.

    Raises:
        TrainingError: a file cannot be read, or is the same as another in text or name.
    """
    digest = hashlib.sha256(f"{LAYOUT} {vocab_size} {settings.identity()}".encode())
    if words:
        digest.update("\n".join(words).encode())
    texts = {path: _content_of(path) for path in paths}
    _require_different(paths, texts)
    named = [Path(settings.vocabulary_file)] if settings.vocabulary_file else []
    for path in [*paths, *named]:
        digest.update(path.name.encode())
        digest.update(texts[path] if path in texts else _content_of(path))
    return digest.hexdigest()[:32]


def _content_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        raise _not_read(path, error) from error


def _require_different(paths: Sequence[Path], texts: Mapping[Path, bytes]) -> None:
    """What is kept apart of a text must not be trained on in its double."""
    by_text: dict[bytes, Path] = {}
    names: set[str] = set()
    for path in paths:
        if (first := by_text.get(texts[path])) is not None:
            raise TrainingError(
                "The same text was given twice. Received: {first} and {second}. Leave "
                "one of them out; a weight has a file read more often.",
                first=first.name,
                second=path.name,
            )
        if path.name in names:
            raise TrainingError(
                "Two text files have the same name. Received: {name}. Rename one of "
                "them: weights and --file find a file by its name.",
                name=path.name,
            )
        by_text[texts[path]] = path
        names.add(path.name)


def _require_two_documents(paths: Sequence[Path], should_stop: ShouldStop) -> None:
    """Reads up to the second one; of a single one, all, but before words are learnt."""
    count = 0
    for path in paths:
        for _ in itertools.groupby(_read(path, should_stop), operator.itemgetter(0)):
            count += 1
            if count == 2:
                return
    require_documents(count)


def _is_encoded(paths: Sequence[Path]) -> bool:
    return len(paths) == 1 and (paths[0] / INDEX_FILE).is_file()


def _tokenizer(
    paths: Sequence[Path],
    settings: PretrainSettings,
    say: Say,
    should_stop: ShouldStop,
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
    paragraphs = (
        paragraph for path in paths for _, paragraph in _read(path, should_stop)
    )
    vocabulary = train_vocabulary(
        paragraphs, settings.model.vocab_size, asked.lower_case, asked.max_characters
    )
    return BertTokenizer(vocabulary, lower_case=asked.lower_case)


def _read(path: Path, should_stop: ShouldStop) -> Iterator[tuple[int, str]]:
    for numbered in read_paragraphs(path):
        if should_stop():
            raise Stopped
        yield numbered


def _documents(paths: Sequence[Path], say: Say, should_stop: ShouldStop) -> Documents:
    for index, path in enumerate(paths):
        say(f"Reading {path.name}")
        for sentences in sentences_by_document(_read(path, should_stop)):
            yield index, sentences


def _amounts(corpus: EncodedCorpus) -> str:
    lengths, held_out = corpus.document_tokens, corpus.is_held_out
    return (
        f"To train on: {lengths[~held_out].sum():,} tokens "
        f"(documents: {(~held_out).sum():,}); kept apart: "
        f"{lengths[held_out].sum():,} (documents: {held_out.sum():,})"
    )


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
