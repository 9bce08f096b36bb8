"""Two small networks at one step of their training, dragged to or played."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic

import streamlit as st

from bertviz_core.analysis.dying_neurons import Training
from bertviz_core.figures.small_networks import NetworkWords
from bertviz_core.figures.small_trainings import fit_figure, neuron_figure
from pages.activations.steps_back import show_steps_back
from pages.activations.widgets import slide
from pages.activations.wording import LABELS, figure_words
from pages.shared.code import Program
from pages.shared.export import show_figure
from pages.shared.language import plain, t

_STEP = "act_step"
_PLAYING = "act_playing"  # (when it began, the step that it began at), or `None`
_ENDED = "act_ended"  # played to the end, which the slider may not show yet
_STEPS_A_SECOND = 20
_TICK_SECONDS = 0.4


def watch_training(
    trainings: Mapping[str, Training], neuron: int, code: Program
) -> None:
    """Draws the step slider with its play button, and both networks at that step."""
    last = len(next(iter(trainings.values())).losses) - 1
    if st.session_state.pop(_ENDED, False):
        # Once more: a browser may miss what one run sets when another follows.
        st.session_state[_STEP] = last
    is_playing = st.session_state.get(_PLAYING) is not None
    clicked = st.button(
        t("activations.stop" if is_playing else "activations.play"),
        icon=":material/stop:" if is_playing else ":material/play_arrow:",
        key="act_play",
        help=t("activations.play_help"),
    )
    if clicked:
        _toggle(last)
        # The whole page: only that starts or ends the clock of a fragment.
        st.rerun()
    watched = st.fragment(_watch, run_every=_TICK_SECONDS if is_playing else None)
    watched(trainings, neuron, last, is_playing, code)


def _watch(
    trainings: Mapping[str, Training],
    neuron: int,
    last: int,
    has_clock: bool,
    code: Program,
) -> None:
    is_playing = _advance(last)
    # A value that comes late from the browser would set the clock back.
    step = slide(st, "step", 0, last, 0, key=_STEP, disabled=is_playing)
    neuron_box, fit_box = st.columns(2)
    with neuron_box:
        _show_neuron(trainings, neuron, step, code)
    with fit_box:
        _show_fit(trainings, step)
    show_steps_back(trainings, neuron, step)
    if has_clock and not is_playing:
        st.session_state[_ENDED] = True
        st.rerun()


def _toggle(last: int) -> None:
    """Begins where the slider is, at its end from the start; or stops."""
    state = st.session_state
    step = state.get(_STEP) or 0
    begin = (monotonic(), 0 if step >= last else step)
    state[_PLAYING] = begin if state.get(_PLAYING) is None else None


def _advance(last: int) -> bool:
    """Moves the slider to where the clock is; whether it still runs."""
    playing = st.session_state.get(_PLAYING)
    if playing is None:
        return False
    began, first = playing
    # By the clock and not by the number of runs, which a busy machine may skip.
    step = min(first + int((monotonic() - began) * _STEPS_A_SECOND), last)
    st.session_state[_STEP] = step
    if step == last:
        st.session_state[_PLAYING] = None
    return step < last


def _show_neuron(
    trainings: Mapping[str, Training], neuron: int, step: int, code: Program
) -> None:
    first = next(iter(trainings.values()))
    steps = list(range(len(first.losses)))
    columns = {plain("activations.figure_step"): steps}
    for name, training in trainings.items():
        for measure in ("activity", "gradients"):
            column = plain(f"activations.column_{measure}", name=LABELS[name])
            columns[column] = getattr(training, measure)[:, neuron].tolist()
    show_figure(
        neuron_figure(trainings, LABELS, neuron, step, figure_words(NetworkWords)),
        name="activations_neuron",
        description=t("activations.neuron_described", neuron=neuron + 1),
        columns=columns,
        code=code,
    )


def _show_fit(trainings: Mapping[str, Training], step: int) -> None:
    first = next(iter(trainings.values()))
    columns = {
        plain("activations.figure_input"): first.inputs.tolist(),
        plain("activations.figure_examples"): first.targets.tolist(),
    }
    for name, training in trainings.items():
        columns[LABELS[name]] = training.outputs[step].tolist()
    show_figure(
        fit_figure(trainings, LABELS, step, figure_words(NetworkWords)),
        name="activations_fit",
        description=t("activations.fit_described", step=step),
        columns=columns,
    )
