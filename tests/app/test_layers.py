"""The layers page on the bundled model, on models of other kinds, and on long texts."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.layer_norm import layer_norm
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.engine.model_tasks import forward_count, vocabulary
from bertviz_core.experiments.cause_results import Switches, Target
from bertviz_core.experiments.neuron_effects import rank_neurons
from bertviz_core.experiments.neuron_factors import neuron_factors
from bertviz_core.experiments.neurons import strongest_neurons
from bertviz_core.experiments.residual_stream import layer_similarity, residual_stream
from bertviz_core.experiments.switching import switch_off
from bertviz_core.experiments.token_numbers import part_numbers, steps_for_one_token
from bertviz_core.explorer import Explorer
from bertviz_core.figures.labels import with_minus
from bertviz_core.figures.masked_word import percent
from bertviz_core.trace import ModelEntry, Texts, Trace
from pages.layers import residual
from pages.layers import walk as shown_picture
from pages.shared.engine import client
from pages.shared.export import show_below
from pages.shared.language import spoken
from pages.shared.language import text as said_in
from tests.app import real_pages
from tests.app.real_pages import (
    answer,
    checked,
    finished,
    floats,
    link_of,
    run_program,
    said,
    specs,
    unfolded,
)
from tests.core.checkpoint_copies import (
    HF,
    first_layers,
    hf_copy,
    pre_norm_copy,
    weights_of_hf,
)
from tests.core.sent_figures import numbers
from tests.payloads import unpacked

TINY = {"model": str(HF), "text": "ab cab [MASK]"}
PANELS = ("residual", "similarity", "neurons", "factors", "orders", "by_hand")
TEXT = "The cat sat on the [MASK] because it was tired."
MASK = 6  # its index in the text
ISOLATES = "\u2068\u2069"  # around a label of a figure


def open_page(language: str = "en", **params) -> AppTest:
    """With `TEXT`, unless the model or the reader is another than usual."""
    usual = {"text": TEXT} if language == "en" and "model" not in params else {}
    return real_pages.open_page("layers", language, **(usual | params))


def sent_to(app: AppTest, name: str):
    """What a component of the page has got; fails where it is not there once."""
    (found,) = (
        one.proto
        for one in app.get("bidi_component")
        if one.proto.component_name.rpartition(".")[2] == name
    )
    return found


def strip_data(app: AppTest) -> dict:
    """What the strip of steps has got."""
    return json.loads(sent_to(app, "bert_explorer_layers").json)


def pictures_sent(app: AppTest) -> dict[str, np.ndarray]:
    """The numbers of each step that the browser holds, `[rows, columns]`, in order."""
    header, arrays = unpacked(sent_to(app, "bert_explorer_step").bytes)
    return {
        name: arrays[name].reshape(len(picture["rows"]), -1)
        for name, picture in header["pictures"].items()
    }


def step_picture(app: AppTest) -> dict:
    """The picture of the chosen step; its `values` have a row for each of `rows`."""
    header, _ = unpacked(sent_to(app, "bert_explorer_step").bytes)
    name = strip_data(app)["current"]
    return {**header["pictures"][name], "values": pictures_sent(app)[name]}


def go_to(app: AppTest, step: str) -> AppTest:
    """Goes to a step, as a click into the strip does."""
    app.session_state["layers_step"] = step
    return app.run()


def walk(app: AppTest, by: int) -> AppTest:
    """Goes so many steps on."""
    data = strip_data(app)
    names = [step["name"] for part in data["parts"] for step in part["steps"]]
    return go_to(app, names[names.index(data["current"]) + by])


def strip(app: AppTest) -> np.ndarray:
    """The numbers of the chosen step, as its picture has got them."""
    return step_picture(app)["values"]


def step_now(app: AppTest) -> str:
    return app.session_state["layers_step"]


def test_every_panel_opens_and_reads_a_text_of_one_letter():
    default, linked, *_ = PANELS
    link = {"layers_panel": linked, "layers_step": "layer_0/context"}
    app = finished(open_page(**TINY, **link, pair="ba cab"))
    assert app.get_by_key("layers_panel").value == linked
    for is_short in (False, True):
        if is_short:
            app.text_area(key="pair").set_value("")
            app.text_area(key="text").set_value("a").run()
        for panel in PANELS:
            app.get_by_key("layers_panel").set_value(panel).run()
            assert specs(finished(app)), panel
            assert link_of(app, "layers_panel") == ("" if panel == default else panel)
            if panel == default and not is_short:
                read = client().ask(Explorer.tokenize)(*TINY.values(), "ba cab")
                assert len(specs(app)[1]["data"][0]["x"]) == read.num_tokens
        assert step_picture(app)["values"].size


def test_every_step_has_its_formula_sentence_code_and_numbers():
    # Of all panels this one has no widget whose options AppTest would translate.
    app = open_page(layers_panel="orders")
    steps = client().ask(steps_for_one_token)(DEFAULT_MODEL, Texts(TEXT))
    part = [s for s in steps if s.layer in (None, 2)]
    assert len(part) > 20
    for step in part:
        checked(go_to(app, step.name))
        assert step.formula in [piece.value.strip("$\n ") for piece in app.latex]
        assert app.code[0].value == step.place.code
        picture = step_picture(app)
        assert picture["description"] in [spoken(c.value) for c in app.caption]
        assert np.isfinite(picture["values"]).any()
        assert link_of(app, "layers_step") == ("" if step is part[0] else step.name)
        if step.operation == "attention_residual":
            assert "The norm that follows rescales all of this" in said(app)
            assert "only adds to this" not in said(app)


def test_the_numbers_shown_are_the_models_own_of_one_token_and_of_all():
    arrays = ("hidden_states", "attention_probs", "pooled_output")
    trace = client().ask(Trace.only)(DEFAULT_MODEL, Texts(TEXT), arrays)
    app = open_page(
        layers_step="layer_1/attention_probs",
        token="3",
        layers_all_tokens="true",
        layers_head="3",
        layers_panel="orders",
    )
    probs, states = trace.attention_probs[1], trace.hidden_states[4]
    np.testing.assert_allclose(strip(app), probs[:, 2], rtol=0, atol=1e-6)
    shown = numbers(specs(app)[0]["data"][0]["z"])
    np.testing.assert_allclose(shown, probs[2], rtol=0, atol=1e-6)
    go_to(app, "layer_3/output_norm")
    np.testing.assert_allclose(strip(app)[-1], states[2], rtol=0, atol=1e-5)
    shown = numbers(specs(app)[0]["data"][0]["z"])
    np.testing.assert_allclose(shown, states, rtol=0, atol=1e-5)
    go_to(app, "mlm_probs")
    assert not [toggle for toggle in app.toggle if toggle.key == "layers_all_tokens"]
    # The pooler is shown at the token that it reads.
    read, _ = strip(go_to(app, "pooler_dense"))
    np.testing.assert_allclose(read, trace.hidden_states[-1, 0], atol=1e-5)
    assert np.abs(read - trace.hidden_states[-1, 2]).max() > 0.1
    assert app.get_by_key("token").value == "3"
    assert "at token 1 [CLS]" in said(app)
    walk(app, 1)
    assert step_now(app) == "pooled_output"
    read, made = strip(app)
    np.testing.assert_allclose(np.tanh(read), made, atol=1e-6)
    np.testing.assert_allclose(made, trace.pooled_output, atol=1e-5)
    size = len(trace.pooled_output)
    assert f"**{size} numbers** computed from [CLS] alone" in said(app)


def test_the_table_of_words_has_all_of_them_and_the_picture_the_first(monkeypatch):
    tables = []

    def keep(*, columns, **others):
        tables.append(columns())
        return show_below(columns=columns, **others)

    monkeypatch.setattr(shown_picture, "show_below", keep)
    app = open_page(layers_step="mlm_logits", layers_panel="orders")
    found = client().ask(part_numbers)(DEFAULT_MODEL, Texts(TEXT), "heads", MASK)
    words = client().ask(vocabulary)(DEFAULT_MODEL)
    for step in ("mlm_logits", "mlm_probs"):
        checked(go_to(app, step))
        names, values = tables[-1].values()
        assert sorted(names) == sorted(words)
        for name, value in (names[0], values[0]), (names[-1], values[-1]):
            assert found.of(step)[words.index(name)] == pytest.approx(value)
        np.testing.assert_array_equal(values, np.sort(found.of(step))[::-1])
        shown = step_picture(app)
        assert [row.strip(ISOLATES) for row in shown["rows"]] == list(names[:20])
        np.testing.assert_allclose(shown["values"].ravel(), values[:20], rtol=1e-6)
        assert "The table to download has all of them" in said(app)


def test_a_part_brings_its_ways_out_and_asks_nothing_while_one_is_in_it(monkeypatch):
    app = open_page(layers_step="layer_2/query", layers_panel="orders")
    held = pictures_sent(app)
    around = ("layer_1/output_norm", "layer_3/query")
    first, *_, last = held
    assert (first, last) == around
    trace = client().ask(Trace.only)(DEFAULT_MODEL, Texts(TEXT), ("hidden_states",))
    made = held[first][-1]
    np.testing.assert_allclose(made, trace.hidden_states[2, MASK], rtol=0, atol=1e-5)
    asked = []
    engine = client()
    with monkeypatch.context() as patch:
        call = engine.call
        patch.setattr(engine, "call", lambda q: asked.append(q.name) or call(q))
        for _ in range(10):
            walk(app, 1)
    assert step_now(app) == "layer_2/intermediate"
    # The page looks at the list of models again after some seconds.
    assert set(asked) <= {"models", "earlier_uploads"}
    for end in ("word_embeddings", "mlm_probs"):
        assert end in pictures_sent(go_to(app, end))
    # An input is a way to the step that made it.
    go_to(app, "layer_2/attention_residual")
    app.button(key="layers_input_layer_1/output_norm").click().run()
    assert step_now(app) == "layer_1/output_norm"


def test_walking_runs_a_part_of_the_network_once_and_never_the_whole(chinese):
    # A model that was chosen, and not the one that goes with the language, stays.
    app = open_page(model=chinese, text="他每天[MASK]牛奶。")
    before = client().ask(forward_count)()
    for _ in range(12):
        walk(app, 1)
    # It has come to the first layer, and holds the first step of the second.
    assert client().ask(forward_count)() - before == 1
    for _ in range(12):
        walk(app, -1)
    go_to(app, "layer_0/neurons")
    assert client().ask(forward_count)() - before == 1
    app.get_by_key("token").set_value("3").run()
    assert client().ask(forward_count)() - before == 4
    app.get_by_key("lang").set_value("中文").run()
    assert not app.exception
    assert client().ask(forward_count)() - before == 4


def test_token_and_step_come_from_a_link_and_another_text_starts_anew():
    app = open_page(token="4", layers_step="layer_5/neurons", layers_panel="orders")
    assert app.get_by_key("token").value == "4"
    assert step_now(app) == "layer_5/neurons"
    assert "Layer 6: Activation" in app.subheader[0].value
    for text, first in (("A [MASK] came.", "3"), ("no gap at all", "2")):
        app.text_area(key="text").set_value(text).run()
        assert app.get_by_key("token").value == first
    # A step that is not there gives way to one that is.
    for name, expected in (
        ("layer_40/neurons", "layer_5/neurons"),
        ("nonsense", "word_embeddings"),
        ("layer_1/", "word_embeddings"),
    ):
        checked(go_to(app, name))
        assert step_now(app) == expected


@pytest.mark.tensorflow
def test_the_best_neurons_of_all_layers_are_those_of_the_engine():
    model, text = TINY.values()
    link = {"layers_panel": "neurons", "layers_word": "bo"}
    app = finished(open_page(**TINY, **link, state=unfolded("layers_effects")))
    mask = client().ask(Explorer.tokenize)(model, text).mask_positions[0]
    target = Target("mlm", client().ask(vocabulary)(model).index("bo"), mask)
    found = answer(client().ask(rank_neurons).about(model, text, target))
    bars, marks = specs(app)[-1]["data"]
    for trace, values in ((bars, found.deltas), (marks, found.estimated_deltas)):
        np.testing.assert_allclose(numbers(trace["x"]), 100 * values, rtol=1e-5)
    assert np.abs(found.deltas).max() > 1e-6, "nothing to see"
    places = [f"{layer + 1}·{neuron + 1}" for layer, neuron in found.neurons]
    printed = re.findall(r"\[ *(\d+) +(\d+)\]", run_program(app)[1])
    assert [f"{int(a) + 1}·{int(b) + 1}" for a, b in printed] == places
    assert [place.strip(ISOLATES) for place in bars["customdata"]] == places
    assert app.get_by_key("layers_effect_open").options == places
    # One of them opens with a click; any other can be typed.
    app.get_by_key("layers_effect_open").set_value(places[1]).run()
    layer, neuron = places[1].split("·")
    assert app.get_by_key("layers_neuron_layer").value == layer
    assert app.get_by_key("layers_neuron").value == neuron
    assert f"Neuron {neuron} of layer {layer}" in said(app)
    app.number_input(key="layers_other_neuron").set_value(7).run()
    assert app.get_by_key("layers_neuron").value == "7"
    assert f"Neuron 7 of layer {layer}" in said(app)


def test_elsewhere_the_strongest_neuron_is_chosen_again():
    word = {"layers_word": "qqqqqqq"}  # outside the vocabulary
    app = open_page(**TINY, layers_panel="neurons", layers_neuron="30", state=word)
    assert "qqqqqqq" in said(app)
    assert app.get_by_key("layers_neuron").value == "30"
    app.selectbox(key="layers_neuron_layer").set_value("2").run()
    model, text = TINY.values()
    mask = client().ask(Explorer.tokenize)(model, text).mask_positions[0]
    strong = client().ask(strongest_neurons)(model, Texts(text), 1, mask, 10)
    assert app.get_by_key("layers_neuron").value == str(strong.neurons[0] + 1)


def test_the_word_is_the_likeliest_of_the_token():
    app = open_page(layers_panel="neurons")
    words = client().ask(vocabulary)(DEFAULT_MODEL)
    seen = []
    for token in (MASK, 2):
        app.get_by_key("token").set_value(str(token + 1)).run()
        found = client().ask(part_numbers)(DEFAULT_MODEL, Texts(TEXT), "heads", token)
        seen.append(words[int(found.of("mlm_logits").argmax())])
        assert app.get_by_key("layers_word").value == seen[-1]
    assert len(set(seen)) == 2


def test_an_untouched_epsilon_is_that_of_the_model():
    tiny = (ModelEntry(str(HF), "tiny", "upload"),)
    link = {"layers_panel": "by_hand", "layers_by_hand": "real"}
    app = open_page(**link, state={"uploaded_models": tiny})
    assert app.get_by_key("layers_epsilon_real").value == "1e-12"
    app.selectbox(key="model").set_value(str(HF)).run()
    own = client().ask(Explorer.info)(str(HF)).config.layer_norm_eps
    assert float(app.get_by_key("layers_epsilon_real").value) == own != 1e-12
    assert link_of(app, "layers_epsilon_real") == ""


def test_a_link_keeps_the_watched_class(classifier):
    link = {"model": classifier, "text": "ab cab", "layers_panel": "neurons"}
    app = open_page(**link, layers_target="1")
    assert app.get_by_key("layers_target").options[1] == "the class y"
    assert link_of(app, "layers_target") == "1"
    target = Target("classifier", 1)
    trace = client().ask(switch_off)(classifier, "ab cab", target, Switches())
    shown = float(app.metric[0].value.rstrip("%"))
    assert shown == pytest.approx(100 * trace.before.probability, abs=0.06)


@pytest.mark.tensorflow
def test_a_model_that_says_a_number_is_watched_in_its_own_unit(number_model):
    model = number_model
    app = finished(open_page(model=model, text="ab cab", layers_panel="neurons"))
    target = Target("classifier", 0)
    here = int(app.get_by_key("layers_neuron").value) - 1
    depth = int(app.get_by_key("layers_neuron_layer").value) - 1
    alone = Switches(neurons=((depth, here),))
    found = client().ask(switch_off)(model, "ab cab", target, alone)
    shown = [metric.value for metric in app.metric[:3]]
    assert shown[0] == with_minus(f"{found.before.logit:.4g}")
    assert shown[1] == with_minus(f"{found.after.logit:.4g}")
    assert shown[2] == with_minus(f"{found.delta_logit:+.4g}")
    bars, marks = specs(app)[-1]["data"]
    best = answer(client().ask(rank_neurons).about(model, "ab cab", target))
    np.testing.assert_allclose(numbers(bars["x"]), best.deltas, rtol=1e-5)
    assert abs(best.deltas[0]) > 1e-6, "nothing to see"
    assert np.abs(numbers(marks["x"])).max() > 1e-6
    assert "in its own unit" in said(app)
    assert "%" not in "".join(shown)


def test_the_share_explained_is_that_of_the_groups():
    state = unfolded("layers_factor_neurons")
    app = finished(open_page(layers_panel="factors", state=state))
    found = answer(client().ask(neuron_factors).about(DEFAULT_MODEL, Texts(TEXT), 4, 0))
    shown = {metric.label: metric.value for metric in app.metric}
    assert shown["Share explained"] == f"{1 - found.error**2:.1%}"
    assert shown["Below 0, left out"] == f"{found.negative_share**2:.1%}"
    assert shown["Iterations"] == str(found.num_iterations)
    printed = run_program(app)[1]
    assert floats(printed)[0] == pytest.approx(1 - found.error**2, abs=1e-4)
    assert printed.count("[") >= 8
    assert 0 < found.error < 1
    weights = numbers(specs(app)[0]["data"][0]["z"])
    np.testing.assert_allclose(weights, found.weights, rtol=1e-5)
    assert weights.shape[0] == 4
    lengths = np.linalg.norm(weights, axis=1)
    assert (np.diff(lengths) <= 1e-6).all()


def test_a_norm_takes_shift_and_stretch_away_mirrors_and_feels_epsilon():
    """Of a mirrored vector it is mirrored around 0, or β, but for epsilon's share."""
    app = open_page(layers_panel="by_hand")

    def changed(shift: float, scale: float, epsilon: str) -> list[np.ndarray]:
        """The vector, as it is changed, and its norm."""
        app.slider(key="layers_shift").set_value(shift)
        app.slider(key="layers_scale").set_value(scale)
        app.get_by_key("layers_epsilon_small").set_value(epsilon).run()
        return [numbers(trace["y"]) for trace in specs(checked(app))[0]["data"]]

    small, _, plain = (numbers(trace["y"]) for trace in specs(app)[0]["data"])
    np.testing.assert_allclose(plain, layer_norm(small, 1.0, 0.0, 1e-12), atol=1e-6)
    assert "Nothing is changed yet" in said(app)
    _, moved, normed = changed(3.0, 2.0, "1e-12")
    np.testing.assert_allclose(normed, plain, atol=1e-6)
    assert moved.mean() == pytest.approx(4)
    assert "as before" in app.success[0].value
    for scale, epsilon, is_felt in (
        (-1.0, "0.1", True), (-2.0, "1e-12", False), (-0.05, "1", True)
    ):  # fmt: skip
        normed = changed(2.0, scale, epsilon)[-1]
        (told,) = (info.value for info in app.info if "mirrored" in info.value)
        assert "the output around 0" in told
        off = np.abs(normed + plain).max()
        assert (f"off by up to {off:.3f}" in told) == ("ε" in told) == is_felt
    # Epsilon alone is a change, and one of both is held against the epsilon before.
    normed = changed(0.0, 1.0, "1")[-1]
    difference = np.abs(normed - plain).max()
    for _ in range(2):
        assert f"output changes by up to {difference:.3f}" in said(app)
        changed(2.0, 1.0, "1")
    changed(2.0, -1.0, "1")
    app.get_by_key("layers_by_hand").set_value("real").run()
    assert "the output around β" in said(app)


def test_a_second_text_changes_segments_and_next_sentence():
    model, text, pair = str(HF), "ab cab [MASK]", "ba cab"
    trace = client().ask(Trace.only)(model, Texts(text, pair), ("nsp_logits",))
    step, last = "token_type_embeddings", str(len(trace.tokenized.tokens))
    link = {"model": model, "text": text, "pair": pair, "layers_panel": "orders"}
    app = open_page(**link, token=last, layers_step=step)
    seen = []
    for second in (pair, ""):
        app.text_area(key="pair").set_value(second).run()
        assert link_of(app, "pair") == second
        if second:
            assert app.get_by_key("token").value == last
        else:
            last_alone = app.get_by_key("token").options[-1].split()[0]
            app.get_by_key("token").set_value(last_alone).run()
        segment = strip(app).ravel()
        seen.append((segment, np.sort(strip(checked(go_to(app, "nsp_probs"))).ravel())))
        app.session_state["layers_step"] = step
    (first, probs), (alone, others) = seen
    assert np.nanmax(np.abs(first - alone)) > 1e-3
    powers = np.exp(trace.nsp_logits.astype(float))
    np.testing.assert_allclose(probs, np.sort(powers / powers.sum()), atol=1e-5)
    assert np.abs(probs - others).max() > 1e-5


def test_the_sentences_of_the_stream_have_its_numbers():
    stream = client().ask(residual_stream)(DEFAULT_MODEL, Texts(TEXT))
    app = open_page(layers_panel="residual", state=unfolded("layers_residual_map"))
    values = floats(run_program(app)[1])[: len(stream.residual_norms)]
    np.testing.assert_allclose(values, stream.residual_norms[:, MASK], rtol=1e-5)
    line = numbers(specs(app)[0]["data"][1]["y"])
    np.testing.assert_allclose(line, stream.attention_norms[:, MASK], rtol=1e-5)
    told = said(app).split("the sums have")[1]
    normed = np.stack([stream.middle_norms, stream.output_norms])
    lengths = [f(one) for one in (stream.sum_norms, normed) for f in (np.min, np.max)]
    assert re.findall(r"\d+\.\d", told)[:4] == [f"{one:.1f}" for one in lengths]
    ends = stream.residual_norms[0, MASK], stream.output_norms[-1, MASK]
    expected = [f"{length:.2f}" for length in ends]
    for added in (stream.attention_norms, stream.feed_forward_norms):
        expected.append(str(added[:, MASK].argmax() + 1))
    at_token = told.split("enters the first layer")[1]
    assert re.findall(r"\d+(?:\.\d+)?", at_token)[:4] == expected


def test_the_neighbours_that_are_least_alike_are_named():
    alike = client().ask(layer_similarity)(DEFAULT_MODEL, Texts(TEXT))
    steps = [alike[layer, layer + 1] for layer in range(len(alike) - 1)]
    place = min(range(len(steps)), key=steps.__getitem__)
    layers = [said_in("layers.part_layer", "en", number=n + 1) for n in range(12)]
    names = [said_in("layers.part_embeddings", "en"), *layers]
    state = unfolded("layers_similarity")
    app = finished(open_page(layers_panel="similarity", state=state))
    told = said(app, escaped=True)
    expected = f"{names[place]} and {names[place + 1]} are least alike"
    assert f"{expected}: {steps[place]:.3f}" in told
    assert f"last layer: {alike[0, -1]:.3f}" in told
    printed = floats(run_program(app)[1])[: len(alike)]
    np.testing.assert_allclose(printed, alike[0], atol=6e-5)
    # Written not on the diagonal alone, where each is compared with itself.
    written = np.array(specs(app)[-1]["data"][0]["text"])
    assert written[0, -1] == f"{alike[0, -1]:.2g}"
    assert (written != "").all()


# Models of other kinds.


@pytest.fixture(scope="module")
def pre_norm(tmp_path_factory):
    return str(pre_norm_copy(tmp_path_factory.mktemp("pre_norm")))


def test_a_pre_norm_model_tells_of_norms_in_front(pre_norm):
    link = {"model": pre_norm, "text": TINY["text"]}
    app = open_page(**link, layers_panel="residual")
    assert said_in("layers.residual_pre", "en") in said(app, escaped=True)
    app.get_by_key("layers_panel").set_value("orders").run()
    columns = [column for column in app.columns if column.subheader]
    assert {c.subheader[0].value: c.caption[0].value for c in columns} == {
        "Post-norm": "The chosen model is not built like this.",
        "Pre-norm": "The chosen model is built like this.",
    }
    for operation in ("attention_norm", "attention_residual", "output_norm"):
        told = said(checked(go_to(app, f"layer_1/{operation}")), escaped=True)
        assert said_in(f"layer_steps.about_{operation}_first", "en") in told
        assert said_in(f"layer_steps.about_{operation}", "en") not in told


@pytest.mark.parametrize(
    ("lost", "last"),
    [
        (("cls.seq_relationship", "bert.pooler"), "mlm_probs"),
        (("cls.predictions",), "nsp_probs"),
        (("cls.", "bert.pooler"), "layer_1/output_norm"),
    ],
)
def test_a_model_with_fewer_heads_is_walked_to_its_end(hf_without, lost, last):
    model = hf_without(*lost)
    steps = client().ask(steps_for_one_token)(model, Texts(TINY["text"]))
    assert steps[-1].name == last
    link = {"model": model, "text": TINY["text"], "layers_panel": "orders"}
    app = open_page(**link, layers_step=steps[-3].name)
    for step in steps[-2:]:
        checked(walk(app, 1))
        assert step_now(app) == step.name
        assert step_picture(app)["values"].size
    assert strip_data(app)["parts"][-1]["steps"][-1]["name"] == last
    app.get_by_key("layers_panel").set_value("neurons").run()
    assert ("no head that gives an answer" in said(app)) == (len(lost[0]) == 4)
    assert bool(app.metric) == ("mlm" in client().ask(Explorer.info)(model).heads)


def test_a_model_that_says_a_number_is_walked_to_that_number(number_model):
    link = {"model": number_model, "text": "ab cab", "layers_panel": "orders"}
    app = walk(open_page(**link, layers_step="pooled_output"), 1)
    assert step_now(app) == "class_logits"
    assert strip_data(app)["parts"][-1]["steps"][-1]["name"] == "class_logits"
    told = said(app, escaped=True)
    assert said_in("layer_steps.about_class_logits_number", "en") in told
    assert said_in("layer_steps.about_class_logits", "en") not in told
    trace = client().ask(Trace.only)(number_model, Texts("ab cab"), ("class_logits",))
    np.testing.assert_allclose(strip(app).ravel(), trace.class_logits, rtol=1e-5)
    assert "1 number =" in said(app)


def test_a_model_with_a_next_sentence_head_alone_has_its_answers_watched(hf_without):
    model, text, pair = hf_without("cls.predictions"), "ab cab", "ba cab"
    link = {"text": text, "layers_panel": "neurons", "pair": pair}
    app = open_page(model=model, **link)
    layer = int(app.get_by_key("layers_neuron_layer").value) - 1
    neuron = int(app.get_by_key("layers_neuron").value) - 1
    switches = Switches(neurons=((layer, neuron),))
    found = client().ask(switch_off)(model, text, Target("nsp", 0), switches, pair)
    before, after, change = (metric.value for metric in app.metric[:3])
    assert before == percent(found.before.probability)
    assert after == percent(found.after.probability)
    assert with_minus(f"{100 * found.delta_probability:+z.3f}") in change
    assert "does not follow" in app.get_by_key("layers_off_figure").proto.spec
    app.text_area(key="pair").set_value("").run()
    assert "Type a second text" in said(checked(app))


# A text that fills the 512 positions of a model.

NUM_TOKENS, NUM_NEURONS = 512, 3072  # of BERT-base
LAST = NUM_TOKENS - 1
LONG_TEXT = "ab cab ba " * 250

# What a phone on a slow line still takes: all figures of the page together.
MOST_BYTES = 3_000_000


@pytest.fixture(scope="module")
def long_model(tmp_path_factory):
    """Two layers with as many positions and neurons as those of a BERT-base."""
    rng = np.random.default_rng(8)
    weights = first_layers(weights_of_hf(), 2)

    def random(name, *shape):
        weights[name] = rng.normal(0, 0.1, shape).astype("float32")

    place = "bert.embeddings.position_embeddings.weight"
    hidden = weights[place].shape[1]
    random(place, NUM_TOKENS, hidden)
    for layer in range(2):
        block = f"bert.encoder.layer.{layer}"
        random(f"{block}.intermediate.dense.weight", NUM_NEURONS, hidden)
        random(f"{block}.intermediate.dense.bias", NUM_NEURONS)
        random(f"{block}.output.dense.weight", hidden, NUM_NEURONS)
    sizes = {
        "num_hidden_layers": 2,
        "max_position_embeddings": NUM_TOKENS,
        "intermediate_size": NUM_NEURONS,
    }
    weights.pop("bert.embeddings.position_ids", None)
    return str(hf_copy(tmp_path_factory.mktemp("long"), weights, sizes))


def sent_bytes(app: AppTest) -> int:
    kinds = ("plotly_chart", "bidi_component")
    return sum(chart.proto.ByteSize() for kind in kinds for chart in app.get(kind))


def test_every_panel_stays_usable_at_512_tokens(long_model, monkeypatch):
    monkeypatch.setattr(residual, "_SHORT_WORK", 0)  # as of a model of real size
    app = open_page(
        model=long_model,
        text=LONG_TEXT,
        token=str(LAST),
        layers_step="embedding_sum",
        layers_factor_layer="1",
        layers_by_hand="real",
        layers_panel="orders",
    )
    assert any("1,502 tokens" in one.value for one in app.warning)
    for panel in PANELS:
        app.get_by_key("layers_panel").set_value(panel).run()
        if panel == "residual":
            assert not specs(app), "it waits for a button"
        for button in app.button:  # what takes long waits for one
            if re.fullmatch("job_.*_start", button.key or ""):
                button.click().run()
        finished(app)
        assert app.selectbox(key="token").value == str(LAST)
        assert len(app.get("plotly_chart")) >= 1
        assert sent_bytes(app) < MOST_BYTES, panel
        if shown := {"residual": "449 to 512", "factors": "1 to 64"}.get(panel):
            captions = " ".join(caption.value for caption in app.caption)
            assert f"shows tokens {shown};" in captions
    app.get_by_key("layers_panel").set_value("orders")
    app.get_by_key("token").set_value("300").run()
    app.session_state["layers_all_tokens"] = True
    for step in ("query", "attention_scores", "attention_probs", "context", "neurons"):
        checked(go_to(app, f"layer_1/{step}"))
        assert app.toggle(key="layers_all_tokens").value
        assert sent_bytes(app) < MOST_BYTES
        captions = " ".join(caption.value for caption in app.caption)
        assert "tokens 268 to 331" in captions
