"""Which tokens are hidden, and what stands in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.chinese_words import is_character
from bertviz_core.trace import SPECIAL_TOKENS
from bertviz_core.training.pretrain.settings import MaskingSettings

# Shares of runs of 1, 2, 3 and 4 Chinese characters.
# Source: Cui et al. 2020 (arXiv:2004.13922), section 3.
SPAN_SHARES = (0.4, 0.3, 0.2, 0.1)


@dataclass(frozen=True)
class TokenKinds:
    """What each id of a vocabulary is."""

    is_special: np.ndarray  # bool [V], one of the five special tokens
    is_continuation: np.ndarray  # bool [V], goes on with a word, as `##ing` does
    is_cjk: np.ndarray  # bool [V], one Chinese character
    ordinary_ids: np.ndarray  # int32, ids that are not special
    mask_token_id: int
    cls_token_id: int
    sep_token_id: int
    pad_token_id: int
    ids: Mapping[str, int]  # of each piece

    @classmethod
    def of(cls, vocabulary: Sequence[str]) -> TokenKinds:
        is_special = np.array([piece in SPECIAL_TOKENS for piece in vocabulary])
        ids = {piece: index for index, piece in enumerate(vocabulary)}
        return cls(
            is_special=is_special,
            is_continuation=np.array([piece.startswith("##") for piece in vocabulary]),
            is_cjk=np.array([is_character(piece) for piece in vocabulary]),
            ordinary_ids=np.flatnonzero(~is_special).astype("int32"),
            mask_token_id=ids["[MASK]"],
            cls_token_id=ids["[CLS]"],
            sep_token_id=ids["[SEP]"],
            pad_token_id=ids["[PAD]"],
            ids=ids,
        )


def num_predictions(max_tokens: int, rate: float) -> int:
    """P, places to guess in a row of T tokens; fixed, so that shapes are.

    Room for a single segment that fills the row, its two special tokens left out.
    """
    return max(1, round((max_tokens - 2) * rate))


def draw_weights(counts: np.ndarray, frequent_from: float) -> np.ndarray:
    """How often each piece is drawn, beside one that is not frequent; float64 `[V]`.

    1 up to the share t, `frequent_from`, of the text, and sqrt(t / share) beyond it.

    Source: Mikolov et al. 2013 (arXiv:1310.4546), section 2.3, who leave frequent words
    out of what a model reads. Here they are read, and hidden less often.
    """
    shares = np.maximum(counts / max(counts.sum(), 1), frequent_from)
    return np.sqrt(frequent_from / shares)


def choose_positions(
    input_ids: np.ndarray,
    kinds: TokenKinds,
    settings: MaskingSettings,
    rng: np.random.Generator,
    weights_of_ids: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draws the tokens to guess of int `[B, T]`, in each row alike many of its own.

    Whole units are drawn, no special tokens. One that would go beyond the share is left
    out, unless it would be the only one. By `draw_weights`, a unit weighs what the
    rarest of its pieces does.

    Returns:
        `(positions, weights)`: int32 `[B, P]`, and float32 `[B, P]`, 0 where a row has
        fewer than P tokens to guess.
    """
    rows, tokens = input_ids.shape
    is_candidate = ~kinds.is_special[input_ids]  # [B, T]
    units = np.cumsum(_starts_unit(input_ids, kinds, settings.unit, rng), axis=1)
    times = rng.random((rows, tokens + 1))
    if weights_of_ids is not None:
        times = _weighed(times, units, weights_of_ids[input_ids])
    keys = np.take_along_axis(times, units, axis=1)
    order = np.argsort(np.where(is_candidate, keys, np.inf), axis=1, kind="stable")
    num_candidates = is_candidate.sum(axis=1)  # [B]
    wanted = np.maximum(np.rint(num_candidates * settings.rate), 1)
    wanted = np.minimum(wanted, num_candidates).astype("int64")

    slots = min(num_predictions(tokens, settings.rate), tokens)
    wanted = np.minimum(wanted, slots)
    positions = order[:, :slots].astype("int32")
    is_wanted = np.arange(slots) < wanted[:, None]  # [B, P]
    is_wanted &= ~_belongs_to_cut_unit(units, order, is_candidate, wanted)[:, :slots]
    return positions, is_wanted.astype("float32")


def hide(
    input_ids: np.ndarray,
    positions: np.ndarray,
    weights: np.ndarray,
    kinds: TokenKinds,
    settings: MaskingSettings,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Replaces the drawn tokens: most by [MASK], some by any word, some by nothing.

    What weighs 0, see `choose_positions`, stays as it is.

    Returns:
        `(hidden, labels)`: int32 `[B, T]`, and int32 `[B, P]`, what stood there.

    Source: Devlin et al. 2019, appendix A.1, for the shares 80, 10 and 10 %.
    """
    labels = np.take_along_axis(input_ids, positions, axis=1).astype("int32")
    chance = rng.random(positions.shape)
    any_word = rng.choice(kinds.ordinary_ids, positions.shape)
    shown = np.where(chance < settings.mask_rate, kinds.mask_token_id, any_word)
    is_kept = chance >= settings.mask_rate + settings.random_rate
    shown = np.where(is_kept | (weights == 0), labels, shown)
    hidden = input_ids.astype("int32")
    np.put_along_axis(hidden, positions, shown.astype("int32"), axis=1)
    return hidden, labels


def _weighed(chances: np.ndarray, units: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Numbers whose order draws units by their weight, without putting them back.

    Chances, uniform `[B, T + 1]`, become waiting times of the rate of the unit, by
    weights of tokens, `[B, T]`, > 0; who comes first is drawn.

    Source: Efraimidis and Spirakis 2006, "Weighted random sampling with a reservoir".
    """
    of_units = np.zeros_like(chances)
    rows = np.arange(len(units))[:, None]
    np.maximum.at(of_units, (rows, units), weights)
    return -np.log1p(-chances) / np.where(of_units > 0, of_units, 1.0)


def _starts_unit(
    input_ids: np.ndarray, kinds: TokenKinds, unit: str, rng: np.random.Generator
) -> np.ndarray:
    """Bool `[B, T]`: a token with which a new unit begins."""
    if unit == "token":
        return np.ones(input_ids.shape, bool)
    goes_on = kinds.is_continuation[input_ids]
    goes_on[:, 0] = False
    if unit == "word":
        return ~goes_on
    is_cjk = kinds.is_cjk[input_ids]
    follows_cjk = np.zeros_like(is_cjk)
    follows_cjk[:, 1:] = is_cjk[:, :-1]
    in_run = is_cjk & follows_cjk & ~_span_starts(input_ids.shape, rng)
    return ~(goes_on | in_run)


def _span_starts(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Bool `[B, T]`: rows cut into spans of 1 to 4, with the shares above."""
    rows, tokens = shape
    sizes = rng.choice(np.arange(1, len(SPAN_SHARES) + 1), shape, p=SPAN_SHARES)
    ends = np.minimum(np.cumsum(sizes, axis=1), tokens)
    starts = np.zeros((rows, tokens + 1), bool)
    starts[:, 0] = True
    np.put_along_axis(starts, ends, True, axis=1)
    return starts[:, :tokens]


def _belongs_to_cut_unit(
    units: np.ndarray, order: np.ndarray, is_candidate: np.ndarray, wanted: np.ndarray
) -> np.ndarray:
    """Bool `[B, T]`, in drawn order: part of a unit that does not fit whole."""
    drawn_units = np.take_along_axis(units, order, axis=1)
    drawn = np.take_along_axis(is_candidate, order, axis=1)
    rows = np.arange(len(units))
    beyond = np.minimum(wanted, units.shape[1] - 1)
    is_cut = drawn[rows, beyond] & (wanted < units.shape[1])
    cut_unit = np.where(is_cut, drawn_units[rows, beyond], -1)
    is_only = drawn_units[:, 0] == cut_unit
    return (drawn_units == cut_unit[:, None]) & ~is_only[:, None]
