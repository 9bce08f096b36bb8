"""A thousand steps of Gibbs sampling with the model that comes with the app."""

from __future__ import annotations

import time

from benchmarks.machine import OtherWork, wait_until_quiet
from benchmarks.table import Table, met
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments.chain_results import GibbsSettings
from bertviz_core.experiments.gibbs import run_chain, start_from_masks
from bertviz_core.explorer import Explorer

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
        wait_until_quiet()
        work, began = OtherWork(), time.perf_counter()
        run_chain(explorer, start, NUM_STEPS)
        seconds = time.perf_counter() - began
        is_met = met(seconds, TARGET_SECONDS) if settings.num_chains == 1 else ""
        rows.append((name, f"{seconds:.1f} s", is_met, f"{work.cores():.2f}"))
    return Table(
        f"{NUM_STEPS} steps of Gibbs sampling, {NUM_TOKENS} tokens, {DEFAULT_MODEL}",
        ("draws", "time", "<= 10 s", "others"),
        rows,
        ("Every step reads the whole text again; eight chains step together.",),
    )
