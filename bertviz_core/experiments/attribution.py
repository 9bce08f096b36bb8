"""Attribution: how much each token of the text contributes to an answer."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from bertviz_core.analysis.correlation import spearman
from bertviz_core.analysis.logit_rows import log_softmax
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.gradients import slopes
from bertviz_core.experiments.layer_results import Attribution
from bertviz_core.experiments.masked_rows import Row, head_logits, row_with
from bertviz_core.experiments.targets import Question, ask
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import GRADIENT_RESOURCE, Progress, task, untold
from bertviz_core.weights import as_numpy

METHODS = (
    "integrated_gradients",
    "gradient_x_input",
    "gradient_norm",
    "occlusion_mask",
    "occlusion_delete",
)
UNSIGNED = ("gradient_norm",)
# What integrated gradients may put in the place of every word.
BASELINES = ("mask", "pad")
# Their points between the baseline and the text are doubled up to a limit while the
# completeness error is above a share that is good enough.
NUM_STEPS, MAX_STEPS, TOLERANCE = 16, 128, 0.05
# Rows times tokens of one pass: every layer's activations are kept for the way back.
TOKENS_A_PASS = 1024


@task(GRADIENT_RESOURCE)
def attribute(
    explorer: Explorer,
    text: str,
    target: Target,
    contrast: int | None = None,
    pair: str | None = None,
    baseline: str = "mask",
    progress: Progress = untold,
) -> Attribution:
    """Computes how much each token contributes to an answer, or to A against B.

    The value explained is log p of the answer; with a contrast log p(A) - log p(B),
    which is the difference of the two logits. Of a classifier with one output it is
    the number itself.

    Args:
        contrast: id of the answer of the same head to hold against it.
        baseline: of `BASELINES`: what integrated gradients put in the place of every
            word. The place that is predicted, [CLS] and [SEP] stay.

    Raises:
        EngineError: a gradient on OpenVINO.

    Source: Sundararajan et al. 2017 (arXiv:1703.01365) for integrated gradients;
    Shrikumar et al. 2017 (arXiv:1605.01713) for gradient x input; Li et al. 2016
    (arXiv:1612.08220) for occlusion; Yin and Neubig 2022 (arXiv:2202.10419) for the
    contrast.
    """
    if baseline not in BASELINES:
        raise ValueError(f"`baseline` must be in {BASELINES}. Received: {baseline}.")
    question = ask(explorer, text, target, pair)
    if contrast is not None:
        ask(explorer, text, dataclasses.replace(target, index=contrast), pair)
    work = _Work(question, contrast, baseline)
    scores = []
    for done, method in enumerate(METHODS):
        scores.append(getattr(work, method)())
        progress((done + 1) / len(METHODS), method)
    compared = work.compared()
    return Attribution(
        tokenized=question.tokenized,
        contrast=contrast,
        value=work.value,
        methods=METHODS,
        scores=np.stack(scores),
        baseline_value=work.baseline_value,
        num_steps=work.num_steps,
        compared=compared,
        agreement=_agreement(METHODS, np.stack(scores)[:, compared]),
    )


class _Work:
    """One text and one answer, what is known of them, and `METHODS`: float64 `[T]`."""

    def __init__(self, question: Question, contrast: int | None, baseline: str) -> None:
        self.question, self.explorer = question, question.explorer
        self.contrast = contrast
        self.tokenized, self.target = question.tokenized, question.target
        tokenized, target = self.tokenized, self.target
        # A single output is a number that was learned, not a choice.
        model = self.explorer.loaded.model
        is_number = target.head == "classifier" and model.num_labels == 1
        self.quantity = "logit" if is_number else "log_probability"
        self.is_word = ~tokenized.is_special
        if target.head == "mlm":
            self.is_word[target.position] = False
        filler = getattr(self.explorer.tokenizer, f"{baseline}_token_id")
        self.baseline_ids = np.where(self.is_word, filler, tokenized.input_ids)
        types = tokenized.token_type_ids
        rows = [
            Row(ids, types, target.position)
            for ids in (tokenized.input_ids, self.baseline_ids)
        ]
        self.value, self.baseline_value = (float(v) for v in self._values(rows))
        self.num_steps = 0

    def compared(self) -> np.ndarray:
        """Token indices about which every method says something."""
        return np.flatnonzero(self.is_word)

    def integrated_gradients(self) -> np.ndarray:
        text = self._vectors(self.tokenized.input_ids)  # [T, H]
        start = self._vectors(self.baseline_ids)
        change = self.value - self.baseline_value
        self.num_steps = NUM_STEPS
        while True:
            # Gauss-Legendre: far fewer points than a sum of equal slices.
            nodes, weights = np.polynomial.legendre.leggauss(self.num_steps)
            shares = (nodes + 1) / 2
            points = start + shares[:, None, None] * (text - start)  # [steps, T, H]
            mean = np.tensordot(weights / 2, self._slopes(points), axes=1)  # [T, H]
            scores = ((text - start) * mean).sum(axis=1)
            error = abs(scores.sum() - change)
            too_far = error > TOLERANCE * abs(change)
            if not too_far or 2 * self.num_steps > MAX_STEPS:
                return scores
            self.num_steps *= 2

    def gradient_x_input(self) -> np.ndarray:
        text = self._vectors(self.tokenized.input_ids)
        return (text * self._slopes(text[None])[0]).sum(axis=1)

    def gradient_norm(self) -> np.ndarray:
        text = self._vectors(self.tokenized.input_ids)
        return np.sqrt((self._slopes(text[None])[0] ** 2).sum(axis=1))

    def _vectors(self, input_ids: np.ndarray) -> np.ndarray:
        """The word embeddings of a text, float64 `[T, H]`."""
        table = self.explorer.loaded.model.embeddings.word_embeddings
        return as_numpy(table)[input_ids].astype(np.float64)

    def _slopes(self, vectors: np.ndarray) -> np.ndarray:
        """The gradient of what is explained at some word embeddings `[B, T, H]`."""
        size = max(1, TOKENS_A_PASS // self.tokenized.num_tokens)
        found = [
            slopes(self.question, "words", chunk, self.quantity, self.contrast)
            for chunk in np.split(vectors, range(size, len(vectors), size))
        ]
        return np.concatenate(found).astype(np.float64)

    def occlusion_mask(self) -> np.ndarray:
        text, mask = self.tokenized, self.tokenized.mask_token_id
        places = self.compared().tolist()
        rows = [row_with(text, place, mask, self.target.position) for place in places]
        return self._occluded(rows)

    def occlusion_delete(self) -> np.ndarray:
        rows = [
            Row(
                np.delete(self.tokenized.input_ids, index),
                np.delete(self.tokenized.token_type_ids, index),
                self.target.position - int(index < self.target.position),
            )
            for index in self.compared()
        ]
        return self._occluded(rows)

    def _occluded(self, rows: Sequence[Row]) -> np.ndarray:
        scores = np.full(self.tokenized.num_tokens, np.nan)
        scores[self.compared()] = self.value - self._values(rows)
        return scores

    def _values(self, rows: Sequence[Row]) -> np.ndarray:
        """What is explained, for other texts, float64 `[R]`."""
        values = [np.empty(0)]
        for _, logits in head_logits(self.explorer, self.target.head, rows):
            answers = logits if self.quantity == "logit" else log_softmax(logits)
            value = answers[:, self.target.index].astype(np.float64)
            if self.contrast is not None:
                value = value - answers[:, self.contrast]
            values.append(value)
        return np.concatenate(values)


def _agreement(methods: Sequence[str], scores: np.ndarray) -> np.ndarray:
    """Spearman correlation of each two methods, `[M, M]`; scores `[M, S]`."""

    def of(one: int, other: int) -> float | None:
        pair = scores[[one, other]]
        signed = not {methods[one], methods[other]} & set(UNSIGNED)
        return spearman(*(pair if signed else np.abs(pair)))

    every = range(len(methods))
    return np.array([[of(one, other) for other in every] for one in every], "float64")
