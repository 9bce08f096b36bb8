"""The matrix that the reader asked for, as filters leave it, and words as typed."""

from dataclasses import replace

import numpy as np
import streamlit as st

from bertviz_core.analysis.shown_attention import (
    AttentionOptions,
    ShownAttention,
    show_attention,
)
from bertviz_core.analysis.wordlists import is_cjk
from bertviz_core.chinese_words import with_words
from bertviz_core.engine.questions import Question
from bertviz_core.errors import TextError
from bertviz_core.experiments.attention_matrix import MOST_FLOWING, attention_matrix
from bertviz_core.explorer import Explorer
from bertviz_core.figures.attention_view import Measure
from bertviz_core.mask_text import normalise_masks
from bertviz_core.trace import TokenizedText
from pages.attention.canvas import METHODS, View, is_a_length
from pages.shared.answers import Wording, answer, ask, ask_job
from pages.shared.choices import type_linked
from pages.shared.errors import shown_to_user
from pages.shared.language import listed, plain, t
from pages.shared.own_text import MOST_CHARACTERS, Reading

# What takes a second or two on two cores; more is a job. For value zeroing the square
# of tokens times hidden size, for flow their fourth power times layers.
_MOST_AT_ONCE = {"value_zeroing": 1e10, "flow": 1.3e7}


def shown_attention(place: str, read: Reading, view: View) -> ShownAttention | None:
    """What the reader asked for, with the filters.

    `None` while long work is on its way, which is drawn in its `place`, unique on the
    page.
    """
    method, tokenized, count = view.method, read.tokenized, read.tokenized.num_tokens
    question = matrix_question(read, view)
    config = ask(Explorer.info)(read.model).config
    work = {
        "value_zeroing": (count * config.hidden_size) ** 2,
        "flow": count**4 * (view.layer + 1) * (count <= MOST_FLOWING),
    }
    if work.get(method, 0) <= _MOST_AT_ONCE.get(method, 0):
        return show_attention(answer(question), tokenized, view.options)
    found = ask_job(
        f"attention_{method}_{place}",
        t(f"attention.long_{method}_start", count=count),
        question,
        wording=Wording(
            lambda: st.info(t(f"attention.long_{method}"), icon=":material/timer:")
        ),
    )
    return None if found is None else show_attention(found, tokenized, view.options)


def matrix_question(read: Reading, view: View) -> Question[np.ndarray]:
    """Asks for the matrix that filters then change."""
    # Maxima or flows of pieces, added up, would be a number that nothing gives.
    is_of_words = view.method in ("max", "flow")
    words = words_to_merge(read.tokenized, view.options) if is_of_words else None
    return ask(attention_matrix).about(
        *read.asked, view.method, view.layer, view.head, view.heads, words
    )


def words_to_merge(
    tokenized: TokenizedText, options: AttentionOptions
) -> tuple[int, ...] | None:
    """Which token is of which word, where that matters: as a key, it is long."""
    return tuple(tokenized.word_ids.tolist()) if options.merge_words else None


def measure_of(view: View, values: np.ndarray) -> Measure:
    """Names what a picture of float `[S, S]` shows.

    Its scale ends at 1, for lengths and for what goes beyond 1 at the largest value.
    """
    is_length = is_a_length(view.method, view.options.renormalise)
    has_layer, has_head = METHODS[view.method]
    largest = float(values.max(initial=0))
    name = plain(f"attention_view.shown_{view.method}")
    if not has_head:  # else the numbers are filled in where it is shown
        heads = listed(f"{layer + 1}·{head + 1}" for layer, head in view.heads)
        name = name.format(layer=view.layer + 1, heads=heads)
    units = {"norms": "length_share", "value_zeroing": "change_share"}
    unit = "length" if is_length else units.get(view.method, "weight")
    return Measure(
        name=name,
        unit=plain(f"attention_view.unit_{unit}"),
        filters=_filters(view),
        top=(largest or 1.0) if is_length or largest > 1 else 1.0,
        has_layer=has_layer,
        has_head=has_head,
    )


def _filters(view: View) -> tuple[str, ...]:
    options = view.options
    words = "words_lengths" if view.method == "norms" else "words"
    cuts = {
        "special": options.hide_special,
        "from_first": options.from_segment == 0,
        "from_second": options.from_segment == 1,
        "to_first": options.to_segment == 0,
        "to_second": options.to_segment == 1,
    }
    is_cut = any(cuts.values()) and not options.renormalise
    chosen = {
        words: options.merge_words,  # which lose no weight
        **cuts,
        "renormalised": options.renormalise,
        "not_renormalised": is_cut,
        "least": options.least_weight > 0,
        "least_share": options.least_share > 0,
        "mass": options.mass < 1,
    }
    places = {
        "least": options.least_weight,
        "share": options.least_share,
        "mass": options.mass,
    }
    return tuple(
        plain(f"attention_view.filter_{name}", **places)
        for name, is_chosen in chosen.items()
        if is_chosen
    )


_WORDS = "attention_words", "attention_pair_words"


def own_words(read: Reading) -> Reading:
    """Draws a box for the words of each text that has Chinese characters.

    Gives the same with the words that were typed; what does not fit the text is said,
    and leaves it as it was.
    """
    tokenized = read.tokenized
    texts = dict(zip(_WORDS, (tokenized.text, tokenized.pair or ""), strict=True))
    asked = [key for key, text in texts.items() if is_cjk(text)]
    if not asked:
        return read
    typed = dict.fromkeys(texts, "")
    for box, key in zip(st.columns(len(asked)), asked, strict=True):
        words = type_linked(
            box.text_input,
            f"attention.{key.removeprefix('attention_')}",
            "",
            key=key,
            max_chars=2 * MOST_CHARACTERS,
            placeholder=t("attention.words_example"),
            help=t("attention.words_help"),
        )
        typed[key] = normalise_masks(words)[0]
    with shown_to_user(stop=False):
        return replace(read, tokenized=with_words(tokenized, *typed.values()))
    return read


def words_of_other(other: Reading, is_same: bool) -> Reading:
    """The words of a text that is compared with one whose words were typed.

    It is the same text in another model, or else another text: that shows its words by
    its own spaces, which the model does not see.
    """
    typed = [normalise_masks(st.session_state.get(key) or "")[0] for key in _WORDS]
    if not any(typed):
        return other
    read = other.tokenized
    if not is_same:
        texts = (read.text.strip(), (read.pair or "").strip())
        typed = [text if is_cjk(text) and " " in text else "" for text in texts]
    try:
        return replace(other, tokenized=with_words(read, *typed))
    except TextError:  # said where they were typed
        return other
