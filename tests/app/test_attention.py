"""The attention page: what it opens on, its pictures, its files, its comparisons."""

from __future__ import annotations

import base64
import csv
import dataclasses
import html
import itertools
import json
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.comparison import align_tokens, attention_difference
from bertviz_core.analysis.correlation import spearman
from bertviz_core.analysis.head_profiles import NamedHead, name_heads
from bertviz_core.analysis.shown_attention import AttentionOptions, show_attention
from bertviz_core.engine.model_tasks import forward_count
from bertviz_core.experiments.attention_matrix import (
    attention_matrix,
    compare_heads,
    named_heads,
    profile_heads,
)
from bertviz_core.explorer import Explorer
from bertviz_core.figures.attention_export import attention_columns
from bertviz_core.figures.attention_thumbnails import grid_thumbnails
from bertviz_core.figures.attention_view import AttentionView
from bertviz_core.figures.color_scales import SHARES
from bertviz_core.trace import ModelEntry, Texts, Trace
from pages.attention import canvas, causes, comparison, matrix, pictures, profile
from pages.attention.canvas import CANVAS, METHODS, Look
from pages.shared.engine import client
from pages.shared.language import spoken
from tests.app import real_pages
from tests.app.real_pages import (
    checked,
    choose,
    click,
    link_of,
    open_page,
    run_program,
    said,
    specs,
    unfolded,
)
from tests.core.checkpoint_copies import HF
from tests.core.sent_figures import numbers
from tests.payloads import unpacked

MODEL = "bert-mini-en"
TEXT = "The dog chased the cat because [MASK] was angry."
SHORT = "We like tea."
FIRST_HEAD = {"attention_layer": "1", "attention_head": "1"}
UNTOUCHED = {"attention_layer": "", "attention_head": ""}
UPLOADED = {"uploaded_models": (ModelEntry(str(HF), "tiny", "upload"),)}
LIGHT = "patch"  # a question that computes nothing until somebody types


def started(
    panel: str = LIGHT,
    state: dict[str, object] | None = None,
    language: str = "en",
    **params: str | list[str],
) -> AppTest:
    """Opens the page on its first head, with a question; waits for nothing."""
    asked = {"attention_panel": panel, "text": TEXT, **FIRST_HEAD, **params}
    given = {name: value for name, value in asked.items() if value}
    return open_page("attention", language, state=state, may_fail=True, **given)


def ask(panel: str = LIGHT, *state: dict[str, object], **params: Any) -> AppTest:
    """The same; waits for its jobs, and nothing goes wrong."""
    return checked(finished(started(panel, *state, **params)))


def finished(app: AppTest, start: str = "") -> AppTest:
    """Waits until no job is on its way; starts one before."""
    if start:
        click(app, f"job_attention_{start}_start")
    return real_pages.finished(app, may_fail=True)


def traces(app: AppTest) -> list[dict]:
    """What each figure draws first."""
    return [spec["data"][0] for spec in specs(app)]


def drawn_maps(app: AppTest) -> list[np.ndarray]:
    return [numbers(one["z"]) for one in traces(app) if "z" in one]


def head_of(app: AppTest) -> tuple[int | None, int | None]:
    """What stands in the boxes, from 1."""
    boxes = ("attention_layer", "attention_head")
    return tuple(app.selectbox(key=key).value for key in boxes)


def is_canvas(node: Any) -> bool:
    return node.type == "bidi_component" and bool(node.proto.bytes)


def type_text(app: AppTest, text: str) -> AppTest:
    return app.text_area(key="text").set_value(text).run()


@pytest.fixture
def told(monkeypatch):
    """Which head has the most to show, by the text: 3·2 of `TEXT`, 1·1 of others."""

    def named(model, texts):
        place = (2, 1, "next token") if texts.text == TEXT else (4, 5, "[CLS]")
        lesser = (0, 0, "same word elsewhere", 0.6)
        return [NamedHead(*one, 0.5, 0.1, 9) for one in ((*place, 0.714), lesser)]

    ask_engine = canvas.ask
    monkeypatch.setattr(
        canvas, "ask", lambda task: named if task is named_heads else ask_engine(task)
    )


def test_the_page_opens_on_the_head_with_the_most_to_show_and_says_why():
    app = ask("arithmetic", **UNTOUCHED, model=MODEL)
    assert app.title[0].value == "Attention"
    (telling,) = [
        one
        for one in client().ask(named_heads)(MODEL, Texts(TEXT))
        if one.score > 0.99 and one.name == "previous token"
    ]
    place = f"{telling.layer + 1}·{telling.head + 1}"
    sentence = f"Head {place} opens first: {telling.score:.1%} of its attention goes to"
    assert f"{sentence} the previous token" in said(app)
    above = itertools.takewhile(lambda one: not is_canvas(one), app.main)
    assert any(sentence in str(getattr(one, "value", "")) for one in above)
    boxes = [app.selectbox(key=f"attention_{name}") for name in ("layer", "head")]
    numbers = [box.proto.placeholder.split(" ")[0] for box in boxes]
    assert (head_of(app), "·".join(numbers)) == ((None, None), place)
    assert not {*FIRST_HEAD} & {*app.query_params}
    # Where none stands out the first one opens, and so it is said.
    type_text(app, "a")
    assert "none has a name" in said(app)
    assert "How head 1·1 arrives" in said(app)
    assert app.get("latex")


def test_a_head_that_nobody_chose_follows_the_text_and_a_chosen_one_stays(told):
    app = ask("arithmetic", **UNTOUCHED)
    assert "How head 3·2 arrives" in said(app)
    assert "71.4% of its attention goes to the next token" in said(app)
    type_text(app, SHORT)
    assert "How head 1·1 arrives" in said(app)
    assert "where a word occurs again, 60.0% of its attention" in said(app)
    assert head_of(choose(app, attention_layer=4)) == (4, 1)
    address = [app.query_params[key] for key in FIRST_HEAD]
    assert address in (["4", "1"], [["4"], ["1"]])
    type_text(app, TEXT)
    assert head_of(app) == (4, 1)
    assert "opens first" not in said(app)
    app.selectbox(key="attention_head").set_value(None).run()  # cleared
    assert head_of(app) == (None, None)
    assert "How head 3·2 arrives" in said(app)


@pytest.mark.parametrize(
    ("link", "head"),
    [(FIRST_HEAD, (1, 1)), ({"attention_head": "6"}, (1, 6)),
     ({"attention_layer": "99"}, (None, None)), ({"attention_layer": "x"}, None)],
)  # fmt: skip
def test_a_head_in_the_address_wins_also_the_first_one_and_half_of_one(
    told, link, head
):
    app = ask(**UNTOUCHED | link)
    assert head_of(app) == (head or (None, None))
    assert ("Head 3·2 opens first" in said(app)) == (None in head_of(app))


def test_a_head_that_a_smaller_model_lacks_gives_way():
    app = ask(LIGHT, UPLOADED, attention_layer="5", attention_method="mean")
    assert head_of(choose(app, model=str(HF))) == (None, None)
    assert app.selectbox(key="attention_method").value == "mean"


def test_what_is_switched_off_needs_a_hidden_word():
    app = ask("switch", text="<b>bold</b> [link](x) **[MASK]**")
    assert "hide a word" in said(type_text(app, "No gap at all."))


def test_a_text_is_not_measured_where_the_bundled_sentences_are(monkeypatch):
    asked = []
    ask_engine = profile.ask
    monkeypatch.setattr(
        profile, "ask", lambda task: asked.append(task.__name__) or ask_engine(task)
    )
    ask("profile", attention_profile_where="corpus")
    assert asked == ["corpus_profile"]


def test_changing_language_and_head_never_runs_the_network_again(chinese):
    # A model that was chosen, and not the one that goes with the language, stays.
    app = ask(model=chinese, text="他每天[MASK]牛奶。")
    before = client().ask(forward_count)()
    choose(app, attention_layer=3)
    choose(app, attention_hide_special=True)
    choose(app, lang="中文")
    assert client().ask(forward_count)() == before


# Pictures, and what is saved of them.

OPEN_BOX = ("compare", {"attention_tools": "download"})
CAT = 6  # [CLS] the dog chase ##d the cat


@dataclass
class Drawn:
    """The pictures of a page, newest last, and what its visitor chose in them."""

    views: list[AttentionView] = field(default_factory=list)

    @property
    def last(self) -> AttentionView:
        return self.views[-1]

    def choose(self, app: AppTest, **chosen: object) -> AttentionView:
        """What the component would send, and the picture that answers it."""
        selection = {"layer": 0, "head": 0, "from": None, "to": None, "turn": 1}
        selection["text"] = self.last.text_key
        app.session_state[CANVAS] = {"selection": {**selection, **chosen}}
        app.run()
        assert not app.exception
        return self.last


@pytest.fixture
def drawn(monkeypatch):
    """In place of the canvas, which needs a browser."""
    seen = Drawn()
    monkeypatch.setattr(
        pictures, "attention_canvas", lambda view, *_, **__: seen.views.append(view)
    )
    return seen


@pytest.fixture
def saved(monkeypatch):
    """What makes the files of a page, by their names; a click has no session."""
    files = {}

    def keep(label, data, *, file_name, **rest):
        files[file_name] = data

    monkeypatch.setattr("streamlit.download_button", keep)
    return files


def lines_of(saved: dict, name: str) -> list[str]:
    return saved[name]().decode("utf-8-sig").splitlines()


def payload(page: bytes) -> tuple[dict, dict]:
    text = re.search(rb'id="payload">([^<]+)<', page).group(1)
    return unpacked(base64.b64decode(text))


def attention(text: str = TEXT) -> np.ndarray:
    trace = client().ask(Trace.only)(MODEL, Texts(text), ("attention_probs",))
    return np.asarray(trace.attention_probs)


def filtered(matrices: np.ndarray, **options: bool) -> np.ndarray:
    """Of heads `[..., T, T]`."""
    tokenized = client().ask(Explorer.tokenize)(MODEL, TEXT)
    chosen = AttentionOptions(**options)
    heads = matrices.reshape(-1, *matrices.shape[-2:])
    shown = np.array([show_attention(one, tokenized, chosen).values for one in heads])
    return shown.reshape(*matrices.shape[:-2], *shown.shape[1:])


def test_what_is_shown_is_named_and_what_it_does_not_ask_for_is_switched_off(drawn):
    place = {"attention_layer": "3", "attention_head": "5"}
    app = ask(LIGHT, unfolded("attention"), **place, attention_heads="1·2,3·1")
    for method, asks in METHODS.items():
        choose(app, attention_method=method)
        view, columns = drawn.last, attention_columns(drawn.last)
        is_head = method == "head"
        assert ("layer 3, head 5" in view.name) == is_head
        assert ("3" in view.name) == (asks[0] or method == "chosen")
        assert ("layer" in columns, "head" in columns) == asks
        assert set(columns["shown"]) == {view.name}
        boxes = (app.selectbox(key=f"attention_{name}") for name in ("layer", "head"))
        assert tuple(not box.proto.disabled for box in boxes) == asks
        of_program = run_program(app)[0]["shown"]
        np.testing.assert_allclose(view.matrix, of_program, atol=1e-5, err_msg=method)


def test_a_number_is_called_what_it_is(drawn):
    app = ask(attention_cut_off="weight")
    for method, renormalise, unit in (
        ("norms", False, "length"),
        ("norms", True, "share of length"),
        ("value_zeroing", False, "share of change"),
        ("head", True, "weight"),
    ):
        choose(app, attention_method=method, attention_renormalise=renormalise)
        view, is_length = drawn.last, unit == "length"
        assert set(attention_columns(view)["unit"]) == {unit}
        assert (view.top == 1) is not is_length
        (slider,) = app.slider
        cut = "least_share" if is_length else "least_weight"
        assert slider.key == f"attention_{cut}"
    # Lengths have a scale of their own, and add up.
    choose(app, attention_method="norms", attention_renormalise=False)
    lengths = client().ask(attention_matrix)(MODEL, Texts(TEXT), "norms", 0, 0)
    assert drawn.last.top == pytest.approx(float(lengths.max()))
    choose(app, attention_least_share=0.5)
    expected = np.where(lengths >= lengths.max() / 2, lengths, 0)
    np.testing.assert_array_equal(drawn.last.matrix, expected)
    assert "nothing below 50% of the largest" in drawn.last.measured.filters
    choose(app, attention_cut_off="nothing", attention_merge_words=True)
    (told,) = drawn.last.measured.filters
    assert "lengths added" in told
    # The maximum of words is a weight that a head gives to a word.
    choose(app, attention_method="max")
    heads = attention()
    words = filtered(heads, merge_words=True)
    assert words.shape[-1] < heads.shape[-1]
    np.testing.assert_allclose(drawn.last.matrix, words.max((0, 1)), atol=1e-6)
    assert drawn.last.top == 1


def test_the_link_says_how_the_pictures_are_drawn(drawn):
    link = "row_lying_0.125_1-4"
    app = ask(attention_drawn=link)
    view = drawn.last
    assert (view.scale, view.is_lying, view.threshold) == ("row", True, 0.125)
    assert view.heads == (0, 3)
    # At the defaults, the link is short.
    drawn.choose(app, scale="linear", lying=False, threshold=0.05, heads=[])
    assert "attention_drawn" not in app.query_params
    drawn.choose(app, scale="row", lying=True, threshold=0.125, heads=[0, 3], turn=2)
    assert link_of(app, "attention_drawn") == link
    # Nonsense from a browser is not drawn.
    nonsense = {"from": -3, "to": "x", "turn": 3}
    view = drawn.choose(app, scale="cubic", heads=[99], **nonsense)
    assert (view.scale, view.heads) == ("row", ())
    assert (view.from_token, view.to_token) == (None, None)


def test_a_link_asks_for_nothing_that_is_not_there(drawn):
    broken = ("row", "cube_lying_0.1_", "row_lying_x_", "row_lying_0.1_1-")
    for link in ("", *broken, "row_lying_٣_"):
        assert Look.of_link(link) == Look()
    assert Look.of_link("log_standing_9.5_900") == Look("log", False, 1.0, (899,))
    ask(attention_drawn="log_standing_9.5_900-2")
    assert (drawn.last.scale, drawn.last.heads) == ("log", (1,))


def test_a_locked_token_stays_itself_until_the_text_is_another(drawn):
    app = ask()
    assert drawn.last.tokens[CAT] == "cat"
    assert drawn.choose(app, **{"from": CAT, "to": 0}).from_token == CAT
    choose(app, attention_hide_special=True)
    # [CLS] is not there to be locked.
    assert (drawn.last.from_token, drawn.last.to_token) == (CAT - 1, None)
    choose(app, attention_hide_special=False)
    choose(app, attention_layer=3)
    found = drawn.last.layer, drawn.last.from_token, drawn.last.to_token
    assert found == (2, CAT, 0)
    type_text(app, "Look: " + TEXT)
    assert (drawn.last.from_token, drawn.last.to_token) == (None, None)


def test_a_click_alone_leaves_what_was_put_together(drawn):
    app = ask(attention_method="rollout", attention_layer="3")
    method = app.selectbox(key="attention_method")
    for change in ({"to": CAT}, {"scale": "log"}, {"threshold": 0.2}):
        drawn.choose(app, layer=2, **change)
        assert (method.value, drawn.last.layer) == ("rollout", 2)
    drawn.choose(app, layer=4, chosenAt=1000)
    method = app.selectbox(key="attention_method")
    assert (method.value, drawn.last.layer) == ("head", 4)
    method.set_value("rollout").run()
    # A lock is no choice of a head; a click on the head in the frame is one.
    for turn, (moment, expected) in enumerate(((1000, "rollout"), (2000, "head"))):
        drawn.choose(app, layer=4, chosenAt=moment, to=CAT, turn=turn + 2)
        assert app.selectbox(key="attention_method").value == expected
    assert drawn.last.to_token == CAT
    # Of a larger model that was shown in another tab, or forged.
    assert drawn.choose(app, layer=99, head=-7, chosenAt=3000, turn=4).layer == 5


def test_the_piece_in_focus_once_chosen_is_the_locked_row_of_who_comes(drawn):
    app = ask(token=str(CAT + 1))
    assert drawn.last.from_token == CAT
    drawn.choose(app, to=2)  # unlocked by hand, it stays so
    assert (drawn.last.from_token, drawn.last.to_token) == (None, 2)


def test_what_is_chosen_to_be_left_out_is_left_out_and_named(drawn):
    text, pair = "She took the book to the library.", "It was old."
    app = ask(text=text, pair=pair)
    whole = rows_of(text, pair)
    tokenized = client().ask(Explorer.tokenize)(MODEL, text, pair)
    least, mass = {"least_weight": 0.1}, {"mass": 0.6}
    both = {"hide_special": True, "merge_words": True}
    for chosen, options, told in (
        (both, both, ("tokens merged into words", "[CLS] and [SEP] hidden",
                      "what is left keeps its value: rows add up to less")),
        ({"renormalise": True}, {**both, "renormalise": True},
         ("tokens merged into words", "[CLS] and [SEP] hidden")),
        ({"hide_special": False, "merge_words": False, "renormalise": False,
          "from_segment": "first", "to_segment": "second"},
         {"from_segment": 0, "to_segment": 1},
         ("only the first text looks", "only the second text is looked at")),
        ({"from_segment": "second", "to_segment": "both"},
         {"from_segment": 1}, ("only the second text looks",)),
        ({"from_segment": "both", "cut_off": "weight", **least},
         least, ("nothing below 0.10",)),
        ({"cut_off": "mass", **mass},
         mass, ("largest numbers of each row, up to 60% of it",)),
    ):  # fmt: skip
        for name, value in chosen.items():
            app.get_by_key(f"attention_{name}").set_value(value).run()
        shown = show_attention(whole, tokenized, AttentionOptions(**options)).values
        assert 0 < np.count_nonzero(shown) < whole.size
        np.testing.assert_allclose(drawn.last.matrix, shown, atol=1e-7)
        assert drawn.last.measured.filters[: len(told)] == told
        *_, last = drawn.last.measured.filters
        assert ("not the model's own numbers" in last) == ("renormalise" in options)


def test_added_heads_stay_with_the_head_that_they_were_added_to(drawn):
    app = ask()
    drawn.choose(app, scale="log", heads=[0, 3])
    choose(app, attention_hide_special=True)
    assert drawn.last.heads == (0, 3)
    for key in ("attention_head", "attention_layer"):
        app.selectbox(key=key).set_value(6).run()
        assert (drawn.last.scale, drawn.last.heads) == ("log", ())
        drawn.choose(app, scale="log", layer=0, head=5, heads=[0, 3])
        assert drawn.last.heads == ((0, 3) if key == "attention_head" else ())


def test_what_the_browser_holds_is_not_sent_again(monkeypatch):
    sent = []

    def take(data, **_):
        sent.append(unpacked(data))

    monkeypatch.setattr("pages.attention.canvas._component", take)
    app = ask()
    header, parts = sent[-1]
    assert (header["turn"], "thumbnails" in parts) == (0, True)
    app.session_state[CANVAS] = {"selection": {"turn": 2, "holds": header["held"]}}
    app.run()
    header, parts = sent[-1]
    assert (header["turn"], "thumbnails" in parts) == (2, False)


@pytest.mark.parametrize("is_long", [False, True])
def test_filters_reach_the_grid_the_lines_and_the_saved_heads(
    drawn, saved, monkeypatch, is_long
):
    options = {"hide_special": True, "renormalise": True}
    expected = filtered(attention(), **options)
    if is_long:  # however few of its tokens are shown
        monkeypatch.setattr(pictures, "_MOST_SAVED", len(expected[0, 0]))
    ask(*OPEN_BOX, **{f"attention_{name}": "true" for name in options})
    view = drawn.last
    np.testing.assert_array_equal(view.thumbnails, grid_thumbnails(expected))
    strongest = expected[0].max(axis=-1)
    np.testing.assert_allclose(view.links.weights[..., 0], strongest, rtol=1e-5)
    _, arrays = payload(saved["attention.html"]())
    assert ("everyHead" in arrays) is not is_long
    if not is_long:
        heads = arrays["everyHead"].reshape(expected.shape)
        np.testing.assert_array_equal(heads, expected.astype("float32"))


def test_a_map_is_saved_with_what_it_says(saved, estimates):
    kinds = ("exact", "mass")
    boxes = {f"attention_map_{kind}_tools": "download" for kind in kinds}
    app = ask("maps", boxes, model=str(HF), text="ab [MASK] cab")
    name = "attention_map_exact"
    title, told = "What each head causes: exact", "one head switched off"
    (told,) = [one.value for one in app.caption if told in one.value]
    page = saved[f"{name}.html"]().decode()
    for text in (title, html.escape(spoken(told))):
        assert text in page
    assert "rank correlation" in page
    assert all(metric.value in page for metric in app.metric[:2])
    table = lines_of(saved, f"{name}.csv")
    assert table[0] == "layer,head,change of the probability"
    assert [row[:4] for row in table[1:4]] == ["1,1,", "1,2,", "1,3,"]


def test_what_a_question_answers_has_a_file(saved):
    found = client().ask(profile_heads)(MODEL, Texts(TEXT))
    tokens = client().ask(Explorer.tokenize)(MODEL, TEXT).num_tokens
    files = {
        "switch": ("attention_switched_off", "when,answer,rank,probability", None),
        "arithmetic": ("attention_softmax_row", "number,", tokens),
        "profile": ("attention_named_heads", "head,", len(name_heads(found.profile))),
    }
    app = ask(LIGHT, {f"{name}_tools": "download" for name, *_ in files.values()})
    for panel, (name, header, rows) in files.items():
        finished(choose(app, attention_panel=panel))
        first, *lines = lines_of(saved, f"{name}.csv")
        assert first.lower().startswith(header)
        if rows is None:
            assert {line.split(",")[0] for line in lines} == {"before", "after"}
        else:
            assert len(lines) == rows


def test_words_of_several_pieces_have_a_bar(drawn):
    type_text(ask(), "unbelievableness of it")
    (start, size), *others = drawn.last.spans
    tokens = client().ask(Explorer.tokenize)(MODEL, "unbelievableness").tokens
    assert drawn.last.tokens[start : start + size] == tuple(tokens)[1:-1]
    assert (size > 1, others) == (True, [])


# Comparisons.

OTHER = TEXT.replace("dog", "horse")


@pytest.fixture
def differences(monkeypatch):
    """What the pictures of a difference show, in place of those, newest last."""
    seen: list[AttentionView] = []
    monkeypatch.setattr(
        comparison, "attention_canvas", lambda view, key, on_change: seen.append(view)
    )
    return seen


def compare(other: str, text: str = TEXT, **params: Any):
    return ask("compare", text=text, attention_compared_text=other, **params)


def rows_of(text: str, pair: str | None = None, model: str = MODEL) -> np.ndarray:
    return client().ask(attention_matrix)(model, Texts(text, pair), "head", 0, 0)


def test_a_comparison_goes_through_the_filters_of_the_pictures(differences):
    app = compare(OTHER, attention_hide_special="true", attention_renormalise="true")
    options = AttentionOptions(hide_special=True, renormalise=True)
    first, second = (
        show_attention(
            rows_of(text), client().ask(Explorer.tokenize)(MODEL, text), options
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
    assert shown.thumbnails.shape[:2] == (6, 8)
    expected = grid_thumbnails((second - first)[None, None], is_difference=True)
    np.testing.assert_array_equal(shown.thumbnails[0, 0], expected[0, 0])
    sides = (MODEL, Texts(TEXT), MODEL, Texts(OTHER))
    found = client().ask(compare_heads)(*sides)
    layer, head = np.unravel_index(found.argmax(), found.shape)
    assert f"Most: head {layer + 1}·{head + 1}, {found.max():.1%}" in said(app)


def test_a_short_text_is_compared_with_itself_with_a_word_changed(differences):
    app = ask("compare", text=TEXT)
    offered = app.text_input(key="attention_compared_text").value
    words = zip(TEXT.split(), offered.split(), strict=True)
    assert sum(one != other for one, other in words) == 1
    assert differences[-1].is_difference
    type_text(app, f"{TEXT} " * 12)
    assert len(differences) == 1


def test_a_pair_is_compared_with_a_pair(differences):
    first, second = ("She left.", "It was late."), ("She left.", "It was early.")
    pairs = {"pair": first[1], "attention_compared_pair": second[1]}
    compare(second[0], first[0], **pairs)
    values = [rows_of(*texts) for texts in (first, second)]
    np.testing.assert_allclose(differences[-1].matrix, values[1] - values[0], atol=1e-6)
    tokenized = client().ask(Explorer.tokenize)(MODEL, *first)
    np.testing.assert_array_equal(differences[-1].segments, tokenized.token_type_ids)


def test_a_locked_token_of_a_difference_stays_with_its_text(differences):
    app = compare(OTHER)
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
    # What looks at tokens without a partner is said.
    other = TEXT.replace("dog", "very old dog")
    box.set_value(other).run()
    weights, added = rows_of(other), [2, 3]
    rows = np.delete(weights, added, axis=0)
    assert "0.0% of their weight in the first" in said(app)
    assert f"{rows[:, added].sum() / rows.sum():.1%} in the second" in said(app)
    box.set_value("a cat").run()
    assert differences[-1].from_token is None


def test_a_smaller_model_needs_the_head_only_where_one_is_asked_for(
    monkeypatch, differences
):
    drawn = []
    monkeypatch.setattr(causes, "clickable_map", lambda one, *_: drawn.append(one))
    link = {"attention_method": "mean", "attention_layer": "4", "attention_head": "2"}
    app = ask("compare", UPLOADED, text="ab cab", attention_compare="model", **link)
    choose(app, attention_compared_model=str(HF))
    texts = [client().ask(Explorer.tokenize)(one, "ab cab") for one in (MODEL, str(HF))]
    matrices = [
        client().ask(attention_matrix)(one, Texts("ab cab"), "mean", 0, 0)
        for one in (MODEL, str(HF))
    ]
    alignment = align_tokens(*(one.tokens for one in texts))
    expected = attention_difference(*matrices, alignment).values
    np.testing.assert_allclose(differences[-1].matrix, expected, atol=1e-6)
    # Layer 4 is no layer of the smaller model: no frame may be drawn there.
    assert differences[-1].layer < len(differences[-1].thumbnails)
    for method, layer, framed in (
        ("mean", 4, (None, None)), ("layer", 4, (None, None)), ("head", 1, (0, 1))
    ):  # fmt: skip
        choose(app, attention_method=method)
        if method == "head":
            choose(app, attention_layer=layer)
        differences.clear()
        app.run()
        assert (drawn[-1].layer, drawn[-1].head) == framed
        lacks = method == "layer"
        assert ("has no head of that number" in said(app)) == lacks
        assert bool(differences) != lacks


def test_chinese_words_are_those_that_the_reader_types(chinese, differences):
    words = ["我", "喜欢", "吃", "苹果"]
    app = ask(
        "compare",
        model=chinese,
        text="我喜欢吃苹果",
        attention_words=" ".join(words),
        attention_merge_words="true",
        attention_compared_text=" ".join(words),
        attention_hide_special="true",
    )
    assert list(differences[-1].tokens) == words
    choose(app, attention_compared_text="我 喜 欢 吃 苹 果", attention_words="我 喜欢")
    assert list(differences[-1].tokens) == [*"我喜欢吃苹果"]
    (error,) = app.error
    assert "where the text has “吃苹果”" in error.value


def test_values_of_long_texts_are_taken_away_by_a_job(monkeypatch, differences):
    """The pictures and both sides of a comparison come to what a short text shows."""
    chosen = {"attention_method": "value_zeroing"}
    compare(f"{TEXT} It ran away.", **chosen)
    expected = differences[-1].matrix
    monkeypatch.setitem(matrix._MOST_AT_ONCE, "value_zeroing", 0)
    app = compare(f"{TEXT} It ran away.", **chosen)
    assert "This may take a minute" in said(app)
    for place in ("pictures", "here", "there"):
        finished(app, f"value_zeroing_{place}")
    assert "This may take a minute" not in said(app)
    assert len(differences) > 1
    np.testing.assert_allclose(differences[-1].matrix, expected, rtol=1e-5)


def test_every_view_of_a_difference_can_be_taken_away(saved, differences):
    box = {"attention_difference_tools": "download"}
    app = ask("compare", box, attention_compared_text=OTHER)
    sent = [one.proto.json for one in app.get("bidi_component") if one.proto.json]
    told = [one["told"] for one in map(json.loads, sent) if "told" in one]
    kinds = {one["kind"] for one in told if one["key"] == "attention_difference"}
    assert {"png", "heatmap_svg", "lines_svg", "grid_svg"} <= kinds
    values = attention(OTHER) - attention()
    layers, heads, rows, _ = values.shape
    (_, *table) = csv.reader(lines_of(saved, "attention_heads.csv"))
    assert len(table) == layers * heads * rows
    largest = np.abs(values).max(axis=-1).ravel()
    found = np.abs([float(row[-1]) for row in table])
    np.testing.assert_allclose(found, largest, atol=1e-6)
    header, arrays = payload(saved["attention.html"]())
    assert header["isDifference"]
    every = arrays["everyHead"].reshape(values.shape)
    np.testing.assert_allclose(every, values, atol=1e-6)


# All heads put together.


def test_all_ways_stand_beside_each_other_with_their_agreement():
    text = "the dog [MASK] the cat"
    app = ask("combine", text=text, attention_layer="3")
    wanted = [  # rollout and flow are of the last layer
        client().ask(attention_matrix)(MODEL, Texts(text), way, 5, 0)
        for way in comparison.WAYS
    ]
    for drawn, one in zip(drawn_maps(app), wanted, strict=True):
        assert drawn == pytest.approx(one, abs=1e-4)
    agreements = [float(metric.value) for metric in app.metric]
    pairs = list(itertools.combinations(range(4), 2))
    assert agreements == [
        pytest.approx(spearman(wanted[a], wanted[b]), abs=0.006) for a, b in pairs
    ]
    choose(app, attention_hide_special=True)
    assert [len(one) for one in drawn_maps(app)] == [5] * 4


@pytest.mark.parametrize("top", [1, 2])
def test_equal_colours_are_equal_numbers_in_all(monkeypatch, top):
    """To 1; words that are put together may bring a maximum beyond it."""
    drawn = comparison.shown_attention

    def scaled(place, *asked):
        shown = drawn(place, *asked)
        if top == 1 or place != "combine_max":
            return shown
        return dataclasses.replace(shown, values=2 * shown.values / shown.values.max())

    monkeypatch.setattr(comparison, "shown_attention", scaled)
    app = ask("combine", text="word " * 60)
    assert [button.label for button in app.button if "flow" in button.key]
    shown = traces(app)
    assert [(one["zmin"], one["zmax"]) for one in shown] == [(0, top)] * 3
    names = [one["colorbar"]["title"]["text"] for one in shown]
    assert names == [f"<b>{way}</b> · weight" for way in ("mean", "maximum", "rollout")]
    for one in shown:
        places, colors = zip(*one["colorscale"], strict=True)
        assert colors == SHARES
        assert np.sqrt(places) == pytest.approx(np.linspace(0, 1, len(SHARES)))
    assert f"by the square root: weight from 0 to {top}" in said(app)
    assert [one.shape for one in drawn_maps(app)] == [(40, 40)] * 3
    assert "first 40 tokens" in said(app)
