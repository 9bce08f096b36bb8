"""A ReLU that dies while it trains, and a twin with another function that does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.analysis.activations import ACTIVATIONS
from bertviz_core.analysis.dying_neurons import (
    LEARNED,
    NUM_NEURONS,
    Training,
    train,
)
from bertviz_core.figures.small_networks import NetworkWords
from bertviz_core.figures.small_trainings import leaks_figure
from bertviz_core.snippets import activations as snippets
from pages.activations.training_player import watch_training
from pages.activations.widgets import choose_function, choose_seed, slide
from pages.activations.wording import LABELS, figure_words, number
from pages.shared.choices import choose_linked_or_none
from pages.shared.code import program
from pages.shared.export import show_figure
from pages.shared.language import plain, t
from pages.shared.markdown import Markdown

# A start from which one ReLU dies after a few steps and its twin comes back; tests
# hold it to that.
FIRST_SEED = 214
NUM_STEPS = 300
TWINS = ("leaky_relu", "elu", "prelu", "gelu", "swish")
# A leak with which the twin comes back while one watches.
_FIRST_PARAMETERS = {"leaky_relu": 0.1}
# Looking at another step or neuron trains nothing again.
_trained = st.cache_data(max_entries=32, show_spinner=False)(train)


def explore_training() -> None:
    """Draws the settings, both trainings, and one neuron of both."""
    rate_box, twin_box, parameter_box, seed_box = st.columns(4)
    learning_rate = slide(
        rate_box, "learning_rate", 0.01, 1.0, 0.1, 0.01, key="act_rate"
    )
    twin = choose_function(twin_box, "twin", TWINS, key="act_twin", hint="twin_help")
    parameter = _choose_parameter(parameter_box, twin)
    with seed_box:
        seed = choose_seed("act_dead_seed", FIRST_SEED)
    functions = (("relu", None), (twin, parameter))
    run: dict[str, Any] = {
        "learning_rate": learning_rate,
        "num_steps": NUM_STEPS,
        "seed": seed,
    }
    trainings = {name: _trained(name, parameter=p, **run) for name, p in functions}
    for box, (name, training) in zip(st.columns(2), trainings.items(), strict=True):
        dead = int((training.died_at() >= 0).sum())
        box.metric(
            t("activations.dead_of", name=LABELS[name]),
            t("activations.dead_count", dead=dead, count=NUM_NEURONS),
            t("activations.loss_at_end", loss=number(float(training.losses[-1]))),
            delta_color="off",
            delta_arrow="off",
            help=t("activations.dead_help"),
        )
    neuron = _choose_neuron(trainings["relu"])
    st.markdown(_story(trainings, twin, neuron))
    code = program(
        snippets.TRAINING,
        functions=functions,
        neuron=neuron,
        **run,
    )
    # Where both are alike, the one that dies shall be seen.
    watch_training(dict(reversed(trainings.items())), neuron, code)
    if twin == LEARNED:
        _show_leaks(trainings[twin])


def _choose_parameter(box: DeltaGenerator, twin: str) -> float | None:
    """The number that shapes the twin's function; `None` if it has none."""
    shape = ACTIVATIONS[twin].parameter
    if shape is None:
        return None
    symbol = Markdown(shape.symbol)
    return slide(
        box,
        twin,
        max(shape.lowest, 0.01),
        shape.highest,
        _FIRST_PARAMETERS.get(twin, shape.default),
        0.01,
        key=f"act_twin_{twin}",
        label=t("activations.twin_parameter", name=LABELS[twin], symbol=symbol),
        hint=f"parameter_{twin}",
    )


def _choose_neuron(training: Training) -> int:
    """The chosen neuron, from 0; the one that died first where none is chosen."""
    chosen = choose_linked_or_none(
        st.segmented_control,
        t("activations.neuron"),
        [str(neuron + 1) for neuron in range(NUM_NEURONS)],
        key="act_neuron",
        help=t("activations.neuron_help"),
    )
    if chosen is not None:
        return int(chosen) - 1
    died_at = training.died_at()
    return int(np.where(died_at < 0, NUM_STEPS + 1, died_at).argmin())


def _story(trainings: dict[str, Training], twin: str, neuron: int) -> str:
    """What happened to one neuron in both networks, as measured."""
    died_at = int(trainings["relu"].died_at()[neuron])
    key = "activations.story_lives" if died_at < 0 else "activations.story_dies"
    relu_story = t(
        key,
        neuron=neuron + 1,
        step=died_at,
        activity=float(trainings["relu"].activity[-1, neuron]),
    )
    other = trainings[twin]
    smallest = other.gradients[:, neuron]
    twin_story = t(
        "activations.story_twin",
        name=LABELS[twin],
        lowest=float(other.activity[:, neuron].min()),
        activity=float(other.activity[-1, neuron]),
        gradient=number(float(smallest.min())),
        step=int(smallest.argmin()),
    )
    return f"{relu_story}\n\n{twin_story}"


def _show_leaks(training: Training) -> None:
    """What PReLU's neurons made of their slopes left of 0."""
    st.subheader(t("activations.leaks_title"), anchor=False)
    leaks = training.leaks
    names = [
        plain("activations.neuron_number", number=index + 1)
        for index in range(NUM_NEURONS)
    ]
    show_figure(
        leaks_figure(leaks, names, figure_words(NetworkWords)),
        name="activations_leaks",
        description=t(
            "activations.leaks_described",
            start=float(leaks[0, 0]),
            low=float(leaks[-1].min()),
            high=float(leaks[-1].max()),
        ),
        columns={plain("activations.figure_step"): list(range(len(leaks)))}
        | {name: leaks[:, index].tolist() for index, name in enumerate(names)},
    )
