"""The pictures of attention: what the browser gets, and what is saved."""

import base64
import dataclasses
import itertools
import re

import numpy as np
import pytest

from bertviz_core.figures.attention_export import (
    attention_columns,
    attention_html,
    grid_columns,
)
from bertviz_core.figures.attention_held import MOST_EXACT_BYTES, hold_heads
from bertviz_core.figures.attention_payload import map_payload, view_payload
from bertviz_core.figures.attention_thumbnails import grid_thumbnails, strongest_links
from bertviz_core.figures.attention_view import (
    AttentionView,
    HeadMap,
    Measure,
    token_kinds,
)
from bertviz_core.figures.component_files import component_script, component_style
from tests.locale_words import component_words
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
    probs[:, 2] = probs[:, 2, 4:5]  # of equals the first
    for values, count in ((probs, 2), (probs * [-1, 1, -1, 1, -1, 1], 8)):
        links = strongest_links(values, count)
        expected = np.argsort(-probs, axis=-1, kind="stable")[..., :count]
        np.testing.assert_array_equal(links.targets, expected)
        weights = np.take_along_axis(values, expected, axis=-1).astype("f4")
        np.testing.assert_array_equal(links.weights, weights)
        np.testing.assert_allclose(links.sums, values.sum(axis=-1), rtol=1e-6)


def test_a_map_of_heads_reaches_to_its_largest_magnitude():
    values = np.array([[0.1, -0.4, 0.2], [0.0, 0.3, -0.1]])
    header, arrays = unpacked(map_payload(HeadMap(values, WORDS, head=2)))
    assert header["limit"] == pytest.approx(0.4)
    assert (header["numLayers"], header["numHeads"], header["head"]) == (2, 3, 2)
    np.testing.assert_array_equal(arrays["values"].reshape(2, 3), values.astype("f4"))
    assert HeadMap(0 * values, WORDS).limit == 1
    # A measure has an end of its own, and no number for some heads.
    some = np.array([[3.0, np.nan]])
    assert HeadMap(some, WORDS, is_difference=False, top=3.0).limit == 3
    assert HeadMap(-some, WORDS).limit == 3


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


@pytest.mark.parametrize("most", [3, 7, 25, 1000])
def test_a_table_of_the_largest_numbers_makes_no_others(most):
    values = np.round(random_probs(1, 1, 5) - 0.2, 1)  # many are equal
    view = view_of(NASTY, values)
    order = np.argsort(-np.abs(values.ravel()), kind="stable")[:most]
    for name, column in attention_columns(view, most).items():
        every = attention_columns(view)[name]
        assert column == [every[cell] for cell in order], name


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
    header, _ = unpacked(view_payload(view))
    assert (header["name"], header["unit"]) == (LENGTHS.name, "length")
    assert header["filters"] == list(LENGTHS.filters)
    assert not header["isOneHead"]


def test_pieces_of_a_word_stand_behind_one_bar():
    plain = view_of(NASTY, random_probs(1, 2, 5))
    view = dataclasses.replace(plain, groups=np.array([4, 5, 5, 5, 6]))
    assert unpacked(view_payload(view))[0]["spans"] == [[1, 3]]


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


DASH_OF_HUE = list(map(int, list_of("DASH_OF_HUE")))


def dash_of(head):
    """Which of the three dashes, as `headStyle` of the script says."""
    turn, hue = divmod(head, 12)
    return (DASH_OF_HUE[hue] + turn) % 3


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
            dashes = {dash_of(head) for head in (first, second)}
            assert len(dashes) == 2, (first + 1, second + 1)
