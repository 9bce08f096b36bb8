import numpy as np
import pytest

from bertviz_core.figures.attention_held import MOST_EXACT_BYTES, hold_heads
from bertviz_core.figures.attention_payload import map_payload, view_payload
from bertviz_core.figures.attention_thumbnails import grid_thumbnails, strongest_links
from bertviz_core.figures.attention_view import AttentionView, HeadMap, token_kinds
from bertviz_core.figures.component_files import component_script, component_style
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


def test_the_payload_brings_what_is_held():
    probs = random_probs(2, 3, 5)
    held = hold_heads(probs)
    header, arrays = unpacked(view_payload(view_of(NASTY, probs, held=held)))
    assert header["held"] == held.key
    np.testing.assert_array_equal(arrays["everyHead"].reshape(probs.shape), probs)
    header, arrays = unpacked(view_payload(view_of(NASTY, probs), holds="another"))
    assert header["held"] is None
    assert "everyHead" not in arrays


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
