"""What a pre-training run is to do: one frozen dataclass, read from JSON."""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from bertviz_core.config import BertConfig, read_json_object
from bertviz_core.errors import TrainingError
from bertviz_core.training.schedule import OptimizerSettings, Stretch
from bertviz_core.training.settings import PRECISIONS, Checked, fingerprint_of

# Settings of a corpus that leave its token ids as they are.
_READING = (
    "weights",
    "sentence_weights",
    "sentence_max_tokens",
    "pair_rates",
    "vocabulary_file",
)


@dataclass(frozen=True)
class CorpusSettings(Checked):
    """Which words the model knows, and how much of each text it reads."""

    lower_case: bool = True  # folds case and accents
    vocabulary_file: str | None = None  # a `vocab.txt` to take; `None` learns one
    max_characters: int | None = None  # see `train_vocabulary`
    held_out_rate: float = 0.005  # share of the documents kept for evaluation
    # How often an epoch reads each document of a file, by file name; 1 where nothing is
    # said.
    weights: dict[str, float] = field(default_factory=dict)
    # How many times more an epoch reads each sentence with a word, alone and not in its
    # document; by the word, which must be one piece of the vocabulary. Of several, the
    # highest counts.
    sentence_weights: dict[str, float] = field(default_factory=dict)
    # Longer sentences do not count for it, in word pieces; `None` for any length.
    sentence_max_tokens: int | None = None
    # In place of `SequenceSettings.pair_rate`, by file name. 0 for a file whose
    # sentences have nothing to do with each other: none of them is the next one.
    pair_rates: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.require("held_out_rate", 0 <= self.held_out_rate <= 0.5, "0 … 0.5")
        require_weights(self, "weights", self.weights)
        require_weights(self, "sentence_weights", self.sentence_weights)
        most = self.sentence_max_tokens
        self.require("sentence_max_tokens", most is None or most >= 1, "≥ 1")
        fits = all(0 <= rate <= 1 for rate in self.pair_rates.values())
        self.require("pair_rates", fits, "0 … 1")

    def encoding(self) -> dict[str, object]:
        """All that decides the token ids beside the text and a vocabulary file."""
        known = dataclasses.asdict(self)
        for name in _READING:
            del known[name]
        return known


def require_weights(settings: Checked, name: str, weights: dict[str, float]) -> None:
    """Refuses numbers that say of nothing how often it is read."""
    fits = all(0 <= weight < math.inf for weight in weights.values())
    settings.require(name, fits, "≥ 0")


@dataclass(frozen=True)
class MaskingSettings(Checked):
    """Which tokens are to be guessed.

    Source: Devlin et al. 2019, appendix A.1; whole words: google-research/bert, README,
    May 2019; spans: Cui et al. 2020 (arXiv:2004.13922), section 3.
    """

    rate: float = 0.15  # share of the tokens to guess
    # "token"; "word", whole words; or "span", whole words in Latin letters and runs of
    # 1 to 4 Chinese characters.
    unit: str = "token"
    mask_rate: float = 0.8  # share of them that becomes [MASK]
    random_rate: float = 0.1  # share of them that becomes any word; the rest stays
    # A piece that makes up a larger share of the text is drawn less often than the
    # others, see `draw_weights`; `None` draws all alike. What follows "the" is harder
    # to guess than "the", and learnt more slowly.
    frequent_from: float | None = None

    def __post_init__(self) -> None:
        self.require("rate", 0 < self.rate < 1, "> 0, < 1")
        known = ("token", "word", "span")
        self.require("unit", self.unit in known, " | ".join(known))
        fits = min(self.mask_rate, self.random_rate) >= 0
        fits = fits and self.mask_rate + self.random_rate <= 1 + 1e-9
        self.require("mask_rate", fits, "≥ 0, mask_rate + random_rate ≤ 1")
        share = self.frequent_from
        self.require("frequent_from", share is None or 0 < share <= 1, "> 0, ≤ 1")


@dataclass(frozen=True)
class SequenceSettings(Checked):
    """How documents become sequences.

    Source: Devlin et al. 2019, appendix A.2; google-research/bert,
    `create_pretraining_data.py`. Differs from it: there every sequence is a pair and
    none leaves its document; for running text Liu et al. 2019 (arXiv:1907.11692), "full
    sentences".
    """

    pair_rate: float = 0.5  # share of the sequences with two segments; others have one
    random_next_rate: float = 0.5  # share of the pairs whose B is of another document
    short_rate: float = 0.1  # share of the sequences that end early, after any sentence
    # Share of the sequences that are one sentence. Else hardly any is: an end drawn
    # anywhere is seldom that of the first sentence.
    sentence_rate: float = 0.0
    join_rate: float = 0.2  # share of the documents that run on into the next one

    def __post_init__(self) -> None:
        for rate in fields(self):
            self.require(rate.name, 0 <= getattr(self, rate.name) <= 1, "0 … 1")


# Of what a saved run was asked, these may change when it goes on.
MAY_CHANGE = ("report_steps", "evaluation_steps", "checkpoint_steps", "model_name")


@dataclass(frozen=True)
class Phase(Checked):
    """A stretch of training at one length."""

    max_tokens: int  # T of every row of the batch
    num_tokens: int  # token places to see, padding counted; steps follow from it
    batch_tokens: int  # token places per optimiser step
    # In place of that of `SequenceSettings`; `None` takes that. A phase of long rows
    # needs a higher one: else it sees short text only where documents are short.
    short_rate: float | None = None
    # In place of that of `SequenceSettings`, likewise.
    sentence_rate: float | None = None
    # In place of the rate of `MaskingSettings`, likewise.
    masking_rate: float | None = None
    # weights, sentence_weights: in place of those of `CorpusSettings`, all of them:
    # another phase may read other text.
    weights: dict[str, float] | None = None
    sentence_weights: dict[str, float] | None = None
    # Begins anew with this phase: rises to this value, and falls until the next phase
    # that has one. `None` goes on as the phase before; the first one takes that of
    # `OptimizerSettings`.
    learning_rate: float | None = None

    def __post_init__(self) -> None:
        self.require("max_tokens", self.max_tokens >= 8, "≥ 8")
        fits = self.batch_tokens >= self.max_tokens
        self.require("batch_tokens", fits, "≥ max_tokens")
        fits = self.num_tokens >= self.batch_tokens
        self.require("num_tokens", fits, "≥ batch_tokens")
        for name in ("short_rate", "sentence_rate"):
            self.require(name, 0 <= self.own(name, 0) <= 1, "0 … 1")
        share = self.masking_rate
        self.require("masking_rate", share is None or 0 < share < 1, "> 0, < 1")
        for name in ("weights", "sentence_weights"):
            require_weights(self, name, self.own(name, {}))
        peak = self.learning_rate
        self.require("learning_rate", peak is None or 0 < peak < math.inf, "> 0")

    def own(self, name: str, common: Any) -> Any:
        """A setting of this phase; `common` where it has none of its own."""
        value = getattr(self, name)
        return common if value is None else value

    @property
    def num_rows(self) -> int:
        """B, rows per optimiser step."""
        return self.batch_tokens // self.max_tokens

    @property
    def tokens_of_step(self) -> int:
        """Token places that an optimiser step fills."""
        return self.num_rows * self.max_tokens

    @property
    def num_steps(self) -> int:
        """Optimiser steps."""
        return self.num_tokens // self.tokens_of_step


@dataclass(frozen=True)
class PretrainSettings(Checked):
    """A whole run. Field names are the keys of the JSON file.

    Raises:
        TrainingError: a value that cannot be, or two that contradict each other.
    """

    # Sizes; `vocab_size` is the most that a learned vocabulary may have.
    model: BertConfig
    phases: tuple[Phase, ...]  # one after the other, mostly short sequences first
    # corpus, masking, sequences, optimizer: see there.
    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    masking: MaskingSettings = field(default_factory=MaskingSettings)
    sequences: SequenceSettings = field(default_factory=SequenceSettings)
    optimizer: OptimizerSettings = field(default_factory=OptimizerSettings)
    # Rate while pre-training, in place of the model's two rates, which stay in its
    # config for those who fine-tune it.
    dropout: float = 0.0
    # "float32", or "bfloat16" for products and activations; "auto" is what the machine
    # multiplies in hardware, settled when a run begins.
    precision: str = "auto"
    # Computes each block anew for its gradient instead of keeping it.
    remat: bool = False
    # Share of the steps that keep the last block in the end; 1 drops none.
    layer_keep_rate: float = 1.0
    # Id or folder of a model to begin with, its words included; `None` begins with
    # random weights and learns words. See `initial.py`.
    initial_model: str | None = None
    # Where a phase is longer than those before, its new positions begin as
    # `positions.continued_positions` says, not at random. Those of an initial model are
    # trained already, and stay.
    continue_positions: bool = True
    seed: int = 0  # of the weights, the order of the text and the masks
    model_name: str = "bert"  # what the finished model is called
    # report_steps, evaluation_steps, checkpoint_steps: how often.
    report_steps: int = 50
    evaluation_steps: int = 1000
    checkpoint_steps: int = 500

    def __post_init__(self) -> None:
        self.require("phases", len(self.phases) > 0, "≠ []")
        self.require("dropout", 0 <= self.dropout < 1, "≥ 0, < 1")
        self.require("precision", self.precision in PRECISIONS, " | ".join(PRECISIONS))
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
        parts = self.optimizer.accumulation
        for phase in self.phases:
            if phase.max_tokens > self.model.max_position_embeddings:
                raise TrainingError(
                    "A phase is longer than the model. Received: max_tokens="
                    "{max_tokens}, max_position_embeddings={max_position_embeddings}. "
                    "Make one of them fit the other.",
                    max_tokens=phase.max_tokens,
                    max_position_embeddings=self.model.max_position_embeddings,
                )
            if phase.num_rows % parts:
                raise TrainingError(
                    "A batch cannot be cut into equal parts. Received: {rows} rows of "
                    "{max_tokens} tokens, accumulation={parts}. Choose batch_tokens so "
                    "that the rows are a multiple.",
                    rows=phase.num_rows,
                    max_tokens=phase.max_tokens,
                    parts=parts,
                )

    @property
    def num_steps(self) -> int:
        """Optimiser steps of all phases."""
        return sum(phase.num_steps for phase in self.phases)

    @property
    def phase_ends(self) -> tuple[int, ...]:
        """Optimiser steps that are done when each phase ends."""
        return tuple(itertools.accumulate(phase.num_steps for phase in self.phases))

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """Phases whose learning rate rises and falls once, see `learning_rate`."""
        found = [(0, self.optimizer.learning_rate)]
        for phase in self.phases:
            if phase.learning_rate is not None:
                found.append((0, phase.learning_rate))
            num_steps, peak = found.pop()
            found.append((num_steps + phase.num_steps, peak))
        return tuple(stretch for stretch in found if stretch[0])

    @property
    def num_tokens(self) -> int:
        """Token places of all phases, padding counted."""
        return self.tokens_seen(self.num_steps)

    def tokens_seen(self, num_steps: int) -> int:
        """Token places in the first steps of the run, padding counted."""
        total = 0
        for phase in self.phases:
            steps = min(num_steps, phase.num_steps)
            total += steps * phase.tokens_of_step
            num_steps -= steps
        return total

    def locate(self, step: int) -> tuple[int, int]:
        """The index of the phase of a step, and which step within it."""
        for index, end in enumerate(self.phase_ends):
            if step < end:
                return index, step - end + self.phases[index].num_steps
        raise ValueError(f"`step` must be below {self.num_steps}.")

    @classmethod
    def from_json_file(cls, path: Path) -> PretrainSettings:
        """Reads a settings file.

        Raises:
            ConfigError, TrainingError: see `from_dict`.
        """
        return cls.from_dict(read_json_object(path))

    def fingerprint(self) -> str:
        """Names all that a resumed run must share, see `fingerprint_of`."""
        return fingerprint_of(self, MAY_CHANGE)
