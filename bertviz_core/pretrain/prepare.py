"""From text files to an encoded corpus in a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bertviz_core.errors import TrainingError
from bertviz_core.pretrain.corpus import (
    INDEX_FILE,
    EncodedCorpus,
    corpus_key,
    open_corpus,
    write_corpus,
)
from bertviz_core.pretrain.data_settings import CorpusSettings
from bertviz_core.pretrain.settings import PretrainSettings
from bertviz_core.pretrain.text_files import read_documents
from bertviz_core.pretrain.vocabulary import train_vocabulary
from bertviz_core.sentence_splitting import sentences_of
from bertviz_core.tokenizer import BertTokenizer

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
) -> Path:
    """Encodes text files, or finds what an earlier call encoded.

    Args:
        paths: text files; or one folder that an earlier call returned.
        settings: reads `corpus` and `model.vocab_size`.
        cache: folder for encoded corpora, each under a name made of its content.
        say: told what is being done.
        should_stop: asked before each document.

    Returns:
        The folder of the encoded corpus, its `vocab.txt` inside.

    Raises:
        Stopped: `should_stop` said so; nothing is left behind.
        TrainingError: a file is absent, no text, empty; a single document; the
            vocabulary does not fit the config; a file has a weight but is not
            there; no room on the disk.
        TokenizerError: a vocabulary file that is none.
    """
    if len(paths) == 1 and (paths[0] / INDEX_FILE).is_file():
        return paths[0]
    # Before the minutes that encoding takes.
    _require_weighed([path.name for path in paths], settings)
    key = corpus_key(paths, settings.corpus, settings.model.vocab_size)
    folder = cache / key
    if not (folder / INDEX_FILE).is_file():
        tokenizer = _tokenizer(paths, settings, say, should_stop)
        say(f"Encoding with {tokenizer.vocab_size} word pieces")
        write_corpus(
            _documents(paths, say, should_stop),
            [path.name for path in paths],
            tokenizer,
            settings.corpus,
            folder,
        )
    return folder


def open_prepared(
    folder: Path, settings: PretrainSettings
) -> tuple[EncodedCorpus, BertTokenizer]:
    """Opens what `prepare_corpus` returned.

    Raises:
        TrainingError: it is damaged, was encoded in another way, or has more words
            or other files than the settings say.
    """
    corpus = open_corpus(folder)
    _require_same_encoding(corpus, settings.corpus)
    tokenizer = BertTokenizer.from_folder(folder)
    if tokenizer.vocab_size > settings.model.vocab_size:
        raise _vocabulary_misfit(tokenizer, settings)
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
        p for path in paths for document in _read(path, should_stop) for p in document
    )
    vocabulary = train_vocabulary(
        paragraphs, settings.model.vocab_size, asked.lower_case, asked.max_characters
    )
    return BertTokenizer(vocabulary, lower_case=asked.lower_case)


def _read(path: Path, should_stop: ShouldStop) -> Iterator[list[str]]:
    for document in read_documents(path):
        if should_stop():
            raise Stopped
        yield document


def _documents(
    paths: Sequence[Path], say: Say, should_stop: ShouldStop
) -> Iterator[tuple[int, list[str]]]:
    for index, path in enumerate(paths):
        say(f"Reading {path.name}")
        for paragraphs in _read(path, should_stop):
            sentences = [s for p in paragraphs for s in sentences_of(p)]
            yield index, sentences


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
    for name in sorted(set().union(*weighed)):
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
