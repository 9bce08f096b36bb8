"""The neurons of all layers that matter most for the answer that is watched."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from bertviz_core.experiments.neuron_results import NeuronEffects
from bertviz_core.figures.effect_bars import effect_bars_figure
from bertviz_core.figures.masked_word import percent
from bertviz_core.snippets import layers as snippets
from pages.ui.answers import describe_model, tokenize
from pages.ui.code import show_code
from pages.ui.export import show_figure
from pages.ui.jobs import ask_job
from pages.ui.language import plain, t
from pages.ui.layers.switching import Watched
from pages.ui.markdown import Markdown
from pages.ui.text_pair import Texts

_OPEN = "layers_effect_open"
_NUM_NEURONS = 10
# Multiplications of one pass; as there are about fourteen, a click may take this long.
_SHORT_WORK = 2e8

Opener = Callable[[int, int], None]


def rank_all_neurons(
    model: str, texts: Texts, watched: Watched, open_neuron: Opener
) -> None:
    """Draws the best neurons of all layers; each is a way to its own view.

    Args:
        model: its id.
        texts: what it reads.
        watched: the answer.
        open_neuron: called with a layer and a neuron, from 0, before the page runs.
    """
    st.subheader(t("layers.effects_title", word=watched.name), anchor=False)
    config = describe_model(model).config
    layers, neurons, hidden = (
        int(str(config[name]))
        for name in ("num_hidden_layers", "intermediate_size", "hidden_size")
    )
    count = min(_NUM_NEURONS, layers * neurons)
    st.markdown(t("layers.effects_intro", total=layers * neurons, count=count))
    tokens = tokenize(model, texts.text, texts.pair, cut=True).num_tokens
    found: NeuronEffects | None = ask_job(
        "layers_effects",
        t("layers.effects_start"),
        "rank_neurons",
        at_once=layers * 12 * hidden**2 * tokens < _SHORT_WORK,
        model=model,
        text=texts.text,
        pair=texts.pair,
        target=watched.target,
        num_neurons=count,
        cut=True,
    )
    if found is not None:
        _show(found, watched)
        _offer_neurons(found, open_neuron)
        show_code(
            snippets.EFFECTS,
            name="layers_effects",
            model=model,
            text=texts.text,
            pair=texts.pair,
            head=watched.target.head,
            index=watched.target.index,
            position=watched.target.position,
            num_neurons=count,
        )


def _show(found: NeuronEffects, watched: Watched) -> None:
    measured = 100 * found.delta_probabilities
    estimated = 100 * found.estimated_deltas
    names = _names(found)
    show_figure(
        effect_bars_figure(
            names,
            measured,
            estimated,
            title=plain("layers.effect_points"),
            measured_name=plain("layers.effect_measured"),
            estimated_name=plain("layers.effect_estimated"),
        ),
        name="layers_effects",
        description=t(
            "layers.effects_described",
            word=watched.name,
            before=Markdown(percent(found.before.probability)),
            neuron=names[0],
            points=Markdown(f"{measured[0]:+z.3f}"),
            helped=int((measured < 0).sum()),
            count=len(names),
        ),
        columns={
            plain("layers.layer"): (found.neurons[:, 0] + 1).tolist(),
            plain("layers.neuron"): (found.neurons[:, 1] + 1).tolist(),
            plain("layers.effect_measured"): found.delta_probabilities.tolist(),
            plain("layers.effect_estimated"): found.estimated_deltas.tolist(),
            plain("layers.off_after"): found.probabilities.tolist(),
            plain("layers.off_logit"): found.delta_logits.tolist(),
        },
    )
    with st.expander(t("layers.effects_table"), icon=":material/table_rows:"):
        st.markdown(_table(found))


def _table(found: NeuronEffects) -> str:
    titles = ("neuron", "effect_measured", "effect_estimated", "off_after", "off_logit")
    rows = [[t(f"layers.{title}") for title in titles], ["---:"] * len(titles)]
    for index, name in enumerate(_names(found)):
        numbers = (
            f"{100 * found.delta_probabilities[index]:+z.4f}",
            f"{100 * found.estimated_deltas[index]:+z.4f}",
            percent(found.probabilities[index]),
            f"{found.delta_logits[index]:+z.4f}",
        )
        rows.append([name, *numbers])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _names(found: NeuronEffects) -> list[str]:
    return [
        plain("layers.neuron_place", layer=layer + 1, number=neuron + 1)
        for layer, neuron in found.neurons.tolist()
    ]


def _offer_neurons(found: NeuronEffects, open_neuron: Opener) -> None:
    places = dict(zip(_names(found), found.neurons.tolist(), strict=True))
    st.pills(
        t("layers.effects_open"),
        list(places),
        key=_OPEN,
        help=t("layers.effects_open_help"),
        on_change=_take,
        args=(places, open_neuron),
    )


def _take(places: dict[str, list[int]], open_neuron: Opener) -> None:
    chosen = st.session_state[_OPEN]
    if chosen is not None:
        open_neuron(*places[chosen])
    st.session_state[_OPEN] = None
