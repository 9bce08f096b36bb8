"""Which rows look most alike to a trained classifier: by the vector that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.geometry import cosine_matrix
from bertviz_core.experiments.masked_rows import Progress
from bertviz_core.explorer import Explorer
from bertviz_core.finetune.checks import DataRow, rows_of
from bertviz_core.finetune.dataset import TrainingData
from bertviz_core.finetune.row_prediction import ReadText, by_tokens, token_rows
from bertviz_core.trace import FrozenArrays

_POOLED = "pooled_output"


@dataclass(frozen=True)
class NearTrainingRows(FrozenArrays):
    """The training rows that look most alike to the classifier.

    Args:
        rows: the nearest first.
        cosines: float64 `[M]`, between the vectors that the classifier reads.
        num_searched: rows of the training part.
    """

    rows: tuple[DataRow, ...]
    cosines: np.ndarray
    num_searched: int


def row_vectors(
    explorer: Explorer,
    texts: Sequence[str],
    pairs: Sequence[str] | None = None,
    max_tokens: int = 0,
    progress: Progress | None = None,
) -> np.ndarray:
    """The `pooled_output` of each row, which the classifier reads; float32 `[R, H]`.

    Args:
        explorer: of a model with a classifier.
        texts: R texts.
        pairs: R second texts.
        max_tokens: see `row_prediction.read_text`.
        progress: told the share of the work done; may raise to cancel.

    Raises:
        CheckpointError: the model has no classifier.
        TextError: no rows.
    """
    explorer.require_head("classifier")
    rows = token_rows(explorer, texts, pairs, max_tokens, progress)
    vectors = np.empty((len(texts), explorer.config.hidden_size), np.float32)
    done = 0
    for chosen in by_tokens(rows.lengths):
        vectors[chosen] = explorer.forward(rows.batch(chosen), (_POOLED,))[_POOLED]
        done += len(chosen)
        if progress is not None:
            progress(done / len(texts), "read rows")
    return vectors


def nearest_rows(
    explorer: Explorer,
    read: ReadText,
    vectors: np.ndarray,
    data: TrainingData,
    count: int,
) -> NearTrainingRows:
    """Finds the training rows whose vectors point most the way of a text's vector.

    Args:
        explorer: of the model that made the vectors.
        read: the text.
        vectors: float `[R, H]` of the training rows, see `row_vectors`.
        data: the rows.
        count: how many at most; equals in the order of the rows.
    """
    own = explorer.forward(read.tokenized.inputs, (_POOLED,))[_POOLED]
    cosines = cosine_matrix(own, vectors)[0]
    order = np.argsort(-cosines, kind="stable")[:count]
    rows = rows_of(data.train, data.labels, order.tolist())
    return NearTrainingRows(rows, cosines[order], len(cosines))
