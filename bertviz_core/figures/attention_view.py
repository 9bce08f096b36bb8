"""What the attention component shows: one head exactly, all heads small.

L layers, N heads, T tokens. Rows look, columns are looked at.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bertviz_core.figures.attention_held import HeldHeads
from bertviz_core.figures.attention_thumbnails import StrongestLinks
from bertviz_core.trace import FrozenArrays

SCALES = ("linear", "log", "row")
# Signs that name what is no word of the text: a mask to fill, an added token.
SIGNS = {"mask": "▢", "special": "◆", "word": ""}


@dataclass(frozen=True)
class Measure:
    """What the numbers of a picture are, in the reader's language."""

    # Which head, or what was put together; "{layer}" and "{head}" are filled with the
    # numbers of the view.
    name: str
    unit: str  # what one number is: a weight, a length
    filters: tuple[str, ...] = ()  # what was left out or changed, a phrase each
    top: float = 1.0  # the value at the end of the scale, above 0
    # Both: whether the layer, and the head, of the view is what is shown; false where
    # several were put together.
    has_layer: bool = True
    has_head: bool = True
    difference: str = ""  # what is taken from what; "" where nothing is


@dataclass(frozen=True)
class AttentionView(FrozenArrays):
    """One state of the attention component."""

    tokens: tuple[str, ...]  # T pieces or words, as they are shown
    kinds: tuple[str, ...]  # T of "word", "mask", "special"
    segments: np.ndarray  # int [T]; 0 first text, 1 second
    thumbnails: np.ndarray  # uint8 [L, N, h, w], from `grid_thumbnails`
    matrix: np.ndarray  # float32 [T, T], the shown head
    # Texts of the interface: those of `locales/…/attention_view.json`, and `list_comma`
    # of `app.json`.
    words: Mapping[str, str]
    # Both: the shown head, from 0; the screen counts from 1.
    layer: int = 0
    head: int = 0
    # Of the shown layer, for lines of several heads; `None` leaves the lines to the
    # shown head.
    links: StrongestLinks | None = None
    # Both: locked at first; `None` is every token.
    from_token: int | None = None
    to_token: int | None = None
    # "linear", "log" or "row" (each row up to its largest weight).
    scale: str = "linear"
    threshold: float = 0.05  # lines below this share of the scale's end are not drawn
    is_difference: bool = False  # weights may be negative; diverging colours
    is_lying: bool = False  # lines go between two rows of tokens, not two columns
    measure: Measure | None = None  # what is shown; `None` is a weight of one head
    # Of the shown layer, whose lines are drawn; empty is the shown head.
    heads: tuple[int, ...] = ()
    # int [T], tokens of one word share a number, see `group_words`; `None` groups
    # nothing.
    groups: np.ndarray | None = None
    # int [T], index in the text of the first token that each row stands for; `None`
    # counts the rows.
    first_tokens: np.ndarray | None = None
    text_key: str = ""  # another one tells that the tokens are those of another text
    # Every head, so that a chosen one is drawn before the page answers; `None` for
    # differences, and where nobody answers.
    held: HeldHeads | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """Tokens with the sign of their kind."""
        pairs = zip(self.tokens, self.kinds, strict=True)
        return tuple(f"{SIGNS[kind]}{token}" for token, kind in pairs)

    @property
    def measured(self) -> Measure:
        words = self.words
        return self.measure or Measure(words["shown_head"], words["unit_weight"])

    @property
    def name(self) -> str:
        """Which head, or what was put together, with its numbers."""
        return self.measured.name.format(layer=self.layer + 1, head=self.head + 1)

    @property
    def top(self) -> float:
        """The value at the end of the scale, of differences the largest magnitude."""
        if self.is_difference:
            return float(np.abs(self.matrix).max()) or 1.0
        return self.measured.top

    @property
    def token_numbers(self) -> list[int]:
        """Index in the text of the first token of each row."""
        if self.first_tokens is None:
            return list(range(len(self.tokens)))
        numbers: list[int] = self.first_tokens.tolist()
        return numbers

    @property
    def spans(self) -> list[tuple[int, int]]:
        """First row and number of rows of each word of several pieces."""
        if self.groups is None:
            return []
        starts = np.flatnonzero(np.diff(self.groups, prepend=-1))
        sizes = np.diff(np.append(starts, len(self.groups)))
        pairs = zip(starts.tolist(), sizes.tolist(), strict=True)
        return [(start, size) for start, size in pairs if size > 1]


@dataclass(frozen=True)
class HeadMap(FrozenArrays):
    """One number for every head, as a grid."""

    values: np.ndarray  # float [L, N]; NaN leaves a cell empty
    words: Mapping[str, str]  # texts of the interface, see `AttentionView`
    # Both: the chosen head, from 0; both `None` where it is none of these.
    layer: int | None = 0
    head: int | None = 0
    # Values may be negative; diverging colours, up to the largest magnitude. Otherwise
    # none is below 0.
    is_difference: bool = True
    top: float = 1.0  # where the scale of such values ends, as shares do at 1
    is_distance: bool = False  # the smallest values tell most, and 0 is the head itself

    @property
    def limit(self) -> float:
        """The value at the end of the scale."""
        end = np.nanmax(np.abs(self.values)) if self.is_difference else self.top
        return float(end) or 1.0


def token_kinds(tokens: Sequence[str]) -> tuple[str, ...]:
    """The kind of each token by its spelling: "[CLS]" and "[SEP]" are special."""
    kinds = {"[MASK]": "mask", "[CLS]": "special", "[SEP]": "special"}
    return tuple(kinds.get(token, "word") for token in tokens)
