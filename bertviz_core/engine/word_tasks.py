"""Tasks about masked words beyond the first guess, see `tasks`."""

from __future__ import annotations

import contextlib
import time

from bertviz_core.engine.jobs import Progress
from bertviz_core.engine.memory import ANSWERS, explorer
from bertviz_core.errors import TextError
from bertviz_core.experiments.chain_results import (
    GibbsRun,
    GibbsSettings,
    GibbsState,
)
from bertviz_core.experiments.layer_results import (
    GeluSwitch,
    LogitLens,
)
from bertviz_core.experiments.word_results import (
    JointFilling,
    PairFilling,
    WholeWords,
    WordScore,
)

# About as often a job shows what it has so far: more often than anybody looks.
LOOK_SECONDS = 0.25


def fill_masks(model: str, text: str, mode: str, top_k: int = 10) -> JointFilling:
    """Fills every mask with its best word, in an order."""
    from bertviz_core.experiments import joint_filling

    return joint_filling.fill_masks(explorer(model), text, mode, top_k=top_k)


def score_words(
    model: str, text: str, words: tuple[str, ...], mask_index: int = 0
) -> tuple[WordScore, ...]:
    """Scores words that the user names at a mask, in their order."""
    return _score_words(model, text, words, mask_index, None)


def read_layers(
    model: str, text: str, word_ids: tuple[int, ...] = (), top_k: int = 5
) -> LogitLens:
    """Reads every layer with the masked-word head, at every place."""
    from bertviz_core.experiments import lens

    return lens.read_layers(explorer(model), text, word_ids=word_ids, top_k=top_k)


def switch_gelu(model: str, text: str, top_k: int = 10) -> GeluSwitch:
    """Predicts the masks with the erf and with the tanh GELU."""
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
    """Where a Gibbs chain begins; the job `run_chain` goes on from there.

    With `num_masks` it begins with so many masks, and `text` is not read.
    """
    from bertviz_core.experiments import gibbs

    if num_masks:
        return gibbs.start_from_masks(explorer(model), num_masks, settings)
    return gibbs.start_chain(explorer(model), text, settings)


def fill_many_masks(
    progress: Progress, model: str, text: str, mode: str, top_k: int = 10
) -> JointFilling:
    """Does the same as `fill_masks`, where that takes long."""
    from bertviz_core.experiments import joint_filling

    key = ("fill_masks", model, text, mode, top_k)
    return ANSWERS.get(
        key,
        lambda: joint_filling.fill_masks(
            explorer(model), text, mode, top_k=top_k, progress=progress
        ),
    )


def score_many_words(
    progress: Progress,
    model: str,
    text: str,
    words: tuple[str, ...],
    mask_index: int = 0,
) -> tuple[WordScore, ...]:
    """Does the same as `score_words`, where that takes long."""
    return _score_words(model, text, words, mask_index, progress)


def search_whole_words(
    progress: Progress,
    model: str,
    text: str,
    num_pieces: int,
    kind: str = "characters",
    mask_index: int = 0,
) -> WholeWords:
    """Does the same as `find_whole_words`, where that takes long."""
    from bertviz_core.experiments import whole_word

    key = ("whole_words", model, text, num_pieces, kind, mask_index)
    return ANSWERS.get(
        key,
        lambda: whole_word.find_whole_words(
            explorer(model), text, num_pieces, kind, mask_index, progress=progress
        ),
    )


def run_chain(
    progress: Progress, model: str, state: GibbsState, num_steps: int
) -> GibbsRun:
    """Takes steps of a Gibbs chain; shows those so far, see `GibbsRun.from_dict`."""
    from bertviz_core.experiments import gibbs

    opened = explorer(model)
    run = gibbs.run_chain(opened, state, 0)
    num_more = 1
    while (left := num_steps - run.num_steps) > 0:
        began = time.monotonic()
        more = gibbs.run_chain(opened, run.end, min(num_more, left))
        run = run.then(more)
        progress(run.num_steps / num_steps, "gibbs", run.to_dict())
        if time.monotonic() - began < LOOK_SECONDS / 2:
            num_more *= 2
    return run


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


def _score_words(
    model: str,
    text: str,
    words: tuple[str, ...],
    mask_index: int,
    progress: Progress | None,
) -> tuple[WordScore, ...]:
    from bertviz_core.experiments import scoring

    opened = explorer(model)
    room = opened.config.max_position_embeddings - opened.tokenize(text).num_tokens + 1
    known = []
    for word in words:
        with contextlib.suppress(TextError):
            if len(scoring.pieces_of(opened.tokenizer, word)) <= room:
                known.append(word)
    return scoring.score_words(opened, text, known, mask_index, progress=progress)


JOB_TASKS = (
    run_chain,
    best_pairs,
    fill_many_masks,
    score_many_words,
    search_whole_words,
)
