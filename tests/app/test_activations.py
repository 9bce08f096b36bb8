"""The activations page in both languages, without any model."""

from __future__ import annotations

import base64
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
)
from bertviz_core.analysis.small_networks import gradient_through_layers
from pages.activations import training_player as watching
from pages.activations.formulas import (
    FORMULAS,
    GELU_STEPS,
    TANH_STEPS,
    matrix,
)
from pages.activations.training import FIRST_SEED, NUM_STEPS, TWINS
from pages.activations.wording import LABELS, number

WEAKNESSES = ["vanishing", "centre", "dead", "collapse"]
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
    array = trace[axis]
    if isinstance(array, dict):
        return np.frombuffer(base64.b64decode(array["bdata"]), array["dtype"])
    return np.array(array, float)


def by_name(made):
    return {trace["name"]: trace for trace in made["data"] if trace.get("name")}


def metrics(app):
    return {metric.label: metric.value for metric in app.metric}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("weakness", WEAKNESSES)
def test_every_part_runs_in_both_languages(open_page, shown, language, weakness):
    app = open_page(language, act_weakness=weakness)
    assert app.get_by_key("act_weakness").value == weakness
    said = shown(app)
    assert len([c for c in app.caption if c.value.startswith("**")]) == 3
    assert bool(CHINESE.search(said)) == (language == "zh")
    headings = [*app.header, *app.subheader, *app.title]
    assert all(
        bool(CHINESE.search(heading.value)) == (language == "zh")
        for heading in headings
    )
    assert not re.search(r"\bnan\b|\binf\b", said)


def test_the_page_asks_no_model(open_page, client):
    open_page()
    assert client.calls == []


def test_chosen_functions_and_slopes_have_the_numbers_of_the_core(open_page):
    app = open_page()
    app.get_by_key("act_functions").set_value(["elu", "tanh"]).run()
    app.slider(key="act_elu").set_value(1.5).run()
    app.slider(key="act_x").set_value(-0.7).run()
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


def test_a_card_reads_the_function_out_at_the_chosen_x(open_page):
    app = open_page(act_x="-0.7")
    [card] = [m.value for m in app.markdown if m.value.startswith("**GELU (erf)**")]
    value = float(activate("gelu", np.array(-0.7)))
    slope = float(differentiate("gelu", np.array(-0.7)))
    assert f"value **{number(value, 4)}**, slope **{number(slope, 4)}**" in card
    assert FORMULAS["gelu"][0] in card


def test_a_slider_is_there_for_each_parameter_that_is_drawn(open_page):
    app = open_page()
    app.get_by_key("act_functions").set_value(list(ACTIVATIONS)).run()
    shaped = [name for name, one in ACTIVATIONS.items() if one.parameter]
    for name in shaped:
        slider = app.slider(key=f"act_{name}")
        assert slider.value == ACTIVATIONS[name].parameter.default
        assert len(slider.help) > 20
    app.get_by_key("act_functions").set_value(["relu"]).run()
    assert not {slider.key for slider in app.slider} & {f"act_{n}" for n in shaped}


def test_with_nothing_chosen_the_page_says_what_to_do(open_page):
    app = open_page()
    app.get_by_key("act_functions").set_value([]).run()
    assert not app.exception
    assert "at least one function" in app.info[0].value
    assert len(app.header) == 4


def test_the_gradient_vanishes_as_the_core_says(open_page):
    app = open_page()
    app.slider(key="act_depth").set_value(33).run()
    app.slider(key="act_weight").set_value(0.8).run()
    drawn = by_name(figure(app, "activations_gradients"))
    for label, name in (("sigmoid", "sigmoid"), ("GELU (erf)", "gelu")):
        expected = gradient_through_layers(name, 33, 0.8).gradients
        np.testing.assert_allclose(values(drawn[label], "y"), expected)
    [table] = [m.value for m in app.markdown if m.value.startswith("| function")]
    left = gradient_through_layers("sigmoid", 33, 0.8).gradients[-1]
    assert f"**{number(float(left))}**" in table
    assert any(str(number((0.8 / 4) ** 33)) in caption.value for caption in app.caption)


def test_a_wide_network_has_a_seed_and_no_ceiling(open_page):
    app = open_page()
    assert "act_deep_seed" not in {box.key for box in app.number_input}
    app.get_by_key("act_width").set_value("8").run()
    app.number_input(key="act_deep_seed").set_value(5).run()
    drawn = by_name(figure(app, "activations_gradients"))
    expected = gradient_through_layers("tanh", 20, 1.0, width=8, seed=5).gradients
    np.testing.assert_allclose(values(drawn["tanh"], "y"), expected)
    assert not any("1/4" in caption.value for caption in app.caption)


def test_a_dying_neuron_is_told_with_its_measured_step(open_page, shown):
    app = open_page(act_weakness="dead")
    relu = train("relu", learning_rate=0.1, num_steps=NUM_STEPS, seed=FIRST_SEED)
    neuron = int(np.flatnonzero(relu.died_at() > 0)[0])
    said = shown(app)
    assert (
        f"Neuron {neuron + 1} as ReLU: from step **{relu.died_at()[neuron]}**" in said
    )
    measured = metrics(app)
    assert measured["Dead at the end: ReLU"] == "1 of 6 neurons"
    assert measured["Dead at the end: leaky ReLU"] == "0 of 6 neurons"
    app.get_by_key("act_neuron").set_value("1").run()
    assert "Neuron 1 as ReLU lives" in shown(app)
    assert app.slider(key="act_step").value == 0
    app.slider(key="act_step").set_value(4).run()
    fit = by_name(figure(app, "activations_fit"))
    np.testing.assert_allclose(
        values(fit["ReLU"], "y"), relu.outputs[4], rtol=1e-5, atol=1e-6
    )


def test_a_neuron_is_followed_when_none_dies_too(open_page, shown):
    app = open_page(act_weakness="dead", act_rate="0.01", act_dead_seed="1")
    assert metrics(app)["Dead at the end: ReLU"] == "0 of 6 neurons"
    assert "Neuron 1 as ReLU lives" in shown(app)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("twin", TWINS)
def test_any_function_trains_beside_relu(open_page, shown, twin, language):
    app = open_page(language, act_weakness="dead", act_neuron="4", act_step="60")
    app.selectbox(key="act_twin").set_value(twin).run()
    assert not app.exception
    parameter = 0.1 if twin == "leaky_relu" else None
    other = train(
        twin,
        parameter=parameter,
        learning_rate=0.1,
        num_steps=NUM_STEPS,
        seed=FIRST_SEED,
    )
    fit = by_name(figure(app, "activations_fit"))
    np.testing.assert_allclose(
        values(fit[LABELS[twin]], "y"), other.outputs[60], rtol=1e-5, atol=1e-5
    )
    smallest = other.gradients[:, 3].min()
    assert str(number(float(smallest))) in shown(app)
    if twin == "prelu":
        lines = figure(app, "activations_leaks")["data"]
        for line, learned in zip(lines, other.leaks.T, strict=True):
            np.testing.assert_allclose(values(line, "y"), learned, rtol=1e-5)
    if (shape := ACTIVATIONS[twin].parameter) is not None:
        slider = app.slider(key=f"act_twin_{twin}")
        assert slider.value == pytest.approx(parameter or shape.default)
        colon = {"en": ": ", "zh": "："}[language]
        assert slider.label == f"{LABELS[twin]}{colon}${shape.symbol}$"


def test_play_goes_by_the_clock_to_the_end_and_begins_anew(open_page, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(watching, "monotonic", lambda: now[0])
    app = open_page(act_weakness="dead")
    button = app.button(key="act_play")
    assert button.label == "Play"
    button.click().run()
    assert app.button(key="act_play").label == "Stop"
    steps = []
    for seconds in (1, 2, 5):
        now[0] += seconds
        app.run()
        steps.append(app.slider(key="act_step").value)
    assert 0 < steps[0] < steps[1] < steps[2] < NUM_STEPS
    drawn = figure(app, "activations_neuron")["layout"]["shapes"][0]["x0"]
    assert drawn == steps[2]
    now[0] += 1000
    app.run()
    assert app.slider(key="act_step").value == NUM_STEPS
    assert app.button(key="act_play").label == "Play"
    app.button(key="act_play").click().run()
    assert app.slider(key="act_step").value == 0
    assert app.button(key="act_play").label == "Stop"


def test_a_play_can_be_stopped_and_only_then_the_slider_is_dragged(
    open_page, monkeypatch
):
    now = [5.0]
    monkeypatch.setattr(watching, "monotonic", lambda: now[0])
    app = open_page(act_weakness="dead", act_step="50")
    app.button(key="act_play").click().run()
    now[0] += 1
    app.button(key="act_play").click().run()
    stopped_at = app.slider(key="act_step").value
    now[0] += 9
    app.run()
    assert app.slider(key="act_step").value == stopped_at
    assert app.button(key="act_play").label == "Play"
    assert not app.slider(key="act_step").disabled
    app.slider(key="act_step").set_value(7).run()
    app.button(key="act_play").click().run()
    assert app.slider(key="act_step").disabled
    assert app.slider(key="act_step").value == 7


def test_how_flat_elu_is_far_left_is_measured(open_page):
    app = open_page(act_start="-6", act_weight="0.5")
    slope = float(differentiate("elu", np.array(-3.0)))
    assert any(str(number(slope)) in caption.value for caption in app.caption)
    drawn = by_name(figure(app, "activations_gradients"))
    expected = gradient_through_layers("elu", 20, 0.5, start=-6.0).gradients
    np.testing.assert_allclose(values(drawn["ELU"], "y"), expected, rtol=1e-6)
    app.slider(key="act_start").set_value(1.0).run()
    assert not any(str(number(slope)) in caption.value for caption in app.caption)


@pytest.mark.parametrize(
    ("language", "sentence"),
    [("en", "leaky ReLU lets through {}, however"), ("zh", "ReLU 无论多靠左都是 {}。")],
)
def test_only_the_leak_is_said_to_stay_the_same_far_left(open_page, language, sentence):
    app = open_page(language, act_start="-6")
    leak = ACTIVATIONS["leaky_relu"].parameter.default
    expected = sentence.format(number(leak))
    assert any(expected in caption.value for caption in app.caption)


def test_linear_layers_and_the_one_layer_give_the_same(open_page, shown):
    app = open_page(act_weakness="collapse")
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


def test_means_and_paths_are_shown_for_the_chosen_function(open_page, shown):
    app = open_page(act_weakness="centre")
    app.selectbox(key="act_zigzag").set_value("relu").run()
    drawn = by_name(figure(app, "activations_path"))
    assert set(drawn) == {"ReLU", "tanh"}
    assert len(values(drawn["ReLU"], "x")) == 41
    assert "**ReLU**: " in shown(app)


def test_the_normal_numbers_are_those_of_the_core(open_page):
    app = open_page()
    app.slider(key="act_normal_x").set_value(-0.45).run()
    x = np.array(-0.45)
    measured = metrics(app)
    for label, value in (
        ("density φ(x)", normal_density(x)),
        ("share below, Φ(x)", normal_cumulative(x)),
        ("error function erf(x/√2)", erf(x / math.sqrt(2))),
        ("GELU, x · Φ(x)", activate("gelu", x)),
    ):
        assert measured[label] == number(float(value), 4)


@pytest.mark.parametrize("measure", ["gelu", "cumulative"])
def test_the_buttons_set_the_constant_and_its_largest_error_is_shown(
    open_page, measure
):
    app = open_page(act_measure=measure)
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


def test_both_best_constants_are_named_as_found(open_page, shown):
    said = shown(open_page())
    assert "**0.044715**" in said
    assert "**0.044383**" in said


def test_the_choice_in_the_address_reads_the_same_in_both_languages(open_page):
    app = open_page("zh", act_weakness="dead", act_measure="cumulative")
    assert app.get_by_key("act_weakness").value == "dead"
    assert app.get_by_key("act_measure").value == "cumulative"
    app.get_by_key("lang").set_value("English").run()
    assert app.get_by_key("act_weakness").value == "dead"
    assert open_page(act_weakness="nonsense").get_by_key("act_weakness").value == (
        "vanishing"
    )


def test_every_function_has_a_formula_and_a_label():
    assert list(FORMULAS) == list(ACTIVATIONS) == list(LABELS)


def test_no_command_of_latex_runs_into_a_letter():
    formulas = [part for pair in FORMULAS.values() for part in pair]
    formulas += [*GELU_STEPS.values(), *TANH_STEPS.values()]
    known = {
        "Bigl", "Bigr", "Phi", "aligned", "alpha", "approx", "begin", "beta", "bigl",
        "bigr", "cases", "cdot", "dots", "end", "frac", "gathered", "infty", "int",
        "lambda", "ldots", "le", "mathcal", "max", "operatorname", "partial", "pi",
        "sigma", "sim", "sqrt", "tanh", "tfrac", "varphi",
    }  # fmt: skip
    commands = {
        c for formula in formulas for c in re.findall(r"\\\\|\\([a-zA-Z]+)", formula)
    }
    assert commands - {""} <= known
    for formula in formulas:
        assert formula.count("{") == formula.count("}")
        assert formula.count(r"\begin") == formula.count(r"\end")


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


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_step_of_the_derivations_is_on_the_page(open_page, shown, language):
    said = shown(open_page(language))
    for formula in (*GELU_STEPS.values(), *TANH_STEPS.values()):
        assert formula in said
