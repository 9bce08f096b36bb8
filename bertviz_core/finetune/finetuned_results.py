"""What experiments on a trained classifier return: plain values and arrays.

C classes, or one number; R rows; L layers; H hidden size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertviz_core.finetune.data_check import DataRow
from bertviz_core.trace import FrozenArrays, TokenizedText


@dataclass(frozen=True)
class ReadText(FrozenArrays):
    """What a trained model says of one text.

    Args:
        model_id: which model.
        labels: C class names, or the name of the number.
        text, pair: what was read, without what is beyond the last token.
        tokenized: the same, in tokens.
        num_tokens_uncut: tokens before anything was cut.
        outputs: float64 `[C]`: probabilities that sum to 1, or the number.
        is_regression: whether `outputs` is a number.
    """

    model_id: str
    labels: tuple[str, ...]
    text: str
    pair: str | None
    tokenized: TokenizedText
    num_tokens_uncut: int
    outputs: np.ndarray
    is_regression: bool

    @property
    def was_cut(self) -> bool:
        """Whether the end of the text was left out."""
        return self.num_tokens_uncut > self.tokenized.num_tokens

    @property
    def best(self) -> int:
        """Index of the likeliest class; 0 for a number."""
        return int(self.outputs.argmax())


@dataclass(frozen=True)
class RowPredictions(FrozenArrays):
    """What a trained model says of many texts.

    Args:
        model_id: which model.
        labels: C class names, or the name of the number.
        outputs: float32 `[R, C]`: probabilities, rows sum to 1, or numbers.
        is_regression: whether `outputs` are numbers.
        num_cut: rows whose end was left out.
    """

    model_id: str
    labels: tuple[str, ...]
    outputs: np.ndarray
    is_regression: bool
    num_cut: int


@dataclass(frozen=True)
class NearestRows(FrozenArrays):
    """The rows that look most alike to the classifier.

    Args:
        indices: int `[M]`, of the rows that were searched, the nearest first;
            equals in the order of the rows.
        cosines: float64 `[M]`, between the vectors that the classifier reads.
        num_searched: R.
    """

    indices: np.ndarray
    cosines: np.ndarray
    num_searched: int


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


@dataclass(frozen=True)
class PredictedRow:
    """One row of a table, and what the model says of it.

    Args:
        row: number of the file, from 1.
        text: its first text.
        label: the likeliest class; "" for numbers.
        value: probability of that class, or the number.
    """

    row: int
    text: str
    label: str
    value: float


@dataclass(frozen=True)
class TablePredictions(FrozenArrays):
    """What a trained model said of a table; the whole of it lies in a file.

    Args:
        labels: C class names, or the name of the number.
        is_regression: whether numbers were predicted.
        num_rows: of the table.
        num_empty: rows without a text, which have no prediction.
        num_cut: rows whose end was left out.
        counts: int `[C]`, rows of each predicted class; `[1]` for numbers.
        first: some rows of the beginning.
        path: of the CSV file with every row; the same name with ".jsonl" has the exact
            texts.
    """

    labels: tuple[str, ...]
    is_regression: bool
    num_rows: int
    num_empty: int
    num_cut: int
    counts: np.ndarray
    first: tuple[PredictedRow, ...]
    path: str


@dataclass(frozen=True)
class WeightChange(FrozenArrays):
    """How far the weights of a model have moved, as a share of what they were.

    Args:
        layers: names of the rows: "embeddings", "layer_0" to the last, and, where
            both models have them, "final_norm" and "pooler".
        parts: names of the columns, of `PARTS`.
        shares: float64 `[rows, columns]`, Frobenius norm of the change over that
            of the weights before; NaN where a layer has no such part.
        totals: float64 `[rows]`, the same of a layer's weights taken together.
    """

    layers: tuple[str, ...]
    parts: tuple[str, ...]
    shares: np.ndarray
    totals: np.ndarray


@dataclass(frozen=True)
class LayerComparison(FrozenArrays):
    """The same rows in a model before and after it was trained, layer by layer.

    Axes: 2 models, before first; L + 1 layers, embedding output first; M rows that
    are judged.

    Args:
        reading: "cls", the vector of the first token, or "mean" over a row's own
            tokens.
        is_regression: whether targets are numbers.
        labels: C class names, or the name of the number.
        num_fitted: rows that the probes learned from: of the training part.
        rows: int `[M]`, which rows of the validation part are judged and drawn.
        targets: int or float `[M]`.
        scores: float64 `[2, L + 1]`, share of rows whose class a linear probe
            names, or its R² for numbers.
        score_intervals: float64 `[2, L + 1, 2]`, 95 %, of Wilson; NaN for numbers.
        least: what always naming the commonest class scores; 0 for numbers.
        separations: float64 `[2, L + 1]`, share of rows that are nearest to the
            centre of their own class, by cosine; NaN for numbers, where classes
            are too few or too small, and where all vectors are alike, as those of
            [CLS] before the first layer.
        coordinates: float64 `[2, L + 1, M, 2]`, on the same two axes everywhere.
        explained: float64 `[2, L + 1]`, share of the variance on these axes.
    """

    reading: str
    is_regression: bool
    labels: tuple[str, ...]
    num_fitted: int
    rows: np.ndarray
    targets: np.ndarray
    scores: np.ndarray
    score_intervals: np.ndarray
    least: float
    separations: np.ndarray
    coordinates: np.ndarray
    explained: np.ndarray


@dataclass(frozen=True)
class HeadChange(FrozenArrays):
    """How much of each head's attention went elsewhere after training.

    Args:
        tokens: T tokens of the text.
        distances: float64 `[L, N]`, total variation between the attention before
            and after, mean over the tokens that look: 0 the same, 1 nothing in
            common.
    """

    tokens: tuple[str, ...]
    distances: np.ndarray
