"""What the attention page draws and saves is named, filtered and locked as it says."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass, field

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.shown_attention import AttentionOptions, show_attention
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments.attention_matrix import attention_matrix, profile_heads
from bertviz_core.explorer import Explorer
from bertviz_core.figures.attention_export import attention_columns
from bertviz_core.figures.attention_svg import heatmap_svg
from bertviz_core.figures.attention_thumbnails import grid_thumbnails
from bertviz_core.figures.attention_view import AttentionView
from bertviz_core.figures.svg import escaped
from bertviz_core.trace import ModelEntry, Texts, Trace
from pages.attention import pictures
from pages.attention.controls import CANVAS, METHODS, View
from pages.attention.downloads import every_head
from pages.attention.selection import Look
from pages.shared.engine import client
from pages.shared.markdown import spoken
from tests.app.test_attention import ROOT, TEXT, open_page
from tests.app.test_attention_questions import opened
from tests.core.checkpoint_copies import HF

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


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("method", [name for name in METHODS if name != "head"])
def test_what_is_put_together_is_not_called_one_head(drawn, method, language):
    open_page(language, attention_method=method, attention_layer="3")
    view = drawn.last
    is_of_layer, _ = METHODS[method]
    assert ("3" in view.name) == (is_of_layer or method == "chosen")
    one_head = {"en": "layer 3, head 1", "zh": "第 3 层第 1 个头"}[language]
    assert one_head not in view.name
    assert one_head not in heatmap_svg(view)
    columns = attention_columns(view)
    assert ("layer" in columns, "head" in columns) == (is_of_layer, False)
    assert set(columns["shown"]) == {view.name}


def test_one_head_is_named_with_its_numbers(drawn):
    open_page(attention_layer="3", attention_head="5")
    assert drawn.last.name == "layer 3, head 5"
    columns = attention_columns(drawn.last)
    assert (set(columns["layer"]), set(columns["head"])) == ({3}, {5})
    assert drawn.last.measured.filters == ()


def test_filters_are_named_where_they_work(drawn):
    open_page(attention_hide_special="true", attention_merge_words="true")
    assert drawn.last.measured.filters == (
        "pieces merged into words",
        "[CLS] and [SEP] hidden",
        "what is left keeps its value: rows add up to less",
    )
    open_page(attention_hide_special="true", attention_renormalise="true")
    *_, last = drawn.last.measured.filters
    assert "not the model's own numbers" in last
    assert escaped(last) in heatmap_svg(drawn.last)


@pytest.mark.parametrize(
    ("method", "renormalise", "language", "unit"),
    [
        ("norms", "", "en", "length"),
        ("norms", "true", "en", "share of length"),
        ("norms", "true", "zh", "长度份额"),
        ("value_zeroing", "", "en", "share of change"),
        ("value_zeroing", "", "zh", "变化份额"),
        ("head", "true", "en", "weight"),
    ],
)
def test_a_number_is_called_what_it_is(drawn, method, renormalise, language, unit):
    chosen = {"attention_renormalise": renormalise} if renormalise else {}
    app = open_page(
        language, attention_method=method, attention_cut_off="weight", **chosen
    )
    view = drawn.last
    assert set(attention_columns(view)["unit"]) == {unit}
    is_length = unit == "length"
    assert (view.top == 1) is not is_length
    sliders = {slider.key for slider in app.slider}
    assert ("attention_least_share" in sliders) is is_length
    assert ("attention_least_weight" in sliders) is not is_length


def test_the_link_says_how_the_pictures_are_drawn(drawn):
    app = open_page()
    assert "attention_drawn" not in app.query_params
    drawn.choose(app, scale="row", lying=True, threshold=0.125, heads=[0, 3])
    assert app.query_params["attention_drawn"] == "row_lying_0.125_1-4"
    opened = open_page(attention_drawn="row_lying_0.125_1-4")
    assert not opened.exception
    view = drawn.last
    assert (view.scale, view.is_lying, view.threshold) == ("row", True, 0.125)
    assert view.heads == (0, 3)
    # Heads were added to those of one layer; back at the defaults, the link is short.
    view = drawn.choose(opened, layer=1, scale="row", lying=True, heads=[])
    assert (view.scale, view.heads) == ("row", ())
    drawn.choose(opened, scale="linear", lying=False, threshold=0.05, heads=[])
    assert "attention_drawn" not in opened.query_params


@pytest.mark.parametrize(
    "link",
    ["", "row", "cube_lying_0.1_", "row_lying_x_", "row_lying_0.1_1-", "row_lying_٣_"],
)
def test_a_broken_link_draws_as_usual(drawn, link):
    assert Look.of_link(link) == Look()
    app = open_page(attention_drawn=link)
    assert not app.exception
    assert drawn.last.scale == "linear"


def test_a_link_asks_for_no_head_that_is_not_there(drawn):
    assert Look.of_link("log_standing_9.5_900") == Look("log", False, 1.0, (899,))
    open_page(attention_drawn="log_standing_9.5_900-2")
    assert drawn.last.heads == (1,)


def test_a_locked_token_stays_itself_when_signs_are_hidden(drawn):
    app = open_page()
    assert drawn.last.tokens[CAT] == "cat"
    assert drawn.choose(app, **{"from": CAT, "to": 0}).from_token == CAT
    app.toggle(key="attention_hide_special").set_value(True).run()
    assert drawn.last.tokens[drawn.last.from_token] == "cat"
    assert drawn.last.from_token == CAT - 1
    assert drawn.last.to_token is None  # [CLS] is not there to be locked
    app.toggle(key="attention_hide_special").set_value(False).run()
    assert (drawn.last.from_token, drawn.last.to_token) == (CAT, 0)


def test_a_locked_token_is_freed_when_the_text_is_another(drawn):
    app = open_page()
    assert drawn.choose(app, to=CAT).to_token == CAT
    app.text_area(key="attention_text").set_value("Look: " + TEXT).run()
    assert (drawn.last.from_token, drawn.last.to_token) == (None, None)


def test_a_locked_token_stays_when_a_widget_chooses_the_head(drawn):
    app = open_page()
    drawn.choose(app, to=CAT)
    app.selectbox(key="attention_layer").set_value(3).run()
    assert (drawn.last.layer, drawn.last.to_token) == (2, CAT)


def test_lengths_have_their_unit_and_a_scale_of_their_own(drawn):
    app = open_page(attention_method="norms", attention_layer="2")
    lengths = client().ask(attention_matrix)(DEFAULT_MODEL, Texts(TEXT), "norms", 1, 0)
    view = drawn.last
    assert view.measured.unit == "length"
    assert view.top == pytest.approx(float(lengths.max()))
    app.selectbox(key="attention_cut_off").set_value("weight").run()
    app.slider(key="attention_least_share").set_value(0.5).run()
    expected = np.where(lengths >= lengths.max() / 2, lengths, 0)
    np.testing.assert_array_equal(drawn.last.matrix, expected)
    assert "nothing below 50% of the largest" in drawn.last.measured.filters


def test_the_maximum_of_words_is_a_weight_that_a_head_gives_to_a_word(drawn):
    open_page(attention_method="max", attention_merge_words="true")
    trace = client().ask(Trace.only)(DEFAULT_MODEL, Texts(TEXT), ("attention_probs",))
    options = AttentionOptions(merge_words=True)
    words = [
        show_attention(head, trace.tokenized, options).values
        for head in np.concatenate(trace.attention_probs)
    ]
    assert len(words[0]) < trace.tokenized.num_tokens
    np.testing.assert_allclose(drawn.last.matrix, np.max(words, axis=0), atol=1e-6)
    assert drawn.last.top == 1


def test_lengths_of_words_are_said_to_be_sums(drawn):
    open_page(attention_method="norms", attention_merge_words="true")
    (said,) = drawn.last.measured.filters
    assert "lengths added" in said


def test_the_head_in_the_frame_can_be_chosen_while_many_are_shown(drawn):
    app = open_page(attention_method="rollout")
    drawn.choose(app, chosenAt=1000)
    assert app.selectbox(key="attention_method").value == "head"
    app.selectbox(key="attention_method").set_value("rollout").run()
    # A lock is no choice of a head.
    drawn.choose(app, chosenAt=1000, to=CAT, turn=2)
    assert app.selectbox(key="attention_method").value == "rollout"
    drawn.choose(app, chosenAt=2000, to=CAT, turn=3)
    assert app.selectbox(key="attention_method").value == "head"
    assert drawn.last.to_token == CAT


@pytest.mark.parametrize("change", [{"to": CAT}, {"scale": "log"}, {"threshold": 0.2}])
def test_what_is_put_together_stays_while_the_pictures_are_used(drawn, change):
    app = open_page(attention_method="rollout", attention_layer="3")
    drawn.choose(app, layer=2, **change)
    assert app.selectbox(key="attention_method").value == "rollout"
    assert app.selectbox(key="attention_layer").value == 3
    assert drawn.last.layer == 2


def test_a_model_with_fewer_layers_keeps_what_is_put_together(drawn):
    app = AppTest.from_file(ROOT / "app.py", default_timeout=90)
    app.query_params["lang"] = "English"
    tiny = ModelEntry(str(HF), "tiny", "upload")
    app.session_state["uploaded_models"] = (tiny,)
    app.switch_page("pages/attention/attention.py").run()
    drawn.choose(app, layer=5, head=7, chosenAt=1000)
    assert (drawn.last.layer, drawn.last.head) == (5, 7)
    app.selectbox(key="attention_method").set_value("mean").run()
    app.selectbox(key="model").set_value(str(HF)).run()
    # The canvas still holds the head of the larger model.
    drawn.choose(app, layer=5, head=7, chosenAt=1000, to=1, turn=2)
    assert app.selectbox(key="attention_method").value == "mean"
    assert app.selectbox(key="attention_layer").value == 1


@pytest.mark.parametrize(("looks", "seen"), [("first", "second"), ("second", "both")])
def test_the_text_that_looks_and_the_text_that_is_looked_at(drawn, looks, seen):
    first, second = "She took the book to the library.", "It was old."
    open_page(
        attention_text=first,
        attention_pair=second,
        attention_from_segment=looks,
        attention_to_segment=seen,
    )
    tokenized = client().ask(Explorer.tokenize)(DEFAULT_MODEL, first, second)
    segments = tokenized.token_type_ids
    of = {"first": segments == 0, "second": segments == 1, "both": segments >= 0}
    whole = client().ask(attention_matrix)(
        DEFAULT_MODEL, Texts(first, second), "head", 0, 0
    )
    expected = np.where(np.outer(of[looks], of[seen]), whole, 0)
    np.testing.assert_allclose(drawn.last.matrix, expected, atol=1e-7)
    assert expected.any()
    assert (expected == 0).any()


def test_weights_below_a_threshold_are_left_out(drawn):
    whole = client().ask(attention_matrix)(DEFAULT_MODEL, Texts(TEXT), "head", 0, 0)
    app = open_page(attention_cut_off="weight")
    app.slider(key="attention_least_weight").set_value(0.1).run()
    expected = np.where(whole >= 0.1, whole, 0)
    assert 0 < np.count_nonzero(expected) < whole.size
    np.testing.assert_allclose(drawn.last.matrix, expected, atol=1e-7)


def test_the_largest_weights_of_a_row_stay_until_they_reach_a_share(drawn):
    whole = client().ask(attention_matrix)(DEFAULT_MODEL, Texts(TEXT), "head", 0, 0)
    app = open_page(attention_cut_off="mass")
    app.slider(key="attention_mass").set_value(0.6).run()
    expected = np.zeros_like(whole)
    for row, kept in zip(whole, expected, strict=True):
        for column in np.argsort(-row):
            kept[column] = row[column]
            if kept.sum() >= 0.6:
                break
    assert np.count_nonzero(expected) < whole.size
    np.testing.assert_allclose(drawn.last.matrix, expected, atol=1e-7)


def test_what_is_saved_is_drawn_as_on_the_screen(drawn):
    app = open_page()
    view = drawn.choose(app, scale="log", lying=True, threshold=0.2, heads=[0, 3])
    assert (view.scale, view.is_lying, view.threshold) == ("log", True, 0.2)
    assert view.heads == (0, 3)
    app.selectbox(key="attention_layer").set_value(2).run()
    # The heads were of the other layer; the rest is the visitor's.
    assert (drawn.last.scale, drawn.last.heads) == ("log", ())


def test_added_heads_stay_with_the_head_that_they_were_added_to(drawn):
    app = open_page()
    drawn.choose(app, heads=[0, 3])
    app.toggle(key="attention_hide_special").set_value(True).run()
    assert drawn.last.heads == (0, 3)
    app.selectbox(key="attention_head").set_value(6).run()
    assert (drawn.last.head, drawn.last.heads) == (5, ())


def test_nonsense_from_a_browser_is_not_drawn(drawn):
    app = open_page()
    view = drawn.choose(app, scale="cubic", heads=[99], **{"from": -3, "to": "x"})
    assert (view.scale, view.heads) == ("linear", ())
    assert (view.from_token, view.to_token) == (None, None)


def test_filters_reach_the_grid_the_lines_and_the_saved_heads(drawn):
    open_page(attention_hide_special="true", attention_renormalise="true")
    view = drawn.last
    trace = client().ask(Trace.only)(DEFAULT_MODEL, Texts(TEXT), ("attention_probs",))
    options = AttentionOptions(hide_special=True, renormalise=True)
    expected = np.array(
        [
            [show_attention(head, trace.tokenized, options).values for head in layer]
            for layer in trace.attention_probs
        ]
    )
    np.testing.assert_array_equal(view.thumbnails, grid_thumbnails(expected))
    strongest = expected[0].max(axis=-1)
    np.testing.assert_allclose(view.links.weights[..., 0], strongest, rtol=1e-5)
    asked = View("head", 0, 0, options)
    heads = every_head(view, DEFAULT_MODEL, Texts(TEXT, None), trace.tokenized, asked)
    np.testing.assert_array_equal(heads, expected.astype("float32"))


def test_the_heads_of_a_long_text_are_not_saved_however_few_its_words(
    drawn, monkeypatch
):
    open_page(attention_merge_words="true")
    read = client().ask(Explorer.tokenize)(DEFAULT_MODEL, TEXT)
    size = len(drawn.last.tokens)
    assert size < read.num_tokens
    monkeypatch.setattr("pages.attention.downloads._MOST_SAVED", size)
    asked = []
    monkeypatch.setattr(
        "pages.attention.downloads.client", lambda: asked.append("the engine")
    )
    view = View("head", 0, 0, AttentionOptions(merge_words=True))
    heads = every_head(drawn.last, DEFAULT_MODEL, Texts(TEXT, None), read, view)
    assert heads is None
    assert not asked


@pytest.fixture
def saved(monkeypatch):
    """What makes the files of a page, by their names; a click has no session."""
    files = {}

    def keep(label, data, *, file_name, **rest):
        files[file_name] = data

    monkeypatch.setattr("streamlit.download_button", keep)
    monkeypatch.setattr("pages.attention.downloads.download_svg", keep)
    return files


@pytest.mark.parametrize(
    ("language", "names", "cells", "heads"),
    [
        (
            "English",
            ("attention.csv", "attention_heads.csv"),
            "shown,layer,head,from_number,from,to_number,to,unit,value",
            "layer,head,from_number,from,to_number,to,weight",
        ),
        (
            "中文",
            ("注意力.csv", "注意力_全部头.csv"),
            "显示内容,层,头,从（序号）,从,到（序号）,到,单位,数值",
            "层,头,从（序号）,从,到（序号）,到,权重",
        ),
    ],
)
def test_the_columns_of_a_table_are_named_in_the_language_of_the_page(
    drawn, saved, language, names, cells, heads
):
    opened("profile", {"attention_downloads": True}, lang=language)
    tables = [saved[name]().decode("utf-8-sig") for name in names]
    assert [table.splitlines()[0] for table in tables] == [cells, heads]


def test_a_map_is_saved_with_what_it_says(saved, monkeypatch):
    monkeypatch.setattr("pages.shared.jobs._SHORT_WORK", 0)
    app = opened("maps", {"attention_map_estimate_downloads": True})
    name = "attention_map_estimate"
    assert saved.keys() == {f"{name}.{kind}" for kind in ("csv", "svg", "html")}
    title = "What each head causes: a quick estimate"
    assert f"<title>{title}</title>" in saved[f"{name}.svg"]()
    assert f"<title>{title}</title>" in saved[f"{name}.html"]().decode()
    (told,) = [one.value for one in app.caption if "one backward pass" in one.value]
    assert html.escape(spoken(told)) in saved[f"{name}.html"]().decode()
    header = saved[f"{name}.csv"]().decode("utf-8-sig").splitlines()[0]
    assert header == "layer,head,change of the probability"


@pytest.mark.parametrize(
    ("panel", "name", "header", "rows"),
    [
        ("switch", "attention_switched_off", "when,answer,rank,probability", None),
        ("sparse", "attention_sparse_answer", "when,answer,rank,probability", None),
        ("arithmetic", "attention_softmax_row", "number,", "tokens"),
        ("profile", "attention_named_heads", "head,", "names"),
    ],
)
def test_what_a_question_answers_has_a_file(saved, panel, name, header, rows):
    opened(panel, {f"{name}_downloads": True})
    first, *lines = saved[f"{name}.csv"]().decode("utf-8-sig").splitlines()
    assert first.lower().startswith(header)
    if rows is None:
        assert {line.split(",")[0] for line in lines} == {"before", "after"}
        return
    found = client().ask(profile_heads)(DEFAULT_MODEL, Texts(TEXT))
    tokens = client().ask(Explorer.tokenize)(DEFAULT_MODEL, TEXT).num_tokens
    assert len(lines) == {"tokens": tokens, "names": len(found.names())}[rows]


def test_a_saved_map_says_how_well_the_maps_agree(saved):
    app = opened("maps", {"attention_map_exact_downloads": True})
    page = saved["attention_map_exact.html"]().decode()
    by_mass, by_gradient = (metric.value for metric in app.metric[:2])
    assert "rank correlation" in page
    assert by_mass in page
    assert by_gradient in page


def test_words_of_several_pieces_have_a_bar(drawn):
    open_page(attention_text="unbelievableness of it")
    labels = [
        drawn.last.tokens[start : start + size] for start, size in drawn.last.spans
    ]
    pieces = tuple(
        token
        for token in client()
        .ask(Explorer.tokenize)(DEFAULT_MODEL, "unbelievableness")
        .tokens
        if token not in ("[CLS]", "[SEP]")
    )
    assert len(pieces) > 1
    assert labels == [pieces]
    json.dumps(drawn.last.spans)  # goes to the browser
