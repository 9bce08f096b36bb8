"""Word pieces put together again, to be read."""

import unicodedata
from collections.abc import Sequence

# Signs that hang on the word before them, or on the one after.
_NO_SPACE_BEFORE = frozenset(".,;:!?)]}%…'’”、。，；：！？）》」』】")
_NO_SPACE_AFTER = frozenset("([{'’“（《「『【")
# Scripts written without spaces: Chinese characters, kana, full-width signs.
_WIDE = frozenset("WF")


def join_pieces(tokens: Sequence[str], leave_out: Sequence[str] = ()) -> str:
    """A text that a reader would write for these pieces, without some, such as "[CLS]".

    A reading aid, not the way back: spaces and capitals of the original are gone.
    """
    text = ""
    for token in tokens:
        if token in leave_out:
            continue
        if token.startswith("##") and len(token) > len("##"):
            text += token.removeprefix("##")
        elif _is_joined(text, token):
            text += token
        else:
            text += f" {token}"
    return text


def _is_joined(text: str, token: str) -> bool:
    if not text or not token:
        return True
    before, after = text[-1], token[0]
    if token in _NO_SPACE_BEFORE or before in _NO_SPACE_AFTER:
        return True
    return {unicodedata.east_asian_width(c) for c in (before, after)} <= _WIDE
