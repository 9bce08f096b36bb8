"""What a pre-training run is to do: one frozen dataclass, read from JSON."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bertviz_core.config import BertConfig, read_json_object
from bertviz_core.errors import TrainingError
from bertviz_core.pretrain.data_settings import (
    CorpusSettings,
    MaskingSettings,
    SequenceSettings,
    require_weights,
)
from bertviz_core.pretrain.settings_json import Checked, build, stated

# Of what a saved run was asked, these may change when it goes on.
MAY_CHANGE = ("report_steps", "evaluation_steps", "checkpoint_steps", "model_name")


@dataclass(frozen=True)
class Phase(Checked):
    """A stretch of training at one length.

    Args:
        max_tokens: T of every row of the batch.
        num_tokens: token places to see, padding counted; steps follow from it.
        batch_tokens: token places per optimiser step.
        short_rate: in place of that of `SequenceSettings`; `None` takes that. A
            phase of long rows needs a higher one: else it sees short text only
            where documents are short.
        sentence_rate: in place of that of `SequenceSettings`, likewise.
        masking_rate: in place of the rate of `MaskingSettings`, likewise.
        weights: in place of those of `CorpusSettings`, all of them: another phase may
            read other text.
    """

    max_tokens: int
    num_tokens: int
    batch_tokens: int
    short_rate: float | None = None
    sentence_rate: float | None = None
    masking_rate: float | None = None
    weights: dict[str, float] | None = None

    def __post_init__(self) -> None:
        self.require("max_tokens", self.max_tokens >= 8, "≥ 8")
        fits = self.batch_tokens >= self.max_tokens
        self.require("batch_tokens", fits, "≥ max_tokens")
        fits = self.num_tokens >= self.batch_tokens
        self.require("num_tokens", fits, "≥ batch_tokens")
        for name, rate in self.rates.items():
            self.require(name, 0 <= rate <= 1, "0 … 1")
        share = self.masking_rate
        self.require("masking_rate", share is None or 0 < share < 1, "> 0, < 1")
        require_weights(self, "weights", self.weights or {})

    @property
    def rates(self) -> dict[str, float]:
        """What this phase has in place of `SequenceSettings`, by its name there."""
        own = {"short_rate": self.short_rate, "sentence_rate": self.sentence_rate}
        return {name: rate for name, rate in own.items() if rate is not None}

    def masking_of(self, common: MaskingSettings) -> MaskingSettings:
        """How this phase hides words."""
        if self.masking_rate is None:
            return common
        return dataclasses.replace(common, rate=self.masking_rate)

    @property
    def num_rows(self) -> int:
        """B, rows per optimiser step."""
        return self.batch_tokens // self.max_tokens

    @property
    def num_steps(self) -> int:
        """Optimiser steps."""
        return self.num_tokens // (self.num_rows * self.max_tokens)


@dataclass(frozen=True)
class OptimizerSettings(Checked):
    """How weights move.

    Args:
        name: "adamw", or "muon" for the matrices inside the blocks.
        learning_rate: per optimiser step, after warm-up.
        warmup_rate: share of all steps that it rises.
        decay: "linear" or "exponential", to `final_rate` at the last step.
        final_rate: share of `learning_rate` that is left at the end.
        beta_1, beta_2, epsilon: of Adam's two averages.
        weight_decay: per unit of learning rate; not for norms and biases.
        clip_norm: longest gradient, all weights together; 0 does not clip.
        accumulation: parts that a batch is sent through the model in.
    """

    name: str = "adamw"
    learning_rate: float = 1e-3
    warmup_rate: float = 0.02
    decay: str = "linear"
    final_rate: float = 0.0
    beta_1: float = 0.9
    beta_2: float = 0.98
    epsilon: float = 1e-6
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    accumulation: int = 1

    def __post_init__(self) -> None:
        known = ("adamw", "muon")
        self.require("name", self.name in known, " | ".join(known))
        fits = 0 < self.learning_rate < math.inf
        self.require("learning_rate", fits, "> 0")
        self.require("warmup_rate", 0 <= self.warmup_rate < 1, "≥ 0, < 1")
        known = ("linear", "exponential")
        self.require("decay", self.decay in known, " | ".join(known))
        fits = 0 <= self.final_rate <= 1
        fits = fits and (self.final_rate > 0 or self.decay == "linear")
        self.require("final_rate", fits, "0 … 1; > 0 (exponential)")
        for name in ("beta_1", "beta_2"):
            self.require(name, 0 <= getattr(self, name) < 1, "≥ 0, < 1")
        for name in ("epsilon", "weight_decay", "clip_norm"):
            self.require(name, 0 <= getattr(self, name) < math.inf, "≥ 0")
        self.require("accumulation", self.accumulation >= 1, "≥ 1")


@dataclass(frozen=True)
class PretrainSettings(Checked):
    """A whole run. Field names are the keys of the JSON file.

    Args:
        model: sizes; `vocab_size` is the most that a learned vocabulary may have.
        phases: one after the other, mostly short sequences first.
        corpus, masking, sequences, optimizer: see there.
        dropout: rate while pre-training, in place of the model's two rates,
            which stay in its config for those who fine-tune it.
        precision: "float32", or "bfloat16" for products and activations; "auto" is
            what the machine multiplies in hardware, settled when a run begins.
        remat: computes each block anew for its gradient instead of keeping it.
        layer_keep_rate: share of the steps that keep the last block in the end;
            1 drops none.
        initial_model: id or folder of a model to begin with, its words included;
            `None` begins with random weights and learns words. See `initial.py`.
        continue_positions: where a phase is longer than those before, its new
            positions begin as `positions.continued_positions` says, not at random.
            Those of an initial model are trained already, and stay.
        seed: of the weights, the order of the text and the masks.
        model_name: what the finished model is called.
        report_steps, evaluation_steps, checkpoint_steps: how often.

    Raises:
        TrainingError: a value that cannot be, or two that contradict each other.
    """

    model: BertConfig
    phases: tuple[Phase, ...]
    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    masking: MaskingSettings = field(default_factory=MaskingSettings)
    sequences: SequenceSettings = field(default_factory=SequenceSettings)
    optimizer: OptimizerSettings = field(default_factory=OptimizerSettings)
    dropout: float = 0.0
    precision: str = "auto"
    remat: bool = False
    layer_keep_rate: float = 1.0
    initial_model: str | None = None
    continue_positions: bool = True
    seed: int = 0
    model_name: str = "bert"
    report_steps: int = 50
    evaluation_steps: int = 1000
    checkpoint_steps: int = 500

    def __post_init__(self) -> None:
        self.require("phases", len(self.phases) > 0, "≠ []")
        self.require("dropout", 0 <= self.dropout < 1, "≥ 0, < 1")
        known = ("auto", "float32", "bfloat16")
        self.require("precision", self.precision in known, " | ".join(known))
        self.require("layer_keep_rate", 0 < self.layer_keep_rate <= 1, "> 0, ≤ 1")
        for name in ("report_steps", "evaluation_steps", "checkpoint_steps"):
            self.require(name, getattr(self, name) >= 1, "≥ 1")
        self.require("seed", self.seed >= 0, "≥ 0")
        # Dropout inside a block that runs twice, or only sometimes, would draw
        # from another state of the generator each time.
        if self.dropout and (self.remat or self.layer_keep_rate < 1):
            raise TrainingError(
                "Dropout does not go together with remat or layer_keep_rate. Received: "
                "dropout={dropout}. Set it to 0, or leave the other two out.",
                dropout=self.dropout,
            )
        if self.initial_model is not None and self.corpus.vocabulary_file is not None:
            raise TrainingError(
                "A model to begin with brings its words. Received: initial_model="
                "{model}; vocabulary_file={file}. Leave one of them out.",
                model=self.initial_model[:80],
                file=Path(self.corpus.vocabulary_file).name,
            )
        if self.sequences.pair_rate and self.model.type_vocab_size < 2:
            raise TrainingError(
                "Pairs need two kinds of segments. Received: type_vocab_size="
                "{type_vocab_size}; pair_rate={pair_rate}. Set type_vocab_size to 2, "
                "or pair_rate to 0.",
                type_vocab_size=self.model.type_vocab_size,
                pair_rate=self.sequences.pair_rate,
            )
        for phase in self.phases:
            self._require_fit(phase)

    @property
    def num_steps(self) -> int:
        """Optimiser steps of all phases."""
        return sum(phase.num_steps for phase in self.phases)

    @property
    def phase_ends(self) -> tuple[int, ...]:
        """Optimiser steps that are done when each phase ends."""
        return tuple(itertools.accumulate(phase.num_steps for phase in self.phases))

    @property
    def num_tokens(self) -> int:
        """Token places of all phases, padding counted."""
        return sum(
            phase.num_steps * phase.num_rows * phase.max_tokens for phase in self.phases
        )

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> PretrainSettings:
        """Takes the settings from a parsed JSON object.

        Raises:
            TrainingError: an unknown key, a value of another kind, or see the class.
            ConfigError: the model's sizes contradict each other.
        """
        return build(cls, raw, "")

    @classmethod
    def from_json_file(cls, path: Path) -> PretrainSettings:
        """Reads a settings file.

        Raises:
            ConfigError, TrainingError: see `from_dict`.
        """
        return cls.from_dict(read_json_object(path))

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON holds them; every default is written out."""
        raw = dataclasses.asdict(self)
        raw["phases"] = list(raw["phases"])
        return raw

    def fingerprint(self) -> str:
        """Names all that a resumed run must share, 16 hexadecimal digits.

        Defaults are left out, so that a new setting parts no run from its
        checkpoints; for the same reason no default may change its value.
        """
        kept = {k: v for k, v in stated(self).items() if k not in MAY_CHANGE}
        text = json.dumps(kept, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _require_fit(self, phase: Phase) -> None:
        if phase.max_tokens > self.model.max_position_embeddings:
            raise TrainingError(
                "A phase is longer than the model. Received: max_tokens={max_tokens}, "
                "max_position_embeddings={max_position_embeddings}. Make one of them "
                "fit the other.",
                max_tokens=phase.max_tokens,
                max_position_embeddings=self.model.max_position_embeddings,
            )
        parts = self.optimizer.accumulation
        if phase.num_rows % parts:
            raise TrainingError(
                "A batch cannot be cut into equal parts. Received: {rows} rows of "
                "{max_tokens} tokens, accumulation={parts}. Choose batch_tokens so "
                "that the rows are a multiple.",
                rows=phase.num_rows,
                max_tokens=phase.max_tokens,
                parts=parts,
            )
