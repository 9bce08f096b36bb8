"""The layers page with models of other kinds: Chinese, pre-norm, with fewer heads."""

from __future__ import annotations

import numpy as np
import pytest

from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.cause_results import Switches, Target
from bertviz_core.experiments.residual_stream import residual_stream
from bertviz_core.experiments.step_results import LayerStep
from bertviz_core.experiments.switching import switch_off
from bertviz_core.experiments.token_numbers import part_numbers, steps_for_one_token
from bertviz_core.figures.masked_word import percent
from bertviz_core.trace import Texts, Trace
from pages.shared.engine import client
from pages.shared.language import text as said_in
from tests.app.layer_pictures import step_picture, strip_data, walk
from tests.app.real_pages import checked, said
from tests.app.test_layers import open_page, orders_named, step_now, strip
from tests.core.checkpoint_copies import hf_copy, pre_norm_copy

TEXT = "ab cab [MASK]"
CHINESE_TEXT = "我喜欢吃[MASK]果"
CHINESE_MASK = 5


@pytest.fixture(scope="module")
def pre_norm(tmp_path_factory):
    return str(pre_norm_copy(tmp_path_factory.mktemp("pre_norm")))


def steps_of(model: str, text: str) -> tuple[LayerStep, ...]:
    return client().ask(steps_for_one_token)(model, Texts(text))


def test_a_chinese_text_is_walked_to_its_likeliest_word(chinese):
    link = {"text": CHINESE_TEXT, "layers_panel": "orders"}
    app = open_page("zh", model=chinese, **link)
    tokens = ["[CLS]", *"我喜欢吃", "[MASK]", "果", "[SEP]"]
    names = [name.replace("\\", "") for name in app.get_by_key("token").options]
    assert names == [f"{i} {token}" for i, token in enumerate(tokens, start=1)]
    assert app.get_by_key("token").value == str(CHINESE_MASK + 1)
    *_, step = steps_of(chinese, CHINESE_TEXT)
    app.session_state["layers_step"] = step.name
    checked(app.run())
    assert said_in(f"layer_steps.about_{step.operation}", "zh") in said(
        app, escaped=True
    )
    words = client().ask(vocabulary)(chinese)
    heads = client().ask(part_numbers)(
        chinese, Texts(CHINESE_TEXT), "heads", CHINESE_MASK
    )
    assert step.name == "mlm_probs"
    best = words[int(np.argmax(heads.of("mlm_probs")))]
    picture = step_picture(app)
    assert picture["rows"][0].strip("\u2068\u2069") == best
    likeliest = heads.of("mlm_probs").max()
    assert picture["values"][0, 0] == pytest.approx(likeliest, rel=1e-5)


def test_a_pre_norm_model_tells_of_norms_in_front(pre_norm):
    link = {"model": pre_norm, "text": TEXT}
    app = open_page(**link, layers_panel="residual")
    assert said_in("layers.residual_pre", "en") in said(app, escaped=True)
    app.get_by_key("layers_panel").set_value("orders").run()
    assert orders_named(app) == {
        "Post-norm": "The chosen model is not built like this.",
        "Pre-norm": "The chosen model is built like this.",
    }
    for operation in ("attention_norm", "attention_residual", "output_norm"):
        app.session_state["layers_step"] = f"layer_1/{operation}"
        told = said(checked(app.run()), escaped=True)
        assert said_in(f"layer_steps.about_{operation}_first", "en") in told
        assert said_in(f"layer_steps.about_{operation}", "en") not in told


def all_weights_of(model: str) -> dict[str, np.ndarray]:
    from safetensors.numpy import load_file

    return load_file(f"{model}/model.safetensors")


@pytest.mark.parametrize(
    ("lost", "last"),
    [
        (("cls.seq_relationship", "bert.pooler"), "mlm_probs"),
        (("cls.predictions",), "nsp_probs"),
        (("cls.", "bert.pooler"), "layer_2/output_norm"),
    ],
)
def test_a_model_with_fewer_heads_is_walked_to_its_end(hf_without, lost, last):
    model = hf_without(*lost)
    steps = steps_of(model, TEXT)
    assert steps[-1].name == last
    link = {"model": model, "text": TEXT, "layers_panel": "orders"}
    app = open_page(**link, layers_step=steps[-8].name)
    for step in steps[-7:]:
        checked(walk(app, 1))
        assert step_now(app) == step.name
        assert step_picture(app)["values"].size
    assert strip_data(app)["parts"][-1]["steps"][-1]["name"] == last
    app.get_by_key("layers_panel").set_value("neurons").run()
    assert ("no head that gives an answer" in said(app)) == (len(lost[0]) == 4)
    assert bool(app.metric) == (len(lost[0]) > 4)


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
    app = open_page(model=model, **link, layers_next_sentence="2")
    layer = int(app.get_by_key("layers_neuron_layer").value) - 1
    neuron = int(app.get_by_key("layers_neuron").value) - 1
    switches = Switches(neurons=((layer, neuron),))
    found = client().ask(switch_off)(model, text, Target("nsp", 1), switches, pair)
    before, after, change = (metric.value for metric in app.metric[:3])
    assert before == percent(found.before.probability)
    assert after == percent(found.after.probability)
    assert f"{100 * found.delta_probability:+z.3f}" in change
    assert "**does not follow**" in said(app)
    alone = said_in("layers.off_next_alone", "en")
    assert alone not in said(app, escaped=True)
    app.text_area(key="pair").set_value("").run()
    assert alone in said(checked(app), escaped=True)


def test_a_stream_that_keeps_its_length_is_not_said_to_grow(tmp_path, pre_norm):
    """Layers that add nothing, as those of a model that has learned nothing may."""
    weights = {
        name: array * (".output.dense." not in name)
        for name, array in all_weights_of(pre_norm).items()
    }
    model = str(hf_copy(tmp_path, weights, {"pre_norm": True}))
    app = open_page(model=model, text=TEXT, layers_panel="residual")
    enters = client().ask(residual_stream)(model, Texts(TEXT)).residual_norms
    np.testing.assert_allclose(enters - enters[0], 0, atol=1e-6)
    assert "it can grow" in said(app)
