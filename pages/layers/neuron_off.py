"""A neuron switched off: what becomes of the model's guess."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from bertviz_core.analysis.sampling import rank_order
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.cause_results import SwitchedPrediction, Switches, Target
from bertviz_core.experiments.switching import switch_off
from bertviz_core.experiments.token_numbers import part_numbers
from bertviz_core.explorer import Explorer
from bertviz_core.figures.masked_word import percent
from bertviz_core.snippets import layers
from bertviz_core.trace import Texts
from pages.shared.answers import ask
from pages.shared.choices import choose_linked
from pages.shared.code import show_code
from pages.shared.language import plain, t
from pages.shared.markdown import Markdown
from pages.shared.pieces import choose_piece
from pages.shared.watched_answer import Watched, show_numbers

_WORD = "layers_word"
_CLASS = "layers_class"
_NEXT = "layers_next_sentence"
_NUM_OFFERED = 50  # likeliest words in the list; any other may be typed
_SMALL_POINTS = 1.0  # percentage points


def switch_off_here(
    model: str, texts: Texts, name: str, token: int, neuron: tuple[int, int]
) -> Watched | None:
    """Draws the choice of an answer, and the answer with and without the neuron.

    `token` is that whose word, `name`, is guessed; `neuron` a layer and a neuron, from
    0. `None`, with a sentence, where no answer is watched.
    """
    st.subheader(t("layers.off_title"), anchor=False)
    layer, number = neuron[0] + 1, neuron[1] + 1
    is_of_token = "mlm" in ask(Explorer.info)(model).heads
    intro = "layers.off_intro" if is_of_token else "layers.off_intro_whole"
    st.markdown(t(intro, layer=layer, number=number, token=name))
    watched = _choose_answer(model, texts, token)
    if watched is None:
        st.info(t("layers.off_no_head", model=model), icon=":material/block:")
        return None
    result = ask(switch_off)(
        model,
        texts.text,
        watched.target,
        Switches(neurons=(neuron,)),
        pair=texts.pair,
        cut=True,
    )
    _show(result, watched)
    show_code(
        layers.SWITCH_OFF,
        name="layers_off",
        model=model,
        text=texts.text,
        pair=texts.pair,
        layer=neuron[0],
        neuron=neuron[1],
        **watched.literals,
    )
    return watched


def _show(result: SwitchedPrediction, watched: Watched) -> None:
    before, after = result.before, result.after
    if watched.is_number:
        names = ("before", "after", "change")
        show_numbers(before, after, [t(f"layers.off_{name}_number") for name in names])
        st.caption(t("attention.number_moved", change=after.value - before.value))
        return
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


def _choose_answer(model: str, texts: Texts, token: int) -> Watched | None:
    info = ask(Explorer.info)(model)
    if "mlm" in info.heads:
        return _choose_word(model, texts, token)
    if "classifier" in info.heads and info.labels:
        if len(info.labels) == 1:
            return Watched(Target("classifier", 0), info.labels[0], is_number=True)
        return _choose_one("classifier", "class", _CLASS, info.labels)
    if "nsp" not in info.heads:
        return None
    answers = (plain("layers.is_next"), plain("layers.is_random"))
    watched = _choose_one("nsp", "next", _NEXT, answers)
    if not texts.pair:
        st.caption(t("layers.off_next_alone"))
    return watched


def _choose_one(head: str, label: str, key: str, names: Sequence[str]) -> Watched:
    number = choose_linked(
        st.selectbox,
        t(f"layers.off_{label}"),
        [str(index + 1) for index in range(len(names))],
        key=key,
        format_func=lambda shown: names[int(shown) - 1],
    )
    index = int(number) - 1
    return Watched(Target(head, index), names[index])


def _choose_word(model: str, texts: Texts, token: int) -> Watched:
    words = ask(vocabulary)(model)
    logits = ask(part_numbers)(model, texts, "heads", token).of("mlm_logits")
    if logits is None:
        raise ValueError("A model with a masked-word head has its numbers.")
    index = choose_piece(
        t("layers.off_word"),
        words,
        rank_order(logits[: len(words)])[:_NUM_OFFERED].tolist(),
        key=_WORD,
        help=t("layers.off_word_help"),
        unknown="layers.off_unknown",
    )
    return Watched(Target("mlm", index, token), words[index])
