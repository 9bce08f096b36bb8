"""Which answer the questions of the attention page watch, and what the link keeps."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.cause_results import Switches, Target
from bertviz_core.experiments.switching import switch_off
from bertviz_core.explorer import Explorer
from bertviz_core.figures.masked_word import percent
from pages.shared.engine import client
from tests.app.test_attention import MODEL, TEXT, ask, said, started, type_text
from tests.app.test_layers import classifier_copy
from tests.core.checkpoint_copies import (
    HF,
    hf_copy,
    weights_of_hf,
    without_part,
)

TINY = str(HF)
TWO_MASKS = "The [MASK] is the capital of [MASK]."
HEADS_OFF = Switches(heads=((0, 0),))


def shown_as_measured(app: AppTest, model: str, text: str, target: Target, *pair: str):
    """Whether the page says the answer before and after as the engine does."""
    found = client().ask(switch_off)(model, text, target, HEADS_OFF, *pair)
    values = found.before.probability, found.after.probability
    assert [metric.value for metric in app.metric[:2]] == list(map(percent, values))
    return found


def likeliest(text: str) -> str:
    predictions = client().ask(Explorer.predict_masks)(MODEL, text)
    return client().ask(vocabulary)(MODEL)[int(predictions.logits[0].argmax())]


def test_an_untouched_word_follows_the_text_and_a_chosen_one_stays():
    app = ask("switch")
    other = "Paris is the capital of [MASK]."
    best = likeliest(other)
    assert app.selectbox(key="attention_word").value == likeliest(TEXT) != best
    type_text(app, other)
    assert app.selectbox(key="attention_word").value == best
    assert "attention_word" not in app.query_params
    app.selectbox(key="attention_word").set_value("italy").run()
    type_text(app, TEXT)
    assert app.selectbox(key="attention_word").value == "italy"
    assert app.query_params["attention_word"] in ("italy", ["italy"])


def test_a_link_brings_the_watched_answer_back():
    chosen = {"attention_target": "1", "attention_word": "italy"}
    app = ask("switch", text=TWO_MASKS, **chosen)
    assert app.selectbox(key="attention_word").value == "italy"
    index = client().ask(vocabulary)(MODEL).index("italy")
    masks = client().ask(Explorer.tokenize)(MODEL, TWO_MASKS).mask_positions
    target = Target("mlm", index, int(masks[1]))
    found = shown_as_measured(app, MODEL, TWO_MASKS, target)
    assert f"rank {found.before.rank} → {found.after.rank}" in app.metric[2].delta
    state = {"attention_word": "qqqqqqq"}  # a word outside the vocabulary is named
    assert "qqqqqqq" in said(ask("switch", state))


def test_a_second_text_that_follows_is_watched():
    texts = {"text": "ab cab", "pair": "b a"}
    app = ask("switch", model=TINY, **texts)
    (option,) = app.selectbox(key="attention_target").options
    assert option == "the second text follows the first"
    shown_as_measured(app, TINY, "ab cab", Target("nsp", 0), "b a")
    assert "does not follow" in app.get("plotly_chart")[-1].proto.spec


def test_a_class_is_watched_and_not_held_against_itself(tmp_path):
    model = classifier_copy(tmp_path)
    app = ask("switch", model=model, text="ab cab", attention_target="2")
    shown_as_measured(app, model, "ab cab", Target("classifier", 2))
    assert "the class z" in said(app) + app.metric[0].label
    chosen = {"attention_target": "1", "attention_other_answer": "1"}
    app = ask("patch", model=model, text="ab cab", **chosen)
    box = app.selectbox(key="attention_other_answer")
    assert (box.value, box.options) == (None, ["x", "z"])


def test_a_link_keeps_the_other_answer():
    texts = {"text": "ab cab", "pair": "b a"}
    chosen = {"attention_other": "ba cab", "attention_other_answer": "1"}
    app = started("patch", language="中文", model=TINY, **texts, **chosen)
    box = app.selectbox(key="attention_other_answer")
    assert (box.value, box.options) == ("1", ["不是下一句"])
    assert app.query_params["attention_other_answer"] in ("1", ["1"])


def test_a_model_without_answers_says_so(tmp_path):
    model = str(hf_copy(tmp_path, without_part(weights_of_hf(), "cls.")))
    app = ask("switch", model=model, text="ab [MASK]")
    assert not app.metric
    assert "attention_target" not in [box.key for box in app.selectbox]
    assert "no masked-word head" in said(app)


def test_a_model_of_one_head_has_its_answers(tmp_path):
    model, text = str(hf_copy(tmp_path, config={"num_attention_heads": 1})), "ab [MASK]"
    app = ask("switch", model=model, text=text)
    found = client().ask(Explorer.predict_masks)(model, text)
    target = Target("mlm", int(found.logits[0].argmax()), int(found.positions[0]))
    shown_as_measured(app, model, text, target)
    assert app.selectbox(key="attention_head").options == ["1"]
