"""What a Gibbs chain is and did, in plain values that can be kept and sent.

C is the number of chains, S of steps, T of tokens, F of places that may change.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertviz_core.trace import FrozenArrays

ORDERS = ("random", "in_order")
# What steps do, by its type; reported while they go on.
STEPS = {
    "positions": "int32",
    "old_ids": "int32",
    "new_ids": "int32",
    "log_probs": "float64",
    "entropy_bits": "float64",
}


@dataclass(frozen=True)
class GibbsSettings:
    """How a chain draws."""

    temperature: float = 1.0  # at least 0, see `analysis.sampling.softmax`
    # Keep this many of the most likely words; `None` keeps all.
    top_k: int | None = None
    top_p: float = 1.0  # in (0, 1]
    # "random" picks any open place at each step, "in_order" goes from left to right and
    # begins again.
    order: str = "random"
    seed: int = 0  # at least 0
    num_chains: int = 1  # independent chains that run side by side
    burn_in: int = 0  # first steps that are not counted

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise ValueError(f"`order` must be among {ORDERS}. Received: {self.order}.")
        if self.num_chains < 1 or self.seed < 0 or self.burn_in < 0:
            raise ValueError(
                "`num_chains` must be at least 1, `seed` and `burn_in` at least 0. "
                f"Received: {self}."
            )


@dataclass(frozen=True)
class GibbsState(FrozenArrays):
    """Where chains stand: all that is needed to go on.

    The random numbers of a step come from a generator of its own, seeded with
    (seed, chain, step). So the seed and the step are its whole state, and a chain
    is the same whatever the chunks that it runs in and whatever runs beside it.
    """

    model_id: str  # which model
    settings: GibbsSettings  # how it draws
    step: int  # steps done so far
    input_ids: np.ndarray  # int32 [C, T]
    token_type_ids: np.ndarray  # int32 [T]
    open_positions: np.ndarray  # int [F], token indices that may change


@dataclass(frozen=True)
class GibbsRun(FrozenArrays):
    """What some steps of the chains did."""

    start: GibbsState  # before the steps
    end: GibbsState  # after them
    positions: np.ndarray  # int32 [S, C], token index that each step drew anew
    # Both: int32 [S, C], what stood there and what was drawn.
    old_ids: np.ndarray
    new_ids: np.ndarray
    # float64 [S, C], of the drawn word under the distribution that it was drawn from
    # (temperature, top-k and top-p applied).
    log_probs: np.ndarray
    entropy_bits: np.ndarray  # float64 [S, C], of that distribution
    words: Mapping[int, str]  # piece of every id that occurs

    @property
    def num_steps(self) -> int:
        return len(self.positions)

    @property
    def has_changed(self) -> np.ndarray:
        """Whether a step put another word there, bool `[S, C]`."""
        return self.old_ids != self.new_ids

    @property
    def is_burn_in(self) -> np.ndarray:
        """Whether a step is among the first that do not count, bool `[S]`."""
        steps = self.start.step + np.arange(self.num_steps)
        return steps < self.start.settings.burn_in

    @property
    def change_rate(self) -> float:
        """Share of the steps after burn-in that changed a word; NaN before any."""
        counted = self.has_changed[~self.is_burn_in]
        return float(counted.mean()) if counted.size else float("nan")

    @property
    def share_kept(self) -> float:
        """Share of the open places where the start's piece stands at the end."""
        places = self.start.open_positions
        same = self.start.input_ids[:, places] == self.end.input_ids[:, places]
        return float(same.mean())

    def sequences(self) -> np.ndarray:
        """The chains from the start to the end, int32 `[S + 1, C, T]`."""
        chain = np.repeat(self.start.input_ids[None], self.num_steps + 1, axis=0)
        for step, (positions, ids) in enumerate(
            zip(self.positions, self.new_ids, strict=True)
        ):
            chain[step + 1] = chain[step]
            chain[step + 1, np.arange(len(ids)), positions] = ids
        return chain

    def tokens_after(self, step: int, chain: int = 0) -> tuple[str, ...]:
        """The pieces of one chain after so many of these steps; 0 is the start."""
        input_ids = self.start.input_ids[chain].copy()
        # Where a place is written twice, the later one stays.
        input_ids[self.positions[:step, chain]] = self.new_ids[:step, chain]
        return tuple(self.words[int(index)] for index in input_ids)

    def to_dict(self) -> dict[str, Any]:
        """Its steps in lists, as a job tells them while it goes on."""
        return {name: getattr(self, name).tolist() for name in STEPS}

    @classmethod
    def from_dict(
        cls, start: GibbsState, raw: Mapping[str, Any], vocabulary: Sequence[str]
    ) -> GibbsRun:
        """Makes a run of its steps, as `to_dict` has written them, or of arrays."""
        shape = (-1, len(start.input_ids))
        steps = {
            name: np.array(raw[name], dtype).reshape(shape)
            for name, dtype in STEPS.items()
        }
        input_ids = start.input_ids.copy()
        # Where a place is written twice, the later one stays.
        input_ids[np.arange(len(input_ids)), steps["positions"]] = steps["new_ids"]
        step = start.step + len(steps["positions"])
        occurring = np.union1d(start.input_ids, steps["new_ids"])
        return cls(
            start=start,
            end=dataclasses.replace(start, step=step, input_ids=input_ids),
            words={int(index): vocabulary[index] for index in occurring},
            **steps,
        )

    def then(self, later: GibbsRun) -> GibbsRun:
        """This run and the one that went on from its end, as one.

        Raises:
            ValueError: the other does not begin where this one ends.
        """
        if later.start.step != self.end.step or not np.array_equal(
            later.start.input_ids, self.end.input_ids
        ):
            raise ValueError(
                "The later run must begin where this one ends. Received: "
                f"end.step={self.end.step}, start.step={later.start.step}."
            )

        return GibbsRun(
            start=self.start,
            end=later.end,
            words={**self.words, **later.words},
            **{
                name: np.concatenate([getattr(self, name), getattr(later, name)])
                for name in STEPS
            },
        )
