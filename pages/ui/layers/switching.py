"""A neuron switched off: what becomes of the model's guess."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from bertviz_core.analysis.sampling import rank_order
from bertviz_core.experiments.cause_results import SwitchedPrediction, Target
from bertviz_core.figures.masked_word import percent
from bertviz_core.trace import TokenizedText
from pages.ui.answers import describe_model, vocabulary
from pages.ui.attention.texts import Texts
from pages.ui.head import model_at_work
from pages.ui.language import t
from pages.ui.layers.answers import part_numbers, switch_neurons_off
from pages.ui.markdown import Markdown

_WORD = "layers_word"
_CLASS = "layers_class"
_NUM_OFFERED = 50  # likeliest words in the list; any other may be typed
_SMALL_POINTS = 1.0  # percentage points


@dataclass(frozen=True)
class _Watched:
    target: Target
    name: str


def switch_off_here(
    model: str,
    texts: Texts,
    tokenized: TokenizedText,
    token: int,
    neuron: tuple[int, int],
) -> None:
    """Draws the choice of an answer, and the answer with and without the neuron.

    Args:
        model: its id.
        texts: what it reads.
        tokenized: the same, in tokens.
        token: index of the token whose word is guessed.
        neuron: (layer, neuron), from 0.
    """
    st.subheader(t("layers.off_title"), anchor=False)
    name = f"{token + 1} {tokenized.tokens[token]}"
    layer, number = neuron[0] + 1, neuron[1] + 1
    st.markdown(t("layers.off_intro", layer=layer, number=number, token=name))
    watched = _choose_answer(model, texts, token)
    if watched is None:
        st.info(t("layers.off_no_head", model=model), icon=":material/block:")
        return
    with model_at_work():
        result = switch_neurons_off(model, texts, watched.target, (neuron,))
    _show(result, watched)


def _show(result: SwitchedPrediction, watched: _Watched) -> None:
    before, after = result.before, result.after
    boxes = st.columns(4)
    boxes[0].metric(t("layers.off_before"), percent(before.probability))
    boxes[1].metric(t("layers.off_after"), percent(after.probability))
    points = 100 * result.delta_probability
    boxes[2].metric(
        t("layers.off_change"),
        # "z": what rounds to zero has no sign.
        t("layers.off_points", points=Markdown(f"{points:+z.3f}")),
        help=t("layers.off_change_help"),
    )
    logit = f"{result.delta_logit:+z.4f}"
    boxes[3].metric(
        t("layers.off_logit"),
        logit,
        t("layers.off_rank", before=before.rank, after=after.rank),
        delta_color="off",
        delta_arrow="off",
        help=t("layers.off_logit_help"),
    )
    is_small = abs(points) < _SMALL_POINTS
    meaning = "layers.off_small" if is_small else "layers.off_large"
    st.caption(t(meaning, word=watched.name))


def _choose_answer(model: str, texts: Texts, token: int) -> _Watched | None:
    info = describe_model(model)
    if "mlm" in info.heads:
        return _choose_word(model, texts, token)
    if "classifier" not in info.heads or not info.labels:
        return None
    index = st.selectbox(
        t("layers.off_class"),
        range(len(info.labels)),
        format_func=info.labels.__getitem__,
        key=_CLASS,
    )
    return _Watched(Target("classifier", index or 0), info.labels[index or 0])


def _choose_word(model: str, texts: Texts, token: int) -> _Watched:
    words = vocabulary(model)
    logits = part_numbers(model, texts, "heads", token).of("mlm_logits")
    if logits is None:
        raise ValueError("A model with a masked-word head has its numbers.")
    ids = [int(i) for i in rank_order(logits[: len(words)])[:_NUM_OFFERED]]
    likely = [words[index] for index in ids]
    typed = st.session_state.get(_WORD)
    word = st.selectbox(
        t("layers.off_word"),
        list(dict.fromkeys([*likely, *filter(None, [typed])])),
        key=_WORD,
        accept_new_options=True,
        help=t("layers.off_word_help"),
    )
    for spelling in (word or likely[0], (word or likely[0]).lower()):
        if spelling in words:
            return _Watched(Target("mlm", words.index(spelling), token), spelling)
    st.warning(
        t("layers.off_unknown", word=word or "", instead=likely[0]),
        icon=":material/question_mark:",
    )
    return _Watched(Target("mlm", ids[0], token), likely[0])
