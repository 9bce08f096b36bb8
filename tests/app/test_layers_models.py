"""The layers page with models of other kinds: Chinese, pre-norm, with fewer heads."""

from __future__ import annotations

import numpy as np
import pytest

from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.cause_results import Switches, Target
from bertviz_core.experiments.neurons import words_of_neuron_here
from bertviz_core.experiments.residual_stream import residual_stream
from bertviz_core.experiments.step_results import LayerStep
from bertviz_core.experiments.switching import switch_off
from bertviz_core.experiments.token_numbers import part_numbers, steps_for_one_token
from bertviz_core.figures.masked_word import percent
from bertviz_core.trace import Texts, Trace
from pages.shared.engine import client
from pages.shared.language import text as said_in
from tests.app.chinese_model import write_chinese_model
from tests.app.layer_pictures import step_picture, strip_data, walk
from tests.app.test_layers import (
    finished,
    open_page,
    orders_named,
    said,
    specs,
    step_now,
    strip,
)
from tests.core.checkpoint_copies import (
    hf_copy,
    number_copy,
    pre_norm_copy,
    weights_of_hf,
)

TEXT = "ab cab [MASK]"
CHINESE_TEXT = "我喜欢吃[MASK]果"
CHINESE_MASK = 5


@pytest.fixture(scope="module")
def chinese(tmp_path_factory):
    return str(write_chinese_model(tmp_path_factory.mktemp("chinese")))


@pytest.fixture(scope="module")
def pre_norm(tmp_path_factory):
    return str(pre_norm_copy(tmp_path_factory.mktemp("pre_norm")))


def steps_of(model: str, text: str) -> tuple[LayerStep, ...]:
    return client().ask(steps_for_one_token)(model, Texts(text))


def test_a_chinese_text_is_followed_character_by_character(chinese):
    app = open_page("zh", model=chinese, layers_text=CHINESE_TEXT)
    tokens = ["[CLS]", *"我喜欢吃", "[MASK]", "果", "[SEP]"]
    names = [name.replace("\\", "") for name in app.get_by_key("layers_token").options]
    assert names == [f"{i} {token}" for i, token in enumerate(tokens, start=1)]
    assert app.get_by_key("layers_token").value == str(CHINESE_MASK + 1)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_step_of_a_chinese_model_is_shown(chinese, language):
    app = open_page(
        language, model=chinese, layers_text=CHINESE_TEXT, layers_panel="orders"
    )
    steps = [s for s in steps_of(chinese, CHINESE_TEXT) if s.layer in (None, 1)]
    for step in steps:
        app.session_state["layers_step"] = step.name
        app.run()
        assert not app.exception, step.name
        assert not app.error, step.name
        about = said_in(f"layer_steps.about_{step.operation}", language)
        assert about in said(app)
        assert np.isfinite(strip(app)).any()
    words = client().ask(vocabulary)(chinese)
    heads = client().ask(part_numbers)(
        chinese, Texts(CHINESE_TEXT), "heads", CHINESE_MASK
    )
    assert steps[-1].name == "mlm_probs"
    best = words[int(np.argmax(heads.of("mlm_probs")))]
    picture = step_picture(app)
    assert picture["rows"][0].strip("\u2068\u2069") == best
    likeliest = heads.of("mlm_probs").max()
    assert picture["values"][0, 0] == pytest.approx(likeliest, rel=1e-5)


def test_the_neurons_of_a_chinese_model_speak_for_characters(chinese):
    link = {"layers_text": CHINESE_TEXT, "layers_panel": "neurons"}
    app = finished(open_page(model=chinese, **link))
    layer = int(app.get_by_key("layers_neuron_layer").value) - 1
    neuron = int(app.get_by_key("layers_neuron").value) - 1
    arguments = (chinese, Texts(CHINESE_TEXT), layer, neuron, CHINESE_MASK, 8)
    found = client().ask(words_of_neuron_here)(*arguments)
    promoted, suppressed = (
        chart["data"][0]["customdata"]
        for chart in specs(app)
        if chart["layout"]["xaxis"]["title"]["text"] == "change of the word's logit"
    )
    assert [one.strip("\u2068\u2069") for one in promoted] == [*found.promoted_tokens]
    assert [one.strip("\u2068\u2069") for one in suppressed] == [
        *found.suppressed_tokens
    ]
    assert any("\u4e00" <= one[0] <= "\u9fff" for one in found.promoted_tokens)
    rising = f"first: {found.promoted_tokens[0]}, "
    assert rising in said(app).replace("\\", "")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_pre_norm_model_tells_of_norms_in_front(pre_norm, language):
    link = {"model": pre_norm, "layers_text": TEXT}
    app = open_page(language, **link, layers_panel="residual")
    assert said_in("layers.residual_pre", language) in said(app)
    app = open_page(language, **link, layers_panel="orders")
    for operation in ("attention_norm", "attention_residual", "output_norm"):
        app.session_state["layers_step"] = f"layer_1/{operation}"
        app.run()
        assert said_in(f"layer_steps.about_{operation}_first", language) in said(app)
        assert said_in(f"layer_steps.about_{operation}", language) not in said(app)


def test_of_both_orders_the_one_of_a_pre_norm_model_is_named(pre_norm):
    app = open_page(model=pre_norm, layers_text=TEXT, layers_panel="orders")
    assert orders_named(app) == {
        "Post-norm": "The chosen model is not built like this.",
        "Pre-norm": "The chosen model is built like this.",
    }


def test_the_heads_of_a_pre_norm_model_read_the_final_norm(pre_norm):
    states = (
        client()
        .ask(Trace.only)(pre_norm, Texts(TEXT), ("hidden_states",))
        .hidden_states
    )
    weights, token = weights_of(pre_norm), 3
    # The last norm, by hand, of the first token and of the one that is followed.
    centred = states[-1] - states[-1].mean(axis=-1, keepdims=True)
    deviation = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + EPSILON)
    normed = centred / deviation * weights["weight"] + weights["bias"]
    for step, place, row in (
        ("final_norm", token, -1),
        ("pooler_dense", 0, 0),
        ("mlm_transform", token, 0),
    ):
        app = open_page(
            model=pre_norm,
            layers_text=TEXT,
            layers_token=str(token + 1),
            layers_step=step,
            layers_panel="orders",
        )
        assert step_now(app) == step
        np.testing.assert_allclose(strip(app)[row], normed[place], atol=1e-5)
        token_name = f"at token {place + 1} "
        assert token_name in said(app)


EPSILON = 1e-4  # of `hf_tiny`


def weights_of(model: str) -> dict[str, np.ndarray]:
    found = all_weights_of(model)
    return {part: found[f"bert.final_norm.{part}"] for part in ("weight", "bias")}


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
def test_a_model_with_fewer_heads_is_walked_to_its_end(tmp_path, lost, last):
    kept = {k: v for k, v in weights_of_hf().items() if not k.startswith(lost)}
    model = str(hf_copy(tmp_path, kept))
    steps = steps_of(model, TEXT)
    assert steps[-1].name == last
    app = open_page(
        model=model,
        layers_text=TEXT,
        layers_step=steps[-8].name,
        layers_panel="orders",
    )
    for step in steps[-7:]:
        walk(app, 1)
        assert not app.exception
        assert not app.error
        assert step_now(app) == step.name
        assert step_picture(app)["values"].size
    assert strip_data(app)["parts"][-1]["steps"][-1]["name"] == last


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_model_that_says_a_number_is_walked_to_that_number(tmp_path, language):
    model = str(number_copy(tmp_path))
    app = open_page(
        language,
        model=model,
        layers_text="ab cab",
        layers_step="pooled_output",
        layers_panel="orders",
    )
    walk(app, 1)
    assert step_now(app) == "class_logits"
    assert strip_data(app)["parts"][-1]["steps"][-1]["name"] == "class_logits"
    about = said_in("layer_steps.about_class_logits_number", language)
    assert about in said(app)
    assert said_in("layer_steps.about_class_logits", language) not in said(app)
    number = (
        client().ask(Trace.only)(model, Texts("ab cab"), ("class_logits",)).class_logits
    )
    np.testing.assert_allclose(strip(app).ravel(), number, rtol=1e-5)
    size = {"en": "1 number =", "zh": "1 个数 ="}[language]
    assert size in said(app)


@pytest.mark.parametrize(
    ("language", "answer", "name"),
    [("en", 0, "follows"), ("zh", 1, "不是下一句")],
)
def test_a_model_with_a_next_sentence_head_alone_has_its_answers_watched(
    tmp_path, language, answer, name
):
    kept = {
        key: array
        for key, array in weights_of_hf().items()
        if not key.startswith("cls.predictions")
    }
    model, text, pair = str(hf_copy(tmp_path, kept)), "ab cab", "ba cab"
    link = {"layers_text": text, "layers_panel": "neurons"}
    link["layers_next_sentence"] = str(answer + 1)
    app = open_page(language, model=model, layers_pair=pair, **link)
    target = Target("nsp", answer)
    layer = int(app.get_by_key("layers_neuron_layer").value) - 1
    neuron = int(app.get_by_key("layers_neuron").value) - 1
    switches = Switches(neurons=((layer, neuron),))
    found = client().ask(switch_off)(model, text, target, switches, pair)
    before, after, change = (metric.value for metric in app.metric[:3])
    assert before == percent(found.before.probability)
    assert after == percent(found.after.probability)
    assert f"{100 * found.delta_probability:+z.3f}" in change
    assert f"**{name}**" in said(app)
    alone = said_in("layers.off_next_alone", language)
    assert alone not in said(app)
    assert alone in said(open_page(language, model=model, **link))


def test_a_model_without_any_head_has_no_answer_to_watch(tmp_path):
    kept = {
        key: array
        for key, array in weights_of_hf().items()
        if not key.startswith(("cls.", "bert.pooler"))
    }
    model = str(hf_copy(tmp_path, kept))
    app = open_page(model=model, layers_text="ab cab", layers_panel="neurons")
    assert "no head that gives an answer" in said(app)
    assert not app.metric


@pytest.mark.parametrize(
    ("language", "maybe"), [("en", "it can grow"), ("zh", "可能一层比一层长")]
)
def test_a_stream_that_keeps_its_length_is_not_said_to_grow(
    tmp_path, pre_norm, language, maybe
):
    """Layers that add nothing, as those of a model that has learned nothing may."""
    weights = {
        name: array * (".output.dense." not in name)
        for name, array in all_weights_of(pre_norm).items()
    }
    model = str(hf_copy(tmp_path, weights, {"pre_norm": True}))
    app = open_page(language, model=model, layers_text=TEXT, layers_panel="residual")
    enters = client().ask(residual_stream)(model, Texts(TEXT)).residual_norms
    np.testing.assert_allclose(enters - enters[0], 0, atol=1e-6)
    assert maybe in said(app)
