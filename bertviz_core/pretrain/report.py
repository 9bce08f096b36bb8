"""The figures of a model card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from bertviz_core.errors import TrainingError
from bertviz_core.explorer import Explorer
from bertviz_core.pretrain.cloze import read_cloze, score_cloze
from bertviz_core.pretrain.corpus import INDEX_FILE, EncodedCorpus, open_corpus
from bertviz_core.pretrain.evaluate import (
    evaluate_mlm,
    evaluate_nsp,
    make_windows,
    read_text,
)
from bertviz_core.pretrain.masking import TokenKinds
from bertviz_core.tokenizer import BertTokenizer


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
