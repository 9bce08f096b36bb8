"""Settings of what a model reads: words, sequences, masks."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass, field, fields

from bertviz_core.pretrain.settings_json import Checked

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
    """Which words the model knows, and how much of each text it reads.

    Args:
        lower_case: folds case and accents.
        vocabulary_file: a `vocab.txt` to take; `None` learns one.
        max_characters: see `train_vocabulary`.
        held_out_rate: share of the documents kept for evaluation.
        weights: how often an epoch reads each document of a file, by file name;
            1 where nothing is said.
        sentence_weights: how many times more an epoch reads each sentence with a
            word, alone and not in its document; by the word, which must be one
            piece of the vocabulary. Of several, the highest counts.
        sentence_max_tokens: longer sentences do not count for it, in word pieces;
            `None` for any length.
        pair_rates: in place of `SequenceSettings.pair_rate`, by file name. 0 for a
            file whose sentences have nothing to do with each other: none of them is
            the next one.
    """

    lower_case: bool = True
    vocabulary_file: str | None = None
    max_characters: int | None = None
    held_out_rate: float = 0.005
    weights: dict[str, float] = field(default_factory=dict)
    sentence_weights: dict[str, float] = field(default_factory=dict)
    sentence_max_tokens: int | None = None
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

    def identity(self) -> str:
        """The same as text."""
        return json.dumps(self.encoding(), sort_keys=True)


def require_weights(settings: Checked, name: str, weights: dict[str, float]) -> None:
    """Refuses numbers that say of nothing how often it is read."""
    fits = all(0 <= weight < math.inf for weight in weights.values())
    settings.require(name, fits, "≥ 0")


@dataclass(frozen=True)
class MaskingSettings(Checked):
    """Which tokens are to be guessed.

    Args:
        rate: share of the tokens to guess.
        unit: "token"; "word", whole words; or "span", whole words in Latin
            letters and runs of 1 to 4 Chinese characters.
        mask_rate: share of them that becomes [MASK].
        random_rate: share of them that becomes any word; the rest stays.
        frequent_from: a piece that makes up a larger share of the text is drawn less
            often than the others, see `draw_weights`; `None` draws all alike. What
            follows "the" is harder to guess than "the", and learnt more slowly.

    Source:
        Devlin et al. 2019, appendix A.1; whole words: google-research/bert,
        README, May 2019; spans: Cui et al. 2020 (arXiv:2004.13922), section 3.
    """

    rate: float = 0.15
    unit: str = "token"
    mask_rate: float = 0.8
    random_rate: float = 0.1
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

    Args:
        pair_rate: share of the sequences with two segments; others have one.
        random_next_rate: share of the pairs whose B is of another document.
        short_rate: share of the sequences that end early, after any sentence.
        sentence_rate: share of the sequences that are one sentence. Else hardly any
            is: an end drawn anywhere is seldom that of the first sentence.
        join_rate: share of the documents that run on into the next one.

    Source:
        Devlin et al. 2019, appendix A.2; google-research/bert,
        `create_pretraining_data.py`. Differs from it: there every sequence is a
        pair and none leaves its document; for running text Liu et al. 2019
        (arXiv:1907.11692), "full sentences".
    """

    pair_rate: float = 0.5
    random_next_rate: float = 0.5
    short_rate: float = 0.1
    sentence_rate: float = 0.0
    join_rate: float = 0.2

    def __post_init__(self) -> None:
        for rate in fields(self):
            self.require(rate.name, 0 <= getattr(self, rate.name) <= 1, "0 … 1")
