"""The forward pass of BERT-base beside `transformers`, in float32.

Both load the same random weights and give hidden states, attention probabilities
and pooled output of every layer, as NumPy reads them; then also the logits of the
masked-word head at one position and at all. Peers alternate within a round, so that
what else the machine does hits both.
"""

import importlib.util
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.machine import QUIET_CORES, OtherWork, wait_until_quiet
from benchmarks.peers import OURS, PEER, Peer, write_checkpoint
from benchmarks.table import Table, met

LENGTHS = (16, 128, 512)  # tokens
WORDS_AT = ("nowhere", "one token", "every token")
# Rounds on a quiet machine; on a busy one it gives up after `MOST_ROUNDS`.
ROUNDS = 10
MOST_ROUNDS = 20
# Passes of one peer in a round: about half a second of work.
REPEATS = {16: 8, 128: 4, 512: 1}
TARGET_RATIOS = {16: 0.6, 128: 0.85, 512: 1.0}  # ours / theirs


@dataclass(frozen=True)
class Comparison:
    """One length and one amount of masked-word predictions."""

    num_tokens: int  # T
    words_at: str  # one of `WORDS_AT`
    ours_seconds: float  # median pass
    their_seconds: float  # median pass
    ratio: float  # median over rounds of our median / their median
    difference: float  # largest between any two outputs
    num_rounds: int  # how many count; the quiet ones, or all if none was
    other_cores: float  # busy with other work, most in any of those rounds


@dataclass(frozen=True)
class Round:
    """Both peers once: median pass of each, and cores busy with other work."""

    our_seconds: float
    their_seconds: float
    other_cores: float


def measure() -> Table:
    """Runs all lengths and amounts."""
    title = "Forward pass of BERT-base, float32, all attentions and hidden states"
    if importlib.util.find_spec("torch") is None:
        return Table(title, ("",), (), ("Left out: needs `make peers` (torch).",))
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "bert-base-random"
        write_checkpoint(folder)
        with Peer(OURS, folder) as ours, Peer(PEER, folder) as theirs:
            found = [
                compare(ours, theirs, num_tokens, words_at)
                for words_at in WORDS_AT
                for num_tokens in LENGTHS
            ]
    return Table(
        title,
        (
            *("words at", "tokens", "ours", PEER, "ratio", "target", "met"),
            *("largest difference", "rounds", "others"),
        ),
        [_row(comparison) for comparison in found],
        (
            f"`{PEER}` is torch on the CPU with eager attention. Milliseconds are the "
            "median pass; the ratio is the median over rounds of ours / theirs.",
            'Rounds in which other work took more than a little are left out; "others" '
            "is the most that it took in those that count, in cores.",
        ),
    )


def compare(ours: Peer, theirs: Peer, num_tokens: int, words_at: str) -> Comparison:
    """Lets two running peers with the same weights alternate on one text."""
    rng = np.random.default_rng(num_tokens)
    input_ids = rng.integers(5, 30_000, (1, num_tokens), dtype=np.int32)
    positions = _positions(words_at, num_tokens)

    def one_round(turns: list[Peer]) -> Round:
        wait_until_quiet()
        others = OtherWork()
        medians = {
            peer: statistics.median(
                peer.seconds(input_ids, positions, REPEATS[num_tokens])
            )
            for peer in turns
        }
        return Round(medians[ours], medians[theirs], others.cores())

    rounds: list[Round] = []
    while len(rounds) < MOST_ROUNDS and len(_quiet(rounds)) < ROUNDS:
        rounds.append(one_round([ours, theirs] if len(rounds) % 2 else [theirs, ours]))
    kept = _quiet(rounds) or rounds
    return Comparison(
        num_tokens,
        words_at,
        statistics.median(done.our_seconds for done in kept),
        statistics.median(done.their_seconds for done in kept),
        statistics.median(done.our_seconds / done.their_seconds for done in kept),
        _largest_difference(ours, theirs, input_ids, positions),
        len(kept),
        max(done.other_cores for done in kept),
    )


def _quiet(rounds: list[Round]) -> list[Round]:
    return [done for done in rounds if done.other_cores <= QUIET_CORES]


def _positions(words_at: str, num_tokens: int) -> np.ndarray | None:
    return {
        "nowhere": None,
        "one token": np.array([num_tokens // 2], "int32"),
        "every token": np.arange(num_tokens, dtype="int32"),
    }[words_at]


def _largest_difference(
    ours: Peer, theirs: Peer, input_ids: np.ndarray, positions: np.ndarray | None
) -> float:
    expected = theirs.outputs(input_ids, positions)
    found = ours.outputs(input_ids, positions)
    if expected.keys() != found.keys():
        raise ValueError(f"Outputs differ: {sorted(found)}, {sorted(expected)}.")
    return max(float(np.abs(found[name] - expected[name]).max()) for name in expected)


def _row(comparison: Comparison) -> tuple[str, ...]:
    return (
        comparison.words_at,
        str(comparison.num_tokens),
        f"{comparison.ours_seconds * 1e3:.0f} ms",
        f"{comparison.their_seconds * 1e3:.0f} ms",
        f"{comparison.ratio:.2f}",
        f"{TARGET_RATIOS[comparison.num_tokens]:.2f}",
        met(round(comparison.ratio, 2), TARGET_RATIOS[comparison.num_tokens]),
        f"{comparison.difference:.0e}",
        str(comparison.num_rounds),
        f"{comparison.other_cores:.2f}",
    )
