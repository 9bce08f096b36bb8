"""Tasks about whole texts and what each of their words adds, see `tasks`."""

from __future__ import annotations

from bertviz_core.engine.jobs import Progress
from bertviz_core.engine.memory import ANSWERS, explorer
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.layer_results import Attribution, RandomWeightsCheck
from bertviz_core.experiments.sentence_pair_results import NextSentence, ShuffledTest
from bertviz_core.experiments.word_results import (
    EveryPosition,
    MinimalPair,
    SentenceScore,
)


def predict_next_sentence(model: str, first: str, second: str) -> NextSentence:
    """P(is next) of two texts, and of the two swapped.

    Raises:
        CheckpointError: the model has no next-sentence head.
        TextError: an empty text, or too long.
    """
    from bertviz_core.experiments import next_sentence

    return next_sentence.predict_next_sentence(explorer(model), first, second)


def score_sentence(
    progress: Progress, model: str, text: str, variant: str = "within_word"
) -> SentenceScore:
    """Pseudo-log-likelihood of a text."""
    from bertviz_core.experiments import scoring

    key = ("score_sentence", model, text, variant)
    return ANSWERS.get(
        key,
        lambda: scoring.score_sentence(explorer(model), text, None, variant, progress),
    )


def score_minimal_pair(
    progress: Progress,
    model: str,
    first: str,
    second: str,
    variant: str = "within_word",
) -> MinimalPair:
    """Scores two sentences that differ little."""
    from bertviz_core.experiments import scoring

    key = ("score_minimal_pair", model, first, second, variant)
    return ANSWERS.get(
        key,
        lambda: scoring.score_minimal_pair(
            explorer(model), first, second, variant, progress
        ),
    )


def predict_every_position(
    progress: Progress, model: str, text: str, masked: bool = True, top_k: int = 10
) -> EveryPosition:
    """Predicts a word at every place."""
    from bertviz_core.experiments import every_position

    key = ("predict_every_position", model, text, masked, top_k)
    return ANSWERS.get(
        key,
        lambda: every_position.predict_every_position(
            explorer(model), text, None, masked, top_k, progress=progress
        ),
    )


def attribute(
    progress: Progress,
    model: str,
    text: str,
    target: Target,
    contrast: int | None = None,
    baseline: str = "mask",
) -> Attribution:
    """Says how much each token speaks for an answer."""
    from bertviz_core.experiments import attribution

    key = ("attribute", model, text, target, contrast, baseline)
    settings = attribution.AttributionSettings(baseline=baseline)
    return ANSWERS.get(
        key,
        lambda: attribution.attribute(
            explorer(model), text, target, contrast, None, settings, progress=progress
        ),
    )


def check_with_random_weights(
    progress: Progress,
    model: str,
    text: str,
    target: Target,
    contrast: int | None = None,
    baseline: str = "mask",
    seed: int = 0,
) -> RandomWeightsCheck:
    """Says how much each token speaks for an answer of a model that knows nothing."""
    from bertviz_core.experiments import attribution, random_weights

    key = ("random_weights", model, text, target, contrast, baseline, seed)
    settings = attribution.AttributionSettings(baseline=baseline)
    return ANSWERS.get(
        key,
        lambda: random_weights.check_with_random_weights(
            explorer(model), text, target, contrast, None, settings, seed, progress
        ),
    )


def run_shuffled_test(
    progress: Progress,
    model: str,
    pairs: tuple[tuple[str, str], ...],
    seed: int = 0,
    random_weights: bool = False,
) -> ShuffledTest:
    """Asks which texts follow each other, about true pairs and shuffled ones."""
    from bertviz_core.experiments import next_sentence
    from bertviz_core.experiments.random_weights import shuffled_explorer

    def run() -> ShuffledTest:
        asked = explorer(model)
        if random_weights:
            asked.require_head("nsp")
            asked = shuffled_explorer(asked, seed)
        return next_sentence.run_shuffled_test(asked, pairs, seed, progress)

    key = ("run_shuffled_test", model, pairs, seed, random_weights)
    return ANSWERS.get(key, run)


JOB_TASKS = (
    score_sentence,
    score_minimal_pair,
    predict_every_position,
    attribute,
    check_with_random_weights,
    run_shuffled_test,
)
