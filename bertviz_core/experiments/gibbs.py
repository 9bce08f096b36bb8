"""Gibbs sampling from BERT: mask a word, draw it again, over and over.

A masked-word model is no consistent joint model, so the chain has no exact target
distribution; what it visits is still what the model finds plausible.

Source: Wang and Cho 2019 (arXiv:1902.04094), section 3; Goyal et al. 2022
(arXiv:2106.02736) for why the target is not exact.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np

from bertviz_core.analysis.sampling import entropy_bits, sampling_distribution
from bertviz_core.errors import TextError, require_positions
from bertviz_core.experiments.chain_results import (
    STEPS,
    GibbsRun,
    GibbsSettings,
    GibbsState,
)
from bertviz_core.experiments.masked_rows import is_word_allowed
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import Progress, task, untold

# About as often a chain shows its steps so far: more often than anybody looks.
LOOK_SECONDS = 0.25
CHUNK_SECONDS = 5.0
MOST_STEPS = 500  # of a chunk: all of them are in every report
# A picture of the chain need not be newer than this.
STEPS_A_REPORT = 10


@task()
def start_chain(
    explorer: Explorer,
    text: str,
    settings: GibbsSettings,
    positions: Sequence[int] | None = None,
) -> GibbsState:
    """Starts from a sentence, whose masks are drawn like words.

    Some positions may change, or all of the text: not the [CLS] and [SEP] that were
    added.
    """
    explorer.require_head("mlm")
    tokenized = explorer.tokenize(text)
    words = np.flatnonzero(~tokenized.is_added)
    chosen = words if positions is None else np.unique(positions)
    if not len(chosen) or not np.isin(chosen, words).all():
        raise ValueError(
            f"`positions` must be among {words.tolist()}. Received: {positions}."
        )
    return GibbsState(
        model_id=explorer.model_id,
        settings=settings,
        step=0,
        input_ids=np.repeat(tokenized.input_ids[None], settings.num_chains, axis=0),
        token_type_ids=tokenized.token_type_ids,
        open_positions=chosen,
    )


@task()
def start_from_masks(
    explorer: Explorer, num_masks: int, settings: GibbsSettings
) -> GibbsState:
    """Starts from nothing but masks between [CLS] and [SEP].

    Raises:
        TextError: fewer than one mask, or more than the model has positions.
    """
    if num_masks < 1:
        raise TextError(
            "A chain needs at least one mask to start from. Received: {num_masks}. "
            "Choose a length of 1 or more.",
            num_masks=num_masks,
        )
    require_positions(num_masks + 2, explorer.config.max_position_embeddings)
    return start_chain(explorer, " ".join(["[MASK]"] * num_masks), settings)


def run_chain(
    explorer: Explorer, state: GibbsState, num_steps: int, progress: Progress = untold
) -> GibbsRun:
    """Goes on from a state of this model, which `start_chain` or another run gave.

    Each step picks a place, masks it, and draws a word from the model's distribution
    there. Special tokens and [UNK] are never drawn. All chains take their step in one
    pass.
    """
    if state.model_id != explorer.model_id:
        raise ValueError(
            f"The state is of the model {state.model_id}. Received: an explorer of "
            f"{explorer.model_id}."
        )
    stepper = _Stepper(explorer, state)
    steps: dict[str, list[np.ndarray]] = {name: [] for name in STEPS}
    for done in range(num_steps):
        for name, values in stepper.step(state.step + done).items():
            steps[name].append(values)
        if done + 1 == num_steps or (done + 1) % STEPS_A_REPORT == 0:
            progress((done + 1) / num_steps, "gibbs")
    return GibbsRun.from_dict(state, steps, explorer.vocabulary)


@task(is_kept=False)
def follow_chain(
    explorer: Explorer,
    state: GibbsState,
    num_steps: int,
    progress: Callable[..., None] = untold,
) -> GibbsRun:
    """Goes on from a state for a few seconds, showing the steps so far.

    Whoever wants more asks again from where it ended: between two chunks others get
    their turn. It takes all steps, or as many as `MOST_STEPS` and `CHUNK_SECONDS`
    allow, one at least; `progress` is shown them as `GibbsRun.to_dict`, about
    `LOOK_SECONDS` apart.
    """
    run = run_chain(explorer, state, 0)
    num_more, end = 1, time.monotonic() + CHUNK_SECONDS
    most = min(num_steps, MOST_STEPS)
    while (left := most - run.num_steps) > 0:
        began = time.monotonic()
        if run.num_steps and began > end:
            break
        run = run.then(run_chain(explorer, run.end, min(num_more, left)))
        progress(run.num_steps / num_steps, "gibbs", run.to_dict())
        if time.monotonic() - began < LOOK_SECONDS / 2:
            num_more *= 2
    return run


class _Stepper:
    """Takes steps; holds the only array that changes."""

    def __init__(self, explorer: Explorer, state: GibbsState) -> None:
        self.explorer, self.state = explorer, state
        self.input_ids = np.array(state.input_ids)
        self.chains = np.arange(len(self.input_ids))
        self.num_tokens = self.input_ids.shape[1]
        self.types = np.repeat(state.token_type_ids[None], len(self.chains), axis=0)
        self.allowed = np.flatnonzero(is_word_allowed(explorer))

    def step(self, number: int) -> dict[str, np.ndarray]:
        """What one step did to each chain, `[C]` each, by the names of `STEPS`."""
        draws = [self._random(int(chain), number) for chain in self.chains]
        positions = np.array([position for position, _ in draws], "int32")
        old_ids = self.input_ids[self.chains, positions]
        self.input_ids[self.chains, positions] = self.explorer.tokenizer.mask_token_id
        inputs = {
            "input_ids": self.input_ids,
            "token_type_ids": self.types,
            "mlm_positions": self.chains * self.num_tokens + positions,
        }
        logits = self.explorer.forward(inputs, ("mlm_logits",))["mlm_logits"]
        drawn = [
            self._draw(row, uniform)
            for row, (_, uniform) in zip(logits, draws, strict=True)
        ]
        new_ids, log_probs, entropies = (np.array(c) for c in zip(*drawn, strict=True))
        self.input_ids[self.chains, positions] = new_ids
        return {
            "positions": positions,
            "old_ids": old_ids,
            "new_ids": new_ids,
            "log_probs": log_probs,
            "entropy_bits": entropies,
        }

    def _random(self, chain: int, number: int) -> tuple[int, float]:
        """The place and the uniform number of one step of one chain."""
        rng = np.random.default_rng((self.state.settings.seed, chain, number))
        places = self.state.open_positions
        index = int(rng.integers(len(places)))
        if self.state.settings.order == "in_order":
            index = number % len(places)
        return int(places[index]), float(rng.random())

    def _draw(self, logits: np.ndarray, uniform: float) -> tuple[int, float, float]:
        """A word, its log-probability, and the entropy of what it was drawn from."""
        settings = self.state.settings
        probs = sampling_distribution(
            logits[self.allowed], settings.temperature, settings.top_k, settings.top_p
        )
        cumulative = np.cumsum(probs)
        place = np.searchsorted(cumulative, uniform * cumulative[-1], side="right")
        # Rounding can lift a product to the total itself, past the last word.
        index = min(int(place), int(np.flatnonzero(probs)[-1]))
        word = int(self.allowed[index])
        return word, float(np.log(probs[index])), float(entropy_bits(probs))
