"""The neurons of all layers that matter most for the answer that is watched."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from bertviz_core.experiments.neuron_effects import rank_neurons
from bertviz_core.experiments.neuron_results import NeuronEffects
from bertviz_core.explorer import Explorer
from bertviz_core.figures.effect_bars import effect_bars_figure
from bertviz_core.figures.masked_word import percent
from bertviz_core.snippets import layers as snippets
from bertviz_core.trace import Texts
from pages.layers.wording import neuron_names
from pages.shared.answers import ask
from pages.shared.code import Program, program
from pages.shared.export import show_figure
from pages.shared.jobs import ask_job
from pages.shared.language import plain, t
from pages.shared.markdown import Markdown
from pages.shared.watched_answer import Watched

_OPEN = "layers_effect_open"
_NUM_NEURONS = 10
# Multiplications of one pass; as there are about fourteen, a click may take this long.
_SHORT_WORK = 2e8

Opener = Callable[[int, int], None]


def rank_all_neurons(
    model: str, texts: Texts, num_tokens: int, watched: Watched, open_neuron: Opener
) -> None:
    """Draws the best neurons of all layers; each is a way to its own view.

    `open_neuron` is called with a layer and a neuron, from 0, before the page runs.
    """
    st.subheader(t("layers.effects_title", word=watched.name), anchor=False)
    config = ask(Explorer.info)(model).config
    layers, neurons = config.num_hidden_layers, config.intermediate_size
    count = min(_NUM_NEURONS, layers * neurons)
    st.markdown(t("layers.effects_intro", total=layers * neurons, count=count))
    found = ask_job(
        "layers_effects",
        t("layers.effects_start"),
        ask(rank_neurons).about(
            model,
            texts.text,
            watched.target,
            pair=texts.pair,
            num_neurons=count,
            cut=True,
        ),
        at_once=layers * 12 * config.hidden_size**2 * num_tokens < _SHORT_WORK,
    )
    if found is None:
        return
    of = {"model": model, "text": texts.text, "pair": texts.pair, **watched.literals}
    _show(found, watched, program(snippets.EFFECTS, **of, num_neurons=count))
    places = dict(zip(neuron_names(found.neurons), found.neurons.tolist(), strict=True))
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


def _show(found: NeuronEffects, watched: Watched, code: Program) -> None:
    unit = _unit(found)
    measured, estimated = unit * found.deltas, unit * found.estimated_deltas
    names = neuron_names(found.neurons)
    before = found.before.value
    shown = f"{before:.4g}" if watched.is_number else percent(before)
    change = f"{measured[0]:+z.4g}" if watched.is_number else f"{measured[0]:+z.3f}"
    show_figure(
        effect_bars_figure(
            names,
            measured,
            estimated,
            title=_title("effect_points", found),
            measured_name=_title("effect_measured", found),
            estimated_name=_title("effect_estimated", found),
        ),
        name="layers_effects",
        description=t(
            f"layers.{_key('effects_described', found)}",
            word=watched.name,
            before=Markdown(shown),
            neuron=names[0],
            points=Markdown(change),
            helped=int((measured < 0).sum()),
            count=len(names),
        ),
        columns=_columns(found),
        code=code,
    )
    title = t(f"layers.{_key('effects_table', found)}")
    with st.expander(title, icon=":material/table_rows:"):
        st.markdown(_table(found))


def _columns(found: NeuronEffects) -> dict[str, list[float]]:
    columns = {
        plain("layers.layer"): found.neurons[:, 0] + 1,
        plain("layers.neuron"): found.neurons[:, 1] + 1,
        _title("effect_measured", found): found.deltas,
        _title("effect_estimated", found): found.estimated_deltas,
        _title("off_after", found): found.values,
    }
    if not found.before.is_number:  # else it is the first of them
        columns[plain("layers.off_logit")] = found.delta_logits
    return {name: column.tolist() for name, column in columns.items()}


def _table(found: NeuronEffects) -> str:
    unit, is_number = _unit(found), found.before.is_number
    columns = ["effect_measured", "effect_estimated", "off_after"]
    titles = [t("layers.neuron"), *(_title(name, found) for name in columns)]
    titles += [] if is_number else [t("layers.off_logit")]
    rows = [titles, ["---:"] * len(titles)]
    for index, name in enumerate(neuron_names(found.neurons)):
        after = float(found.values[index])
        numbers = [
            f"{unit * found.deltas[index]:+z.4f}",
            f"{unit * found.estimated_deltas[index]:+z.4f}",
            f"{after:.4g}" if is_number else percent(after),
        ]
        numbers += [] if is_number else [f"{found.delta_logits[index]:+z.4f}"]
        rows.append([name, *numbers])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _unit(found: NeuronEffects) -> float:
    """Percentage points for probabilities; a number stays in its own unit."""
    return 1.0 if found.before.is_number else 100.0


def _key(name: str, found: NeuronEffects) -> str:
    return f"{name}_number" if found.before.is_number else name


def _title(name: str, found: NeuronEffects) -> str:
    return plain(f"layers.{_key(name, found)}")
