"""The questions below the pictures of the attention page."""

from __future__ import annotations

import dataclasses
import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.head_distances import nearest_heads, order_by_likeness
from bertviz_core.analysis.head_profiles import BROAD_THRESHOLD, LEAST_ROWS, NamedHead
from bertviz_core.analysis.sampling import softmax
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.ablation import ablate_heads, ablate_parts
from bertviz_core.experiments.attention_matrix import (
    attention_mass,
    attention_matrix,
    profile_heads,
)
from bertviz_core.experiments.attention_parts import pair_arithmetic
from bertviz_core.experiments.cause_results import (
    Edge,
    PatchingMap,
    SparsePattern,
    Switches,
    Target,
)
from bertviz_core.experiments.corpus_profiles import grammar_of_heads
from bertviz_core.experiments.gradients import estimate_heads
from bertviz_core.experiments.patching import patch_hidden_states
from bertviz_core.experiments.sparsity import predict_sparsely
from bertviz_core.experiments.switching import switch_off
from bertviz_core.explorer import Explorer
from bertviz_core.figures.masked_word import percent
from bertviz_core.sentences import bundled_text
from bertviz_core.trace import Texts, Trace
from pages.attention import arithmetic, causes, profile
from pages.attention.pictures import key_of
from pages.shared import export
from pages.shared.engine import client
from pages.shared.export import cell_columns
from tests.app.real_pages import (
    answer,
    checked,
    choose,
    link_of,
    random_estimate,
    run_program,
    signed,
    table,
    unfolded,
)
from tests.app.test_attention import (
    MODEL,
    TEXT,
    ask,
    drawn_maps,
    finished,
    said,
    started,
    traces,
    type_text,
)
from tests.core.checkpoint_copies import HF, hf_copy, weights_of_hf, without_part
from tests.core.sent_figures import numbers

NUMBER = Target("classifier", 0)
NUMBER_TEXT = "ab cab ba"
CLEAN, CORRUPTED = "Paris is the capital of [MASK].", "Rome is the capital of [MASK]."
TINY = str(HF)
TINY_CLEAN, TINY_CORRUPTED = "a [MASK] b", "c [MASK] b"
LAYERS, HEADS = 6, 8  # of the bundled model


def result_of(task, *asked: Any, **more: Any) -> Any:
    """What a task answers that pages ask as a job."""
    return answer(client().ask(task).about(*asked, **more))


def likeliest(text: str = TEXT) -> Target:
    """What the page watches at first."""
    trace = client().ask(Trace.only)(MODEL, Texts(text), ("mlm_logits",))
    position = int(trace.mlm_positions[0])
    return Target("mlm", int(trace.mlm_logits[0].argmax()), position)


# What the heads do.


def test_every_name_is_in_the_table_and_the_rules_are_stated(monkeypatch):
    one = NamedHead(1, 2, "broad", 0.95, BROAD_THRESHOLD, 1.0, 9)
    monkeypatch.setattr("pages.attention.profile.name_heads", lambda _: (one,) * 250)
    app = ask("profile")
    assert len(app.dataframe[0].value) == 250
    assert "at least 50% of its attention" in said(app)
    assert "at least 90% of the entropy" in said(app)
    assert f"over {LEAST_ROWS} tokens or more" in said(app)


def test_like_heads_lie_side_by_side_and_the_nearest_is_named():
    app = ask("profile", {"attention_likeness_box": True})
    found = client().ask(profile_heads)(MODEL, Texts(TEXT))
    order = order_by_likeness(found.distances)
    expected = found.distances.reshape(len(order), -1)[np.ix_(order, order)]
    np.testing.assert_allclose(drawn_maps(app)[-1], expected, atol=5e-4)
    near = nearest_heads(found.distances, 0, 0)[0]
    told = f"Nearest: {near.layer + 1}·{near.head + 1} ({near.distance:.2f})"
    assert any(told in one.value for one in app.caption)


def test_a_head_alone_is_like_no_other(monkeypatch):
    found = client().ask(profile_heads)(MODEL, Texts(TEXT))
    few = dataclasses.replace(
        found,
        profile=dataclasses.replace(
            found.profile, totals=found.profile.totals[:, :1, :1]
        ),
        distances=found.distances[:1, :1, :1, :1],
    )
    monkeypatch.setattr(profile, "ask", lambda _: lambda *_: few)
    app = ask("profile")
    assert "Heads that look like 1·1" not in [one.value for one in app.subheader]
    assert "Groups of heads that look alike" not in [one.label for one in app.expander]


# The pair of tokens.


def locked(token: int, other: int | None) -> dict[str, object]:
    """A session in which a cell, or a row, of the pictures is locked."""
    text_key = key_of(client().ask(Explorer.tokenize)(MODEL, TEXT))
    chosen = {"from": token, "to": other, "turn": 1, "text": text_key}
    return {"attention_canvas": {"selection": {"layer": 0, "head": 0, **chosen}}}


def pair_of(app: AppTest) -> tuple[str, str]:
    """Who looks and who is seen, from 1 as on all pages."""
    return tuple(app.selectbox(key=name).value for name in ("token", "attention_to"))


def test_a_locked_cell_is_the_pair_that_is_asked_about():
    app = ask("arithmetic", locked(3, 0), attention_cut_edge="true")
    assert pair_of(app) == ("4", "1")
    address = [link_of(app, name) for name in ("token", "attention_to")]
    assert address == ["4", "1"]
    assert pair_of(choose(app, attention_panel="switch")) == ("4", "1")
    choose(app, attention_to="6")
    for is_hidden in (True, False):  # hiding a sign and showing it again
        assert pair_of(choose(app, attention_hide_special=is_hidden)) == ("4", "6")


def test_a_lock_of_another_text_moves_no_box():
    text = "The old man saw a young bird on the roof."
    # Nobody is chosen, so it is whom the head looks at most.
    weights = client().ask(attention_matrix)(MODEL, Texts(text), "head", 2, 1)
    most = str(int(weights[1].argmax()) + 1)
    head = {"attention_layer": "3", "attention_head": "2"}
    app = ask("arithmetic", locked(6, 5), text=text, **head)
    assert pair_of(app) == ("2", most) != ("2", "6")


def test_a_locked_cell_stays_the_pair_in_another_head():
    weights = client().ask(attention_matrix)(MODEL, Texts(TEXT), "head", 2, 1)
    most = int(weights[3].argmax())
    head = {"attention_layer": "3", "attention_head": "2"}
    app = ask("arithmetic", token="4", **head)
    assert pair_of(app) == ("4", str(most + 1))
    app.session_state["attention_canvas"] = locked(3, most)["attention_canvas"]
    app.run()
    for other in "45":
        assert pair_of(choose(app, attention_head=other)) == ("4", str(most + 1))


def test_a_link_brings_the_pair_back_where_the_text_has_it():
    app = ask("arithmetic", token="9", attention_to="1")
    assert pair_of(app) == ("9", "1")
    type_text(app, "a cat")
    assert pair_of(app) == ("2", "1")


def test_a_weight_that_rounding_has_moved_says_so(monkeypatch):
    found = client().ask(pair_arithmetic)(MODEL, Texts(TEXT), 0, 0, 2, 4)
    moved = found
    monkeypatch.setattr(arithmetic, "ask", lambda _: lambda *_: moved)
    app = started("arithmetic", token="3", attention_to="5")
    for apart in (5e-7, 5e-6):
        changed = {"exposed_prob": found.prob, "unrounded_probs": found.probs + apart}
        moved = dataclasses.replace(found, **changed)
        text = said(checked(app.run()))
        assert ("Without rounding in this row" in text) == (apart > 1e-6)
        assert (f"{moved.rounding:+.0e}" in text) == (apart > 1e-6)


# Parts switched off, and sparse patterns.


def test_parts_are_switched_off_as_the_page_says():
    app = ask("switch", attention_layer="3", attention_head="4")
    target = likeliest()
    choose(app, attention_off_heads=[])
    before, after, change, logit = app.metric
    assert before.value == after.value
    assert float(change.value.split()[0]) == float(logit.value) == 0
    assert "Everything is switched on" in said(app)
    choose(app, attention_cut_edge=True)
    choose(app, token="9", attention_to="6")
    for place, edge in (
        ("everywhere", Edge(8, 5)),
        ("layer", Edge(8, 5, layer=2)),
        ("head", Edge(8, 5, layer=2, head=3)),
    ):
        choose(app, attention_cut_edge_where=place)
        switches = Switches(edges=(edge,))
        expected = client().ask(switch_off)(MODEL, TEXT, target, switches)
        assert expected.delta_probability != 0
        assert app.metric[1].value == percent(expected.after.probability)


def test_a_whole_layer_is_its_attention_and_its_feed_forward_block():
    app = ask("switch", attention_off_whole=["2"], attention_off_layers=["4"])
    switches = Switches(heads=((0, 0),), attention=(1, 3), feed_forward=(1,))
    expected = client().ask(switch_off)(MODEL, TEXT, likeliest(), switches)
    shown = numbers(traces(app)[0]["x"])
    np.testing.assert_allclose(shown, expected.answers.values[1], rtol=1e-6)
    half = dataclasses.replace(switches, feed_forward=())
    other = client().ask(switch_off)(MODEL, TEXT, likeliest(), half)
    assert abs(other.after.probability - expected.after.probability) > 1e-3
    assert "the biases of its output projections" in said(app)


def test_the_sentence_says_what_the_parts_did_to_the_answer():
    trace = client().ask(Trace.only)(MODEL, Texts(TEXT), ("mlm_logits",))
    words = client().ask(vocabulary)(MODEL)
    app, told = ask("switch"), {}
    for index in np.argsort(-trace.mlm_logits[0])[:3].tolist():
        app.get_by_key("attention_word").set_value(words[index])
        for layer in range(LAYERS):
            names = [f"{layer + 1}·{head + 1}" for head in range(HEADS)]
            choose(app, attention_off_heads=names)
            heads = Switches(tuple((layer, head) for head in range(HEADS)))
            target = Target("mlm", index, int(trace.mlm_positions[0]))
            change = client().ask(switch_off)(MODEL, TEXT, target, heads)
            moved = 100 * change.delta_probability
            if abs(moved) < 0.5:
                continue
            sentence = "supports this answer" if moved < 0 else "held this answer back"
            (said_here,) = [
                c.value for c in app.caption if "The probability" in c.value
            ]
            assert sentence in said_here
            assert f"by {abs(moved):.2f} percentage points" in said_here
            shown = softmax(trace.mlm_logits[0])[index]
            assert app.metric[0].value == percent(float(shown))
            told[sentence] = said_here
        if len(told) == 2:
            return
    pytest.fail("nothing to see")


def test_a_sparse_pattern_shows_its_edges_and_both_answers():
    window = {"attention_sparse_window": "1", "attention_sparse_num_global": "0"}
    app = ask("sparse", **window)
    bars, edges = traces(app)
    asked = SparsePattern(window=1, num_global=0)
    found = client().ask(predict_sparsely)(MODEL, TEXT, likeliest(), asked)
    np.testing.assert_allclose(numbers(bars["x"]), found.answers.values[1], rtol=1e-6)
    assert not np.array_equal(*found.answers.values)
    size = len(edges["z"])
    expected = np.abs(np.subtract.outer(range(size), range(size))) <= 1
    np.testing.assert_array_equal(np.array(edges["z"], bool), expected)
    np.testing.assert_array_equal(np.array(edges["text"]) == "•", expected)
    assert not edges["showscale"]  # there is nothing between yes and no


def test_the_table_of_all_pairs_is_made_when_it_is_opened_and_is_whole(monkeypatch):
    read = []

    def watched(*of):
        read.append(of)
        return cell_columns(*of)

    monkeypatch.setattr(export, "cell_columns", watched)
    monkeypatch.setattr("pages.attention.causes._MOST_DRAWN", 4)
    text = "[MASK] ab cab ab ba"
    app = ask("sparse", model=str(HF), text=text)
    assert not read
    choose(app, attention_sparse_edges_tools="table")
    tokens = client().ask(Explorer.tokenize)(str(HF), text).tokens
    shown = app.dataframe[0].value
    assert drawn_maps(app)[0].shape == (4, 4)
    assert shown["from"].tolist() == [one for one in tokens for _ in tokens]
    assert shown["to"].tolist() == [*tokens] * len(tokens)
    edges = np.array(shown["may look"], int).reshape(len(tokens), -1)
    assert set(edges.ravel().tolist()) == {0, 1}
    np.testing.assert_array_equal(edges[:4, :4], drawn_maps(app)[0])


# Maps of causes.


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    return float(spearmanr(first.ravel(), second.ravel()).statistic)


def test_the_exact_map_and_its_agreement_are_the_engines(monkeypatch, estimates):
    drawn = {}
    monkeypatch.setattr("pages.shared.answers._SHORT_WORK", 1e20)
    monkeypatch.setattr(
        causes, "clickable_map", lambda shown, key, _: drawn.update({key: shown.values})
    )
    app, target = ask("maps"), likeliest()
    exact = result_of(ablate_heads, MODEL, TEXT, target)
    found = drawn["attention_map_exact"]
    np.testing.assert_array_equal(found, exact.deltas)
    mass = client().ask(attention_mass)(MODEL, Texts(TEXT), target.position)
    np.testing.assert_array_equal(drawn["attention_map_mass"], mass)
    asked = client().ask(estimate_heads).about(MODEL, TEXT, target, None)
    assert {*estimates} == {asked}
    estimate = random_estimate(asked)
    shown = [signed(metric.value) for metric in app.metric[:2]]
    right = rank_correlation(np.abs(found), mass), rank_correlation(found, estimate)
    assert shown == pytest.approx(right, abs=0.0051)  # two digits
    # What would be shown if one of the maps were another.
    for wrong in (
        rank_correlation(np.abs(found), estimate),
        rank_correlation(np.abs(exact.delta_logits), mass),
        rank_correlation(found, mass),
    ):
        assert abs(shown[0] - wrong) > 0.0051


def test_an_estimate_comes_first_where_the_exact_map_takes_long(monkeypatch, estimates):
    monkeypatch.setattr("pages.shared.answers._SHORT_WORK", 0)
    app = ask("maps", model=TINY, text="ab [MASK] cab")
    assert estimates
    assert "An estimate from one backward pass" in said(app)
    (start,) = [one for one in app.button if one.key.endswith("_start")]
    assert start.label == "Switch off all 18 heads, one after the other"
    text = said(finished(app, "ablate_heads"))
    assert "with one head switched off" in text
    agreement = [metric.label for metric in app.metric]
    assert "Do heads that look more also cause more?" in agreement
    choose(app, attention_map_kind="parts")
    (start,) = [one for one in app.button if one.key.endswith("_start")]
    assert start.label.startswith("Switch off the halves of all 3 layers")


def test_the_head_that_is_pointed_out(monkeypatch):
    found = np.zeros((LAYERS, HEADS))
    exact: object = None
    monkeypatch.setattr(causes, "ask_job", lambda *_, **__: found)
    monkeypatch.setattr(causes, "ask_soon", lambda *_, **__: exact)
    app = ask("maps")
    for kind, deltas, expected in (
        ("exact", [0.05, -0.01, 0.2], "Head 1·2 helps it most"),
        ("exact", [0.05, 0.01, 0.2], "No head helps it"),
        # The largest whatever its sign.
        ("estimate", [0.05, -0.01, 0.02], "Strongest: head 1·1, +5.00 points"),
    ):
        found = np.zeros((LAYERS, HEADS))
        found[0, :3] = deltas
        exact = SimpleNamespace(deltas=found) if kind == "exact" else None
        text = said(checked(app.run()))
        assert expected in text
        assert ("head 1·3, +20.00 points" in text) == ("No head" in expected)


# A model that says a number.


def test_a_number_changes_in_its_own_unit(number_model):
    off = Switches(heads=((1, 0),))
    found = client().ask(switch_off)(number_model, NUMBER_TEXT, NUMBER, off)
    assert abs(found.delta_logit) > 1e-3, "nothing to see"
    app = ask(
        "switch", model=number_model, text=NUMBER_TEXT, attention_other="ba cab ab",
        attention_off_heads=["2·1"], attention_map_kind="parts",
    )  # fmt: skip
    expected = [found.before.logit, found.after.logit, found.delta_logit]
    shown = [signed(metric.value) for metric in app.metric[:3]]
    assert shown == pytest.approx(expected, rel=1e-3)
    assert "The number moved by" in said(app)
    assert "the number price" in app.selectbox(key="attention_target").options[0]
    (values,) = drawn_maps(finished(choose(app, attention_panel="maps")))
    assert np.abs(values).max() > 1e-3
    parts = result_of(ablate_parts, number_model, NUMBER_TEXT, NUMBER)
    np.testing.assert_allclose(values, parts.deltas, atol=1e-5)
    assert "Change of the number price" in said(app)
    choose(app, attention_panel="patch")
    assert "attention_contrast" not in [box.key for box in app.selectbox]
    recovered = drawn_maps(finished(app, "patch"))[0]
    assert recovered[-1, 0] == pytest.approx(1)


# Patching.


def patched(
    model: str, clean: str, corrupted: str, contrast: str = "", *state: dict
) -> tuple[AppTest, PatchingMap]:
    """The page and the engine, both asked for the likeliest word at the mask."""
    asked = {"attention_contrast": contrast} if contrast else {}
    texts = {"text": clean, "attention_other": corrupted}
    app = ask("patch", *state, model=model, **texts, **asked)
    predictions = client().ask(Explorer.predict_masks)(model, clean, cut=True)
    best, position = int(predictions.logits[0].argmax()), predictions.positions[0]
    target = Target("mlm", best, int(position))
    minus = client().ask(vocabulary)(model).index(contrast) if contrast else None
    of = (model, clean, corrupted, target)
    return finished(app, "patch"), result_of(patch_hidden_states, *of, minus=minus)


def test_patching_shows_what_each_state_brings_back():
    contrast = "italy"
    box = unfolded("attention_patch")
    app, found = patched(MODEL, CLEAN, CORRUPTED, contrast, box)
    np.testing.assert_allclose(drawn_maps(app)[0], found.recovered, atol=1e-6)
    of_program = run_program(app)[0]["found"].recovered
    np.testing.assert_allclose(of_program, found.recovered, atol=1e-4)
    assert f"{found.clean_score:.3f} in your text" in said(app)
    assert "minus logit of italy" in said(app)
    the_changed_word = found.recovered[0].max()
    assert the_changed_word == pytest.approx(1, abs=1e-5), "by itself, in float32"
    between = found.recovered[1:-1]
    layer, token = np.unravel_index(between.argmax(), between.shape)
    words = found.corrupted.tokens[token], found.clean.tokens[token]
    name = words[0] if words[0] == words[1] else " ← ".join(words)
    best = f"{name} after layer {layer + 1} recovers {between.max():.0%}"
    assert best in said(app)


def test_a_model_of_one_layer_has_no_state_between_and_long_texts_are_cut(tmp_path):
    parts = ("bert.encoder.layer.1.", "bert.encoder.layer.2.")
    weights = without_part(weights_of_hf(), *parts)
    model = str(hf_copy(tmp_path, weights, {"num_hidden_layers": 1}))
    rest = " b" * 20
    app, found = patched(model, TINY_CLEAN + rest, TINY_CORRUPTED + rest)
    assert found.clean.was_cut
    np.testing.assert_allclose(drawn_maps(app)[0], found.recovered, atol=1e-6)
    assert "no state between the input and the last layer" in said(app)
    assert "recovers" not in said(app)


def test_patching_begins_with_a_word_changed():
    app = ask("patch", text=CLEAN)
    box = app.text_input(key="attention_other")
    words = zip(CLEAN.split(), box.value.split(), strict=True)
    assert sum(one != other for one, other in words) == 1
    box.set_value("").run()
    assert "Type your sentence again" in said(app)


def test_what_cannot_be_patched_or_compared_with_is_named():
    app = ask(
        "patch",
        {"attention_contrast": "qqqqqqq"},
        text=CLEAN,
        attention_other="Rome is the capital of Italy.",
    )
    assert "qqqqqqq" in said(app)
    assert "italy stands where your text has" in said(app)
    choose(app, attention_other=CORRUPTED)
    assert "stands where your text has" not in said(app)


# The answer that is watched.

CAPITAL = "The [MASK] is the capital of [MASK]."
HEADS_OFF = Switches(heads=((0, 0),))


def shown_as_measured(app: AppTest, model: str, text: str, target: Target, *pair: str):
    """Whether the page says the answer before and after as the engine does."""
    found = client().ask(switch_off)(model, text, target, HEADS_OFF, *pair)
    values = found.before.probability, found.after.probability
    assert [metric.value for metric in app.metric[:2]] == list(map(percent, values))
    return found


def likeliest_word(text: str) -> str:
    return client().ask(vocabulary)(MODEL)[likeliest(text).index]


def test_the_watched_word_is_the_likeliest_of_the_text():
    app = ask("switch")
    other = "Paris is the capital of [MASK]."
    best = likeliest_word(other)
    assert app.selectbox(key="attention_word").value == likeliest_word(TEXT) != best
    type_text(app, other)
    assert app.selectbox(key="attention_word").value == best


def test_a_link_brings_the_watched_answer_back():
    chosen = {"attention_target": "1", "attention_word": "italy"}
    app = ask("switch", text=CAPITAL, **chosen)
    assert app.selectbox(key="attention_word").value == "italy"
    index = client().ask(vocabulary)(MODEL).index("italy")
    masks = client().ask(Explorer.tokenize)(MODEL, CAPITAL).mask_positions
    target = Target("mlm", index, int(masks[1]))
    found = shown_as_measured(app, MODEL, CAPITAL, target)
    assert f"rank {found.before.rank} → {found.after.rank}" in app.metric[3].delta
    assert signed(app.metric[3].value) == pytest.approx(found.delta_logit, abs=1e-4)


def test_a_second_text_that_follows_is_watched():
    texts = {"text": "ab cab", "pair": "b a"}
    app = ask("switch", model=TINY, **texts)
    (option,) = app.selectbox(key="attention_target").options
    assert option == "the second text follows the first"
    shown_as_measured(app, TINY, "ab cab", Target("nsp", 0), "b a")
    assert "does not follow" in app.get("plotly_chart")[-1].proto.spec


def test_a_class_is_watched_and_not_held_against_itself(classifier):
    link = {"attention_target": "2", "attention_other_answer": "1"}
    app = ask("switch", model=classifier, text="ab cab", **link)
    shown_as_measured(app, classifier, "ab cab", Target("classifier", 2))
    assert "the class z" in said(app) + app.metric[0].label
    choose(app, attention_target="1", attention_panel="patch")
    box = app.selectbox(key="attention_other_answer")
    assert (box.value, box.options) == (None, ["x", "z"])


def test_a_link_keeps_the_other_answer():
    texts = {"text": "ab cab", "pair": "b a"}
    chosen = {"attention_other": "ba cab", "attention_other_answer": "1"}
    app = started("patch", language="zh", model=TINY, **texts, **chosen)
    box = app.selectbox(key="attention_other_answer")
    assert (box.value, box.options) == ("1", ["不是下一句"])
    assert app.query_params["attention_other_answer"] in ("1", ["1"])


def test_a_model_without_answers_says_so(hf_without):
    app = ask("switch", model=hf_without("cls."), text="ab [MASK]")
    assert not app.metric
    assert "attention_target" not in [box.key for box in app.selectbox]
    assert "no head that gives an answer" in said(app)


def test_a_model_of_one_head_has_its_answers(tmp_path):
    model, text = str(hf_copy(tmp_path, config={"num_attention_heads": 1})), "ab [MASK]"
    app = ask("switch", model=model, text=text)
    found = client().ask(Explorer.predict_masks)(model, text)
    target = Target("mlm", int(found.logits[0].argmax()), int(found.positions[0]))
    shown_as_measured(app, model, text, target)
    assert app.selectbox(key="attention_head").options == ["1"]


# Sentences that bring their grammar.

ADDRESS = {"attention_profile_where": "grammar"}


def give(app, conllu):
    file = ("mine.conllu", conllu.encode(), "text/plain")
    app.file_uploader[0].set_value(file).run()
    finished(app)


def test_heads_are_held_against_the_bundled_grammar():
    app = ask("profile", **ADDRESS, attention_relation="obj of")
    assert not app.error
    found = client().ask(grammar_of_heads)(DEFAULT_MODEL, "en")
    index = found.relations.index("obj of")
    layer, head = np.unravel_index(
        found.accuracies[index].argmax(), found.accuracies.shape[1:]
    )
    (told,) = [c.value for c in app.caption if c.value.startswith("Best at “obj of”")]
    assert f"head {layer + 1}·{head + 1}: right in" in told
    rows = table(app).to_numpy().tolist()
    assert len(rows) == found.accuracies[0].size
    (row,) = [row for row in rows if row[0] == f"{layer + 1}·{head + 1}"]
    one = found.best_relation(layer, head)
    share, rule = found.accuracies[one, layer, head], found.baselines[one]
    told = [found.relations[one], f"{share:.0%}", f"{rule:.0%}", f"{found.counts[one]}"]
    assert row[1:5] == told
    # Those that lead the most come first.
    leads = [int(row[2][:-1]) - int(row[3][:-1]) for row in rows if row[1]]
    assert all(lead >= after - 1 for lead, after in itertools.pairwise(leads))


def test_own_sentences_take_the_place_of_the_bundled_ones():
    app = ask("profile", **ADDRESS)
    mine = "\n\n".join(bundled_text("grammar", "en").split("\n\n")[:3]) + "\n\n"
    give(app, mine)
    assert "in 3 sentences" in "".join(caption.value for caption in app.caption)
    give(app, "no treebank")
    (error,) = app.error
    assert "one line per word" in error.value
