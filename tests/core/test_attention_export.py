import base64
import dataclasses
import struct
import xml.etree.ElementTree as ET
import zlib

import numpy as np
import pytest

from bertviz_core.figures.attention_export import (
    attention_columns,
    attention_html,
    grid_columns,
)
from bertviz_core.figures.attention_grid_svg import grid_svg, head_map_svg
from bertviz_core.figures.attention_lines_svg import lines_svg
from bertviz_core.figures.attention_payload import map_payload, view_payload
from bertviz_core.figures.attention_svg import heatmap_svg
from bertviz_core.figures.attention_thumbnails import grid_thumbnails, strongest_links
from bertviz_core.figures.attention_view import HeadMap, Measure
from tests.core.test_attention_view import NASTY, WORDS, random_probs, view_of
from tests.payloads import unpacked

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


def test_the_legend_of_a_picture_names_both_ends_and_the_scale():
    def legend(**rest):
        texts = texts_of(heatmap_svg(view_of(NASTY, random_probs(1, 2, 5), **rest)))
        title = texts.index("热图：第 1 层第 1 个头")
        return texts[title - 3 : title]

    assert legend(scale="log") == ["≤ 0.0001", "1", "权重（对数）"]
    low, high, name = legend(scale="row", is_difference=True)
    assert (low, high) == ("−本行最大值", "本行最大值")
    assert "可为负" in name


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


def test_saved_lines_are_those_of_the_heads_on_the_screen():
    probs = random_probs(1, 3, 5)
    one, two = (
        lines_svg(view_of(NASTY, probs, threshold=0.2, **rest))
        for rest in ({}, {"heads": (0, 2)})
    )
    counts = [int((probs[0, head] >= 0.2).sum()) for head in (0, 2)]
    assert len(curves_of(one)) == counts[0]
    assert len(curves_of(two)) == sum(counts)
    assert len(set(curves_of(two))) == 2
    assert set(curves_of(one)) <= set(curves_of(two))
    names = {"第 1 层第 1 个头", "第 1 层第 3 个头", "连线：第 1 层第 1、3 个头"}
    assert names <= set(texts_of(two))


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


def test_the_largest_page_that_is_saved_has_the_size_that_is_told():
    """13 MB for BERT-base and as many tokens as a file of all heads may have."""
    tokens = tuple(f"token{index}" for index in range(128))
    every = random_probs(1, 12, 128).repeat(12, axis=0)
    shown = view_of(tokens, every)
    assert len(attention_html(shown, "", "en", every)) == pytest.approx(13e6, rel=0.03)
    assert len(grid_svg(shown)) <= 1_000_000


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
