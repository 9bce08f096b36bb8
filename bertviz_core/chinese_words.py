"""Chinese words in a text of characters: how many characters belong together.

Written Chinese has no spaces, so the reader says how long a word is, or writes the
spaces. Pure text, no vocabulary.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from bertviz_core.analysis.wordlists import is_cjk
from bertviz_core.errors import TextError
from bertviz_core.mask_text import Word
from bertviz_core.trace import TokenizedText

_MOST_QUOTED = 12  # characters


def is_character(text: str) -> bool:
    """Whether a text is one Chinese character, by BERT's own definition."""
    return len(text) == 1 and is_cjk(text)


def characters_along(
    words: Sequence[Word], word_index: int, num_characters: int
) -> list[int]:
    """The Chinese word that begins with a character, or its mask, by its length.

    Indices of neighbours alike: characters, or masks, with nothing between. Fewer where
    the text goes on with something else.
    """
    first = words[word_index]
    found = [word_index]
    for index in range(word_index + 1, len(words)):
        word, before = words[index], words[index - 1]
        is_alike = word.is_mask if first.is_mask else is_character(word.text)
        is_full = len(found) >= num_characters
        if is_full or not is_alike or word.start != before.end:
            break
        found.append(index)
    return found if first.is_mask or is_character(first.text) else [word_index]


def neighbouring_masks(tokenized: TokenizedText, mask_index: int) -> range:
    """The masks that stand side by side with one, itself among them."""
    starts, ends = tokenized.offsets[tokenized.mask_positions].T
    apart = np.flatnonzero(starts[1:] != ends[:-1]) + 1  # first mask of each group
    first = int(apart[apart <= mask_index].max(initial=0))
    end = int(apart[apart > mask_index].min(initial=len(starts)))
    return range(first, end)


def as_one_mask(tokenized: TokenizedText, mask_indices: range, max_tokens: int) -> str:
    """The text with masks of `neighbouring_masks` as a single one.

    Its end is left out where it would have more than so many tokens.
    """
    offsets = tokenized.offsets
    places = tokenized.mask_positions[[mask_indices[0], mask_indices[-1]]]
    end_of_first, end_of_last = offsets[places, 1].tolist()
    beyond = offsets[max_tokens + len(mask_indices) - 2 : -1, 0]
    end = int(beyond.min(initial=offsets[:, 1].max()))
    return tokenized.text[:end_of_first] + tokenized.text[end_of_last:end]


def with_words(
    tokenized: TokenizedText, words: str, pair_words: str = ""
) -> TokenizedText:
    """A text whose words are those that a reader has put spaces between.

    The same tokens with other `word_ids`. A token that reaches over a space belongs to
    the word that it begins in. "" leaves the words of the tokenizer.

    Raises:
        TextError: more than spaces differs.
    """
    word_ids = tokenized.word_ids.copy()
    for segment, text, spaced in (
        (0, tokenized.text, words),
        (1, tokenized.pair or "", pair_words),
    ):
        if not spaced.strip():
            continue
        by_character = _words_of_characters(text, spaced)
        own = (tokenized.token_type_ids == segment) & ~tokenized.is_added
        word_ids[own] = by_character[tokenized.offsets[own, 0]]
        # A typed [SEP] is a word of its own, also where no space stands beside it.
        alone = np.flatnonzero(own & tokenized.is_special)
        word_ids[alone] = len(by_character) + alone
    return dataclasses.replace(tokenized, word_ids=word_ids)


def _words_of_characters(text: str, spaced: str) -> np.ndarray:
    """Which word each character of a text belongs to, int32 `[characters]`."""
    parts = spaced.split()
    typed = "".join(parts)
    places = [place for place, sign in enumerate(text) if not sign.isspace()]
    own = "".join(text[place] for place in places)
    if typed != own:
        pairs = enumerate(zip(typed, own, strict=False))
        shorter = min(len(typed), len(own))
        at = next((index for index, (a, b) in pairs if a != b), shorter)
        raise TextError(
            "The words must be the original text with spaces between them. Received: "
            "{received}, where the text has {expected}. Type the text again and add "
            "only spaces.",
            received=_beginning(typed[at:]),
            expected=_beginning(own[at:]),
        )
    words = np.zeros(len(text), "int32")
    words[places] = np.repeat(range(len(parts)), [len(part) for part in parts])
    return words


def _beginning(text: str) -> str:
    """Of what may be long, in quotation marks; “” is nothing."""
    return f"“{text[:_MOST_QUOTED]}”"
