"""The pictures of attention: what the browser gets, and what is saved."""

import base64
import dataclasses
import itertools
import re
import struct
import xml.etree.ElementTree as ET
import zlib
from dataclasses import replace

import numpy as np
import pytest

from bertviz_core.figures import attention_colors
from bertviz_core.figures.attention_colors import on_scale
from bertviz_core.figures.attention_export import (
    attention_columns,
    attention_html,
    grid_columns,
)
from bertviz_core.figures.attention_grid_svg import grid_svg, head_map_svg
from bertviz_core.figures.attention_held import MOST_EXACT_BYTES, hold_heads
from bertviz_core.figures.attention_lines_svg import lines_svg
from bertviz_core.figures.attention_payload import map_payload, view_payload
from bertviz_core.figures.attention_svg import LEAST_WIDTH, heatmap_svg
from bertviz_core.figures.attention_thumbnails import grid_thumbnails, strongest_links
from bertviz_core.figures.attention_view import (
    AttentionView,
    HeadMap,
    Measure,
    token_kinds,
)
from bertviz_core.figures.component_files import component_script, component_style
from bertviz_core.figures.svg import FONT_SIZE, wrapped
from tests.attention_words import component_words
from tests.payloads import unpacked

WORDS = component_words("zh")
NASTY = ("[CLS]", '<b>"&', "</script>", "猫\x01", "[MASK]")


def random_probs(num_layers, num_heads, num_tokens):
    shape = (num_layers, num_heads, num_tokens, num_tokens)
    probs = np.random.default_rng(5).random(shape, np.float32) ** 4
    return probs / probs.sum(-1, keepdims=True)


def view_of(tokens, probs, layer=0, head=0, **rest):
    return AttentionView(
        tokens,
        token_kinds(tokens),
        np.arange(len(tokens)) * 2 // max(2, len(tokens)),
        grid_thumbnails(probs),
        probs[layer, head],
        WORDS,
        layer,
        head,
        strongest_links(probs[layer]),
        **rest,
    )


def test_a_view_of_bert_base_is_small():
    probs = random_probs(1, 12, 128).repeat(12, axis=0)
    view = view_of(
        tuple(f"token{n}" for n in range(128)), probs, held=hold_heads(probs)
    )
    assert view.thumbnails.shape == (12, 12, 32, 32)
    # What a first visitor loads: the payload, and what draws it.
    around = component_script("attention") + component_style("attention")
    assert len(view_payload(view)) + len(around.encode()) <= 500_000


@pytest.mark.parametrize("length", range(4))
def test_the_payload_holds_the_exact_weights(length):
    """At any length of its header, whose end the arrays follow."""
    probs, tokens = random_probs(2, 3, 5), ("é" * length, *NASTY[1:])
    view = view_of(tokens, probs, layer=1, head=2)
    header, arrays = unpacked(view_payload(view, turn=4, attention_probs=probs))
    np.testing.assert_array_equal(arrays["matrix"].reshape(5, 5), probs[1, 2])
    np.testing.assert_array_equal(arrays["everyHead"].reshape(probs.shape), probs)
    thumbnails = arrays["thumbnails"].reshape(probs.shape)
    np.testing.assert_array_equal(thumbnails, view.thumbnails)
    # Few tokens have a pixel for each weight.
    np.testing.assert_allclose((thumbnails / 255.0) ** 2, probs, atol=0.004)
    assert (header["layer"], header["head"], header["turn"]) == (1, 2, 4)
    assert header["labels"][2] == "</script>"
    assert header["labels"][4] == "▢[MASK]"


def test_a_thumbnail_keeps_the_strongest_weight_of_each_area():
    probs = np.zeros((1, 2, 7, 7), np.float32)
    probs[0, 1, 6, 2] = 0.25
    thumbnails = grid_thumbnails(probs, size=3)
    # Areas begin at 0, 2 and 4; the root of a quarter is a half.
    assert thumbnails.shape == (1, 2, 3, 3)
    assert thumbnails[0, 1, 2, 1] == 128
    assert thumbnails.sum() == 128


def test_a_thumbnail_of_differences_keeps_their_sign():
    differences = np.zeros((1, 1, 4, 4), np.float32)
    differences[0, 0, 0, 1], differences[0, 0, 1, 0] = 0.16, -0.25
    thumbnails = grid_thumbnails(differences, size=2, is_difference=True)
    # 128 - 127 * 0.5, rounded to even.
    assert thumbnails[0, 0].tolist() == [[64, 128], [128, 128]]


def test_the_strongest_links_are_the_largest_weights_of_each_row():
    probs = random_probs(1, 3, 6)[0]
    links = strongest_links(probs, num_links=2)
    expected = np.argsort(-probs, axis=-1)[..., :2]
    np.testing.assert_array_equal(links.targets, expected)
    weights = np.take_along_axis(probs, expected, axis=-1)
    np.testing.assert_array_equal(links.weights, weights)
    np.testing.assert_allclose(links.sums, np.ones((3, 6)), rtol=1e-6)


def test_a_map_of_heads_reaches_to_its_largest_magnitude():
    values = np.array([[0.1, -0.4, 0.2], [0.0, 0.3, -0.1]])
    header, arrays = unpacked(map_payload(HeadMap(values, WORDS, head=2)))
    assert header["limit"] == pytest.approx(0.4)
    assert (header["numLayers"], header["numHeads"], header["head"]) == (2, 3, 2)
    np.testing.assert_array_equal(arrays["values"].reshape(2, 3), values.astype("f4"))
    assert HeadMap(0 * values, WORDS).limit == 1


def test_parts_that_do_not_fit_together_are_refused():
    probs = random_probs(1, 2, 4)
    with pytest.raises(ValueError, match="as many"):
        view_of(("a", "b", "c"), probs)
    with pytest.raises(ValueError, match="scale"):
        view_of(("a", "b", "c", "d"), probs, scale="cubic")
    for place in ((2, 0), (0, 3), (-1, 0), (None, 0)):
        with pytest.raises(ValueError, match="both `None`"):
            HeadMap(np.zeros((2, 3)), WORDS, *place)


def test_heads_of_a_short_text_are_held_exactly():
    probs = random_probs(12, 12, 22)
    held = hold_heads(probs)
    np.testing.assert_array_equal(held.exact, probs)
    assert held.exact.nbytes <= MOST_EXACT_BYTES
    assert held.targets is None
    tokens = tuple(f"token{i}" for i in range(22))
    header, arrays = unpacked(view_payload(view_of(tokens, probs, held=held)))
    assert header["held"] == held.key
    np.testing.assert_array_equal(arrays["everyHead"].reshape(probs.shape), probs)
    header, arrays = unpacked(view_payload(view_of(tokens, probs), holds="another"))
    assert header["held"] is None
    assert "everyHead" not in arrays
    # Where thumbnails have every cell nothing else is held.
    held = hold_heads(random_probs(12, 12, 32))
    assert (held.exact, held.targets, held.rests) == (None, None, None)


@pytest.mark.parametrize("num_tokens", [40, 128, 300])
def test_a_sketch_has_the_strongest_cells_and_the_mean_of_the_others(num_tokens):
    probs = random_probs(2, 24, num_tokens)
    held = hold_heads(probs)
    num_cells = held.targets.shape[-1]
    assert held.targets.dtype == (np.uint8 if num_tokens <= 256 else np.uint16)
    strongest = np.sort(probs, axis=-1)[..., -num_cells:]
    levels = np.sort(held.levels, axis=-1)
    np.testing.assert_array_equal(levels, np.rint(255 * np.sqrt(strongest)))
    at = np.take_along_axis(probs, held.targets.astype(int), axis=-1)
    np.testing.assert_array_equal(np.sort(at, axis=-1), strongest)
    rest = (1 - strongest.sum(-1)) / (num_tokens - num_cells)
    # Half a step of 255, of the root.
    np.testing.assert_allclose(held.rests / 255, np.sqrt(rest), atol=0.5 / 255 + 1e-4)


def test_other_numbers_have_another_key():
    probs = random_probs(2, 3, 5)
    key = hold_heads(probs).key
    assert hold_heads(probs.copy()).key == key
    changed = probs.copy()
    changed[1, 2, 4, 4] += 1e-6
    assert hold_heads(changed).key != key


def test_what_the_browser_holds_is_not_sent_again():
    probs = random_probs(12, 12, 128)
    held = hold_heads(probs)
    view = view_of(tuple(f"token{i}" for i in range(128)), probs, held=held)
    header, arrays = unpacked(view_payload(view, holds=held.key))
    assert header["held"] == held.key
    assert set(arrays) == {"matrix", "linkTargets", "linkWeights", "linkSums"}
    assert len(view_payload(view, holds=held.key)) < 180_000
    _, arrays = unpacked(view_payload(view, holds="of another text"))
    assert {"thumbnails", "heldTargets", "heldLevels", "heldRests"} < set(arrays)


LENGTHS = Measure(
    "‖αf(x)‖ of layer 2", "length", ("[CLS] hidden", "shared out"), 16.0, True, False
)


def nodes_of(drawn, name):
    return ET.fromstring(drawn).iter(f"{{http://www.w3.org/2000/svg}}{name}")


def texts_of(drawn):
    return [node.text for node in nodes_of(drawn, "text")]


def name_of(node):
    return node.findtext("{http://www.w3.org/2000/svg}title")


def curves_of(drawn):
    """Strokes of the lines between tokens, in the order in which they lie."""
    return [n.get("stroke") for n in nodes_of(drawn, "path") if "C" in n.get("d")]


@pytest.mark.parametrize("is_lying", [False, True])
def test_a_picture_is_sound_xml_with_its_text_as_text(is_lying):
    view = view_of(NASTY, random_probs(1, 2, 5), is_lying=is_lying)
    for drawn in (heatmap_svg(view), lines_svg(view)):
        texts = texts_of(drawn)
        assert texts.count('<b>"&') == texts.count("</script>") == 2
        assert any("猫" in text for text in texts)


@pytest.mark.parametrize(("draw", "num_columns"), [(heatmap_svg, 1), (lines_svg, 2)])
def test_chinese_beside_a_column_is_upright_letter_by_letter(draw, num_columns):
    view = view_of(("[CLS]", "今天", "cat"), random_probs(1, 2, 3), is_lying=True)
    places, turned = {}, {}
    for node in nodes_of(draw(view), "text"):
        place = float(node.get("x")), float(node.get("y"))
        places.setdefault(node.text, []).append(place)
        is_turned = "rotate(-90" in node.get("transform", "")
        turned.setdefault(node.text, []).append(is_turned)
    assert turned["今"] == turned["天"] == [False] * num_columns
    for (x, y), (other, below) in zip(places["今"], places["天"], strict=True):
        assert (other, below - y) == (x, 13)
    assert turned["cat"].count(True) == num_columns
    assert turned.get("今天", []) == [False] * (draw is heatmap_svg)  # its row


@pytest.mark.parametrize(
    ("top", "rest", "ends"),
    [
        (1, {}, {"0", "1", "权重（线性）"}),
        (16, {"measure": LENGTHS}, {"0", "16", "length（线性）"}),
    ],
)
def test_a_picture_holds_every_cell_in_the_color_of_its_weight(top, rest, ends):
    values = np.zeros((1, 1, 3, 3), np.float32)
    values[0, 0] = top * np.array([[1, 0, 0], [0, 0.5, 0.5], [0, 0, 0.025]])
    view = view_of(("a", "b", "c"), values, **rest)
    drawn = heatmap_svg(view)
    fills = {n.get("fill"): n.get("d").count("M") for n in nodes_of(drawn, "path")}
    assert (fills["#082A55"], fills["#689ED2"]) == (1, 2)
    assert ends <= set(texts_of(drawn))
    assert unpacked(view_payload(view))[0]["top"] == top
    # The weakest is below a twentieth of the end.
    assert len(curves_of(lines_svg(view))) == 3


def test_lines_are_those_from_the_threshold_up_or_of_the_locked_token():
    probs = np.zeros((1, 3, 3, 3), np.float32)
    probs[0] = [[0.9, 0.1, 0], [0.3, 0.3, 0.4], [0, 0, 1]]

    def curves(**rest):
        return len(curves_of(lines_svg(view_of(("a", "b", "c"), probs, **rest))))

    assert curves(threshold=0.35) == 3
    assert curves(threshold=0.05, from_token=1) == 3
    assert curves(threshold=0.05, to_token=0) == 2
    assert curves(threshold=0.35, from_token=0, to_token=1) == 1
    assert curves(heads=(1, 2), from_token=0, to_token=1) == 2
    both = lines_svg(view_of(("a", "b", "c"), probs, threshold=0.35, heads=(0, 2)))
    assert len(set(curves_of(both))) == 2
    names = {"第 1 层第 1 个头", "第 1 层第 3 个头", "连线：第 1 层第 1、3 个头"}
    assert names <= set(texts_of(both))


def test_the_table_has_a_row_for_each_cell_counted_from_one():
    probs = random_probs(2, 3, 5)
    # The second token is not shown: others keep their numbers.
    numbers = np.array([0, 2, 3, 4, 5])
    view = view_of(NASTY, probs, layer=1, head=2, first_tokens=numbers)
    columns = attention_columns(view)
    assert {len(column) for column in columns.values()} == {25}
    assert (columns["layer"][0], columns["head"][0]) == (2, 3)
    assert (columns["from_number"][7], columns["to_number"][7]) == (3, 4)
    assert (columns["from"][7], columns["to"][7]) == (NASTY[1], NASTY[2])
    assert columns["value"][7] == probs[1, 2, 1, 2]
    assert set(columns["shown"]) == {"第 2 层第 3 个头"}
    assert "filters" not in columns


def test_the_table_of_the_grid_has_where_each_token_looks_most():
    probs = random_probs(2, 3, 5)
    numbers = np.array([0, 2, 3, 4, 5])
    view = view_of(NASTY, probs, measure=LENGTHS, first_tokens=numbers)
    columns = grid_columns(view, [strongest_links(layer) for layer in probs])
    assert {len(column) for column in columns.values()} == {2 * 3 * 5}
    at = (1 * 3 + 2) * 5 + 4  # layer 2, head 3, the last token
    best = int(probs[1, 2, 4].argmax())
    assert (columns["layer"][at], columns["head"][at]) == (2, 3)
    assert (columns["from"][at], columns["to"][at]) == (NASTY[4], NASTY[best])
    assert columns["from_number"][at] == 6
    assert columns["to_number"][at] == numbers[best] + 1
    assert columns["weight"][at] == probs[1, 2, 4, best]
    assert set(columns["filters"]) == {"[CLS] hidden; shared out"}


def test_what_is_not_one_head_is_never_called_one():
    probs = random_probs(2, 3, 5)
    view = view_of(NASTY, probs * 16, layer=1, head=2, measure=LENGTHS)
    columns = attention_columns(view)
    assert "head" not in columns
    said = {"layer": 2, "shown": LENGTHS.name, "unit": "length"}
    said["filters"] = "[CLS] hidden; shared out"
    for name, value in said.items():
        assert set(columns[name]) == {value}
    for drawn in (heatmap_svg(view), lines_svg(view)):
        texts = texts_of(drawn)
        assert LENGTHS.name in name_of(ET.fromstring(drawn))
        assert set(LENGTHS.filters) <= set(texts)
        assert not any("第 3 个头" in text for text in texts)
    header, _ = unpacked(view_payload(view))
    assert (header["name"], header["unit"]) == (LENGTHS.name, "length")
    assert header["filters"] == list(LENGTHS.filters)
    assert not header["isOneHead"]


@pytest.mark.parametrize(
    ("locked", "sizes"),
    [
        ({}, []),
        ({"from_token": 2}, [(90, 18)]),
        ({"from_token": 2, "to_token": 4}, [(90, 18), (18, 90)]),
    ],
)
def test_what_is_locked_has_a_frame_and_is_named(locked, sizes):
    drawn = heatmap_svg(view_of(NASTY, random_probs(1, 2, 5), **locked))
    frames = [n for n in nodes_of(drawn, "rect") if n.get("fill") == "none"]
    assert [(int(n.get("width")), int(n.get("height"))) for n in frames] == sizes
    said = [text for text in texts_of(drawn) if "→" in text]
    assert [text.startswith("</script> → ") for text in said] == [True] * bool(locked)


def test_pieces_of_a_word_stand_behind_one_bar_at_both_sides():
    plain = view_of(NASTY, random_probs(1, 2, 5))
    view = dataclasses.replace(plain, groups=np.array([4, 5, 5, 5, 6]))
    assert unpacked(view_payload(view))[0]["spans"] == [[1, 3]]

    def bars(drawn):
        return sum(n.get("stroke-width") == "2" for n in nodes_of(drawn, "path"))

    for draw in (heatmap_svg, lines_svg):
        assert (bars(draw(plain)), bars(draw(view))) == (0, 2)


@pytest.mark.parametrize(("scale", "brightest"), [("linear", 0.25), ("row", 1.0)])
def test_the_saved_grid_has_a_picture_and_a_name_for_each_head(scale, brightest):
    probs = np.zeros((2, 3, 4, 4), np.float32)
    probs[1, 2, 3, 0] = 0.25
    drawn = grid_svg(view_of(tuple("abcd"), probs, layer=1, head=2, scale=scale))
    images = list(nodes_of(drawn, "image"))
    names = [f"第 {i} 层第 {j} 个头" for i in (1, 2) for j in (1, 2, 3)]
    assert [name_of(image) for image in images] == names
    levels, _ = png_of(images[-1].get("href"))
    assert levels.shape == (4, 4)
    assert levels[3, 0] == levels.sum() == round(brightest * 63)


def png_of(address):
    """Levels `[height, width]` and palette, read by the format's description."""
    data = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, place = {}, 8
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        name = data[place + 4 : place + 8]
        chunks[name] = data[place + 8 : place + 8 + length]
        (check,) = struct.unpack(">I", data[place + 8 + length : place + 12 + length])
        assert check == zlib.crc32(name + chunks[name])
        place += 12 + length
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8)
    palette = np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)
    return rows.reshape(height, width + 1)[:, 1:].astype(int), palette


@pytest.mark.parametrize(("scale", "ends"), [("linear", 0.5), ("row", 0.125)])
def test_the_saved_grid_of_a_difference_has_both_signs_around_zero(scale, ends):
    """Linear: up to the largest of all heads; by row: each head up to its own."""
    values = np.zeros((2, 3, 4, 4), np.float32)
    values[0, 0, 1, 1] = 0.5
    values[1, 2, 3, 0], values[1, 2, 0, 3] = 0.125, -0.125
    drawn = grid_svg(difference_of(values, scale=scale))
    *_, last = nodes_of(drawn, "image")
    levels, palette = png_of(last.get("href"))
    step = round(32 * 0.125 / ends)
    assert (levels[3, 0], levels[0, 3]) == (32 + step, 32 - step)
    assert (np.delete(levels.ravel(), [3, 12]) == 32).all()
    assert palette[32].tolist() == [255, 255, 255]
    texts = texts_of(drawn)
    assert "second minus first" in texts
    assert any(UNIT in text for text in texts)
    assert ("−0.5" in texts) == (scale == "linear")


UNIT = WORDS["unit_difference"].format(unit=WORDS["unit_weight"])


def difference_of(values, **rest):
    return dataclasses.replace(
        view_of(tuple("abcd"), np.abs(values), **rest),
        matrix=values[0, 0],
        thumbnails=grid_thumbnails(values, is_difference=True),
        is_difference=True,
        measure=Measure("", "", difference="second minus first"),
    )


def test_the_table_of_a_difference_has_the_largest_of_each_row_with_its_sign():
    values = np.zeros((2, 3, 4, 4), np.float32)
    values[1, 2, 3] = (0.1, -0.6, 0.2, 0)
    links = [strongest_links(layer, 1) for layer in values]
    columns = grid_columns(difference_of(values), links)
    last = {name: column[-1] for name, column in columns.items()}
    assert (last["value"], last["from"], last["to"]) == (np.float32(-0.6), "d", "b")
    assert (last["shown"], last["unit"]) == ("second minus first", UNIT)


MAP = np.array([[0.1, -0.4, 0.02], [0.0, 0.3, -0.01]])


def test_a_saved_map_has_a_colour_a_sign_and_a_number_for_each_head():
    words = {**WORDS, "legend_map": "概率的变化", "map_title": "每个头的作用"}
    drawn = head_map_svg(HeadMap(MAP, words, 1, 1))
    cells = [(n.get("fill"), name_of(n)) for n in nodes_of(drawn, "rect") if name_of(n)]
    assert [name for _, name in cells] == [
        *("第 1 层第 1 个头：+0.1000", "第 1 层第 2 个头：−0.4000"),
        *("第 1 层第 3 个头：+0.0200", "第 2 层第 1 个头：+0.0000"),
        *("第 2 层第 2 个头：+0.3000", "第 2 层第 3 个头：−0.0100"),
    ]
    colors = [color for color, _ in cells]
    assert (colors[1], colors[3]) == ("#9A4A00", "#FFFFFF")  # the end, and nothing
    texts = texts_of(drawn)
    assert [text for text in texts if text in ("+", "−")] == ["+", "−", "+"]
    ends = ["−0.4", "+0.4", "概率的变化", "每个头的作用", "第 2 层第 2 个头：+0.3000"]
    assert texts[-5:] == ends
    assert name_of(ET.fromstring(drawn)) == "每个头的作用"


def test_a_saved_map_of_shares_ends_at_one_and_may_have_no_chosen_head():
    words = {**WORDS, "legend_map": "份额"}

    def drawn(*place):
        return head_map_svg(HeadMap(np.abs(MAP), words, *place, is_difference=False))

    def frames(svg):
        return sum(n.get("stroke-width") == "3" for n in nodes_of(svg, "rect"))

    texts = texts_of(drawn(None, None))
    assert texts[-4:] == ["0", "1", "份额", WORDS["map_title"]]
    assert "+" not in texts
    assert (frames(drawn(None, None)), frames(drawn(0, 2))) == (0, 1)


@pytest.mark.parametrize(
    ("shown", "payload"),
    [
        (view_of(NASTY, random_probs(1, 2, 5)), view_payload),
        (HeadMap(MAP, WORDS, 0, 2), map_payload),
    ],
)
def test_the_saved_page_asks_nobody_and_lets_no_text_out_of_its_place(shown, payload):
    lie = "</title><script>alert(1)</script>"
    page = attention_html(shown, lie, description=lie).decode()
    assert base64.b64encode(payload(shown)).decode() in page
    assert "default-src 'none'" in page
    assert "alert(1)</script>" not in page
    assert "alert(1)&lt;/script&gt;</p>" in page
    assert page.count("<script") == page.count("</script>") == 2
    # Addresses that something could be fetched from: none but a namespace.
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page


ENGLISH = component_words("en")


def english_view(tokens, probs, **rest):
    return replace(view_of(tokens, probs, **rest), words=ENGLISH)


@pytest.mark.parametrize("draw", [heatmap_svg, lines_svg])
@pytest.mark.parametrize("name", ["x" * 200, "一" * 200])
@pytest.mark.parametrize("is_lying", [False, True])
def test_a_name_beyond_all_bounds_is_cut_and_named_whole(draw, name, is_lying):
    probs = random_probs(1, 1, 3)
    drawn = draw(english_view((name, "a", "b"), probs, is_lying=is_lying))
    assert float(ET.fromstring(drawn).get("width")) <= LEAST_WIDTH + 300
    texts = texts_of(drawn)
    assert name not in texts
    assert any(text.endswith("…") for text in texts)
    named = [name_of(node) for node in nodes_of(drawn, "g")]
    assert [title for title in named if title is not None] == [name] * 2


@pytest.mark.parametrize("draw", [heatmap_svg, lines_svg])
def test_long_captions_take_several_lines_and_lose_no_letter(draw):
    filters = (" ".join(["pieces put together to words"] * 5), "已合成整词" * 30)
    measure = Measure("layer 1", "length", filters, 1.0, True, False)
    drawn = draw(english_view(("a", "b"), random_probs(1, 1, 2), measure=measure))
    texts = texts_of(drawn)
    assert max(map(len, texts)) < 80
    whole = re.sub(r"\s", "", "".join(texts))
    for said in filters:
        assert re.sub(r"\s", "", said) in whole
    lowest = max(float(node.get("y")) for node in nodes_of(drawn, "text"))
    assert lowest + FONT_SIZE / 2 <= float(ET.fromstring(drawn).get("height"))
    # A word that is longer than a line is broken.
    lines = wrapped(f"one {'x' * 100} two", 200)
    assert len(lines) > 3
    assert "".join(lines).replace(" ", "") == f"one{'x' * 100}two"


def counted(view):
    (said,) = [text for text in texts_of(lines_svg(view)) if "Lines drawn" in text]
    return said


def test_the_lines_that_are_cut_off_are_counted():
    probs = np.full((1, 1, 50, 50), 0.02, np.float32)
    view = english_view(tuple("a" * 50), probs, threshold=0.01)
    assert len(curves_of(lines_svg(view))) == 1500
    assert counted(view) == "Lines drawn: 1500 of 2500"
    assert counted(replace(view, from_token=3)) == "Lines drawn: 50 of 50"
    assert counted(replace(view, from_token=3, to_token=4)) == "Lines drawn: 1 of 1"


def test_of_an_added_head_it_is_said_where_there_may_be_more_lines():
    probs = np.full((1, 2, 20, 20), 0.01, np.float32)
    probs[0, 1, :5] = 0.05  # all of a row alike: those that were not sent are, too
    probs[0, 1, 5:, :2] = 0.4
    links = strongest_links(probs[0])
    assert links.targets.shape[-1] == 8
    view = english_view(tuple("a" * 20), probs, threshold=0.04, heads=(1,))
    view = replace(view, links=links)
    said = " ".join(texts_of(lines_svg(view)))
    assert f"Lines drawn: {5 * 8 + 15 * 2} of at least {5 * 8 + 15 * 2}." in said
    assert "only the 8 strongest of each token" in said
    # What was sent of these rows is all that there is to draw.
    assert counted(replace(view, from_token=7)) == "Lines drawn: 2 of 2"
    assert counted(replace(view, threshold=0.1)) == "Lines drawn: 30 of 30"
    # Columns that every row has sent are known, others are not.
    assert counted(replace(view, to_token=1)) == "Lines drawn: 20 of 20"
    assert "of at least 0" in counted(replace(view, to_token=19))
    assert "of at least 0" in counted(replace(view, from_token=0, to_token=19))
    assert counted(replace(view, from_token=0, to_token=1)) == "Lines drawn: 1 of 1"


# CIE 1976 differences; the eye sees one of about 2 between two areas side by side, and
# needs several times as much for thin lines apart from each other.
LEAST_NORMAL, LEAST_DEFICIENT = 18, 10
# Machado, Oliveira and Fernandes 2009, "A Physiologically-based Model for Simulation of
# Color Vision Deficiency", severity 1.0, on linear RGB.
DEFICIENCIES = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
# IEC 61966-2-1 (sRGB), linear RGB to XYZ, and its white, D65.
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
     [0.0193339, 0.1191920, 0.9503041]]
)  # fmt: skip


def list_of(name):
    """A list of the script, as Python values."""
    (written,) = re.findall(
        rf"const {name} = \[(.*?)\]\n", component_script("attention"), re.DOTALL
    )
    return [part.strip(" '\n") for part in written.split(",") if part.strip()]


THEMES = {name: list_of(f"HUES_ON_{name.upper()}") for name in ("light", "dark")}


def lab_of(hues, matrix):
    """CIE L*a*b* `[12, 3]` of "#RRGGBB" as an eye sees them that `matrix` simulates."""
    channels = [[int(hue[i : i + 2], 16) / 255 for i in (1, 3, 5)] for hue in hues]
    coded = np.array(channels)
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.array(matrix).T, 0, 1)
    ratios = (seen @ TO_XYZ.T) / TO_XYZ.sum(axis=1)
    low = ratios * (29 / 6) ** 2 / 3 + 4 / 29
    x, y, z = np.where(ratios > (6 / 29) ** 3, np.cbrt(ratios), low).T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


def differences(hues, matrix):
    """CIE 1976 colour difference of each two heads."""
    lab = lab_of(hues, matrix)
    pairs = itertools.combinations(range(len(hues)), 2)
    return {(a, b): float(np.linalg.norm(lab[a] - lab[b])) for a, b in pairs}


def test_saved_pictures_have_the_hues_and_dashes_of_the_screen():
    assert list(attention_colors.HUES) == THEMES["light"]
    written = list(map(int, list_of("DASH_OF_HUE")))
    assert list(attention_colors.DASH_OF_HUE) == written
    assert len(THEMES["light"]) == len(THEMES["dark"]) == len(written) == 12
    script = component_script("attention")
    (dashes,) = re.findall(r"const DASHES = \[(.*)\]\n", script)
    found = [part.replace(",", "") for part in re.findall(r"\[(.*?)\]", dashes)]
    assert found == list(attention_colors.DASHES)


@pytest.mark.parametrize("theme", THEMES)
def test_two_heads_alike_in_colour_differ_in_their_dashes(theme):
    found = differences(THEMES[theme], np.eye(3))
    assert min(found.values()) >= LEAST_NORMAL, min(found, key=found.get)
    for matrix in DEFICIENCIES.values():
        found = differences(THEMES[theme], matrix)
        alike = [pair for pair, delta in found.items() if delta < LEAST_DEFICIENT]
        assert alike, "nothing to tell apart: dashes would not be needed"
        # So do heads beyond the twelve and those whose hue they share.
        for first, second in [*alike, *((head, head + 12) for head in range(12))]:
            dashes = {attention_colors.head_style(head)[1] for head in (first, second)}
            assert len(dashes) == 2, (first + 1, second + 1)


@pytest.mark.parametrize(
    ("scale", "values", "top", "expected"),
    [
        ("linear", [0.1, 0.4, 0.05], 1.0, [0.1, 0.4, 0.05]),
        ("linear", [0.1, 0.4, 0.05], 0.2, [0.5, 1, 0.25]),
        # Equal ratios are equal steps down to the floor.
        ("log", [1.0, 0.1, 0.01, 1e-4, 0.0], 1.0, [1, 0.75, 0.5, 0, 0]),
        ("log", [8.0, 0.8, 0.08, 8e-4, 0.0], 8.0, [1, 0.75, 0.5, 0, 0]),
        ("row", [[0.1, 0.2], [0.3, 0.0]], [[0.2], [0.3]], [[0.5, 1], [1, 0]]),
    ],
)
def test_a_scale_ends_at_its_top_on_both_sides_of_zero(scale, values, top, expected):
    values, top = np.array(values), np.array(top)
    np.testing.assert_allclose(on_scale(values, scale, top), expected, atol=1e-12)
    if scale != "row":
        mirrored = on_scale(-values, scale, top)
        np.testing.assert_array_equal(mirrored, -on_scale(values, scale, top))
