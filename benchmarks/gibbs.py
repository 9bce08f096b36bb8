"""A thousand steps of Gibbs sampling with the model that comes with the app."""

import functools
import time
from collections.abc import Callable

from benchmarks.machine import OtherWork, wait_until_quiet
from benchmarks.table import Table, met
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.engine import connect
from bertviz_core.engine.engine import Engine
from bertviz_core.experiments.chain_results import GibbsSettings, GibbsState
from bertviz_core.experiments.gibbs import follow_chain, run_chain, start_from_masks
from bertviz_core.explorer import Explorer
from pages.shared.answers import POLL_SECONDS

NUM_TOKENS = 16  # [CLS] and [SEP] among them
NUM_STEPS = 1000
TARGET_SECONDS = 10.0
SETTINGS = {
    "temperature 1": GibbsSettings(),
    "top 50": GibbsSettings(top_k=50),
    "top 90 %": GibbsSettings(top_p=0.9),
    "8 chains": GibbsSettings(num_chains=8),
}


def measure() -> Table:
    """Runs a chain from nothing but masks, with each of some settings."""
    explorer = Explorer.open(DEFAULT_MODEL)
    rows = []
    for name, settings in SETTINGS.items():
        start = start_from_masks(explorer, NUM_TOKENS - 2, settings)
        run_chain(explorer, start, 5)  # compiled and warm
        ours = functools.partial(run_chain, explorer, start, NUM_STEPS)
        rows.append(_timed(name, settings, ours))
    client = connect()
    try:
        for name, settings in SETTINGS.items():
            if settings.num_chains > 1:  # the page runs one
                continue
            start = client.ask(start_from_masks)(
                DEFAULT_MODEL, NUM_TOKENS - 2, settings
            )
            _wait_for_steps(client, start, 5, 0.01)
            paged = functools.partial(_run_as_page, client, start)
            rows.append(_timed(f"{name}, as on the page", settings, paged))
    finally:
        client.close()
    return Table(
        f"{NUM_STEPS} steps of Gibbs sampling, {NUM_TOKENS} tokens, {DEFAULT_MODEL}",
        ("draws", "time", "<= 10 s", "others"),
        rows,
        (
            "Every step reads the whole text again; eight chains step together. The "
            "page asks the engine for chunks of steps and looks twice a second; its "
            "own pictures are not in this time.",
        ),
    )


def _timed(
    name: str, settings: GibbsSettings, run: Callable[[], object]
) -> tuple[str, ...]:
    wait_until_quiet()
    work, began = OtherWork(), time.perf_counter()
    run()
    seconds = time.perf_counter() - began
    is_met = met(seconds, TARGET_SECONDS) if settings.num_chains == 1 else ""
    return (name, f"{seconds:.1f} s", is_met, f"{work.cores():.2f}")


def _run_as_page(client: Engine, state: GibbsState) -> None:
    while left := NUM_STEPS - state.step:
        state = _wait_for_steps(client, state, left, POLL_SECONDS)


def _wait_for_steps(
    client: Engine, state: GibbsState, num_steps: int, poll_seconds: float
) -> GibbsState:
    """Where the chain stands after some more steps, seen at the next look."""
    job_id = client.start(
        client.ask(follow_chain).about(DEFAULT_MODEL, state, num_steps)
    )
    while not (status := client.job(job_id)).is_finished:
        time.sleep(poll_seconds)
    if status.error is not None:
        raise status.error
    end: GibbsState = status.result.end
    return end
