"""Masks in a text: what people type for one, and words that can be clicked.

Pure text, no vocabulary: a word here is what a reader would click, which may be
several pieces for the model.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from bertviz_core.analysis.wordlists import is_cjk
from bertviz_core.errors import TextError, require_characters, require_index

MASK = "[MASK]"

# Comparing two texts takes the square of their length: 0.1 s at this many words.
MOST_WORDS_COMPARED = 2000

# "mask" in any case, also in the full-width letters of Chinese input methods.
_NAME = r"[mMｍＭ][aAａＡ][sSｓＳ][kKｋＫ]"
_SPELLINGS = re.compile(
    # Two or more underscores: one alone is a character of its own.
    r"[_＿]{2,}"
    rf"|[\[［【〔]\s*{_NAME}\s*[\]］】〕]"
    rf"|[<＜〈《]\s*\|?\s*{_NAME}\s*\|?\s*[>＞〉》]"
)

_ZERO_WIDTH_JOINER = "\u200d"
# Joiner, non-joiner and soft hyphen stand inside words of several scripts.
_INSIDE_WORD = frozenset({_ZERO_WIDTH_JOINER, "\u200c", "\u00ad"})
_APOSTROPHES = frozenset("'’")
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)
_FLAG_TAGS = range(0xE0020, 0xE0080)


@dataclass(frozen=True)
class Word:
    """One clickable part of a text."""

    # Both: its first and past-the-last character in the text.
    start: int
    end: int
    text: str  # the characters between them
    is_mask: bool  # whether it is a mask, in any spelling


@dataclass(frozen=True)
class MaskedText:
    """A text with masks that remembers what they hide."""

    text: str  # every mask is spelled [MASK]
    # What stood at each mask, left to right; "" where the mask was typed and hides
    # nothing.
    originals: tuple[str, ...]


def normalise_masks(text: str) -> tuple[str, tuple[str, ...]]:
    """Spells every mask `[MASK]`; gives the other spellings, too, each once, in order.

    Understood are two or more underscores, and "mask" in square or angle
    brackets, in any case, with spaces, half-width or full-width.
    """
    spellings = dict.fromkeys(match.group() for match in _SPELLINGS.finditer(text))
    spellings.pop(MASK, None)
    return _SPELLINGS.sub(MASK, text), tuple(spellings)


def split_words(text: str, limit: int | None = None) -> tuple[Word, ...]:
    """Cuts a text into what can be clicked: words, Chinese characters, signs.

    Letters, digits and their marks run together, also across an apostrophe
    ("don't"); an ideograph, a punctuation mark and an emoji, with all that
    belongs to it, stand alone. White space and control characters are left out.
    Masks may be in any spelling. After `limit` words it stops.
    """
    masks = {match.start(): match.end() for match in _SPELLINGS.finditer(text)}
    barriers = sorted(masks)
    words: list[Word] = []
    start, num_passed = 0, 0
    while start < len(text) and (limit is None or len(words) < limit):
        if start in masks:
            end, num_passed = masks[start], num_passed + 1
            words.append(Word(start, end, text[start:end], True))
        else:
            stop = barriers[num_passed] if num_passed < len(barriers) else len(text)
            end = _end_of_part(text, start, stop)
            if _kind(text[start]) != "gap":
                words.append(Word(start, end, text[start:end], False))
        start = end
    return tuple(words)


def remember_masks(text: str) -> MaskedText:
    """Starts with a text whose masks hide nothing that is known."""
    text, num_masks = _SPELLINGS.subn(MASK, text)
    return MaskedText(text, ("",) * num_masks)


def hide_words(text: str, hidden: Sequence[str]) -> MaskedText:
    """A text with what its masks hide, as a link or a file has them.

    All are ignored if their number is wrong, as is one that holds a mask: it could
    never be put back. "" is for a mask that hides nothing.
    """
    masked = remember_masks(text)
    if len(hidden) != len(masked.originals):
        return masked
    usable = (
        word if word.strip() and not _SPELLINGS.search(word) else "" for word in hidden
    )
    return MaskedText(masked.text, tuple(usable))


def write_sentence(masked: MaskedText, pair: str) -> bytes:
    """Writes a text, what its masks hide, and the second text as JSON in UTF-8."""
    saved = {"text": masked.text, "second_text": pair, "hidden": masked.originals}
    return json.dumps(saved, ensure_ascii=False, indent=1).encode()


def read_sentence(data: bytes, name: str) -> tuple[MaskedText, str]:
    """Reads the text with what its masks hide, and the second, of `write_sentence`.

    Raises:
        TextError: it is no such file, or its texts are too long to be split.
    """
    try:
        saved = json.loads(data.decode("utf-8-sig"))
        text, pair, hidden = saved["text"], saved["second_text"], saved["hidden"]
        # Half of a surrogate pair, which JSON can hold, is no text.
        for part in (text, pair, *hidden):
            part.encode()
        masked = hide_words(text, hidden)
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise TextError(
            "The file {name} is not a text saved by BERT Explorer. Choose a .json file "
            "that was made with “Save the text”.",
            name=name[:100],
        ) from error
    require_characters(text, pair)
    return masked, pair


def toggle_mask(masked: MaskedText, word_index: int) -> MaskedText:
    """Hides a word of `split_words` behind a mask, or puts back what a mask hides.

    Hiding keeps the number of words, so an index means the same word before and
    after. The text is unchanged for a mask that hides nothing.
    """
    words = split_words(masked.text)
    require_index("word_index", word_index, len(words))
    word = words[word_index]
    mask_index = sum(earlier.is_mask for earlier in words[:word_index])
    if not word.is_mask:
        text = masked.text[: word.start] + MASK + masked.text[word.end :]
        return _remembering(text, masked.originals, mask_index, (word.text,), 0)
    original = masked.originals[mask_index]
    if not original:
        return masked
    text = masked.text[: word.start] + original + masked.text[word.end :]
    return _remembering(text, masked.originals, mask_index, (), 1)


def fill_mask(masked: MaskedText, mask_index: int, token: str) -> MaskedText:
    """Writes a token of the vocabulary where a mask stands.

    A piece that continues a word (`##ing`) is joined to what stands before it.
    """
    masks = list(_SPELLINGS.finditer(masked.text))
    require_index("mask_index", mask_index, len(masks))
    before = masked.text[: masks[mask_index].start()]
    after = masked.text[masks[mask_index].end() :]
    if token.startswith("##") and len(token) > len("##"):
        token, before = token.removeprefix("##"), before.rstrip()
    return _remembering(before + token + after, masked.originals, mask_index, (), 1)


def carry_originals(before: MaskedText, text: str) -> MaskedText:
    """Keeps what masks hide when the text was edited by hand.

    A mask keeps its word where the words around it stayed; a mask typed over a
    word remembers that word. Nothing is kept where fewer than half of the words of
    the shorter text stayed: then it is another text, though it may have a mask and a
    full stop as well. Nor beyond `MOST_WORDS_COMPARED` words.
    """
    after = remember_masks(text)
    if after.text == before.text:
        return before
    old = split_words(before.text, MOST_WORDS_COMPARED + 1)
    new = split_words(after.text, MOST_WORDS_COMPARED + 1)
    if not after.originals or max(len(old), len(new)) > MOST_WORDS_COMPARED:
        return after
    hidden = iter(before.originals)
    old_values = [next(hidden) if word.is_mask else word.text for word in old]
    originals = {index: "" for index, word in enumerate(new) if word.is_mask}
    same = tuple(_same_places(old, new))
    stayed = _num_read([old[old_index] for old_index, _ in same])
    if 2 * stayed < min(_num_read(old), _num_read(new)):
        return after
    for old_index, new_index in same:
        if new_index in originals:
            originals[new_index] = old_values[old_index]
    return MaskedText(after.text, tuple(originals.values()))


def _num_read(words: Sequence[Word]) -> int:
    """How many are words, not signs or masks."""
    return sum(word.text[0].isalnum() and not word.is_mask for word in words)


def _same_places(old: Sequence[Word], new: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Pairs of word indices: unchanged words, and words typed over by masks."""
    matcher = SequenceMatcher(
        None, [word.text for word in old], [word.text for word in new], autojunk=False
    )
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        is_typed_over = (
            kind == "replace"
            and old_end - old_start == new_end - new_start
            and all(word.is_mask for word in new[new_start:new_end])
        )
        if kind == "equal" or is_typed_over:
            yield from zip(
                range(old_start, old_end), range(new_start, new_end), strict=True
            )


def _remembering(
    text: str, originals: tuple[str, ...], index: int, new: tuple[str, ...], gone: int
) -> MaskedText:
    originals = (*originals[:index], *new, *originals[index + gone :])
    # A token can be a mask itself, or make one with the brackets around it.
    if len(_SPELLINGS.findall(text)) != len(originals):
        return remember_masks(text)
    return MaskedText(text, originals)


def _end_of_part(text: str, start: int, stop: int) -> int:
    """Index past the word, the sign or the gap that begins at `start`."""
    kind = _kind(text[start])
    end = start + 1
    if kind == "gap":
        return end
    if kind == "letter":
        while end < stop and _continues_word(text, end, stop):
            end += 1
        return end
    if ord(text[start]) in _FLAG_LETTERS and end < stop:
        end += ord(text[end]) in _FLAG_LETTERS
    while end < stop and _continues_sign(text, end):
        end += 1
    return end


def _continues_word(text: str, index: int, stop: int) -> bool:
    character = text[index]
    if _kind(character) == "letter" or character in _INSIDE_WORD:
        return True
    return (
        character in _APOSTROPHES
        and index + 1 < stop
        and _kind(text[index - 1]) == "letter"
        and _kind(text[index + 1]) == "letter"
    )


def _continues_sign(text: str, index: int) -> bool:
    """Whether a mark, a skin tone, a flag tag or a joined emoji goes on."""
    character = text[index]
    if text[index - 1] == _ZERO_WIDTH_JOINER:
        return _kind(character) != "gap"
    return (
        character == _ZERO_WIDTH_JOINER
        or unicodedata.category(character).startswith("M")
        or ord(character) in _SKIN_TONES
        or ord(character) in _FLAG_TAGS
    )


@lru_cache(maxsize=4096)
def _kind(character: str) -> str:
    """One of "letter" (also digits and marks), "sign", "gap"."""
    if is_cjk(character):  # a token of its own
        return "sign"
    category = unicodedata.category(character)
    if category[0] in "LMN":
        return "letter"
    # Format characters outside a word, such as direction marks, show nothing.
    if category in {"Cc", "Cf", "Zs", "Zl", "Zp"}:
        return "gap"
    return "sign"
