"""What the attention page draws and saves is named, filtered and locked as it says."""

from __future__ import annotations

import base64
import html
import re
from dataclasses import dataclass, field

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.shown_attention import AttentionOptions, show_attention
from bertviz_core.experiments.attention_matrix import attention_matrix, profile_heads
from bertviz_core.explorer import Explorer
from bertviz_core.figures.attention_export import attention_columns
from bertviz_core.figures.attention_svg import heatmap_svg
from bertviz_core.figures.attention_thumbnails import grid_thumbnails
from bertviz_core.figures.attention_view import AttentionView
from bertviz_core.figures.svg import escaped
from bertviz_core.trace import Texts, Trace
from pages.attention import downloads, pictures
from pages.attention.canvas import Look
from pages.attention.controls import CANVAS, METHODS
from pages.shared.engine import client
from pages.shared.markdown import spoken
from tests.app.test_attention import MODEL, TEXT, ask, finished, started, type_text
from tests.payloads import unpacked

OPEN_BOX = ("compare", {"attention_downloads": True})
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
    monkeypatch.setattr(downloads, "download_svg", keep)
    return files


def attention() -> np.ndarray:
    trace = client().ask(Trace.only)(MODEL, Texts(TEXT), ("attention_probs",))
    return np.asarray(trace.attention_probs)


def filtered(matrix: np.ndarray, **options: bool) -> np.ndarray:
    tokenized = client().ask(Explorer.tokenize)(MODEL, TEXT)
    return show_attention(matrix, tokenized, AttentionOptions(**options)).values


def test_what_is_shown_is_named_and_what_it_does_not_ask_for_is_switched_off(drawn):
    app = ask(attention_layer="3", attention_head="5")
    for method, asks in METHODS.items():
        app.selectbox(key="attention_method").set_value(method).run()
        view, columns = drawn.last, attention_columns(drawn.last)
        is_head = method == "head"
        assert ("layer 3, head 5" in view.name) == is_head
        assert ("layer 3, head 5" in heatmap_svg(view)) == is_head
        assert ("3" in view.name) == (asks[0] or method == "chosen")
        assert ("layer" in columns, "head" in columns) == asks
        assert set(columns["shown"]) == {view.name}
        boxes = (app.selectbox(key=f"attention_{name}") for name in ("layer", "head"))
        assert tuple(not box.proto.disabled for box in boxes) == asks
    started(language="中文", attention_method="layer", attention_layer="3")
    assert "第 3 层" in drawn.last.name


def test_filters_are_named_where_they_work(drawn):
    app = ask(attention_hide_special="true", attention_merge_words="true")
    assert drawn.last.measured.filters == (
        "pieces merged into words",
        "[CLS] and [SEP] hidden",
        "what is left keeps its value: rows add up to less",
    )
    app.toggle(key="attention_renormalise").set_value(True).run()
    *_, last = drawn.last.measured.filters
    assert "not the model's own numbers" in last
    assert escaped(last) in heatmap_svg(drawn.last)
    app.toggle(key="attention_hide_special").set_value(False).run()
    app.toggle(key="attention_renormalise").set_value(False).run()
    app.selectbox(key="attention_method").set_value("norms").run()
    (said,) = drawn.last.measured.filters
    assert "lengths added" in said


@pytest.mark.parametrize(
    ("method", "renormalise", "unit"),
    [
        ("norms", "", "length"),
        ("norms", "true", "share of length"),
        ("value_zeroing", "", "share of change"),
        ("head", "true", "weight"),
    ],
)
def test_a_number_is_called_what_it_is(drawn, method, renormalise, unit):
    chosen = {"attention_method": method, "attention_renormalise": renormalise}
    app = ask(**chosen, attention_cut_off="weight")
    view, is_length = drawn.last, unit == "length"
    assert set(attention_columns(view)["unit"]) == {unit}
    assert (view.top == 1) is not is_length
    (slider,) = app.slider
    cut = "least_share" if is_length else "least_weight"
    assert slider.key == f"attention_{cut}"


def test_the_link_says_how_the_pictures_are_drawn(drawn):
    app = ask()
    assert "attention_drawn" not in app.query_params
    drawn.choose(app, scale="row", lying=True, threshold=0.125, heads=[0, 3])
    link = "row_lying_0.125_1-4"
    assert app.query_params["attention_drawn"] in (link, [link])
    app = ask(attention_drawn=link)
    view = drawn.last
    assert (view.scale, view.is_lying, view.threshold) == ("row", True, 0.125)
    assert view.heads == (0, 3)
    # Back at the defaults, the link is short.
    drawn.choose(app, scale="linear", lying=False, threshold=0.05, heads=[])
    assert "attention_drawn" not in app.query_params


def test_a_link_asks_for_nothing_that_is_not_there(drawn):
    broken = ("row", "cube_lying_0.1_", "row_lying_x_", "row_lying_0.1_1-")
    for link in ("", *broken, "row_lying_٣_"):
        assert Look.of_link(link) == Look()
    assert Look.of_link("log_standing_9.5_900") == Look("log", False, 1.0, (899,))
    ask(attention_drawn="log_standing_9.5_900-2")
    assert drawn.last.heads == (1,)
    ask(attention_drawn="cube_lying_0.1_")
    assert drawn.last.scale == "linear"


def test_a_locked_token_stays_itself_until_the_text_is_another(drawn):
    app = ask()
    assert drawn.last.tokens[CAT] == "cat"
    assert drawn.choose(app, **{"from": CAT, "to": 0}).from_token == CAT
    app.toggle(key="attention_hide_special").set_value(True).run()
    # [CLS] is not there to be locked.
    assert (drawn.last.from_token, drawn.last.to_token) == (CAT - 1, None)
    app.toggle(key="attention_hide_special").set_value(False).run()
    app.selectbox(key="attention_layer").set_value(3).run()
    found = drawn.last.layer, drawn.last.from_token, drawn.last.to_token
    assert found == (2, CAT, 0)
    type_text(app, "Look: " + TEXT)
    assert (drawn.last.from_token, drawn.last.to_token) == (None, None)


def test_lengths_have_their_unit_and_a_scale_of_their_own(drawn):
    app = ask(attention_method="norms", attention_layer="2")
    lengths = client().ask(attention_matrix)(MODEL, Texts(TEXT), "norms", 1, 0)
    assert drawn.last.top == pytest.approx(float(lengths.max()))
    app.selectbox(key="attention_cut_off").set_value("weight").run()
    app.slider(key="attention_least_share").set_value(0.5).run()
    expected = np.where(lengths >= lengths.max() / 2, lengths, 0)
    np.testing.assert_array_equal(drawn.last.matrix, expected)
    assert "nothing below 50% of the largest" in drawn.last.measured.filters


def test_the_maximum_of_words_is_a_weight_that_a_head_gives_to_a_word(drawn):
    ask(attention_method="max", attention_merge_words="true")
    heads = np.concatenate(attention())
    words = [filtered(head, merge_words=True) for head in heads]
    assert len(words[0]) < heads.shape[-1]
    np.testing.assert_allclose(drawn.last.matrix, np.max(words, axis=0), atol=1e-6)
    assert drawn.last.top == 1


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
    ask()
    assert drawn.last.from_token is None
    app = ask(token=str(CAT + 1))
    assert drawn.last.from_token == CAT
    drawn.choose(app, to=2)  # unlocked by hand, it stays so
    assert (drawn.last.from_token, drawn.last.to_token) == (None, 2)


@pytest.mark.parametrize(("looks", "seen"), [("first", "second"), ("second", "both")])
def test_the_text_that_looks_and_the_text_that_is_looked_at(drawn, looks, seen):
    first, second = "She took the book to the library.", "It was old."
    ask(
        text=first,
        pair=second,
        attention_from_segment=looks,
        attention_to_segment=seen,
    )
    segments = client().ask(Explorer.tokenize)(MODEL, first, second).token_type_ids
    of = {"first": segments == 0, "second": segments == 1, "both": segments >= 0}
    whole = client().ask(attention_matrix)(MODEL, Texts(first, second), "head", 0, 0)
    expected = np.where(np.outer(of[looks], of[seen]), whole, 0)
    np.testing.assert_allclose(drawn.last.matrix, expected, atol=1e-7)
    assert expected.any()
    assert (expected == 0).any()
    who, whom, *_ = drawn.last.measured.filters
    assert who == f"only the {looks} text looks"
    assert (whom == "only the second text is looked at") == (seen == "second")


def test_small_weights_are_left_out(drawn):
    whole = attention()[0, 0]
    app = ask(attention_cut_off="weight")
    app.slider(key="attention_least_weight").set_value(0.1).run()
    expected = np.where(whole >= 0.1, whole, 0)
    assert 0 < np.count_nonzero(expected) < whole.size
    np.testing.assert_allclose(drawn.last.matrix, expected, atol=1e-7)
    # The largest of a row, until they reach a share.
    app.selectbox(key="attention_cut_off").set_value("mass").run()
    app.slider(key="attention_mass").set_value(0.6).run()
    expected = np.zeros_like(whole)
    for row, kept in zip(whole, expected, strict=True):
        for column in np.argsort(-row):
            kept[column] = row[column]
            if kept.sum() >= 0.6:
                break
    assert np.count_nonzero(expected) < whole.size
    np.testing.assert_allclose(drawn.last.matrix, expected, atol=1e-7)


def test_added_heads_stay_with_the_head_that_they_were_added_to(drawn):
    app = ask()
    drawn.choose(app, scale="log", heads=[0, 3])
    app.toggle(key="attention_hide_special").set_value(True).run()
    assert drawn.last.heads == (0, 3)
    for key in ("attention_head", "attention_layer"):
        app.selectbox(key=key).set_value(6).run()
        assert (drawn.last.scale, drawn.last.heads) == ("log", ())
        drawn.choose(app, scale="log", layer=0, head=5, heads=[0, 3])
        assert drawn.last.heads == ((0, 3) if key == "attention_head" else ())


def test_nonsense_from_a_browser_is_not_drawn(drawn):
    view = drawn.choose(ask(), scale="cubic", heads=[99], **{"from": -3, "to": "x"})
    assert (view.scale, view.heads) == ("linear", ())
    assert (view.from_token, view.to_token) == (None, None)


@pytest.mark.parametrize("is_long", [False, True])
def test_filters_reach_the_grid_the_lines_and_the_saved_heads(
    drawn, saved, monkeypatch, is_long
):
    options = {"hide_special": True, "renormalise": True}
    expected = np.array(
        [[filtered(head, **options) for head in layer] for layer in attention()]
    )
    if is_long:  # however few of its tokens are shown
        monkeypatch.setattr(downloads, "_MOST_SAVED", len(expected[0, 0]))
    ask(*OPEN_BOX, **{f"attention_{name}": "true" for name in options})
    view = drawn.last
    np.testing.assert_array_equal(view.thumbnails, grid_thumbnails(expected))
    strongest = expected[0].max(axis=-1)
    np.testing.assert_allclose(view.links.weights[..., 0], strongest, rtol=1e-5)
    text = re.search(rb'id="payload">([^<]+)<', saved["attention.html"]()).group(1)
    _, arrays = unpacked(base64.b64decode(text))
    assert ("everyHead" in arrays) is not is_long
    if not is_long:
        heads = arrays["everyHead"].reshape(expected.shape)
        np.testing.assert_array_equal(heads, expected.astype("float32"))


def test_the_columns_of_a_table_are_named_in_the_language_of_the_page(drawn, saved):
    started(*OPEN_BOX, "中文")
    for name, columns in (
        ("注意力.csv", "显示内容,层,头,从（序号）,从,到（序号）,到,单位,数值"),
        ("注意力_全部头.csv", "层,头,从（序号）,从,到（序号）,到,权重"),
    ):
        table = saved[name]().decode("utf-8-sig")
        assert table.splitlines()[0] == columns


def test_a_map_is_saved_with_what_it_says(saved):
    kinds = ("exact", "mass")
    boxes = {f"attention_map_{kind}_downloads": True for kind in kinds}
    app = finished(started("maps", boxes))
    name = "attention_map_exact"
    title, told = "What each head causes: exact", "one head switched off"
    (told,) = [one.value for one in app.caption if told in one.value]
    page = saved[f"{name}.html"]().decode()
    for text in (title, html.escape(spoken(told))):
        assert text in page
    assert f"<title>{title}</title>" in saved[f"{name}.svg"]()
    assert "rank correlation" in page
    assert all(metric.value in page for metric in app.metric[:2])
    table = saved[f"{name}.csv"]().decode("utf-8-sig").splitlines()
    assert table[0] == "layer,head,change of the probability"
    assert [row[:4] for row in table[1:4]] == ["1,1,", "1,2,", "1,3,"]


@pytest.mark.parametrize(
    ("panel", "name", "header", "rows"),
    [
        ("switch", "attention_switched_off", "when,answer,rank,probability", None),
        ("arithmetic", "attention_softmax_row", "number,", "tokens"),
        ("profile", "attention_named_heads", "head,", "names"),
    ],
)
def test_what_a_question_answers_has_a_file(saved, panel, name, header, rows):
    ask(panel, {f"{name}_downloads": True})
    first, *lines = saved[f"{name}.csv"]().decode("utf-8-sig").splitlines()
    assert first.lower().startswith(header)
    if rows is None:
        assert {line.split(",")[0] for line in lines} == {"before", "after"}
        return
    found = client().ask(profile_heads)(MODEL, Texts(TEXT))
    tokens = client().ask(Explorer.tokenize)(MODEL, TEXT).num_tokens
    assert len(lines) == {"tokens": tokens, "names": len(found.names())}[rows]


def test_words_of_several_pieces_have_a_bar(drawn):
    ask(text="unbelievableness of it")
    (start, size), *others = drawn.last.spans
    tokens = client().ask(Explorer.tokenize)(MODEL, "unbelievableness").tokens
    assert drawn.last.tokens[start : start + size] == tuple(tokens)[1:-1]
    assert (size > 1, others) == (True, [])
