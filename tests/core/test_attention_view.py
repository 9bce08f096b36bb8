import numpy as np
import pytest

from bertviz_core.figures.attention_held import hold_heads
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


@pytest.mark.parametrize(
    ("num_tokens", "most_bytes"), [(128, 500_000), (512, 4_000_000)]
)
def test_a_view_of_bert_base_is_small(num_tokens, most_bytes):
    probs = random_probs(1, 12, num_tokens).repeat(12, axis=0)
    tokens = tuple(f"token{index}" for index in range(num_tokens))
    view = view_of(tokens, probs, held=hold_heads(probs))
    assert view.thumbnails.nbytes <= 300_000
    assert view.thumbnails.shape == (12, 12, 32, 32)
    # What a first visitor loads: the payload, and what draws it.
    around = component_script("attention") + component_style("attention")
    assert len(view_payload(view)) + len(around.encode()) <= most_bytes


def test_the_payload_holds_the_exact_weights():
    probs = random_probs(2, 3, 5)
    view = view_of(NASTY, probs, layer=1, head=2)
    header, arrays = unpacked(view_payload(view, turn=4, attention_probs=probs))
    np.testing.assert_array_equal(arrays["matrix"].reshape(5, 5), probs[1, 2])
    np.testing.assert_array_equal(arrays["everyHead"].reshape(probs.shape), probs)
    np.testing.assert_array_equal(
        arrays["thumbnails"].reshape(2, 3, 5, 5), view.thumbnails
    )
    assert (header["layer"], header["head"], header["turn"]) == (1, 2, 4)
    assert header["labels"][0] == "◆[CLS]"
    assert header["labels"][2] == "</script>"


def test_the_payload_is_read_at_any_length_of_its_header():
    probs = random_probs(1, 2, 3)
    for length in range(9):
        tokens = ("é" * length, "b", "c")
        _, arrays = unpacked(view_payload(view_of(tokens, probs)))
        np.testing.assert_array_equal(arrays["matrix"].reshape(3, 3), probs[0, 0])


def test_a_thumbnail_keeps_the_strongest_weight_of_each_area():
    probs = np.zeros((1, 2, 7, 7), np.float32)
    probs[0, 1, 6, 2] = 0.25
    thumbnails = grid_thumbnails(probs, size=3)
    # Areas begin at 0, 2 and 4; the root of a quarter is a half.
    assert thumbnails.shape == (1, 2, 3, 3)
    assert thumbnails[0, 1, 2, 1] == 128
    assert thumbnails.sum() == 128


def test_a_thumbnail_of_few_tokens_has_a_pixel_for_each_weight():
    probs = random_probs(2, 3, 5)
    thumbnails = grid_thumbnails(probs)
    np.testing.assert_allclose((thumbnails / 255.0) ** 2, probs, atol=0.004)


def test_a_thumbnail_of_differences_keeps_their_sign():
    differences = np.zeros((1, 1, 4, 4), np.float32)
    differences[0, 0, 0, 1], differences[0, 0, 1, 0] = 0.16, -0.25
    thumbnails = grid_thumbnails(differences, size=2, is_difference=True)
    # 128 - 127 * 0.5, rounded to even.
    assert thumbnails[0, 0].tolist() == [[64, 128], [128, 128]]


def test_the_strongest_links_are_the_largest_weights_of_each_row():
    probs = random_probs(1, 3, 6)[0]
    links = strongest_links(probs, num_links=2)
    assert links.targets.shape == (3, 6, 2)
    for head in range(3):
        for row in range(6):
            expected = sorted(range(6), key=lambda to: -probs[head, row, to])[:2]
            assert links.targets[head, row].tolist() == expected
            np.testing.assert_array_equal(
                links.weights[head, row], probs[head, row, expected]
            )
    np.testing.assert_allclose(links.sums, np.ones((3, 6)), rtol=1e-6)


def test_a_map_of_heads_reaches_to_its_largest_magnitude():
    values = np.array([[0.1, -0.4, 0.2], [0.0, 0.3, -0.1]])
    header, arrays = unpacked(map_payload(HeadMap(values, WORDS, head=2)))
    assert header["limit"] == pytest.approx(0.4)
    assert (header["numLayers"], header["numHeads"], header["head"]) == (2, 3, 2)
    np.testing.assert_array_equal(
        arrays["values"].reshape(2, 3), values.astype(np.float32)
    )


def test_a_map_of_zeros_still_has_a_scale():
    assert HeadMap(np.zeros((2, 3)), WORDS).limit == 1


def test_a_map_may_have_no_chosen_head_but_none_that_it_lacks():
    values = np.zeros((2, 3))
    header, _ = unpacked(map_payload(HeadMap(values, WORDS, None, None)))
    assert (header["layer"], header["head"]) == (None, None)
    for place in ((2, 0), (0, 3), (-1, 0), (None, 0)):
        with pytest.raises(ValueError, match="both `None`"):
            HeadMap(values, WORDS, *place)


def test_parts_that_do_not_fit_together_are_refused():
    probs = random_probs(1, 2, 4)
    with pytest.raises(ValueError, match="as many"):
        view_of(("a", "b", "c"), probs)
    with pytest.raises(ValueError, match="scale"):
        view_of(("a", "b", "c", "d"), probs, scale="cubic")


def test_arrays_of_a_view_cannot_be_changed():
    view = view_of(("a", "b"), random_probs(1, 2, 2))
    with pytest.raises(ValueError, match="read-only"):
        view.thumbnails[0] = 0
