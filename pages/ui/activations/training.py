"""A ReLU that dies while it trains, and its leaky twin that does not."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.analysis.dying_neurons import NUM_NEURONS, Training, train
from bertviz_core.figures.small_networks import fit_figure, neuron_figure
from pages.ui.activations.choosing import choose_seed
from pages.ui.activations.wording import LABELS, network_words, number
from pages.ui.export import show_figure
from pages.ui.language import plain, t

# A start from which one ReLU dies after a few steps and its twin comes back; tests
# hold it to that.
FIRST_SEED = 214
NUM_STEPS = 300


def explore_training() -> None:
    """Draws the settings, both trainings, and one neuron of both."""
    learning_rate, leak, seed = _choose_training()
    trainings = {
        "relu": _trained("relu", None, learning_rate, seed),
        "leaky_relu": _trained("leaky_relu", leak, learning_rate, seed),
    }
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
    neuron, step = _choose_view(trainings["relu"])
    st.markdown(_story(trainings, neuron))
    # Where both are alike, the one that dies shall be seen.
    relu_last = dict(reversed(trainings.items()))
    neuron_box, fit_box = st.columns(2)
    with neuron_box:
        _show_neuron(relu_last, neuron, step)
    with fit_box:
        _show_fit(relu_last, step)


# Looking at another step or neuron trains nothing again.
@st.cache_data(max_entries=32, show_spinner=False)
def _trained(
    name: str, parameter: float | None, learning_rate: float, seed: int
) -> Training:
    return train(
        name,
        parameter=parameter,
        learning_rate=learning_rate,
        num_steps=NUM_STEPS,
        seed=seed,
    )


def _choose_training() -> tuple[float, float, int]:
    rate_box, leak_box, seed_box = st.columns(3)
    learning_rate = rate_box.slider(
        t("activations.learning_rate"),
        0.01,
        1.0,
        0.1,
        0.01,
        key="act_rate",
        bind="query-params",
        help=t("activations.learning_rate_help"),
    )
    leak = leak_box.slider(
        t("activations.leak"),
        0.01,
        0.5,
        0.1,
        0.01,
        key="act_leak",
        bind="query-params",
        help=t("activations.leak_help"),
    )
    with seed_box:
        seed = choose_seed("act_dead_seed", FIRST_SEED)
    return learning_rate, leak, seed


def _choose_view(training: Training) -> tuple[int, int]:
    neuron_box, step_box = st.columns(2)
    chosen = neuron_box.segmented_control(
        t("activations.neuron"),
        [str(neuron) for neuron in range(NUM_NEURONS)],
        key="act_neuron",
        bind="query-params",
        help=t("activations.neuron_help"),
    )
    step = step_box.slider(
        t("activations.step"),
        0,
        NUM_STEPS,
        NUM_STEPS,
        key="act_step",
        bind="query-params",
        help=t("activations.step_help"),
    )
    return _first_dead(training) if chosen is None else int(chosen), step


def _first_dead(training: Training) -> int:
    """The neuron that died first; neuron 0 if all live."""
    died_at = training.died_at()
    return int(np.where(died_at < 0, NUM_STEPS + 1, died_at).argmin())


def _story(trainings: dict[str, Training], neuron: int) -> str:
    """What happened to one neuron in both networks, as measured."""
    died_at = int(trainings["relu"].died_at()[neuron])
    leaky = trainings["leaky_relu"]
    key = "activations.story_lives" if died_at < 0 else "activations.story_dies"
    relu_story = t(
        key,
        neuron=neuron,
        step=died_at,
        activity=float(trainings["relu"].activity[-1, neuron]),
    )
    leaky_story = t(
        "activations.story_leaky",
        lowest=float(leaky.activity[:, neuron].min()),
        activity=float(leaky.activity[-1, neuron]),
        gradient=number(float(leaky.gradients[:, neuron].min())),
    )
    return f"{relu_story}\n\n{leaky_story}"


def _show_neuron(trainings: dict[str, Training], neuron: int, step: int) -> None:
    columns = {plain("activations.figure_step"): list(range(NUM_STEPS + 1))}
    for name, training in trainings.items():
        for measure in ("activity", "gradients"):
            column = plain(f"activations.column_{measure}", name=LABELS[name])
            columns[column] = getattr(training, measure)[:, neuron].tolist()
    show_figure(
        neuron_figure(trainings, LABELS, neuron, step, network_words()),
        name="activations_neuron",
        description=t("activations.neuron_described", neuron=neuron),
        columns=columns,
    )


def _show_fit(trainings: dict[str, Training], step: int) -> None:
    first = trainings["relu"]
    columns = {
        plain("activations.figure_input"): first.inputs.tolist(),
        plain("activations.figure_examples"): first.targets.tolist(),
    }
    for name, training in trainings.items():
        columns[LABELS[name]] = training.outputs[step].tolist()
    show_figure(
        fit_figure(trainings, LABELS, step, network_words()),
        name="activations_fit",
        description=t("activations.fit_described", step=step),
        columns=columns,
    )
