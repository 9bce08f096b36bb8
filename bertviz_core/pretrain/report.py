"""The figures of a model card."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bertviz_core.errors import TrainingError
from bertviz_core.explorer import Explorer
from bertviz_core.pretrain.cloze import read_cloze, score_cloze
from bertviz_core.pretrain.evaluate import (
    evaluate_mlm,
    evaluate_nsp,
    make_windows,
    read_text,
)
from bertviz_core.pretrain.masking import TokenKinds


def evaluate_model(
    model_id: str, text_path: Path | None, cloze_path: Path | None, window: int = 128
) -> dict[str, Any]:
    """Measures a model on text, on cloze sentences, or on both.

    Args:
        model_id: see `Explorer.open`.
        text_path: text that the model never saw.
        cloze_path: see `read_cloze`.
        window: tokens in a window, special tokens counted.

    Returns:
        "model"; with a text "window", "loss", "top1", "top5", "num_words",
        "nsp_accuracy" and "num_pairs", `None` and 0 without such a head; with
        sentences "cloze_top1", "cloze_top5" and "num_cloze".

    Raises:
        CheckpointError: no such model, or one without a masked-word head.
        TrainingError: the text cannot be read, or the window is too long.
        DatasetError: the sentences cannot be read.
    """
    explorer = Explorer.open(model_id)
    explorer.require_head("mlm")
    scores: dict[str, Any] = {"model": model_id}
    if text_path is not None:
        scores |= _on_text(explorer, text_path, window)
    if cloze_path is not None:
        items = read_cloze(cloze_path)
        cloze = score_cloze(explorer.forward, explorer.tokenizer, items)
        scores |= {
            "cloze_top1": cloze.top1,
            "cloze_top5": cloze.top5,
            "num_cloze": len(items),
        }
    return scores


def _on_text(explorer: Explorer, path: Path, window: int) -> dict[str, Any]:
    longest = explorer.config.max_position_embeddings
    if window > longest:
        raise TrainingError(
            "The window is longer than the model. Received: {window} tokens; the model "
            "has {longest} positions. Choose a shorter window.",
            window=window,
            longest=longest,
        )
    corpus = read_text(path, explorer.tokenizer)
    kinds = TokenKinds.of(explorer.tokenizer.vocabulary)
    documents = np.arange(corpus.num_documents)
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
        "nsp_accuracy": None if nsp is None else nsp.accuracy,
        "num_pairs": 0 if nsp is None else nsp.num_pairs,
    }
