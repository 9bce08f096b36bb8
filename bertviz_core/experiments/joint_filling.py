"""Several masks filled together: greedily in an order, or as exact pairs."""

import dataclasses

import numpy as np

from bertviz_core.analysis.logit_rows import log_softmax, top_words
from bertviz_core.errors import TextError
from bertviz_core.experiments.masked_rows import (
    head_logits,
    is_word_allowed,
    logits_at,
    row_with,
)
from bertviz_core.experiments.word_results import FillStep, JointFilling, PairFilling
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import Progress, task, untold
from bertviz_core.trace import TokenizedText

MODES = ("independent", "left_to_right", "most_confident_first")


@task()
def fill_masks(
    explorer: Explorer,
    text: str,
    mode: str,
    top_k: int = 10,
    progress: Progress = untold,
) -> JointFilling:
    """Fills every mask with its best word; special tokens are never chosen.

    "independent" predicts all masks at once and fills from the left; "left_to_right"
    reads the text anew after each fill; "most_confident_first" too, and takes the mask
    with the likeliest best word next, the leftmost where several are alike.

    Source: Ghazvininejad et al. 2019 (arXiv:1904.09324), section 4, for the order by
    confidence, here one word at a time.
    """
    if mode not in MODES:
        raise ValueError(f"`mode` must be among {MODES}. Received: mode={mode}.")
    current = tokenized = explorer.require_masks(text)
    positions = tokenized.mask_positions
    allowed = is_word_allowed(explorer)
    choices = np.full((len(positions), len(allowed)), -np.inf)  # [P, V]
    still_open = list(range(len(positions)))
    steps: list[FillStep] = []
    while still_open:
        if not steps or mode != "independent":
            logits = logits_at(explorer, current, positions[still_open])
            choices[still_open] = np.where(allowed, log_softmax(logits), -np.inf)
        best = choices[still_open].max(axis=1)
        next_one = best.argmax() if mode == "most_confident_first" else 0
        step = _fill(
            explorer, current, choices, still_open, still_open[next_one], top_k
        )
        steps.append(step)
        still_open.remove(step.mask_index)
        current = dataclasses.replace(tokenized, input_ids=step.input_ids)
        progress(len(steps) / len(positions), "fill")
    return JointFilling(tokenized, mode, tuple(steps))


@task()
def best_pairs(
    explorer: Explorer,
    text: str,
    top_k: int = 20,
    num_pairs: int = 20,
    progress: Progress = untold,
) -> PairFilling:
    """Finds the best pairs of words for two masks, in both orders of filling.

    Each of the `top_k` best words of one mask is written there and the text read again,
    all in one batch, which gives the other mask's exact distribution. Pairs that only
    one order found are then measured in the other order too; the best of each order are
    kept.

    Raises:
        TextError: not two masks, or see `Explorer.tokenize`.

    Source: The chain rule of probability, p(a, b) = p(a) p(b | a) = p(b) p(a | b); a
    masked-word model satisfies only one side at a time (Goyal et al. 2022,
    arXiv:2106.02736).
    """
    tokenized = explorer.require_masks(text)
    if len(tokenized.mask_positions) != 2:
        raise TextError(
            "Word pairs need exactly two masks. Received: {num_masks}. Add or remove "
            "a [MASK].",
            num_masks=len(tokenized.mask_positions),
        )
    search = _PairSearch(explorer, tokenized, progress)
    found = [search.best(side, top_k, num_pairs) for side in (0, 1)]
    pairs = np.unique(np.concatenate(found), axis=0)  # [M, 2]
    forward, backward = (search.scores(side, pairs) for side in (0, 1))
    order = np.argsort(-(forward + backward), kind="stable")
    pairs = pairs[order]
    words = explorer.tokenizer.vocabulary
    return PairFilling(
        tokens=tuple((words[a], words[b]) for a, b in pairs),
        log_prob_forward=forward[order],
        log_prob_backward=backward[order],
        log_prob_independent=search.alone[0, pairs[:, 0]]
        + search.alone[1, pairs[:, 1]],
        bound_forward=search.bound(0, pairs),
        bound_backward=search.bound(1, pairs),
    )


class _PairSearch:
    """Remembers which words of which mask were tried, and what they gave."""

    def __init__(
        self, explorer: Explorer, tokenized: TokenizedText, progress: Progress
    ) -> None:
        self.explorer, self.tokenized, self.progress = explorer, tokenized, progress
        self.positions = tokenized.mask_positions
        self.alone = log_softmax(logits_at(explorer, tokenized, self.positions))
        self.allowed = is_word_allowed(explorer)
        self.ranked = top_words(
            np.where(self.allowed, self.alone, -np.inf), len(self.allowed)
        )
        self.given: tuple[dict[int, np.ndarray], ...] = ({}, {})

    def best(self, side: int, top_k: int, num_pairs: int) -> np.ndarray:
        """Best pairs, int `[m, 2]`, when the mask of this side is filled first."""
        tried = self.ranked[side, : min(top_k, self.allowed.sum())]
        self._try(side, tried)
        joint = np.stack([self.alone[side, a] + self.given[side][a] for a in tried])
        joint[:, ~self.allowed] = -np.inf
        chosen = top_words(joint.reshape(1, -1), num_pairs)[0]
        chosen = chosen[np.isfinite(joint.ravel()[chosen])]
        first, second = np.divmod(chosen, joint.shape[1])
        ids = np.stack([tried[first], second], axis=1)
        return ids[:, ::-1] if side else ids

    def scores(self, side: int, pairs: np.ndarray) -> np.ndarray:
        """Log-probability of each pair when this side is filled first, `[M]`."""
        first, second = pairs[:, side], pairs[:, 1 - side]
        self._try(side, np.unique(first))
        given = [self.given[side][a][b] for a, b in zip(first, second, strict=True)]
        return self.alone[side, first] + np.array(given)

    def bound(self, side: int, shown: np.ndarray) -> float:
        """Log-probability above which no pair is missing among those that are shown.

        That of the best first word that was not tried, which no pair of it can
        exceed, or of the best pair that was computed and is not shown.
        """
        given, alone = self.given[side], self.alone[side]
        untried = self.allowed.copy()
        untried[list(given)] = False
        best = alone[untried].max(initial=-np.inf)
        for first, log_probs in given.items():
            hidden = self.allowed.copy()
            hidden[shown[shown[:, side] == first, 1 - side]] = False
            rest = log_probs[hidden].max(initial=-np.inf)
            best = max(best, alone[first] + rest)
        return float(best)

    def _try(self, side: int, ids: np.ndarray) -> None:
        new = [int(index) for index in ids if int(index) not in self.given[side]]
        place, other = self.positions[[side, 1 - side]].tolist()
        rows = [row_with(self.tokenized, place, index, other) for index in new]
        for chunk, logits in head_logits(
            self.explorer, "mlm", rows, self.progress, "pairs"
        ):
            for index, given in zip(new[chunk], log_softmax(logits), strict=True):
                self.given[side][index] = given


def _fill(
    explorer: Explorer,
    current: TokenizedText,
    choices: np.ndarray,
    still_open: list[int],
    mask_index: int,
    top_k: int,
) -> FillStep:
    """Writes the best word at one mask; `choices` `[P, V]`, `-inf` if forbidden."""
    row = choices[mask_index]
    top_ids = top_words(row[None], top_k)[0]
    top_ids = top_ids[np.isfinite(row[top_ids])]
    confidences = np.full(len(choices), np.nan)
    confidences[still_open] = np.exp(choices[still_open].max(axis=1))
    # The first mask that is left is not mask 0 of the text once one was filled.
    open_positions = np.flatnonzero(current.input_ids == current.mask_token_id)
    position = int(open_positions[still_open.index(mask_index)])
    input_ids = current.input_ids.copy()
    input_ids[position] = top_ids[0]
    words = explorer.tokenizer.vocabulary
    return FillStep(
        mask_index=mask_index,
        position=position,
        token=words[top_ids[0]],
        log_prob=float(row[top_ids[0]]),
        top_tokens=tuple(words[index] for index in top_ids),
        top_log_probs=row[top_ids],
        confidences=confidences,
        input_ids=input_ids,
    )
