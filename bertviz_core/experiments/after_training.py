"""What a training did to a model: to its weights, its layers, and what looks alike.

Shapes: R rows, L layers, H hidden size, M rows that are judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bertviz_core.analysis.geometry import are_alike, cosine_matrix, is_rounding
from bertviz_core.analysis.layer_maps import layer_maps
from bertviz_core.analysis.separation import group_separation
from bertviz_core.experiments.sentence_states import states_of
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import Progress, untold
from bertviz_core.trace import FrozenArrays, TokenizedText
from bertviz_core.training.finetune.checks import DataRow, rows_of
from bertviz_core.training.finetune.dataset import Examples, TrainingData
from bertviz_core.training.finetune.evaluation import r_squared, wilson_interval
from bertviz_core.training.finetune.row_prediction import (
    most_tokens,
    row_passes,
    token_rows,
)
from bertviz_core.weights import as_numpy

if TYPE_CHECKING:
    from bertviz_core.model.bert import Bert

PARTS = (
    "words",
    "positions",
    "segments",
    "query",
    "key",
    "value",
    "attention_output",
    "feed_forward",
    "norms",
    "pooler",
)


@dataclass(frozen=True)
class WeightChange(FrozenArrays):
    """How far the weights of a model have moved, as a share of what they were."""

    # Names of the rows: "embeddings", "layer_0" to the last, and, where both models
    # have them, "final_norm" and "pooler".
    layers: tuple[str, ...]
    parts: tuple[str, ...]  # names of the columns, of `PARTS`
    # float64 [rows, columns], Frobenius norm of the change over that of the weights
    # before; NaN where a layer has no such part.
    shares: np.ndarray
    totals: np.ndarray  # float64 [rows], the same of a layer's weights taken together


def weight_change(before: Bert, after: Bert) -> WeightChange:
    """Measures ‖after - before‖ / ‖before‖ (Frobenius) of layers and their parts.

    Biases count with their matrices. A part whose weights were all zero has no
    share. The pooler is left out where one of the models has none.
    """
    old = dict(_layers(before))
    new = {name: parts for name, parts in _layers(after) if name in old}
    names = tuple(name for name in old if name in new)
    shares = np.full((len(names), len(PARTS)), np.nan)
    totals = np.full(len(names), np.nan)
    for row, name in enumerate(names):
        moved = lengths = 0.0
        for part in old[name]:
            change, size = _squares(old[name][part], new[name][part])
            shares[row, PARTS.index(part)] = _share(change, size)
            moved, lengths = moved + change, lengths + size
        totals[row] = _share(moved, lengths)
    return WeightChange(names, PARTS, shares, totals)


def _layers(model: Bert) -> Iterator[tuple[str, dict[str, list[Any]]]]:
    table = model.embeddings
    yield (
        "embeddings",
        {
            "words": [table.word_embeddings],
            "positions": [table.position_embeddings],
            "segments": [table.token_type_embeddings],
            "norms": table.layer_norm.weights,
        },
    )
    for index, block in enumerate(model.blocks):
        yield (
            f"layer_{index}",
            {
                "query": block.attention.query.weights,
                "key": block.attention.key.weights,
                "value": block.attention.value.weights,
                "attention_output": block.attention_output.weights,
                "feed_forward": block.feed_forward.weights,
                "norms": block.attention_norm.weights + block.output_norm.weights,
            },
        )
    if model.final_norm is not None:
        yield "final_norm", {"norms": model.final_norm.weights}
    if model.pooler is not None:
        yield "pooler", {"pooler": model.pooler.dense.weights}


def _squares(old: list[Any], new: list[Any]) -> tuple[float, float]:
    """Squared lengths of the change and of what was before."""
    change = size = 0.0
    for first, second in zip(old, new, strict=True):
        was = as_numpy(first).astype(np.float64)
        now = as_numpy(second).astype(np.float64)
        if was.shape != now.shape:
            raise ValueError(
                f"Both models must have the same shapes. Received: {was.shape} and "
                f"{now.shape} of {first.path}."
            )
        change += float(np.square(now - was).sum())
        size += float(np.square(was).sum())
    return change, size


def _share(change: float, size: float) -> float:
    return float(np.sqrt(change / size)) if size > 0 else float("nan")


READINGS = ("cls", "mean")
# Rows that probes learn from and are judged by; more would change little and take
# minutes with a large model.
MAX_FITTED, MAX_JUDGED = 400, 200
_SEED = 0
_NETWORK = 0.9  # share of the work


@dataclass(frozen=True)
class LayerComparison(FrozenArrays):
    """The same rows in a model before and after it was trained, layer by layer.

    Axes: 2 models, before first; L + 1 layers, embedding output first; M rows that
    are judged.
    """

    is_regression: bool  # whether targets are numbers
    labels: tuple[str, ...]  # C class names, or the name of the number
    num_fitted: int  # rows that the probes learned from: of the training part
    rows: np.ndarray  # int [M], which rows of the validation part are judged and drawn
    targets: np.ndarray  # int or float [M]
    # float64 [2, L + 1], share of rows whose class a linear probe names, or its R² for
    # numbers.
    scores: np.ndarray
    # float64 [2, L + 1, 2], 95 %, of Wilson; NaN for numbers.
    score_intervals: np.ndarray
    least: float  # what always naming the commonest class scores; 0 for numbers
    # float64 [2, L + 1], share of rows that are nearest to the centre of their own
    # class, by cosine; NaN for numbers, where classes are too few or too small, and
    # where all vectors are alike, as those of [CLS] before the first layer.
    separations: np.ndarray
    coordinates: np.ndarray  # float64 [2, L + 1, M, 2], on the same two axes everywhere
    explained: np.ndarray  # float64 [2, L + 1], share of the variance on these axes


def compare_layers(
    before: Explorer,
    after: Explorer,
    data: TrainingData,
    reading: str = "cls",
    max_tokens: int = 0,
    progress: Progress = untold,
) -> LayerComparison:
    """Probes, separations and maps of both models on the same rows.

    Probes learn from rows that the training learned from, and are judged by its
    test rows; which, is drawn once and for all. Both models have the same tokenizer and
    config, and get the same rows.

    Args:
        reading: of `READINGS`: "cls", the vector of the first token, or "mean" over a
            row's own tokens.
        max_tokens: see `row_prediction.read_text`.

    Raises:
        TextError: pairs for a model that reads one text at a time.

    Source: Alain and Bengio 2016 (arXiv:1610.01644), linear classifier probes.
    """
    if reading not in READINGS:
        raise ValueError(f"`reading` must be among {READINGS}. Received: {reading}.")
    fitted = _drawn(data.train, MAX_FITTED)
    judged = _drawn(data.test, MAX_JUDGED)
    pairs = [
        _both(
            explorer, data, (fitted, judged), reading, max_tokens, _part(progress, turn)
        )
        for turn, explorer in enumerate((before, after))
    ]
    targets, truth = data.train.targets[fitted], data.test.targets[judged]
    scores = np.empty((len(pairs), len(pairs[0][0])))
    intervals = np.full((*scores.shape, 2), np.nan)
    separations = np.full(scores.shape, np.nan)
    least = 0.0
    for turn, place in enumerate(np.ndindex(scores.shape)):
        known, asked = (states[place[1]] for states in pairs[place[0]])
        if data.is_regression:
            scores[place] = probe_numbers(known, targets, asked, truth)
        else:
            is_right = probe_classes(known, targets, asked) == truth
            scores[place] = is_right.mean()
            intervals[place] = wilson_interval(is_right.sum(), len(truth))
            separations[place] = _separation(asked, truth)
            least = float(np.mean(truth == np.bincount(targets).argmax()))
        progress(_NETWORK + (1 - _NETWORK) * (turn + 1) / scores.size, "probe")
    stacked = np.concatenate([states for _, states in pairs])
    coordinates, explained = layer_maps(stacked)
    shape = scores.shape
    return LayerComparison(
        is_regression=data.is_regression,
        labels=data.labels,
        num_fitted=len(fitted),
        rows=judged,
        targets=truth,
        scores=scores,
        score_intervals=intervals,
        least=least,
        separations=separations,
        coordinates=coordinates.reshape(*shape, len(judged), -1),
        explained=explained.reshape(shape),
    )


def _separation(vectors: np.ndarray, targets: np.ndarray) -> float:
    if are_alike(vectors):  # [CLS] before the first layer
        return np.nan
    score = group_separation(vectors, [str(target) for target in targets]).score
    return np.nan if score is None else score


def _drawn(part: Examples, most: int) -> np.ndarray:
    """Indices of rows, in their order; the same ones every time."""
    rng = np.random.default_rng(_SEED)
    count = min(most, len(part))
    return np.sort(rng.choice(len(part), count, replace=False))


def _both(
    explorer: Explorer,
    data: TrainingData,
    chosen: tuple[np.ndarray, np.ndarray],
    reading: str,
    max_tokens: int,
    progress: Progress,
) -> tuple[np.ndarray, np.ndarray]:
    """States `[L + 1, R, H]` of the fitted rows, and of the judged ones."""
    if data.has_pairs:
        explorer.tokenize("a", "a", cut=True)  # refuses where one text is read
    limit = most_tokens(explorer, max_tokens)
    texts = [
        explorer.tokenizer.encode(
            part.texts[row], part.pairs[row] if part.pairs else None, limit, cut=True
        )
        for part, rows in zip((data.train, data.test), chosen, strict=True)
        for row in rows.tolist()
    ]
    states = states_of(explorer, texts, reading, progress)
    return states[:, : len(chosen[0])], states[:, len(chosen[0]) :]


def _part(told: Progress, turn: int) -> Progress:
    return lambda share, doing: told(_NETWORK * (turn + share) / 2, doing)


_MAX_ITERATIONS = 1000


def probe_classes(
    vectors: np.ndarray, targets: np.ndarray, judged: np.ndarray
) -> np.ndarray:
    """Learns classes from vectors `[R, H]`, and names those of others `[M, H]`.

    Logistic regression on numbers that are brought to mean 0 and spread 1, with the
    default penalty of scikit-learn.
    """
    from sklearn.linear_model import LogisticRegression

    if len(np.unique(targets)) < 2:
        return np.full(len(judged), targets[0])
    known, asked = _standard(vectors, judged)
    probe = LogisticRegression(max_iter=_MAX_ITERATIONS).fit(known, targets)
    named: np.ndarray = probe.predict(asked)
    return named


def probe_numbers(
    vectors: np.ndarray, targets: np.ndarray, judged: np.ndarray, truth: np.ndarray
) -> float:
    """Learns numbers likewise by ridge regression; the R² of those said for others."""
    from sklearn.linear_model import Ridge

    known, asked = _standard(vectors, judged)
    probe: Any = Ridge().fit(known, np.asarray(targets, np.float64))
    return r_squared(truth, probe.predict(asked))


def _standard(vectors: np.ndarray, judged: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both, with the mean and the spread of what is learned from.

    Brought to a spread of 1, rounding would look like something to learn from.
    """
    wide = vectors.astype(np.float64)
    mean, spread = wide.mean(axis=0), wide.std(axis=0)
    told = 1 / np.where(is_rounding(wide, spread), np.inf, spread)
    return (wide - mean) * told, (judged.astype(np.float64) - mean) * told


_POOLED = "pooled_output"


@dataclass(frozen=True)
class NearTrainingRows(FrozenArrays):
    """The training rows that look most alike to the classifier."""

    rows: tuple[DataRow, ...]  # the nearest first
    cosines: np.ndarray  # float64 [M], between the vectors that the classifier reads
    num_searched: int  # rows of the training part


def row_vectors(
    explorer: Explorer,
    texts: Sequence[str],
    pairs: Sequence[str] | None = None,
    max_tokens: int = 0,
    progress: Progress = untold,
) -> np.ndarray:
    """The `pooled_output` of each row, which the classifier reads; float32 `[R, H]`.

    For `max_tokens` see `row_prediction.read_text`.

    Raises:
        TextError: no rows.
    """
    explorer.require_head("classifier")
    rows = token_rows(explorer, texts, pairs, max_tokens, progress)
    vectors = np.empty((len(texts), explorer.config.hidden_size), np.float32)
    for chosen, pooled in row_passes(explorer, rows, _POOLED, progress):
        vectors[chosen] = pooled
    return vectors


def nearest_rows(
    explorer: Explorer,
    tokenized: TokenizedText,
    vectors: np.ndarray,
    data: TrainingData,
    count: int,
) -> NearTrainingRows:
    """Finds the training rows whose vectors point most the way of a text's vector.

    For the vectors see `row_vectors`. Equals come in the order of the rows.
    """
    own = explorer.forward(tokenized.inputs, (_POOLED,))[_POOLED]
    cosines = cosine_matrix(own, vectors)[0]
    order = np.argsort(-cosines, kind="stable")[:count]
    rows = rows_of(data.train, data.labels, order.tolist())
    return NearTrainingRows(rows, cosines[order], len(cosines))
