"""Choice of one piece of a vocabulary: a word that experiments ask about."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.shared.choices import choose_linked, follow_default
from pages.shared.language import t


def choose_piece(
    label: str,
    words: tuple[str, ...],
    likely: Sequence[int],
    first: int = 0,
    /,
    *,
    key: str,
    help: str,
    unknown: str,
) -> int:
    """Draws the choice: the likeliest pieces, or any that is typed.

    While it is left alone, it follows what is likeliest; what was chosen stays, and
    is part of the address.

    Returns its id. `likely` are ids, best first, of which the one with number `first`
    is chosen to begin with; `unknown` is the key of the sentence about a `word` that
    the vocabulary lacks, and what is taken `instead`.
    """
    start_id = likely[min(first, len(likely) - 1)]
    start = words[start_id]
    held = follow_default(key, start)
    chosen = choose_linked(
        st.selectbox,
        label,
        list(dict.fromkeys([held, *(words[index] for index in likely)])),
        start,
        key=key,
        accept_new_options=True,
        help=help,
    )
    found = id_of(words, chosen.strip())
    if found is not None:
        return found
    st.warning(t(unknown, word=chosen, instead=start), icon=":material/question_mark:")
    return start_id


def id_of(words: tuple[str, ...], word: str) -> int | None:
    """The id of a word as it was typed, or of the same in small letters."""
    for spelling in (word, word.lower()):
        if spelling in words:
            return words.index(spelling)
    return None
