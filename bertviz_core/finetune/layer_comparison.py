"""The same rows in a model before and after it was trained, layer by layer.

Shapes: R rows, L layers, H hidden size, M rows that are judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_core.analysis.geometry import are_alike, is_rounding
from bertviz_core.analysis.layer_maps import layer_maps
from bertviz_core.analysis.separation import group_separation
from bertviz_core.experiments.masked_rows import Progress
from bertviz_core.explorer import Explorer
from bertviz_core.finetune.batches import TokenRows
from bertviz_core.finetune.dataset import Examples, TrainingData
from bertviz_core.finetune.metrics import r_squared, wilson_interval
from bertviz_core.finetune.row_prediction import by_tokens, token_rows
from bertviz_core.trace import FrozenArrays

READINGS = ("cls", "mean")
# Rows that probes learn from and are judged by; more would change little and take
# minutes with a large model.
MAX_FITTED, MAX_JUDGED = 400, 200
_SEED = 0
_NETWORK = 0.9  # share of the work
# Hidden states of 2048 tokens are 82 MB for BERT-base.
_TOKENS_A_PASS = 2048


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


def compare_layers(
    before: Explorer,
    after: Explorer,
    data: TrainingData,
    reading: str = "cls",
    max_tokens: int = 0,
    progress: Progress | None = None,
) -> LayerComparison:
    """Probes, separations and maps of both models on the same rows.

    Probes learn from rows that the training learned from, and are judged by its
    test rows; which, is drawn once and for all. Both models get the same.

    Args:
        before: of the model that training began with.
        after: of the trained one, with the same tokenizer and config.
        data: the rows of the run.
        reading: of `READINGS`.
        max_tokens: see `row_prediction.read_text`.
        progress: told the share of the work done; may raise to cancel.

    Raises:
        TextError: pairs for a model that reads one text at a time.
        ValueError: an unknown reading.

    Source:
        Alain and Bengio 2016 (arXiv:1610.01644), linear classifier probes.
    """
    if reading not in READINGS:
        raise ValueError(f"`reading` must be among {READINGS}. Received: {reading}.")
    told = progress or (lambda share, doing: None)
    fitted = _drawn(data.train, MAX_FITTED)
    judged = _drawn(data.test, MAX_JUDGED)
    pairs = [
        _both(explorer, data, (fitted, judged), reading, max_tokens, _part(told, turn))
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
        told(_NETWORK + (1 - _NETWORK) * (turn + 1) / scores.size, "probe")
    stacked = np.concatenate([states for _, states in pairs])
    maps = layer_maps(stacked)
    shape = scores.shape
    return LayerComparison(
        reading=reading,
        is_regression=data.is_regression,
        labels=data.labels,
        num_fitted=len(fitted),
        rows=judged,
        targets=truth,
        scores=scores,
        score_intervals=intervals,
        least=least,
        separations=separations,
        coordinates=maps.coordinates.reshape(*shape, len(judged), -1),
        explained=maps.explained.reshape(shape),
    )


def layer_states(
    explorer: Explorer,
    rows: TokenRows,
    reading: str,
    progress: Callable[[int], None] = lambda done: None,
) -> np.ndarray:
    """One vector of each row at every layer.

    Args:
        explorer: of the model.
        rows: R rows in tokens.
        reading: "cls" or "mean", see `LayerComparison`.
        progress: told how many rows are done.

    Returns:
        float32 `[L + 1, R, H]`, embedding output first. In a pre-norm model the
        last one is before the final norm.
    """
    config, tokenizer = explorer.config, explorer.tokenizer
    shape = (config.num_hidden_layers + 1, len(rows.lengths), config.hidden_size)
    found = np.empty(shape, np.float32)
    added = [tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id]
    done = 0
    for chosen in by_tokens(rows.lengths, _TOKENS_A_PASS):
        batch = rows.batch(chosen)
        states = explorer.forward(batch, ("hidden_states",))["hidden_states"]
        if reading == "cls":
            found[:, chosen] = states[:, :, 0].swapaxes(0, 1)
        else:
            own = ~np.isin(batch["input_ids"], added)
            own[~own.any(axis=1), 0] = True  # an empty text has its [CLS]
            sums = np.einsum("blth,bt->lbh", states, own.astype("float32"))
            found[:, chosen] = sums / own.sum(axis=1)[:, None]
        done += len(chosen)
        progress(done)
    return found


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
    told: Callable[[float], None],
) -> tuple[np.ndarray, np.ndarray]:
    """States `[L + 1, R, H]` of the fitted rows, and of the judged ones."""
    found, before, total = [], 0, sum(map(len, chosen))
    for part, indices in zip((data.train, data.test), chosen, strict=True):
        texts = [part.texts[index] for index in indices]
        seconds = None
        if part.pairs is not None:
            seconds = [part.pairs[index] for index in indices]
        rows = token_rows(explorer, texts, seconds, max_tokens)

        def counted(done: int, before: int = before) -> None:
            told((before + done) / total)

        found.append(layer_states(explorer, rows, reading, counted))
        before += len(indices)
    return found[0], found[1]


def _part(told: Progress, turn: int) -> Callable[[float], None]:
    """Progress of one model of two."""
    return lambda share: told(_NETWORK * (turn + share) / 2, "read rows")


_MAX_ITERATIONS = 1000


def probe_classes(
    vectors: np.ndarray, targets: np.ndarray, judged: np.ndarray
) -> np.ndarray:
    """Learns classes from vectors, and names those of others.

    Logistic regression on numbers that are brought to mean 0 and spread 1, with
    the default penalty of scikit-learn.

    Args:
        vectors: float `[R, H]` to learn from.
        targets: int `[R]`.
        judged: float `[M, H]`.

    Returns:
        int `[M]`, the classes it names.

    Source:
        Alain and Bengio 2016 (arXiv:1610.01644), linear classifier probes.
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
    """Learns numbers from vectors; the R² of those that it says for others.

    Ridge regression on numbers of mean 0 and spread 1, default penalty.

    Args:
        vectors: float `[R, H]` to learn from.
        targets: float `[R]`.
        judged: float `[M, H]`.
        truth: float `[M]`.
    """
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
