"""The figures of a model card: held-out text, and everyday sentences with a gap."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bertviz_core.errors import DatasetError, TrainingError
from bertviz_core.explorer import Explorer
from bertviz_core.model.compiled import CompiledForward
from bertviz_core.pretrain.corpus import INDEX_FILE, EncodedCorpus, open_corpus
from bertviz_core.pretrain.evaluate import (
    evaluate_mlm,
    evaluate_nsp,
    make_windows,
    read_text,
)
from bertviz_core.pretrain.masking import TokenKinds
from bertviz_core.tokenizer import BertTokenizer


@dataclass(frozen=True)
class ClozeItem:
    """One sentence.

    Args:
        text: with one `[MASK]`.
        answers: whole words that make sense there, thought of before any model
            was asked.
        judged: more of them, found sensible by judges who were shown the guesses
            of several models among other words, without being told whose they are.
    """

    text: str
    answers: tuple[str, ...]
    judged: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClozeScores:
    """How often a sensible word is guessed.

    Args:
        top1, top5: share of the sentences with one of their answers first, or
            among the first five.
        judged_top1, judged_top5: the same with the judged words as well.
        guesses: the first five words for each sentence.
    """

    top1: float
    top5: float
    judged_top1: float
    judged_top5: float
    guesses: tuple[tuple[str, ...], ...]


def read_cloze(path: Path) -> tuple[ClozeItem, ...]:
    """Reads sentences from JSON: a list of {"text": …, "answers": […]}.

    An object may have a list "judged" as well, see `ClozeItem`.

    Raises:
        DatasetError: not such a file, or a sentence without exactly one `[MASK]`.
    """
    try:
        items = tuple(map(_item, json.loads(path.read_text(encoding="utf-8"))))
        if not items:
            raise ValueError("an empty list")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DatasetError(
            "The file {name} does not contain cloze sentences. Write a JSON list of "
            'objects with "text" and "answers".',
            name=path.name,
        ) from error
    for item in items:
        if item.text.count("[MASK]") != 1 or not item.answers:
            raise DatasetError(
                "A cloze sentence needs one [MASK] and at least one answer. Received: "
                "{text}. Mend it in the file.",
                text=item.text[:80],
            )
    return items


def _item(row: dict[str, Any]) -> ClozeItem:
    words = row["answers"], row.get("judged", [])
    if not all(isinstance(some, list) for some in words):
        raise TypeError("answers")  # a string would be read letter by letter
    return ClozeItem(str(row["text"]), *(tuple(map(str, some)) for some in words))


def score_cloze(
    forward: CompiledForward, tokenizer: BertTokenizer, items: tuple[ClozeItem, ...]
) -> ClozeScores:
    """Lets a model fill the gaps; punctuation and word pieces compete, too.

    Args:
        forward: of a model with the head "mlm".
        tokenizer: of the model.
        items: at least one sentence.
    """
    texts = [tokenizer.encode(item.text) for item in items]
    max_tokens = max(text.num_tokens for text in texts)
    ids = np.full((len(texts), max_tokens), tokenizer.pad_token_id, "int32")
    mask = np.zeros_like(ids)
    for row, text in enumerate(texts):
        ids[row, : text.num_tokens] = text.input_ids
        mask[row, : text.num_tokens] = 1
    places = np.flatnonzero(ids == tokenizer.mask_token_id)
    inputs = {"input_ids": ids, "attention_mask": mask, "mlm_positions": places}
    logits = forward(inputs, ("mlm_logits",))["mlm_logits"]
    logits = logits[:, : tokenizer.vocab_size]  # the rest belongs to no word
    best = np.argsort(-logits, axis=1, kind="stable")[:, :5]
    guesses = tuple(tuple(tokenizer.vocabulary[i] for i in row) for row in best)

    def share(count: int, *lists: str) -> float:
        is_right = [
            any(set(getattr(item, name)) & set(words[:count]) for name in lists)
            for words, item in zip(guesses, items, strict=True)
        ]
        return float(np.mean(is_right))

    both = ("answers", "judged")
    return ClozeScores(
        share(1, "answers"),
        share(5, "answers"),
        share(1, *both),
        share(5, *both),
        guesses,
    )


def evaluate_model(
    model_id: str,
    text_path: Path | None,
    cloze_path: Path | None,
    window: int = 128,
    file_name: str | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> dict[str, Any]:
    """Measures a model on text, on cloze sentences, or on both.

    Args:
        model_id: see `Explorer.open`.
        text_path: text that the model never saw; or the folder of an encoded corpus,
            of which the documents kept apart are read.
        cloze_path: see `read_cloze`.
        window: tokens in a window, special tokens counted.
        file_name: of an encoded corpus, the documents of this text file alone.
        progress: see `Explorer.open`.

    Returns:
        "model"; with a text "window", "loss", "top1", "top5", "num_words",
        "by_position" (see `PositionScore`), "nsp_accuracy" and "num_pairs", `None`
        and 0 without such a head; with sentences "cloze_top1", "cloze_top5",
        "num_cloze" and, where words were judged, "cloze_judged_top1" and
        "cloze_judged_top5" (see `ClozeScores`).

    Raises:
        CheckpointError: no such model, or one without a masked-word head.
        TrainingError: the text cannot be read, or the window is too long; the
            encoded corpus has another vocabulary, or no such file.
        DatasetError: the sentences cannot be read.
    """
    explorer = Explorer.open(model_id, progress)
    explorer.require_head("mlm")
    scores: dict[str, Any] = {"model": model_id}
    if text_path is not None:
        scores |= _on_text(explorer, text_path, window, file_name)
    if cloze_path is not None:
        items = read_cloze(cloze_path)
        cloze = score_cloze(explorer.forward, explorer.tokenizer, items)
        scores |= {
            "cloze_top1": cloze.top1,
            "cloze_top5": cloze.top5,
            "num_cloze": len(items),
        }
        if any(item.judged for item in items):
            scores |= {
                "cloze_judged_top1": cloze.judged_top1,
                "cloze_judged_top5": cloze.judged_top5,
            }
    return scores


def _on_text(
    explorer: Explorer, path: Path, window: int, file_name: str | None
) -> dict[str, Any]:
    longest = explorer.config.max_position_embeddings
    if window > longest:
        raise TrainingError(
            "The window is longer than the model. Received: {window} tokens; the model "
            "has {longest} positions. Choose a shorter window.",
            window=window,
            longest=longest,
        )
    corpus, documents = _documents(explorer, path, file_name)
    kinds = TokenKinds.of(explorer.tokenizer.vocabulary)
    windows = make_windows(corpus, documents, window, kinds)
    mlm = evaluate_mlm(explorer.forward, windows, kinds)
    nsp = None
    if "nsp" in explorer.loaded.model.heads:
        nsp = evaluate_nsp(explorer.forward, corpus, documents, window, kinds)
    return {
        "window": window,
        "loss": mlm.loss,
        "top1": mlm.top1,
        "top5": mlm.top5,
        "num_words": mlm.num_words,
        "by_position": [asdict(part) for part in mlm.by_position],
        "nsp_accuracy": None if nsp is None else nsp.accuracy,
        "num_pairs": 0 if nsp is None else nsp.num_pairs,
    }


def _documents(
    explorer: Explorer, path: Path, file_name: str | None
) -> tuple[EncodedCorpus, np.ndarray]:
    """The text, and which of its documents are asked about."""
    if not (path / INDEX_FILE).is_file():
        corpus = read_text(path, explorer.tokenizer)
        return corpus, np.arange(corpus.num_documents)
    corpus = open_corpus(path)
    vocabulary = BertTokenizer.from_folder(path).vocabulary
    if vocabulary != explorer.tokenizer.vocabulary:
        raise TrainingError(
            "The encoded corpus {folder} has another vocabulary than the model. Give "
            "its text files, or a model that was trained on it.",
            folder=path.name,
        )
    is_asked = corpus.is_held_out.copy()
    if file_name is not None:
        if file_name not in corpus.file_names:
            raise TrainingError(
                "The encoded corpus holds no such text file. Received: {name}. In the "
                "corpus: {known}.",
                name=file_name[:60],
                known=", ".join(corpus.file_names),
            )
        is_asked &= corpus.document_files == corpus.file_names.index(file_name)
    return corpus, np.flatnonzero(is_asked)
