"""Tasks about masked words beyond the first guess, see `tasks`."""

from __future__ import annotations

from bertviz_core.engine.jobs import Progress
from bertviz_core.engine.memory import ANSWERS, explorer
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.chain_results import (
    GibbsRun,
    GibbsSettings,
    GibbsState,
)
from bertviz_core.experiments.layer_results import (
    Attribution,
    GeluSwitch,
    LogitLens,
    RandomWeightsCheck,
)
from bertviz_core.experiments.word_results import (
    EveryPosition,
    JointFilling,
    MinimalPair,
    NextSentence,
    PairFilling,
    SentenceScore,
    ShuffledTest,
    WholeWords,
    WordScore,
)


def fill_masks(model: str, text: str, mode: str, top_k: int = 10) -> JointFilling:
    """Fills every mask, in an order."""
    from bertviz_core.experiments import joint_filling

    return joint_filling.fill_masks(explorer(model), text, mode, top_k=top_k)


def score_words(
    model: str, text: str, words: tuple[str, ...], mask_index: int = 0
) -> tuple[WordScore, ...]:
    """Scores words that the user names at a mask."""
    from bertviz_core.experiments import scoring

    return scoring.score_words(explorer(model), text, words, mask_index)


def read_layers(
    model: str, text: str, word_ids: tuple[int, ...] = (), top_k: int = 5
) -> LogitLens:
    """Reads every layer with the masked-word head."""
    from bertviz_core.experiments import lens

    return lens.read_layers(explorer(model), text, word_ids=word_ids, top_k=top_k)


def predict_next_sentence(model: str, first: str, second: str) -> NextSentence:
    """P(is next) of two texts, and of the two swapped."""
    from bertviz_core.experiments import next_sentence

    return next_sentence.predict_next_sentence(explorer(model), first, second)


def switch_gelu(model: str, text: str, top_k: int = 10) -> GeluSwitch:
    """Predicts the masks with both curves that are called GELU."""
    from bertviz_core.experiments import gelu_switch

    return gelu_switch.switch_gelu(explorer(model), text, top_k=top_k)


def find_whole_words(
    model: str,
    text: str,
    num_pieces: int,
    kind: str = "characters",
    mask_index: int = 0,
) -> WholeWords:
    """Finds the likeliest words of several pieces for one mask."""
    from bertviz_core.experiments import whole_word

    return whole_word.find_whole_words(
        explorer(model), text, num_pieces, kind, mask_index
    )


def start_chain(
    model: str, text: str, settings: GibbsSettings, num_masks: int = 0
) -> GibbsState:
    """Where a Gibbs chain begins: at a text, or at `num_masks` masks if not 0."""
    from bertviz_core.experiments import gibbs

    if num_masks:
        return gibbs.start_from_masks(explorer(model), num_masks, settings)
    return gibbs.start_chain(explorer(model), text, settings)


def run_chain(
    progress: Progress, model: str, state: GibbsState, num_steps: int
) -> GibbsRun:
    """Takes steps of a Gibbs chain."""
    from bertviz_core.experiments import gibbs

    return gibbs.run_chain(explorer(model), state, num_steps, progress)


def best_pairs(
    progress: Progress, model: str, text: str, top_k: int = 20, num_pairs: int = 20
) -> PairFilling:
    """Finds the best pairs of words for two masks, in both orders."""
    from bertviz_core.experiments import joint_filling

    key = ("best_pairs", model, text, top_k, num_pairs)
    return ANSWERS.get(
        key,
        lambda: joint_filling.best_pairs(
            explorer(model), text, None, top_k, num_pairs, progress
        ),
    )


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


TASKS = (
    fill_masks,
    score_words,
    read_layers,
    predict_next_sentence,
    switch_gelu,
    find_whole_words,
    start_chain,
)
JOB_TASKS = (
    run_chain,
    best_pairs,
    score_sentence,
    score_minimal_pair,
    predict_every_position,
    attribute,
    check_with_random_weights,
    run_shuffled_test,
)
