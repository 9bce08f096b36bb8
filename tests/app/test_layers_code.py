"""The programs of the layers page and of the activations page run.

They print the numbers that the pages show.
"""

from __future__ import annotations

import ast
import json
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.activations import activate, differentiate
from bertviz_core.analysis.dying_neurons import train
from bertviz_core.analysis.gelu_approximation import best_constant, sampled_gate
from bertviz_core.analysis.small_networks import (
    gradient_through_layers,
    learn_two_weights,
    output_signs,
)
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments.layer_steps import block_values
from bertviz_core.experiments.neurons import words_of_neuron, words_of_neuron_here
from bertviz_core.experiments.residual_stream import residual_stream
from bertviz_core.experiments.token_numbers import norm_input_at, part_numbers
from bertviz_core.explorer import Explorer
from bertviz_core.figures.labels import label
from bertviz_core.figures.masked_word import percent
from bertviz_core.trace import Texts
from pages.activations.training import FIRST_SEED, NUM_STEPS
from pages.layers.by_hand import SMALL
from pages.shared.engine import client
from pages.shared.own_text import EXAMPLES
from tests.app.real_pages import finished, open_page, run_program, said, specs

TEXT, PAIR = EXAMPLES["en"][5]
MASK = 11

pytestmark = pytest.mark.usefixtures("opened")


def printed(page: str, code: str, **params: str) -> tuple[AppTest, str]:
    """Opens a page with one program unfolded, and runs that."""
    app = open_page(page, state={f"{code}_code": True}, **params)
    return app, run_program(finished(app))[1]


def layers_printed(code: str, **params: str) -> tuple[AppTest, str]:
    texts = {"text": TEXT, "pair": PAIR}
    return printed("layers", code, **texts, **params)


def floats(output: str) -> list[float]:
    found = re.findall(r"-?\d+\.?\d*(?:e[-+]?\d+)?", output)
    return [float(number) for number in found]


def test_a_step_of_both_texts():
    _, output = layers_printed("layers_numbers", layers_step="layer_1/query", token="3")
    numbers = client().ask(part_numbers)(DEFAULT_MODEL, Texts(TEXT, PAIR), "layer_1", 2)
    assert output.startswith("took ")
    expected = numbers.of("layer_1/query").ravel()
    np.testing.assert_allclose(floats(output)[:3], expected[:3], atol=1e-6)


def test_the_residual_stream():
    _, output = layers_printed("layers_residual_map")
    found = client().ask(residual_stream)(DEFAULT_MODEL, Texts(TEXT, PAIR))
    shown = floats(output)[: len(found.residual_norms)]
    np.testing.assert_allclose(shown, found.residual_norms[:, MASK], rtol=1e-5)


def test_what_the_norms_do_to_the_sums_is_measured():
    model = "bert-mini-en"
    app = open_page("layers", text=TEXT, model=model)
    explorer = Explorer.open(model)
    trace = explorer.trace(TEXT)
    layers = range(explorer.config.num_hidden_layers)
    values = [block_values(explorer, trace, layer) for layer in layers]
    numbers = []
    for kind in ("residual", "norm"):
        names = (f"attention.{kind}", f"mlp.{kind}")
        rows = [np.linalg.norm(one[name], axis=-1) for one in values for name in names]
        numbers += [f"{np.min(rows):.1f}", f"{np.max(rows):.1f}"]
    assert (
        re.findall(r"\d+\.\d", said(finished(app)).split("the sums have")[1])[:4]
        == numbers
    )


def test_similar_layers():
    app, output = layers_printed("layers_similarity", layers_panel="similarity")
    shown = np.array(specs(app)[-1]["data"][0]["z"], float)
    np.testing.assert_allclose(floats(output)[: len(shown)], shown[0], atol=6e-5)
    assert f"{shown[0, -1]:.3f}" in said(app)
    # Written not on the diagonal alone, where each is compared with itself.
    written = np.array(specs(app)[-1]["data"][0]["text"])
    assert written[0, -1] == f"{shown[0, -1]:.2g}"
    assert (written != "").all()


def test_neurons_and_switching():
    panel = {"layers_panel": "neurons"}
    app, output = layers_printed("layers_suppressed", **panel)
    chosen = app.get_by_key("layers_neuron").value
    assert int(output.split()[0]) + 1 == int(chosen)
    app, output = layers_printed("layers_off", **panel)
    before, after, change = floats(output)[:3]
    assert abs(change) > 1e-6, "nothing to see"
    shown = {metric.label: metric.value for metric in app.metric}
    assert shown["Probability before"] == percent(before)
    assert shown["Probability after"] == percent(after)
    points = float(shown["Change (Δp)"].split()[0])
    assert points == pytest.approx(100 * change, abs=6e-4)


@pytest.mark.parametrize("reading", ["head", "embedding"])
def test_the_words_of_a_neuron_as_the_page_reads_them(reading):
    app, output = layers_printed(
        "layers_suppressed",
        layers_panel="neurons",
        layers_neuron_layer="5",
        layers_reading=reading,
    )
    sides = re.findall(r"(\(\'.+?\)) \[(.+?)\]", output, re.DOTALL)
    neuron = int(app.get_by_key("layers_neuron").value) - 1
    if reading == "head":
        both = Texts(TEXT, PAIR)
        found = client().ask(words_of_neuron_here)(
            DEFAULT_MODEL, both, 4, neuron, MASK, 8
        )
    else:
        found = client().ask(words_of_neuron)(DEFAULT_MODEL, 4, neuron, 8)
    expected = {
        "promoted": (found.promoted_tokens, found.promoted_changes),
        "suppressed": (found.suppressed_tokens, found.suppressed_changes),
    }
    for (side, (words, changes)), (tokens, numbers) in zip(
        expected.items(), sides, strict=True
    ):
        assert ast.literal_eval(tokens) == words
        np.testing.assert_allclose(floats(numbers), changes, rtol=1e-4)
        figure = json.loads(app.get_by_key(f"layers_{side}_figure").proto.spec)
        assert figure["data"][0]["customdata"] == [label(word) for word in words]


def test_groups_of_neurons():
    app, output = layers_printed("layers_factor_neurons", layers_panel="factors")
    share = float(app.metric[0].value.rstrip("%")) / 100
    assert floats(output)[0] == pytest.approx(share, abs=6e-4)
    assert output.count("[") >= 8


@pytest.mark.parametrize("source", ["small", "real"])
def test_a_norm_by_hand(source):
    change = {"layers_shift": "2.0", "layers_scale": "1.5"}
    app, output = layers_printed(
        "layers_by_hand_figure", layers_panel="by_hand", layers_by_hand=source, **change
    )
    vector = np.array(SMALL)
    if source == "real":
        norm = app.get_by_key("layers_by_hand_norm").value
        vector = (
            client()
            .ask(norm_input_at)(DEFAULT_MODEL, Texts(TEXT, PAIR), norm, MASK)
            .vector
        )
    assert floats(output)[0] == pytest.approx(vector.mean() + 2, rel=1e-6)
    assert floats(output)[1] == pytest.approx(vector.var() * 2.25, rel=1e-6)


def test_curves_at_the_chosen_x():
    _, output = printed("activations", "activations_curves", act_x="0.5")
    lines = [line.split() for line in output.splitlines()]
    assert [line[0] for line in lines] == ["sigmoid", "relu", "gelu"]
    for name, *numbers in lines:
        expected = [float(f(name, np.array(0.5))) for f in (activate, differentiate)]
        assert list(map(float, numbers)) == pytest.approx(expected)


def test_weaknesses():
    _, output = printed(
        "activations", "activations_gradients", act_depth="9", act_start="-2"
    )
    left = {line.split()[0]: float(line.split()[-1]) for line in output.splitlines()}
    for name, gradient in left.items():
        path = gradient_through_layers(name, 9, 1.0, start=-2.0)
        assert gradient == pytest.approx(path.gradients[-1])
    assert "elu" in left
    centre = {"act_weakness": "centre"}
    _, output = printed("activations", "activations_means", **centre)
    assert floats(output.splitlines()[0])[0] == output_signs("sigmoid").mean
    _, output = printed("activations", "activations_path", **centre)
    path = learn_two_weights("sigmoid", num_steps=40)
    first = output.split()
    assert int(first[1]) == path.num_one_sided
    assert float(first[2]) == pytest.approx(path.distances[-1])


def test_training_and_collapse():
    _, output = printed("activations", "activations_neuron", act_weakness="dead")
    relu = train("relu", learning_rate=0.1, num_steps=NUM_STEPS, seed=FIRST_SEED)
    assert output.startswith(f"relu {relu.died_at()}")
    assert output.splitlines()[1].split() == ["0.0", "0.0"]
    _, output = printed("activations", "activations_collapse", act_weakness="collapse")
    stack, one, bent = output.splitlines()[-3:]
    assert floats(stack) == pytest.approx(floats(one))
    assert floats(stack) != pytest.approx(floats(bent))


def test_gelu():
    _, output = printed("activations", "activations_normal", act_normal_x="1.5")
    gelu = float(activate("gelu", np.array(1.5)))
    gate = sampled_gate(np.array([1.5]), 100, 0)[-1, 0]
    assert floats(output)[-2:] == pytest.approx([gelu, gate])
    _, output = printed("activations", "activations_error")
    assert floats(output)[0] == best_constant("gelu")
