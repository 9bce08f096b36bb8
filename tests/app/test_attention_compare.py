"""What differs, and all heads put together: what the pictures and files show."""

from __future__ import annotations

import base64
import csv
import dataclasses
import itertools
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tokenizers import BertWordPieceTokenizer

from bertviz_core.analysis.comparison import align_tokens, attention_difference
from bertviz_core.analysis.correlation import spearman
from bertviz_core.analysis.shown_attention import AttentionOptions, show_attention
from bertviz_core.experiments.attention_matrix import attention_matrix, compare_heads
from bertviz_core.explorer import Explorer
from bertviz_core.figures.attention_thumbnails import grid_thumbnails
from bertviz_core.figures.attention_view import AttentionView
from bertviz_core.figures.color_scales import SHARES
from bertviz_core.trace import ModelEntry, Texts
from pages.attention import combined, difference, downloads, maps, matrix, pictures
from pages.shared.engine import client
from tests.app.chinese_model import write_chinese_model
from tests.app.test_attention import MODEL, TEXT, ask, finished, said, started, traces
from tests.app.test_attention import maps as drawn_maps
from tests.core.checkpoint_copies import HF, hf_copy
from tests.payloads import unpacked

OTHER = TEXT.replace("dog", "horse")
UPLOADED = {"uploaded_models": (ModelEntry(str(HF), "tiny", "upload"),)}


@pytest.fixture
def differences(monkeypatch):
    """What the pictures of a difference show, in place of those, newest last."""
    seen: list[AttentionView] = []
    monkeypatch.setattr(
        difference, "attention_canvas", lambda view, key, on_change: seen.append(view)
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
    box.set_value("a cat").run()
    assert differences[-1].from_token is None


def test_what_looks_at_tokens_without_a_partner_is_said():
    other = TEXT.replace("dog", "very old dog")
    app, attention, added = compare(other), rows_of(other), [2, 3]
    rows = np.delete(attention, added, axis=0)
    assert "0.0% of their weight in the first" in said(app)
    assert f"{rows[:, added].sum() / rows.sum():.1%} in the second" in said(app)


@pytest.mark.parametrize(
    ("method", "layer", "framed"),
    [("mean", "4", (None, None)), ("layer", "4", (None, None)), ("head", "1", (0, 1))],
)
def test_a_smaller_model_needs_the_head_only_where_one_is_asked_for(
    monkeypatch, differences, method, layer, framed
):
    drawn = []
    monkeypatch.setattr(maps, "clickable_map", lambda one, *_: drawn.append(one))
    chosen = {"attention_method": method, "attention_layer": layer}
    of = {"text": "ab cab", "attention_compare": "model"}
    app = ask("compare", UPLOADED, **of, **chosen, attention_head="2")
    differences.clear()
    app.selectbox(key="attention_compared_model").set_value(str(HF)).run()
    assert (drawn[-1].layer, drawn[-1].head) == framed
    lacks = method == "layer"
    assert ("has no head of that number" in said(app)) == lacks
    assert bool(differences) != lacks
    if method != "mean":
        return
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


@pytest.mark.parametrize("is_whole", [True, False])
def test_chinese_words_are_those_that_the_reader_types(tmp_path, is_whole, differences):
    expected = ["我", "喜欢", "吃", "苹果"] if is_whole else [*"我喜欢吃苹果"]
    app = finished(
        started(
            "compare",
            model=str(write_chinese_model(tmp_path)),
            text="我喜欢吃苹果",
            attention_words="我 喜欢 吃 苹果" if is_whole else "我 喜欢",
            attention_merge_words="true",
            attention_compared_text=" ".join(expected),
            attention_hide_special="true",
        )
    )
    assert list(differences[-1].tokens) == expected
    errors = ["where the text has “吃苹果”" in one.value for one in app.error]
    assert errors == ([] if is_whole else [True])


def test_values_of_long_texts_are_taken_away_by_a_job(monkeypatch, differences):
    """The pictures and both sides of a comparison come to what a short text shows."""
    chosen = {"attention_method": "value_zeroing"}
    compare(f"{TEXT} It ran away.", **chosen)
    expected = differences[-1].matrix
    monkeypatch.setitem(matrix._MOST_AT_ONCE, "value_zeroing", 0)
    app = compare(f"{TEXT} It ran away.", **chosen)
    assert "this may take a minute" in said(app)
    for place in ("pictures", "here", "there"):
        finished(app, f"value_zeroing_{place}")
    assert "this may take a minute" not in said(app)
    assert len(differences) > 1
    np.testing.assert_allclose(differences[-1].matrix, expected, rtol=1e-5)


# Files.


@pytest.fixture
def files(monkeypatch, differences):
    """What a comparison offers, each file made as a click makes it."""
    made: dict[str, Callable[[], Any]] = {}

    def keep(label: str, make: Callable[[], Any], *, key: str, **rest: Any) -> None:
        made[key.removeprefix("attention_difference_save_")] = make

    monkeypatch.setattr(downloads, "download_svg", keep)
    monkeypatch.setattr("streamlit.download_button", keep)
    return made


def compare_with_files(other: str, text: str = TEXT):
    box = {"attention_difference_downloads": True}
    return ask("compare", box, text=text, attention_compared_text=other)


def payload(page: bytes) -> tuple[dict, dict]:
    text = re.search(rb'id="payload">([^<]+)<', page).group(1)
    return unpacked(base64.b64decode(text))


def test_every_view_of_a_difference_can_be_taken_away(files):
    compare_with_files(OTHER)
    assert {"heatmap_svg", "lines_svg", "grid_svg"} < set(files)
    explored = Explorer.open(MODEL)
    first, second = (explored.trace(text).attention_probs for text in (TEXT, OTHER))
    values = second - first
    layers, heads, rows, _ = values.shape
    assert files["grid_svg"]().count("<image") == layers * heads
    (_, *table) = csv.reader(files["grid_csv"]().decode("utf-8-sig").splitlines())
    assert len(table) == layers * heads * rows
    largest = np.abs(values).max(axis=-1).ravel()
    found = np.abs([float(row[-1]) for row in table])
    np.testing.assert_allclose(found, largest, atol=1e-6)
    header, arrays = payload(files["html"]())
    assert header["isDifference"]
    every = arrays["everyHead"].reshape(values.shape)
    np.testing.assert_allclose(every, values, atol=1e-6)


def test_a_long_difference_is_drawn_whole_and_takes_the_shown_head_along(
    files, differences
):
    long = "the cat sat on a mat and " * 22
    app = compare_with_files(f"{long}the cow ran", f"{long}the dog ran")
    values = rows_of(f"{long}the cow ran") - rows_of(f"{long}the dog ran")
    assert len(values) > 128
    np.testing.assert_allclose(differences[-1].matrix, values, atol=1e-6)
    largest = values.flat[np.abs(values).argmax()]
    assert f"{largest:+.4f}" in said(app)
    _, arrays = payload(files["html"]())
    assert "everyHead" not in arrays
    assert len(arrays["matrix"]) == values.size
    assert files["grid_csv"]().count(b"\n") == 1 + 6 * 8 * len(values)


# All heads put together.


def test_all_ways_stand_beside_each_other_with_their_agreement():
    text = "the dog [MASK] the cat"
    app = ask("combine", text=text, attention_layer="3")
    wanted = [  # rollout and flow are of the last layer
        client().ask(attention_matrix)(MODEL, Texts(text), way, 5, 0)
        for way in combined.WAYS
    ]
    for drawn, one in zip(drawn_maps(app), wanted, strict=True):
        assert drawn == pytest.approx(one, abs=1e-4)
    agreements = [float(metric.value) for metric in app.metric]
    pairs = list(itertools.combinations(range(4), 2))
    assert agreements == [
        pytest.approx(spearman(wanted[a], wanted[b]), abs=0.006) for a, b in pairs
    ]
    app.toggle(key="attention_hide_special").set_value(True).run()
    assert [len(one) for one in drawn_maps(app)] == [5] * 4


@pytest.mark.parametrize("top", [1, 2])
def test_equal_colours_are_equal_numbers_in_all(monkeypatch, top):
    """To 1; words that are put together may bring a maximum beyond it."""
    drawn = combined.shown_attention

    def scaled(place, *asked):
        shown = drawn(place, *asked)
        if top == 1 or place != "combine_max":
            return shown
        return dataclasses.replace(shown, values=2 * shown.values / shown.values.max())

    monkeypatch.setattr(combined, "shown_attention", scaled)
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
    assert f"weight from 0 to {top}, by its square root" in said(app)
    assert [one.shape for one in drawn_maps(app)] == [(40, 40)] * 3
    assert "first 40 tokens" in said(app)


# No padding is ever shown.

PADDED_TEXT, LONGER, PADDED = "ab cab", "ab cab [MASK] ab cab ba ab", 24


@pytest.fixture(scope="module")
def padding_model(tmp_path_factory):
    """A checkpoint whose tokenizer asks for texts of at least `PADDED` tokens."""
    folder = hf_copy(tmp_path_factory.mktemp("models"))
    vocabulary = folder / "vocab.txt"
    tokenizer = BertWordPieceTokenizer(str(vocabulary))
    tokenizer.enable_padding(length=PADDED)
    assert tokenizer.encode(PADDED_TEXT).tokens.count("[PAD]") > 3
    tokenizer.save(str(folder / "tokenizer.json"))
    vocabulary.unlink()
    return str(folder)


def test_no_picture_has_a_row_of_padding(padding_model, differences, monkeypatch):
    monkeypatch.setattr(
        pictures, "attention_canvas", lambda view, *_, **__: differences.append(view)
    )
    compare(LONGER, PADDED_TEXT, model=padding_model)
    text, both = differences
    rows = rows_of(PADDED_TEXT, model=padding_model)
    np.testing.assert_array_equal(text.matrix, rows)
    for view in differences:
        assert "[PAD]" not in view.tokens
        assert len(view.tokens) == len(view.matrix) < PADDED
    assert set(both.tokens) <= {*text.tokens, "ba", "[MASK]"}


@pytest.mark.parametrize("panel", ["combine", "arithmetic"])
def test_no_question_is_answered_about_padding(padding_model, panel):
    app = ask(panel, model=padding_model, text=LONGER)
    shown = [*map(json.dumps, traces(app)), *(str(one.value) for one in app.dataframe)]
    assert shown
    assert not [one for one in shown if "[PAD]" in one]
    tokens = client().ask(Explorer.tokenize)(padding_model, LONGER).num_tokens
    assert tokens < PADDED
    sizes = {len(one) for one in drawn_maps(app)}
    assert (tokens in sizes) == (panel != "arithmetic")
