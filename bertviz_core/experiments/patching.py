"""Put one hidden state of a text into another text, and see what comes back."""

import numpy as np

from bertviz_core.analysis.sampling import softmax
from bertviz_core.errors import TextError
from bertviz_core.experiments.cause_results import PatchingMap, Target
from bertviz_core.experiments.targets import Question, ask
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import Progress, task, untold
from bertviz_core.trace import LOGITS

# A smaller difference between the texts, relative to a probability or to a logit
# above 1, is float32's rounding: no share of it means anything.
SMALLEST_DIFFERENCE = 1e-5
MOST_TOKENS_SHOWN = 40


@task()
def patch_hidden_states(
    explorer: Explorer,
    clean: str,
    corrupted: str,
    target: Target,
    minus: int | None = None,
    pair: str | None = None,
    progress: Progress = untold,
) -> PatchingMap:
    """Replaces each hidden state of one text by the other's, one at a time.

    Args:
        clean: the text that hidden states are taken from.
        corrupted: the text that they are put into; as many tokens.
        minus: a second word or class: the score is then the logit of the target
            less its logit. `None`: the score is the target's probability, or
            its logit where the head has one output.
        pair: the second text beside either.

    Raises:
        TextError: the texts differ in length, or do not differ in their
            scores, or see `targets.ask`.

    Source: Meng et al. 2022 (arXiv:2202.05262), section 2.1, "causal tracing"; Wang et
    al. 2022 (arXiv:2211.00593) for the difference of two logits.
    """
    source = ask(explorer, clean, target, pair)
    place = ask(explorer, corrupted, target, pair)
    if minus is not None:
        if minus == target.index:
            raise ValueError("`minus` must be another answer than the target.")
        against = Target(target.head, minus, target.position)
        ask(explorer, clean, against, pair)
    _require_same_length(source, place)
    taken, clean_logits = _run(source)
    states, corrupted_logits = _run(place)
    quantity = _quantity(minus, clean_logits)
    both = np.stack([clean_logits, corrupted_logits])
    clean_score, corrupted_score = _scores(both, target, minus, quantity)
    _require_different(clean_score, corrupted_score, quantity)
    num_levels, num_tokens = states.shape[:2]

    def enter(level: int, rows: np.ndarray) -> np.ndarray:
        positions = rows % num_tokens
        entering = np.repeat(states[level][None], len(rows), axis=0)  # [M, T, H]
        entering[np.arange(len(rows)), positions] = taken[level, positions]
        return entering

    levels = np.repeat(np.arange(num_levels), num_tokens)
    logits = place.run_upwards(levels, enter, progress)
    scores = _scores(logits, target, minus, quantity)
    return PatchingMap(
        clean=source.tokenized,
        corrupted=place.tokenized,
        clean_score=float(clean_score),
        corrupted_score=float(corrupted_score),
        scores=scores.reshape(num_levels, num_tokens),
    )


def _run(question: Question) -> tuple[np.ndarray, np.ndarray]:
    """Hidden states `[L + 1, T, H]` and the logits `[C]` of the target's head."""
    _, found = question.run(also=("hidden_states",))
    return found["hidden_states"], found[LOGITS[question.target.head]]


def _quantity(minus: int | None, logits: np.ndarray) -> str:
    if minus is not None:
        return "logit_difference"
    return "probability" if len(logits) > 1 else "logit"


def _scores(
    logits: np.ndarray, target: Target, minus: int | None, quantity: str
) -> np.ndarray:
    """Float64 `[R, C]` to `[R]`."""
    of_target = logits[:, target.index].astype("float64")
    if quantity == "probability":
        return np.array([softmax(row)[target.index] for row in logits])
    return of_target if minus is None else of_target - logits[:, minus]


def _require_same_length(clean: Question, corrupted: Question) -> None:
    first, second = clean.tokenized.tokens, corrupted.tokenized.tokens
    if len(first) != len(second):
        raise TextError(
            "The two texts must have the same number of tokens. Received: "
            "{num_first} tokens ({first}) and {num_second} tokens ({second}). "
            "Change a word in one of them.",
            num_first=len(first),
            first=_shown(first),
            num_second=len(second),
            second=_shown(second),
        )


def _require_different(
    clean_score: float, corrupted_score: float, quantity: str
) -> None:
    size = max(abs(clean_score), abs(corrupted_score))
    if quantity != "probability":
        size = max(size, 1.0)
    if abs(clean_score - corrupted_score) <= SMALLEST_DIFFERENCE * size:
        raise TextError(
            "Both texts give the same answer, so there is no difference for a patch "
            "to restore. Received: {clean} and {corrupted}. Change a word that "
            "matters, or choose another answer.",
            clean=f"{clean_score:.6g}",
            corrupted=f"{corrupted_score:.6g}",
        )


def _shown(tokens: tuple[str, ...]) -> str:
    more = " …" if len(tokens) > MOST_TOKENS_SHOWN else ""
    return " ".join(tokens[:MOST_TOKENS_SHOWN]) + more
