"""The questions below the pictures of the attention page, asked of small models."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.comparison import align_tokens, attention_difference
from bertviz_core.analysis.head_distances import order_by_likeness
from bertviz_core.analysis.head_profiles import BROAD_THRESHOLD, NamedHead
from bertviz_core.analysis.shown_attention import AttentionOptions, show_attention
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.attention_matrix import (
    attention_matrix,
    compare_heads,
    profile_heads,
)
from bertviz_core.experiments.attention_parts import pair_arithmetic
from bertviz_core.experiments.attention_results import CorpusProfile
from bertviz_core.experiments.cause_results import (
    PatchingMap,
    SparsePattern,
    Switches,
    Target,
)
from bertviz_core.experiments.corpus_profiles import corpus_profile
from bertviz_core.experiments.patching import patch_hidden_states
from bertviz_core.experiments.sparsity import predict_sparsely
from bertviz_core.experiments.switching import switch_off
from bertviz_core.explorer import Explorer
from bertviz_core.figures.attention_thumbnails import grid_thumbnails
from bertviz_core.figures.attention_view import AttentionView
from bertviz_core.figures.masked_word import percent
from bertviz_core.trace import ModelEntry, Texts
from pages.attention import difference, matrix, sparse
from pages.attention.pictures import key_of
from pages.shared.engine import client
from tests.app.chinese_model import write_chinese_model
from tests.app.test_attention import ROOT, TEXT, maps, said
from tests.app.waiting import let_jobs_end
from tests.core.checkpoint_copies import (
    HF,
    hf_copy,
    number_copy,
    weights_of_hf,
    without_part,
)
from tests.core.engine_waiting import ended

DEADLINE_SECONDS = 60.0
NUMBER = Target("classifier", 0)
NUMBER_TEXT = "ab cab ba"


def opened(
    panel: str, state: dict[str, object] | None = None, **params: str | list[str]
) -> AppTest:
    """Opens the page with a question, and waits for its jobs."""
    app = AppTest.from_file(ROOT / "app.py", default_timeout=90)
    app.query_params["lang"] = "English"
    for name, value in {"attention_panel": panel, **params}.items():
        app.query_params[name] = value
    for name, value in (state or {}).items():
        app.session_state[name] = value
    app.switch_page("pages/attention/attention.py").run()
    return finished(app)


def ask(
    panel: str, state: dict[str, object] | None = None, **params: str | list[str]
) -> AppTest:
    """The same, where nothing goes wrong."""
    app = opened(panel, state, **params)
    assert not [error.value for error in app.error]
    return app


def finished(app: AppTest) -> AppTest:
    """Waits until no job is on its way."""
    end = time.monotonic() + DEADLINE_SECONDS
    while any(button.key.endswith("_cancel") for button in app.button):
        assert time.monotonic() < end
        let_jobs_end(app, end)
        app.run()
    assert not app.exception
    return app


@pytest.fixture(scope="module")
def number_model(tmp_path_factory):
    return str(number_copy(tmp_path_factory.mktemp("models")))


def ask_number(model: str, panel: str, **params: str | list[str]) -> AppTest:
    return ask(panel, model=model, attention_text=NUMBER_TEXT, **params)


def metrics(app: AppTest) -> list[float]:
    return [float(metric.value) for metric in app.metric[:3]]


def test_a_number_changes_in_its_own_unit_when_a_head_is_off(number_model):
    app = ask_number(number_model, "switch", attention_off_heads=["2·1"])
    switches = Switches(heads=((1, 0),))
    found = client().ask(switch_off)(number_model, NUMBER_TEXT, NUMBER, switches)
    assert abs(found.delta_logit) > 1e-3, "nothing to see"
    expected = [found.before.logit, found.after.logit, found.delta_logit]
    assert metrics(app) == pytest.approx(expected, rel=1e-3)
    assert "The number moved by" in said(app)
    assert "%" not in "".join(metric.value for metric in app.metric[:3])
    assert "the number price" in app.selectbox(key="attention_target").options[0]


def test_a_sparse_pattern_moves_the_number(number_model):
    app = ask_number(number_model, "sparse", attention_sparse_window="1")
    pattern = SparsePattern(window=1, num_global=1)
    found = client().ask(predict_sparsely)(number_model, NUMBER_TEXT, NUMBER, pattern)
    assert metrics(app)[2] == pytest.approx(found.delta_logit, rel=1e-3, abs=1e-6)
    assert found.delta_logit != 0


def test_the_maps_of_a_number_are_in_its_own_unit(number_model):
    app = ask_number(number_model, "maps", attention_map_kind="parts")
    (values,) = maps(app)
    assert np.abs(values).max() > 1e-3
    for layer, number in enumerate(values[:, 1]):
        off = Switches(feed_forward=(layer,))
        found = client().ask(switch_off)(number_model, NUMBER_TEXT, NUMBER, off)
        assert number == pytest.approx(found.delta_logit, abs=1e-5)
    assert "Change of the number price" in said(app)


def test_every_name_is_in_the_table_and_the_rules_are_stated(monkeypatch):
    one = NamedHead(1, 2, "broad", 0.95, BROAD_THRESHOLD, 1.0, 9)
    monkeypatch.setattr(CorpusProfile, "names", lambda self: (one,) * 250)
    app = ask("profile")
    assert len(app.dataframe[0].value) == 250
    assert "at least 50% of its attention" in said(app)
    assert "at least 90% of the entropy" in said(app)


def locked(token: int, other: int | None) -> dict[str, object]:
    """A session in which a cell, or a row, of the pictures is locked."""
    text_key = key_of(client().ask(Explorer.tokenize)(DEFAULT_MODEL, TEXT))
    chosen = {"from": token, "to": other, "turn": 1, "text": text_key}
    return {"attention_canvas": {"selection": {"layer": 0, "head": 0, **chosen}}}


def pair_of(app: AppTest) -> tuple[str, str]:
    names = ("attention_from", "attention_to")
    return tuple(app.selectbox(key=name).value for name in names)


@pytest.mark.parametrize("panel", ["arithmetic", "switch"])
def test_a_locked_cell_is_the_pair_that_is_asked_about(panel):
    app = ask(panel, locked(3, 5), attention_cut_edge="true")
    assert pair_of(app) == ("3", "5")
    names = ("attention_from", "attention_to")
    assert [app.query_params[name] for name in names] == ["3", "5"]
    app.selectbox(key="attention_from").set_value("6").run()
    assert pair_of(app) == ("6", "5")


def test_a_locked_word_of_a_picture_without_signs_is_found_in_the_text():
    app = ask("arithmetic", locked(3, None), attention_hide_special="true")
    assert pair_of(app)[0] == "3"


def test_a_lock_of_another_text_moves_no_box():
    text = "The old man saw a young bird on the roof."
    last = client().ask(Explorer.tokenize)(DEFAULT_MODEL, text).num_tokens - 1
    app = ask("arithmetic", locked(6, 5), attention_text=text)
    assert pair_of(app) == ("1", str(last))


def test_hiding_signs_and_showing_them_again_moves_no_box():
    app = ask("arithmetic", locked(6, 0))
    app.selectbox(key="attention_to").set_value("2").run()
    for is_hidden in (True, False):
        app.toggle(key="attention_hide_special").set_value(is_hidden).run()
        assert pair_of(app) == ("6", "2")


def test_a_link_brings_the_pair_back():
    app = ask("arithmetic", attention_from="4", attention_to="0")
    assert pair_of(app) == ("4", "0")


def test_a_pair_beyond_a_shorter_text_gives_way_to_one_of_the_text():
    app = ask("arithmetic", attention_text="a cat", attention_from="9")
    last = client().ask(Explorer.tokenize)(DEFAULT_MODEL, "a cat").num_tokens - 1
    assert pair_of(app) == ("1", str(last))


def test_the_value_and_the_mask_of_a_pair_are_shown():
    app = ask("arithmetic", attention_from="2", attention_to="4")
    found = client().ask(pair_arithmetic)(DEFAULT_MODEL, Texts(TEXT), 0, 0, 2, 4)
    rows = maps(app)[1]
    np.testing.assert_allclose(rows[0], found.value)
    np.testing.assert_allclose(rows[1], found.prob * found.value)
    np.testing.assert_allclose(rows[2], found.output)
    assert "mask m" in app.dataframe[0].value
    assert any("s + m" in formula.value for formula in app.get("latex"))


def test_like_heads_lie_side_by_side():
    app = ask("profile", {"attention_likeness_box": True})
    found = client().ask(profile_heads)(DEFAULT_MODEL, Texts(TEXT))
    order = order_by_likeness(found.distances)
    expected = found.distances.reshape(len(order), -1)[np.ix_(order, order)]
    np.testing.assert_allclose(maps(app)[-1], expected, atol=5e-4)


def test_the_profile_of_the_bundled_sentences_is_that_of_the_engine():
    app = ask("profile", attention_profile_where="corpus")
    app.button(key="job_attention_profile_start").click().run()
    shown = maps(finished(app))[0]
    job = client().start(client().ask(corpus_profile).about(DEFAULT_MODEL, "en"))
    expected = ended(client(), job).result
    np.testing.assert_allclose(shown, expected.profile.of("entropy_bits"))
    assert f"mean over the texts, {expected.profile.num_texts} in all" in said(app)
    assert expected.profile.num_texts >= 100


@pytest.mark.parametrize(("most", "title"), [(0, "a quick estimate"), (1e20, "exact")])
def test_an_estimate_comes_first_where_the_exact_map_takes_long(
    monkeypatch, most, title
):
    monkeypatch.setattr("pages.shared.jobs._SHORT_WORK", most)
    app = ask("maps")
    assert f"What each head causes: {title}" in said(app)
    starts = [button.key for button in app.button if button.key.endswith("_start")]
    assert starts == (["job_attention_ablate_heads_start"] if most == 0 else [])
    if most == 0:
        app.button(key=starts[0]).click().run()
        assert "What each head causes: exact" in said(finished(app))
    agreement = [metric.label for metric in app.metric]
    assert "Do heads that look more also cause more?" in agreement


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        ([0.05, -0.01, 0.2, 0.0], "Head 1·2 helps it most"),
        ([0.05, 0.01, 0.2, 0.0], "No head helps it"),
    ],
)
def test_a_head_helps_only_where_the_answer_falls_without_it(
    monkeypatch, deltas, expected
):
    config = client().ask(Explorer.info)(DEFAULT_MODEL).config
    found = SimpleNamespace(
        deltas=np.zeros((config.num_hidden_layers, config.num_attention_heads))
    )
    found.deltas[0, : len(deltas)] = deltas
    found.estimated_deltas = found.deltas
    monkeypatch.setattr("pages.attention.maps.ask_job", lambda *_, **__: found)
    text = said(ask("maps"))
    assert expected in text
    assert ("head 1·3, +20.00 points" in text) == ("No head" in expected)


def test_the_strongest_estimate_is_the_largest_whatever_its_sign(monkeypatch):
    found = SimpleNamespace(estimated_deltas=np.array([[0.05, -0.01], [0.0, 0.02]]))
    monkeypatch.setattr(
        "pages.attention.maps.ask_job",
        lambda place, *_, **__: found if place == "attention_estimate" else None,
    )
    assert "Strongest: head 1·1, +5.00 points" in said(ask("maps"))


def test_the_halves_of_layers_have_a_button_and_an_amount_of_work_of_their_own(
    monkeypatch,
):
    config = client().ask(Explorer.info)(DEFAULT_MODEL).config
    layers, heads, hidden = (
        getattr(config, name)
        for name in ("num_hidden_layers", "num_attention_heads", "hidden_size")
    )
    tokens = client().ask(Explorer.tokenize)(DEFAULT_MODEL, TEXT).num_tokens
    of_one = layers**2 / 2 * tokens * 24 * hidden**2  # a variant of every layer
    assert heads > 4
    monkeypatch.setattr("pages.shared.jobs._SHORT_WORK", 4 * of_one)
    starts = {
        kind: [
            button.label
            for button in ask("maps", attention_map_kind=kind).button
            if button.key.endswith("_start")
        ]
        for kind in ("heads", "parts")
    }
    all_heads = f"Switch off all {layers * heads} heads, one after the other"
    assert starts == {"heads": [all_heads], "parts": []}
    monkeypatch.setattr("pages.shared.jobs._SHORT_WORK", 0)
    app = ask("maps", attention_map_kind="parts")
    (start,) = [one for one in app.button if one.key.endswith("_start")]
    assert start.label.startswith(f"Switch off the halves of all {layers} layers")


@pytest.mark.parametrize(
    ("layer", "head", "place"), [("1", "2", (0, 1)), ("4", "1", (None, None))]
)
def test_a_map_has_no_frame_for_a_head_that_the_other_model_lacks(
    monkeypatch, layer, head, place
):
    drawn = []
    monkeypatch.setattr(
        "pages.attention.maps.clickable_map", lambda one, *_: drawn.append(one)
    )
    app = ask(
        "compare",
        {"uploaded_models": (ModelEntry(str(HF), "tiny", "upload"),)},
        attention_text="ab cab",
        attention_compare="model",
        attention_layer=layer,
        attention_head=head,
    )
    app.selectbox(key="attention_compared_model").set_value(str(HF)).run()
    assert not app.exception
    assert (drawn[-1].layer, drawn[-1].head) == place


@pytest.mark.parametrize(("text", "unread"), [(TEXT, "zh"), ("我们都喜欢茶。", "en")])
def test_a_model_that_cannot_read_the_text_says_so_before_it_differs(text, unread):
    model = f"bert-mini-{unread}"
    reader, other = sorted(("bert-mini-en", "bert-mini-zh"), key=model.__eq__)
    app = ask(
        "compare",
        model=reader,
        attention_text=text,
        attention_compare="model",
        attention_compared_model=other,
    )
    said = [warning.value.replace("\\", "") for warning in app.warning]
    assert [other in one and "hardly read" in one for one in said] == [True]
    app.selectbox(key="model").set_value(other).run()
    assert "hardly read" in app.warning[0].value


@pytest.fixture(scope="module")
def chinese_model(tmp_path_factory):
    return str(write_chinese_model(tmp_path_factory.mktemp("models")))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("我 喜欢 吃 苹果", ["我", "喜欢", "吃", "苹果"]),
        ("我 喜欢", ["我", "喜", "欢", "吃", "苹", "果"]),
    ],
)
def test_chinese_words_are_those_that_the_reader_types(
    chinese_model, words, expected, differences
):
    app = opened(
        "compare",
        model=chinese_model,
        attention_text="我喜欢吃苹果",
        attention_words=words,
        attention_merge_words="true",
        attention_compared_text=" ".join(expected),
        attention_hide_special="true",
    )
    assert list(differences[-1].tokens) == expected
    said_so = [error.value for error in app.error]
    assert ["where the text has “吃苹果”" in one for one in said_so] == (
        [True] if len(expected) == 6 else []
    )


CLEAN, CORRUPTED = "Paris is the capital of [MASK].", "Rome is the capital of [MASK]."


@pytest.mark.parametrize("contrast", [None, "italy"])
def test_patching_shows_what_each_state_brings_back(contrast):
    app = ask(
        "patch",
        attention_text=CLEAN,
        attention_other=CORRUPTED,
        **({} if contrast is None else {"attention_contrast": contrast}),
    )
    app.button(key="job_attention_patch_start").click().run()
    words = client().ask(vocabulary)(DEFAULT_MODEL)
    predictions = client().ask(Explorer.predict_masks)(DEFAULT_MODEL, CLEAN)
    best = int(predictions.logits[0].argmax())
    job = client().start(
        client()
        .ask(patch_hidden_states)
        .about(
            DEFAULT_MODEL,
            CLEAN,
            CORRUPTED,
            Target("mlm", best, int(predictions.positions[0])),
            minus=None if contrast is None else words.index(contrast),
        )
    )
    shown = maps(finished(app))[0]
    expected = ended(client(), job).result
    assert expected.quantity == ("logit_difference" if contrast else "probability")
    np.testing.assert_allclose(shown, expected.recovered, atol=1e-6)
    assert f"{expected.clean_score:.3f} in your text" in said(app)
    assert ("minus logit of italy" in said(app)) == bool(contrast)


def patched(model: str, clean: str, corrupted: str) -> tuple[AppTest, PatchingMap]:
    """The page and the engine, both asked for the likeliest word at the mask."""
    app = ask("patch", model=model, attention_text=clean, attention_other=corrupted)
    app.button(key="job_attention_patch_start").click().run()
    predictions = client().ask(Explorer.predict_masks)(model, clean, cut=True)
    best, position = int(predictions.logits[0].argmax()), predictions.positions[0]
    job = client().start(
        client()
        .ask(patch_hidden_states)
        .about(model, clean, corrupted, Target("mlm", best, int(position)), cut=True)
    )
    return finished(app), ended(client(), job).result


def test_the_state_that_is_pointed_out_lies_between_input_and_last_layer():
    app, found = patched(DEFAULT_MODEL, CLEAN, CORRUPTED)
    the_changed_word = found.recovered[0].max()
    assert the_changed_word == pytest.approx(1, abs=1e-5), "by itself, in float32"
    between = found.recovered[1:-1]
    layer, token = np.unravel_index(between.argmax(), between.shape)
    words = found.corrupted.tokens[token], found.clean.tokens[token]
    name = words[0] if words[0] == words[1] else " ← ".join(words)
    best = f"{name} after layer {layer + 1} recovers {between.max():.0%}"
    assert best in said(app)


def test_a_model_of_one_layer_has_no_state_between(tmp_path):
    weights = without_part(
        weights_of_hf(), "bert.encoder.layer.1.", "bert.encoder.layer.2."
    )
    model = str(hf_copy(tmp_path, weights, {"num_hidden_layers": 1}))
    app, found = patched(model, "a [MASK] b", "c [MASK] b")
    np.testing.assert_allclose(maps(app)[0], found.recovered, atol=1e-6)
    assert "no state between the input and the last layer" in said(app)
    assert "recovers" not in said(app)


def test_long_texts_are_cut_before_states_are_moved():
    rest = " b" * 20
    app, found = patched(str(HF), f"a [MASK]{rest}", f"c [MASK]{rest}")
    assert found.clean.was_cut
    np.testing.assert_allclose(maps(app)[0], found.recovered, atol=1e-6)


@pytest.mark.parametrize(
    ("other", "is_warned"),
    [("Rome is the capital of Italy.", True), (CORRUPTED, False)],
)
def test_a_place_that_is_no_mask_in_the_other_text_is_said(other, is_warned):
    app = ask("patch", attention_text=CLEAN, attention_other=other)
    assert ("italy stands where your text has" in said(app)) == is_warned


@pytest.mark.parametrize(
    ("sign", "sentence"), [(-1, "supports this answer"), (1, "held this answer back")]
)
def test_the_sentence_says_what_the_parts_did_to_the_answer(sign, sentence):
    words = client().ask(vocabulary)(DEFAULT_MODEL)
    predictions = client().ask(Explorer.predict_masks)(DEFAULT_MODEL, TEXT)
    best = np.argsort(-predictions.logits[0])[:5].tolist()
    position = int(predictions.positions[0])
    moved = {}
    for index in best:
        for layer in range(6):
            heads = tuple((layer, head) for head in range(8))
            found = client().ask(switch_off)(
                DEFAULT_MODEL, TEXT, Target("mlm", index, position), Switches(heads)
            )
            moved[index, layer] = found.delta_probability
    index, layer = max(moved, key=lambda place: sign * moved[place])
    change = moved[index, layer]
    assert sign * change > 0.005, "nothing to see"
    app = ask(
        "switch",
        attention_word=words[index],
        attention_off_heads=[f"{layer + 1}·{head + 1}" for head in range(8)],
    )
    (said_so,) = [c.value for c in app.caption if "The probability" in c.value]
    assert sentence in said_so
    assert f"by {abs(100 * change):.2f} percentage points" in said_so


@pytest.mark.parametrize(
    ("where", "sentence"), [("here", "on this text"), ("corpus", "on these sentences")]
)
def test_what_no_head_passes_is_named(monkeypatch, where, sentence):
    monkeypatch.setattr(CorpusProfile, "names", lambda self: ())
    app = ask("profile", attention_profile_where=where)
    if where == "corpus":
        app.button(key="job_attention_profile_start").click().run()
        finished(app)
    assert f"a threshold {sentence}" in said(app)


def test_a_link_brings_the_watched_answer_back():
    text = "The [MASK] is the capital of [MASK]."
    app = ask(
        "switch", attention_text=text, attention_target="1", attention_word="italy"
    )
    assert app.selectbox(key="attention_word").value == "italy"
    words = client().ask(vocabulary)(DEFAULT_MODEL)
    position = int(
        client().ask(Explorer.tokenize)(DEFAULT_MODEL, text).mask_positions[1]
    )
    target = Target("mlm", words.index("italy"), position)
    found = client().ask(switch_off)(
        DEFAULT_MODEL, text, target, Switches(heads=((0, 0),))
    )
    assert app.metric[0].value == percent(found.before.probability)
    assert f"rank {found.before.rank} → {found.after.rank}" in app.metric[2].delta


def test_a_contrast_that_is_no_word_is_named():
    state = {"attention_contrast": "qqqqqqq"}
    app = ask("patch", state, attention_text=CLEAN)
    assert "qqqqqqq" in said(app)


def test_a_number_has_no_contrast(number_model):
    app = ask_number(number_model, "patch", attention_other="ba cab ab")
    assert "attention_contrast" not in [box.key for box in app.selectbox]
    app.button(key="job_attention_patch_start").click().run()
    recovered = maps(finished(app))[0]
    assert np.isfinite(recovered).all()
    assert recovered[-1, 0] == pytest.approx(1)


OTHER = TEXT.replace("dog", "horse")


def rows_of(text: str, method: str, pair: str | None = None) -> np.ndarray:
    texts = Texts(text, pair)
    return client().ask(attention_matrix)(DEFAULT_MODEL, texts, method, 0, 0)


@pytest.fixture
def differences(monkeypatch):
    """What the pictures of a difference show, in place of those, newest last."""
    seen: list[AttentionView] = []
    monkeypatch.setattr(
        difference, "attention_canvas", lambda view, key, on_change: seen.append(view)
    )
    return seen


def test_a_comparison_goes_through_the_filters_of_the_pictures(differences):
    ask(
        "compare",
        attention_compared_text=OTHER,
        attention_hide_special="true",
        attention_renormalise="true",
    )
    options = AttentionOptions(hide_special=True, renormalise=True)
    first, second = (
        show_attention(
            rows_of(text, "head"),
            client().ask(Explorer.tokenize)(DEFAULT_MODEL, text),
            options,
        ).values
        for text in (TEXT, OTHER)
    )
    shown = differences[-1]
    np.testing.assert_allclose(shown.matrix, second - first, atol=1e-6)
    assert shown.is_difference
    assert shown.tokens.count("dog / horse") == 1
    assert shown.name == "second minus first · layer 1, head 1"
    assert shown.measured.unit == "difference in weight"
    assert "[CLS] and [SEP] hidden" in shown.measured.filters
    # The frame of the grid is around that head, and this is its picture.
    num_places = min(len(shown.tokens), 32)
    assert shown.thumbnails.shape == (6, 8, num_places, num_places)
    expected = grid_thumbnails((second - first)[None, None], is_difference=True)
    np.testing.assert_array_equal(shown.thumbnails[0, 0], expected[0, 0])


def test_a_pair_is_compared_with_a_pair(differences):
    first, second = ("She left.", "It was late."), ("She left.", "It was early.")
    ask(
        "compare",
        attention_text=first[0],
        attention_pair=first[1],
        attention_compared_text=second[0],
        attention_compared_pair=second[1],
    )
    values = [rows_of(text, "head", pair) for text, pair in (first, second)]
    np.testing.assert_allclose(differences[-1].matrix, values[1] - values[0], atol=1e-6)
    tokenized = client().ask(Explorer.tokenize)(DEFAULT_MODEL, *first)
    np.testing.assert_array_equal(differences[-1].segments, tokenized.token_type_ids)


def test_a_long_comparison_is_drawn_whole_and_names_the_largest(differences):
    start = "the cat sat on a mat and " * 12
    first, second = f"{start}the dog ran", f"{start}the cow ran"
    app = ask("compare", attention_text=first, attention_compared_text=second)
    values = rows_of(second, "head") - rows_of(first, "head")
    assert len(values) > 64
    np.testing.assert_allclose(differences[-1].matrix, values, atol=1e-6)
    largest = values.flat[np.abs(values).argmax()]
    assert f"{largest:+.4f}" in said(app)


def test_a_locked_token_of_a_difference_stays_with_its_text(differences):
    app = ask("compare", attention_compared_text=OTHER)
    chosen = {"layer": 2, "head": 4, "from": 3, "to": None, "turn": 1}
    chosen |= {"scale": "row", "text": differences[-1].text_key}
    app.session_state["attention_difference"] = {"selection": chosen}
    app.run()
    shown = differences[-1]
    assert (shown.from_token, shown.to_token, shown.scale) == (3, None, "row")
    # The head is that of the pictures above.
    assert (shown.layer, shown.head) == (0, 0)
    box = app.text_input(key="attention_compared_text")
    box.set_value(f"{OTHER} It ran away.").run()
    assert differences[-1].from_token == 3
    box.set_value("a cat").run()
    assert differences[-1].from_token is None


def test_the_file_has_what_the_picture_leaves_out(monkeypatch):
    saved = {}
    monkeypatch.setattr(
        sparse, "show_figure", lambda figure, **rest: saved.update({rest["name"]: rest})
    )
    text = "the cat sat on a [MASK] and " * 12
    ask("sparse", attention_text=text)
    size = client().ask(Explorer.tokenize)(DEFAULT_MODEL, text).num_tokens
    assert size > 64
    assert {
        len(cells) for cells in saved["attention_sparse_edges"]["columns"].values()
    } == {size**2}


def test_what_looks_at_tokens_without_a_partner_is_said():
    app = ask("compare", attention_compared_text=TEXT.replace("dog", "very old dog"))
    attention = rows_of(TEXT.replace("dog", "very old dog"), "head")
    added = [2, 3]
    rows = np.delete(attention, added, axis=0)
    assert "0.0% of their weight in the first" in said(app)
    assert f"{rows[:, added].sum() / rows.sum():.1%} in the second" in said(app)


@pytest.mark.parametrize(("method", "lacks"), [("mean", False), ("layer", True)])
def test_a_smaller_model_needs_the_head_only_where_one_is_asked_for(
    differences, method, lacks
):
    app = ask(
        "compare",
        {"uploaded_models": (ModelEntry(str(HF), "tiny", "upload"),)},
        attention_text="ab cab",
        attention_compare="model",
        attention_method=method,
        attention_layer="4",
    )
    differences.clear()
    app.selectbox(key="attention_compared_model").set_value(str(HF)).run()
    assert ("has no head of that number" in said(app)) == lacks
    assert bool(differences) != lacks
    for shown in differences:
        expected = difference_of_models("ab cab", str(HF), method)
        np.testing.assert_allclose(shown.matrix, expected, atol=1e-6)
        # Layer 4 is no layer of the smaller model: no frame may be drawn there.
        assert shown.layer < len(shown.thumbnails)


def difference_of_models(text: str, other: str, method: str) -> np.ndarray:
    """Other model less the bundled one, on the tokens that both cut the text into."""
    models = (DEFAULT_MODEL, other)
    tokens = [client().ask(Explorer.tokenize)(model, text).tokens for model in models]
    first, second = (
        client().ask(attention_matrix)(model, Texts(text), method, 0, 0)
        for model in models
    )
    return attention_difference(first, second, align_tokens(*tokens)).values


def test_values_of_long_texts_are_taken_away_by_a_job(monkeypatch, differences):
    """The pictures and both sides of a comparison come to what a short text shows."""
    chosen = {
        "attention_method": "value_zeroing",
        "attention_compared_text": f"{TEXT} It ran away.",
    }
    ask("compare", **chosen)
    expected = differences[-1].matrix
    monkeypatch.setattr(matrix, "_MOST_ZEROED", 0)
    app = ask("compare", **chosen)
    assert "this may take a minute" in said(app)
    for place in ("pictures", "here", "there"):
        app.button(key=f"job_attention_zeroing_{place}_start").click().run()
        finished(app)
    assert "this may take a minute" not in said(app)
    assert len(differences) > 1
    np.testing.assert_allclose(differences[-1].matrix, expected, rtol=1e-5)


def test_the_head_that_differs_most_is_named():
    app = ask("compare", attention_compared_text=OTHER)
    sides = (DEFAULT_MODEL, Texts(TEXT), DEFAULT_MODEL, Texts(OTHER))
    found = client().ask(compare_heads)(*sides)
    layer, head = np.unravel_index(found.argmax(), found.shape)
    assert f"Most: head {layer + 1}·{head + 1}, {found.max():.1%}" in said(app)
