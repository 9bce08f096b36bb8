"""Feed-forward neurons: the strongest at a token, one switched off, groups of them."""

import functools
from collections.abc import Callable, Hashable

import numpy as np
import streamlit as st

from bertviz_core.experiments.cause_results import Switches
from bertviz_core.experiments.neuron_effects import NeuronEffects, rank_neurons
from bertviz_core.experiments.neuron_factors import neuron_factors
from bertviz_core.experiments.neurons import (
    neuron_activations,
    strongest_neurons,
    words_of_neuron,
    words_of_neuron_here,
)
from bertviz_core.experiments.step_results import NeuronFactors, StrongNeurons
from bertviz_core.experiments.switching import switch_off
from bertviz_core.explorer import Explorer
from bertviz_core.figures.bars import effect_bars_figure, named_bars_figure
from bertviz_core.figures.labels import with_minus
from bertviz_core.figures.layer_strip import strip_figure
from bertviz_core.figures.masked_word import percent
from bertviz_core.figures.token_grid import token_grid_figure
from bertviz_core.snippets import layers as snippets
from bertviz_core.trace import Texts
from pages.layers.wording import neuron_names, numbered
from pages.shared.answers import ask, ask_job
from pages.shared.choices import (
    choose_linked,
    choose_named,
    choose_number,
    whole_number,
)
from pages.shared.export import show_figure, show_map
from pages.shared.language import Markdown, plain, t
from pages.shared.own_text import Reading
from pages.shared.panel import Program, panel, program, show_numbers, taking
from pages.shared.watched_answer import Watched, choose_target, show_before_and_after

_OPEN = "layers_effect_open"
_NUM_NEURONS = 10
# Multiplications of one pass; as there are about fourteen, a click may take this long.
_SHORT_WORK = 2e8

Opener = Callable[[int, int], None]


def rank_all_neurons(read: Reading, watched: Watched, open_neuron: Opener) -> None:
    """Draws the best neurons of all layers; each is a way to its own view.

    `open_neuron` is called with a layer and a neuron, from 0, before the page runs.
    """
    model, texts, num_tokens = *read.asked, read.tokenized.num_tokens
    st.subheader(t("layers.effects_title", word=watched.name), anchor=False)
    config = ask(Explorer.info)(model).config
    layers, neurons = config.num_hidden_layers, config.intermediate_size
    count = min(_NUM_NEURONS, layers * neurons)
    st.markdown(t("layers.effects_intro", total=layers * neurons, count=count))
    found = ask_job(
        "layers_effects",
        "layers.effects_start",
        ask(rank_neurons).about(
            model, texts.text, watched.target, pair=texts.pair, num_neurons=count
        ),
        at_once=layers * 12 * config.hidden_size**2 * num_tokens < _SHORT_WORK,
    )
    if found is None:
        return
    of = {**watched.literals, "num_neurons": count}
    _show_effects(found, watched, program(snippets.EFFECTS, model, texts, **of))
    places = dict(zip(neuron_names(found.neurons), found.neurons.tolist(), strict=True))
    st.pills(
        t("layers.effects_open"),
        list(places),
        key=_OPEN,
        help=t("layers.effects_open_help"),
        on_change=taking(_OPEN, lambda name: open_neuron(*places[name])),
    )


def _show_effects(found: NeuronEffects, watched: Watched, code: Program) -> None:
    # Percentage points for probabilities; a number stays in its own unit.
    unit = 1.0 if found.before.is_number else 100.0
    measured, estimated = unit * found.deltas, unit * found.estimated_deltas
    names = neuron_names(found.neurons)
    before = found.before.value
    shown = f"{before:.4g}" if watched.is_number else percent(before)
    change = f"{measured[0]:+z.4g}" if watched.is_number else f"{measured[0]:+z.3f}"
    columns = {
        "layers.layer": found.neurons[:, 0] + 1,
        "layers.neuron": found.neurons[:, 1] + 1,
        _title("effect_measured", found): found.deltas,
        _title("effect_estimated", found): found.estimated_deltas,
        _title("off_after", found): found.values,
    }
    if not found.before.is_number:  # else it is the first of them
        columns["layers.off_logit"] = found.delta_logits
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
            points=Markdown(with_minus(change)),
            helped=int((measured < 0).sum()),
            count=len(names),
        ),
        columns=columns,
        code=code,
    )


def _key(name: str, found: NeuronEffects) -> str:
    return f"{name}_number" if found.before.is_number else name


def _title(name: str, found: NeuronEffects) -> str:
    return plain(f"layers.{_key(name, found)}")


_SMALL_POINTS = 1.0  # percentage points


def switch_off_here(
    read: Reading, name: str, neuron: tuple[int, int]
) -> Watched | None:
    """Draws the choice of an answer, and the answer with and without the neuron.

    `name` is that of the token whose word may be watched; `neuron` a layer and a
    neuron, from 0. `None`, with a sentence, where no answer is watched.
    """
    model, texts = read.asked
    st.subheader(t("layers.off_title"), anchor=False)
    st.markdown(t("layers.off_intro", layer=neuron[0] + 1, number=neuron[1] + 1))
    places = {read.token: plain("layers.word_at", token=name)}
    watched = choose_target(model, texts, places, "layers")
    if watched is None:
        return None
    switches = Switches(neurons=(neuron,))
    result = ask(switch_off)(model, texts.text, watched.target, switches, texts.pair)
    where = {"layer": neuron[0], "neuron": neuron[1], **watched.literals}
    code = program(snippets.SWITCH_OFF, model, texts, **where)
    show_before_and_after(result, model, watched, "layers_off", code)
    if watched.is_number:
        st.caption(t("attention.number_moved", change=result.delta_logit))
    else:
        is_small = 100 * abs(result.delta_probability) < _SMALL_POINTS
        meaning = "layers.off_small" if is_small else "layers.off_large"
        st.caption(t(meaning, word=watched.name))
    return watched


LAYER = "layers_neuron_layer"
NEURON = "layers_neuron"
_OTHER = "layers_other_neuron"
_ASKED = "layers_neuron_asked"  # where the chosen neuron was the strongest
_NUM_STRONGEST = 10
_NUM_WORDS = 8


@panel
def explore_neurons(read: Reading) -> None:
    """Draws the strongest neurons, and all about one of them."""
    model, texts, token = *read.asked, read.token
    config = ask(Explorer.info)(model).config
    name = numbered(read.tokenized.tokens)[token]
    # The last layer first: what its neurons say comes nearest to words.
    left, right = st.columns(2)
    numbers = [str(number) for number in range(config.num_hidden_layers, 0, -1)]
    layer = int(choose_linked(left.selectbox, "layers.neuron_layer", numbers)) - 1
    orders, box = ("activation", "contribution"), right.selectbox
    order = choose_named("layers.neuron_order", orders, "order_by", widget=box)
    strong = ask(strongest_neurons)(model, texts, layer, token, _NUM_STRONGEST, order)
    _show_strongest(strong, name)
    # A neuron's number means another one elsewhere: the strongest is chosen again.
    asked = (model, texts, token, layer)
    if st.session_state.get(_ASKED, asked) != asked:
        st.session_state[NEURON] = str(strong.neurons[0] + 1)
    st.session_state[_ASKED] = asked
    neuron = _choose_neuron(strong, config.intermediate_size)
    _show_over_text(read, layer, neuron)
    _show_words(model, texts, strong, neuron, name)
    watched = switch_off_here(read, name, (layer, neuron))
    if watched is not None:
        where = (model, texts, token)
        rank_all_neurons(read, watched, functools.partial(_open, where))


def _open(where: tuple[Hashable, ...], layer: int, neuron: int) -> None:
    """Makes a neuron of any layer the one that is looked at. For callbacks."""
    st.session_state[LAYER] = str(layer + 1)
    st.session_state[NEURON] = str(neuron + 1)
    st.session_state[_ASKED] = (*where, layer)  # or the strongest is chosen anew


def _show_strongest(strong: StrongNeurons, token: str) -> None:
    names = [f"{index + 1}" for index in strong.neurons.tolist()]
    is_by_activation = strong.order == "activation"
    values = strong.activations if is_by_activation else strong.contributions
    places = {"token": token, "layer": strong.layer + 1, "neuron": names[0]}
    show_figure(
        named_bars_figure(
            [plain("layers.neuron_number", number=name) for name in names],
            values,
            title=plain(f"layers.axis_{strong.order}"),
        ),
        name="layers_strongest",
        description=t("layers.strongest_described", **places, value=float(values[0])),
        columns={
            "layers.neuron": names,
            "layers.axis_activation": strong.activations,
            "layers.axis_contribution": strong.contributions,
        },
    )


def _choose_neuron(strong: StrongNeurons, size: int) -> int:
    """One of the strongest, or any other by its number."""
    numbers = [str(index + 1) for index in strong.neurons.tolist()]
    for kept in (st.session_state.get(NEURON), st.query_params.get(NEURON)):
        if kept and kept not in numbers and 1 <= whole_number(kept, 0) <= size:
            numbers.append(kept)
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    row = {"required": True, "wrap": True}
    chosen = choose_linked(
        left.pills, "layers.choose_neuron", numbers, key=NEURON, **row
    )
    right.number_input(
        t("layers.other_neuron"),
        1,
        size,
        value=None,
        key=_OTHER,
        placeholder=t("layers.neuron_range", size=size),
        on_change=taking(
            _OTHER, lambda number: st.session_state.update({NEURON: str(number)})
        ),
    )
    return int(chosen) - 1


def _show_over_text(read: Reading, layer: int, neuron: int) -> None:
    both = ask(neuron_activations)(*read.asked, layer, neuron)
    inputs, activations = both
    names = numbered(read.tokenized.tokens)
    best = int(np.argmax(activations))
    rows = [plain("layers.before_activation"), plain("layers.after_activation")]
    title = t("layers.neuron_title", layer=layer + 1, number=neuron + 1)
    st.subheader(title, anchor=False)
    show_figure(
        strip_figure(
            both,
            rows,
            names,
            title=plain("layers.value"),
            row_title="",
            column_title="",
            is_signed=True,
        ),
        name="layers_neuron_tokens",
        description=t(
            "layers.neuron_tokens_described",
            token=names[best],
            value=float(activations[best]),
            count=int((activations > 0).sum()),
            total=len(names),
        ),
        columns={
            "layers.one_token": names,
            rows[0]: inputs.tolist(),
            rows[1]: activations.tolist(),
        },
    )


def _show_words(
    model: str, texts: Texts, strong: StrongNeurons, neuron: int, token: str
) -> None:
    """The words that a neuron speaks for, and those it speaks against."""
    has_head = "mlm" in ask(Explorer.info)(model).heads
    readings = ("head", "embedding") if has_head else ("embedding",)
    reading = choose_named("layers.reading", readings)
    st.caption(t(f"layers.reading_{reading}_explained", token=token))
    place = (strong.layer, neuron)
    if reading == "head":
        template = snippets.NEURONS
        found = ask(words_of_neuron_here)(
            model, texts, *place, strong.token, _NUM_WORDS
        )
    else:
        template = snippets.NEURONS_BY_WEIGHTS
        found = ask(words_of_neuron)(model, *place, _NUM_WORDS)
    code = program(
        template,
        model,
        texts,
        layer=strong.layer,
        token=strong.token,
        num_neurons=_NUM_STRONGEST,
        order=strong.order,
        neuron=neuron,
        num_words=_NUM_WORDS,
    )
    for box, side in zip(st.columns(2), ("promoted", "suppressed"), strict=True):
        words = getattr(found, f"{side}_tokens")
        changes = getattr(found, f"{side}_changes")
        with box:
            st.markdown(f"**{t(f'layers.{side}')}**")
            show_figure(
                named_bars_figure(words, changes, title=plain("layers.logit_change")),
                name=f"layers_{side}",
                description=t(
                    f"layers.{side}_described", word=words[0], value=float(changes[0])
                ),
                columns={"layers.word": list(words), "layers.logit_change": changes},
                code=code if side == "suppressed" else None,
            )


FACTOR = "layers_factor"
_BIGGEST_SEED = 2**31 - 1
_MOST_FACTORS = 12
_MOST_TOKENS = 64  # columns of the map that can be told apart
# Multiplications that take no longer than a click may: tokens * neurons * factors.
_SHORT_FACTORING = 2_000_000


@panel
def explore_factors(read: Reading) -> None:
    """Draws the settings, then each group over the tokens."""
    model, texts = read.asked
    config = ask(Explorer.info)(model).config
    num_layers = config.num_hidden_layers
    boxes = st.columns(3)
    count = choose_number(boxes[0].slider, "layers.num_factors", 1, _MOST_FACTORS, 4)
    names = {"all": plain("layers.all_layers")}
    for number in range(1, num_layers + 1):
        names[str(number)] = plain("layers.part_layer", number=number)
    layer = choose_linked(boxes[1].selectbox, "layers.factor_layer", names)
    seed = choose_number(boxes[2].number_input, "layers.seed", 0, _BIGGEST_SEED, 0)
    layers = None if layer == "all" else (int(layer) - 1,)
    neurons = config.intermediate_size * (len(layers) if layers else num_layers)
    found = ask_job(
        "layers_factors",
        "layers.factors_start",
        ask(neuron_factors).about(model, texts, count, seed, layers),
        at_once=read.tokenized.num_tokens * neurons * count < _SHORT_FACTORING,
    )
    if found is None:
        return
    show_numbers(
        {
            "layers.explained": f"{1 - found.error**2:.1%}",
            "layers.left_out": f"{found.negative_share**2:.1%}",
            "layers.iterations": str(found.num_iterations),
        },
        error=found.error,
        seed=found.seed,
    )
    _show_map(found)
    code = program(
        snippets.FACTORS, model, texts, num_factors=count, seed=seed, layers=layers
    )
    _show_factor(found, code)


def _show_map(found: NeuronFactors) -> None:
    names = numbered(found.tokens)
    rows = [str(index + 1) for index in range(len(found.weights))]
    if len(names) > _MOST_TOKENS:
        st.caption(t("layers.some_tokens", first=1, last=_MOST_TOKENS))
    groups = [plain("layers.factor_number", number=row) for row in rows]
    show_map(
        "layers_factors_map",
        found.weights,
        rows,
        names,
        ("layers.share_of_factor", "layers.factor", "layers.one_token"),
        t("layers.factors_described"),
        most=_MOST_TOKENS,
        table={
            "layers.one_token": names,
            **dict(zip(groups, found.weights, strict=True)),
        },
    )


def _show_factor(found: NeuronFactors, code: Program) -> None:
    numbers = [str(index + 1) for index in range(len(found.weights))]
    number = choose_linked(
        st.pills, "layers.choose_factor", numbers, key=FACTOR, required=True
    )
    factor = int(number) - 1
    weights, shares = found.weights[factor], found.top_shares[factor]
    hints = [f"{weight:.3f}" for weight in weights]
    title = plain("layers.factor_number", number=number)
    show_figure(
        token_grid_figure(found.tokens, weights, hints, title=title),
        name="layers_factor_tokens",
        description=t(
            "layers.factor_described",
            number=number,
            token=numbered(found.tokens)[int(np.argmax(weights))],
        ),
        columns={
            "layers.one_token": list(found.tokens),
            "layers.share_of_factor": weights,
        },
    )
    places = neuron_names(found.top_neurons[factor])
    show_figure(
        named_bars_figure(places, shares, title=plain("layers.part_of_factor")),
        name="layers_factor_neurons",
        description=t("layers.factor_neurons_described", neuron=places[0]),
        columns={"layers.neuron": places, "layers.part_of_factor": shares},
        code=code,
    )
