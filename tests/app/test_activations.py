"""The activations page in both languages, without any model."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

from bertviz_core.analysis.activations import (
    ACTIVATIONS,
    activate,
    differentiate,
    erf,
    normal_cumulative,
    normal_density,
)
from bertviz_core.analysis.dying_neurons import train
from bertviz_core.analysis.gelu_approximation import (
    TAYLOR_CONSTANT,
    best_constant,
    largest_error,
    sampled_gate,
)
from bertviz_core.analysis.small_networks import (
    gradient_through_layers,
    learn_two_weights,
    output_signs,
)
from pages.activations.curves import FORMULAS
from pages.activations.gelu import GELU_STEPS, TANH_STEPS
from pages.activations.training import FIRST_SEED, NUM_STEPS, TWINS
from pages.activations.weaknesses import matrix
from pages.activations.widgets import LABELS, number
from pages.shared import player
from tests.app.real_pages import choose, enter, floats, run_program, unfolded
from tests.core.sent_figures import numbers

PARTS = ["curves", "vanishing", "centre", "dead", "collapse", "gelu", "approximation"]
CHINESE = re.compile("[\u4e00-\u9fff]")


@pytest.fixture
def open_page(open_app):
    def open_page(language="en", **query):
        locale = {"en": "en-GB", "zh": "zh-CN"}[language]
        app = open_app("activations", locale, **query)
        assert not app.exception
        assert not app.error
        return app

    return open_page


def figure(app, name):
    """A figure of the page by the name of its files."""
    return json.loads(app.get_by_key(f"{name}_figure").proto.spec)


def values(trace, axis):
    return numbers(trace[axis])


def by_name(made):
    return {trace["name"]: trace for trace in made["data"] if trace.get("name")}


def metrics(app):
    return {metric.label: metric.value for metric in app.metric}


def printed(app, code):
    """What the program below a figure prints."""
    return run_program(choose(app, **unfolded(code)))[1]


def test_every_part_runs_without_a_model(open_page, shown, client):
    derived = {"gelu": GELU_STEPS, "approximation": TANH_STEPS}
    for part in PARTS:
        app = open_page("zh", act_part=part)
        assert app.pills(key="act_part").value == part
        said = shown(app)
        for formula in derived.get(part, {}).values():
            assert formula in said
        for heading in (*app.header, *app.subheader, *app.title):
            assert CHINESE.search(heading.value)
        assert not re.search(r"\bnan\b|\binf\b", said)
    assert client.calls == []


def test_chosen_functions_and_slopes_have_the_numbers_of_the_core(open_page):
    app = open_page(act_x="-0.7")
    [card] = [m.value for m in app.markdown if m.value.startswith("**GELU (erf)**")]
    value, slope = (float(f("gelu", np.array(-0.7))) for f in (activate, differentiate))
    assert f"value **{number(value, 4)}**, slope **{number(slope, 4)}**" in card
    assert FORMULAS["gelu"][0] in card
    lines = printed(app, "activations_curves").splitlines()
    names = ("sigmoid", "relu", "gelu")
    for name, line in zip(names, lines, strict=True):
        expected = [float(f(name, np.array(-0.7))) for f in (activate, differentiate)]
        assert line.startswith(f"{name} ")
        assert floats(line) == pytest.approx(expected)
    # A slider is there for each parameter that is drawn.
    app.get_by_key("act_functions").set_value(list(ACTIVATIONS)).run()
    shaped = [name for name, one in ACTIVATIONS.items() if one.parameter]
    for name in shaped:
        assert (
            app.slider(key=f"act_{name}").value == ACTIVATIONS[name].parameter.default
        )
    app.get_by_key("act_functions").set_value(["elu", "tanh"]).run()
    assert {s.key for s in app.slider} & {f"act_{n}" for n in shaped} == {"act_elu"}
    app.slider(key="act_elu").set_value(1.5).run()
    drawn = by_name(figure(app, "activations_curves"))
    assert sorted(drawn) == ["ELU", "slope of ELU", "slope of tanh", "tanh"]
    for trace, function, name, parameter in (
        (drawn["ELU"], activate, "elu", 1.5),
        (drawn["slope of ELU"], differentiate, "elu", 1.5),
        (drawn["tanh"], activate, "tanh", None),
    ):
        x = values(trace, "x").astype(np.float64)
        np.testing.assert_allclose(
            values(trace, "y"), function(name, x, parameter), atol=1e-6
        )
    app.toggle(key="act_slopes").set_value(False).run()
    assert sorted(by_name(figure(app, "activations_curves"))) == ["ELU", "tanh"]
    app.get_by_key("act_functions").set_value([]).run()
    assert not app.exception
    assert "at least one function" in app.info[0].value


def test_the_gradient_vanishes_as_the_core_says(open_page, shown):
    app = open_page(act_part="vanishing", act_depth="33", act_weight="0.8")
    drawn = by_name(figure(app, "activations_gradients"))
    for label, name in (("sigmoid", "sigmoid"), ("GELU (erf)", "gelu")):
        expected = gradient_through_layers(name, 33, 0.8).gradients
        np.testing.assert_allclose(values(drawn[label], "y"), expected)
    [table] = [m.value for m in app.markdown if m.value.startswith("| function")]
    for line in printed(app, "activations_gradients").splitlines():
        path = gradient_through_layers(line.split()[0], 33, 0.8)
        assert float(line.split()[-1]) == pytest.approx(path.gradients[-1])
    left = gradient_through_layers("sigmoid", 33, 0.8).gradients[-1]
    assert f"| sigmoid | **{number(float(left))}**" in table
    assert str(number((0.8 / 4) ** 33)) in shown(app)
    # How flat ELU is far left is measured; only the leak stays the same.
    enter(app, act_weight=0.5, act_start=-6.0)
    slope = str(number(float(differentiate("elu", np.array(-3.0)))))
    assert slope in shown(app)
    leak = ACTIVATIONS["leaky_relu"].parameter.default
    assert f"leaky ReLU {number(leak)}, however" in shown(app)
    drawn = by_name(figure(app, "activations_gradients"))
    expected = gradient_through_layers("elu", 33, 0.5, start=-6.0).gradients
    np.testing.assert_allclose(values(drawn["ELU"], "y"), expected, rtol=1e-6)
    app.slider(key="act_start").set_value(1.0).run()
    assert slope not in shown(app)
    # A wide network has a seed.
    assert "act_deep_seed" not in {box.key for box in app.number_input}
    enter(app, act_width="8", act_deep_seed=5)
    drawn = by_name(figure(app, "activations_gradients"))
    network = {"width": 8, "seed": 5, "start": 1.0}
    expected = gradient_through_layers("tanh", 33, 0.5, **network).gradients
    np.testing.assert_allclose(values(drawn["tanh"], "y"), expected)
    [table] = [m.value for m in app.markdown if m.value.startswith("| function")]
    path = gradient_through_layers("tanh", 33, 0.5, **network)
    assert f"| {number(path.bound(1.0))} | 1 |" in table


def test_a_dying_neuron_is_told_with_its_measured_step(open_page, shown):
    app = open_page(act_part="dead")
    relu = train("relu", learning_rate=0.1, num_steps=NUM_STEPS, seed=FIRST_SEED)
    neuron = int(np.flatnonzero(relu.died_at() > 0)[0])
    said = shown(app)
    assert (
        f"Neuron {neuron + 1} as ReLU: from step **{relu.died_at()[neuron]}**" in said
    )
    measured = metrics(app)
    assert measured["Dead at the end: ReLU"] == "1 of 6 neurons"
    assert measured["Dead at the end: leaky ReLU"] == "0 of 6 neurons"
    # Both before anything is played.
    options = [option.content for option in app.get_by_key("act_neuron").proto.options]
    assert [name for name in options if "dies" in name] == [f"{neuron + 1} · dies"]
    curves = figure(app, "activations_neuron")["data"]
    marks = {curve["name"]: curve["marker"] for curve in curves if "marker" in curve}
    assert {name: mark["symbol"] for name, mark in marks.items()} == {"ReLU": "x"}
    app.get_by_key("act_neuron").set_value("1").run()
    assert "Neuron 1 as ReLU lives" in shown(app)
    assert app.slider(key="act_step").value == 0
    app.slider(key="act_step").set_value(4).run()
    fit = by_name(figure(app, "activations_fit"))
    np.testing.assert_allclose(
        values(fit["ReLU"], "y"), relu.outputs[4], rtol=1e-5, atol=1e-6
    )
    # How the error comes back to its weight folds out, for the step that is shown.
    enter(app, act_neuron=str(neuron + 1), act_step=NUM_STEPS)
    app.session_state["act_steps_back"] = True
    app.run()
    assert "The slope is 0 for 41 of 41 examples." in shown(app)
    found = relu.steps_back(NUM_STEPS, neuron)
    assert f"={(found.errors**2).mean():.3g}" in shown(app)
    assert f"={found.residuals[29]:.3g}" in shown(app)
    first, second, *_ = printed(app, "activations_neuron").splitlines()
    assert first.startswith(f"relu {relu.died_at()}")
    assert second.split() == ["0.0", "0.0"]
    # When none dies, one is followed too.
    app = open_page(act_part="dead", act_rate="0.01", act_dead_seed="1")
    assert metrics(app)["Dead at the end: ReLU"] == "0 of 6 neurons"
    assert "Neuron 1 as ReLU lives" in shown(app)


def test_any_function_trains_beside_relu(open_page, shown):
    app = open_page(act_part="dead", act_neuron="4", act_step="60")
    settings = {"learning_rate": 0.1, "num_steps": NUM_STEPS, "seed": FIRST_SEED}
    for twin in TWINS:
        app.selectbox(key="act_twin").set_value(twin).run()
        assert not app.exception
        parameter = 0.1 if twin == "leaky_relu" else None
        other = train(twin, parameter=parameter, **settings)
        fit = by_name(figure(app, "activations_fit"))
        drawn = values(fit[LABELS[twin]], "y")
        np.testing.assert_allclose(drawn, other.outputs[60], rtol=1e-5, atol=1e-5)
        assert str(number(float(other.gradients[:, 3].min()))) in shown(app)
        if twin == "prelu":
            lines = figure(app, "activations_leaks")["data"]
            for line, learned in zip(lines, other.leaks.T, strict=True):
                np.testing.assert_allclose(values(line, "y"), learned, rtol=1e-5)
        if (shape := ACTIVATIONS[twin].parameter) is not None:
            slider = app.slider(key=f"act_twin_{twin}")
            assert slider.value == pytest.approx(parameter or shape.default)
            assert slider.label == f"{LABELS[twin]}: ${shape.symbol}$"


def test_play_goes_by_the_clock_to_the_end_stops_and_begins_anew(
    open_page, monkeypatch
):
    now = [100.0]
    monkeypatch.setattr(player, "monotonic", lambda: now[0])
    app = open_page(act_part="dead")

    def step():
        return app.slider(key="act_step").value

    def press(then):
        app.button(key="act_step_play").click().run()
        assert app.button(key="act_step_play").label == then
        assert app.slider(key="act_step").disabled == (then == "Stop")

    press("Stop")
    steps = []
    for seconds in (1, 2, 5):
        now[0] += seconds
        app.run()
        steps.append(step())
    assert 0 < steps[0] < steps[1] < steps[2] < NUM_STEPS
    drawn = figure(app, "activations_neuron")["layout"]["shapes"][0]["x0"]
    assert drawn == steps[2]
    press("Play")
    now[0] += 9
    app.run()
    assert step() == steps[2]
    app.slider(key="act_step").set_value(7).run()
    press("Stop")
    assert step() == 7
    now[0] += 1000
    app.run()
    assert step() == NUM_STEPS
    assert app.button(key="act_step_play").label == "Play"
    press("Stop")
    assert step() == 0


def test_linear_layers_and_the_one_layer_give_the_same(open_page, shown):
    app = open_page(act_part="collapse")
    for depth in (2, 6):
        app.slider(key="act_linear_depth").set_value(depth).run()
        said = shown(app)
        assert f"W_{depth}=" in said
        found = re.search(r"largest difference is \*\*(.+?)\*\*", said)[1]
        assert found == "0" or "10⁻¹" in found
        stack, collapsed, bent = figure(app, "activations_collapse")["data"]
        assert stack["name"] == f"{depth} linear layers"
        bends = np.abs(np.diff(values(stack, "y"), 2)).max()
        scale = np.abs(values(stack, "y")).max()
        assert bends < 1e-5 * scale
        assert np.abs(np.diff(values(bent, "y"), 2)).max() > 1e-3 * scale
        assert len(values(collapsed, "x")) > 10
    *_, stack, one, bent = printed(app, "activations_collapse").splitlines()
    assert floats(stack) == pytest.approx(floats(one))
    assert floats(stack) != pytest.approx(floats(bent))


def test_means_and_paths_are_shown_for_the_chosen_function(open_page, shown):
    app = open_page(act_part="centre")
    first, *_ = printed(app, "activations_means").splitlines()
    assert floats(first)[0] == output_signs("sigmoid").mean
    choose(app, activations_means_tools=None)
    first = printed(app, "activations_path").split()
    path = learn_two_weights("sigmoid", num_steps=40)
    assert int(first[1]) == path.num_one_sided
    assert float(first[2]) == pytest.approx(path.distances[-1])
    app.selectbox(key="act_zigzag").set_value("relu").run()
    drawn = by_name(figure(app, "activations_path"))
    assert set(drawn) == {"ReLU", "tanh"}
    assert len(values(drawn["ReLU"], "x")) == 41
    assert "**ReLU**: " in shown(app)


def test_the_numbers_of_gelu_are_those_of_the_core(open_page, shown):
    app = open_page(act_part="gelu", act_normal_x="-0.45")
    x = np.array(-0.45)
    measured = metrics(app)
    for label, value in (
        ("density φ(x)", normal_density(x)),
        ("share below, Φ(x)", normal_cumulative(x)),
        ("error function erf(x/√2)", erf(x / math.sqrt(2))),
        ("GELU, x · Φ(x)", activate("gelu", x)),
    ):
        assert measured[label] == number(float(value), 4)
    gate = sampled_gate(x[None], 100, 0)[-1, 0]
    values_of_program = floats(printed(app, "activations_normal"))[-2:]
    assert values_of_program == pytest.approx([float(activate("gelu", x)), gate])
    means = sampled_gate(np.linspace(-4, 4, 33), 100, 0)
    drawn = by_name(figure(app, "activations_normal"))
    np.testing.assert_allclose(
        values(drawn["mean of the draws"], "y"), means[-1], rtol=1e-5
    )
    enter(app, act_normal_mean=0.5, act_normal_spread=2.0)
    shifted = float(x * normal_cumulative((x - 0.5) / 2))
    assert metrics(app)["GELU, x · Φ(x)"] == number(shifted, 4)
    app.get_by_key("act_draws").set_value("10000").run()
    assert "all stay within 0.05" in shown(app)
    app.pills(key="act_part").set_value("approximation").run()
    assert "**0.044715**" in shown(app)
    assert "**0.044383**" in shown(app)
    assert floats(printed(app, "activations_error"))[0] == best_constant("gelu")
    # The buttons set the constant, and its largest error is shown.
    for measure in ("gelu", "cumulative"):
        app.get_by_key("act_measure").set_value(measure).run()
        for name, constant in (
            ("taylor", TAYLOR_CONSTANT),
            ("paper", 0.044715),
            ("best", best_constant(measure)),
        ):
            app.button(key=f"act_take_{name}").click().run()
            chosen = app.slider(key="act_constant").value
            assert chosen == round(constant, 6)
            shown_error = metrics(app)[f"Yours, c = {chosen:.6f}"]
            assert shown_error == number(largest_error(chosen, measure).error, 4)
    drawn = by_name(figure(app, "activations_error"))
    assert set(drawn) == {"Yours", "Taylor", "Paper"}


def test_the_choice_in_the_address_reads_the_same_in_both_languages(open_page):
    app = open_page("zh", act_part="approximation", act_measure="cumulative")
    assert app.get_by_key("act_part").value == "approximation"
    assert app.get_by_key("act_measure").value == "cumulative"
    app.get_by_key("lang").set_value("English").run()
    assert app.get_by_key("act_part").value == "approximation"
    assert open_page(act_part="nonsense").get_by_key("act_part").value == "curves"


def test_a_matrix_has_no_negative_zero():
    assert matrix([[-0.001, 2.0]]) == r"\begin{pmatrix}0.00&2.00\end{pmatrix}"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (0.25, "0.25"),
        (-0.12345, "−0.123"),
        (12345.6, "12,300"),
        (9.999e-7, "1.0 × 10⁻⁶"),
        (-4.5e-14, "−4.50 × 10⁻¹⁴"),
        (2.0**60, "1.15 × 10¹⁸"),
    ],
)
def test_numbers_are_written_for_readers(value, said):
    assert number(value) == said
